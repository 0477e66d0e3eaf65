"""`Node`: one operation of a graph, and what its arguments may be."""
import operator
import re
import types
import typing

import fasttensor

from . import naming
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

BaseArgumentTypes = (str, int, float, bool, complex, fasttensor.dtype, fasttensor.Tensor, fasttensor.device, fasttensor.memory_format, fasttensor.layout)
base_types = BaseArgumentTypes
Target = typing.Union[typing.Callable[..., typing.Any], str]
Argument = typing.Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_legal_ops = dict.fromkeys(OPS)
_side_effectful_functions = {fasttensor._assert, operator.setitem}
_get_qualified_name = naming.qualified_name


def has_side_effect(fn):
    """Says that `Graph.eliminate_dead_code` must keep calls of a function; returns it.

    >>> has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def _type_repr(obj):
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        module = obj.__module__
        if module == "builtins":
            return obj.__qualname__
        return f"{'torch' + module[10:] if module.partition('.')[0] == 'fasttensor' else module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else re.sub(r"\bfasttensor\.", "torch.", repr(obj))


def _find_module_of_method(orig_method):
    return naming.qualified_name(orig_method).rpartition(".")[0]


def _format_arg(arg, max_list_len=float("inf")):
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, Node):
        return "%" + str(arg)
    if isinstance(arg, (list, tuple)):
        shown = ", ".join(_format_arg(a) for i, a in enumerate(arg) if i < max_list_len)
        rest = f", ...[total_len={len(arg)}]" if len(arg) >= max_list_len + 1 else ""
        if isinstance(arg, list):
            return f"[{shown}{rest}]"
        return f"({shown}{',' if len(arg) == 1 else ''}{rest})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return str(arg)


def map_aggregate(a, fn):
    """`fn` of every part of nested tuples, lists, dicts and slices; what comes back cannot be changed.

    >>> map_aggregate(((1, 2), [3]), lambda x: x + 1)
    ((2, 3), [4])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(x, fn)) for key, x in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """`fn` of every Node in an argument.

    >>> map_arg((1, "x"), lambda node: None)
    (1, 'x')
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """An operation of a `Graph`: ``op`` says of what kind, ``target`` what is called or read, ``args`` and ``kwargs`` with what.

    ``op`` is "placeholder" (an argument of the graph), "get_attr" (an attribute of the module, by its dotted name), "call_function",
    "call_method" (``args[0]`` is the object), "call_module" or "output" (``args[0]`` is returned). `users` are the nodes that use the value,
    `all_input_nodes` those whose values this one uses, and `meta` is a dict for notes.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op {op!r} is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = {name!r}] target {target} has type {fasttensor.typename(target)} "
                                 "but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = {name!r}] target {target} has type {fasttensor.typename(target)} but a str is expected")
        put = object.__setattr__
        put(self, "graph", graph)
        put(self, "name", name)
        put(self, "op", op)
        put(self, "target", target)
        put(self, "_written", None)         # the name in PyTorch that a traced call gave its function
        put(self, "_input_nodes", {})
        put(self, "users", {})
        put(self, "type", return_type)
        put(self, "_repr_fn", None)
        put(self, "meta", {})
        put(self, "_prev", self)
        put(self, "_next", self)
        put(self, "_erased", False)
        put(self, "_sort_key", ())
        put(self, "_args", ())
        put(self, "_kwargs", {})
        self._update_args_kwargs(args, kwargs)

    def __setattr__(self, name, value):
        if name == "target":
            object.__setattr__(self, "_written", None)
        elif name == "name":
            for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
                for user in self.users:
                    hook(old=self, new=value, user=user)
        object.__setattr__(self, name, value)

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)

    # --- place ---
    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Move node `x` before this one."""
        if self.graph != x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is not x:
            x._remove_from_list()
            x._link(self._prev, self)

    def append(self, x):
        """Move node `x` after this one."""
        self._next.prepend(x)

    def _link(self, before, after):
        self._prev, self._next = before, after
        before._next = after._prev = self
        low, high = before._sort_key, after._sort_key if after.op != "root" else None
        self._sort_key = _key_between(low, high)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other):
        return self._sort_key < other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __le__(self, other):
        return self._sort_key <= other._sort_key

    def __ge__(self, other):
        return self._sort_key >= other._sort_key

    # --- arguments ---
    @property
    def args(self):
        """The positional arguments; assign a tuple to change them."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments; assign a dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args, kwargs):
        for used in self._input_nodes:
            used.users.pop(self, None)
        found = {}

        def use(x):
            if isinstance(x, Node):
                found[x] = None
                x.users[self] = None
            return x
        args, kwargs = map_aggregate(tuple(args), use), map_aggregate(dict(kwargs), use)
        put = object.__setattr__
        put(self, "_args", args)
        put(self, "_kwargs", kwargs)
        put(self, "_input_nodes", found)

    def update_arg(self, idx, arg):
        """Replace positional argument `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Insert a positional argument before number `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Replace keyword argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Use `new_input` wherever this node uses `old_input`."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old, new):
        def swap(x):
            return new if x is old else x
        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Let every user use `replace_with` instead; returns the nodes that were changed.

        `delete_user_cb(user)` says which users change; with `propagate_meta` the new node gets a copy of `meta`, and must have none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                                     "but replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # --- what it is ---
    @property
    def stack_trace(self):
        """Where the program asked for the operation, as text, or None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """Whether `Graph.eliminate_dead_code` must keep the node though nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            schema = getattr(self.target, "_schema", None)
            if schema is not None and getattr(schema, "is_mutable", False):
                return True
            if not naming.is_ours(self.target):
                return False
            name = getattr(self.target, "__name__", "")
            return impure_random and name in RANDOM or _writes(name) or "out" in self.kwargs or self.kwargs.get("inplace") is True
        if self.op == "call_method":            # PyTorch drops it, with which later values change
            return _writes(self.target)
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments by the signature of what is called, as ``(args, kwargs)`` with defaults; None where that cannot be told."""
        from .operator_schemas import normalize_function, normalize_module
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    # --- text ---
    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def _qualified_target(self):
        """The name of a function in the code and text of the graph."""
        return self._written or naming.default_name(self.target, self._kwargs) or naming.qualified_name(self.target)

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) in ("builtins", "_operator", "torch"):
            return {"_operator": "operator"}.get(target.__module__, target.__module__) + "." + target.__name__
        return self._qualified_target() if target is self.target else naming.qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The line that ``print(graph)`` shows for the node.

        Placeholders' and the output's parts go into the two lists where they are given, and None comes back for placeholders.
        """
        typed = f"{_type_repr(self.type)} " if self.type else ""
        if self.op == "placeholder":
            target = str(self.target) + (f": {_type_repr(self.type)}" if self.type else "")
            if placeholder_names:
                placeholder_names.append(target)
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        note = ""
        if include_tensor_metadata and hasattr(self.meta.get("tensor_meta"), "shape"):
            note = f" # {self.meta['tensor_meta'].shape}"
        return (f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
                f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)}){note}")

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


RANDOM = frozenset("rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson".split())


def _writes(name):
    """Whether a function's or method's name says that it changes its first argument."""
    return name.endswith("_") and not name.endswith("__")


def _key_between(low, high):
    """A tuple that sorts after `low` and, where there is one, before `high`."""
    if high is None or not high:
        return (low[0] + 1,) if low else (0,)
    i = 0
    while i < len(low) and i < len(high) and low[i] == high[i]:
        i += 1
    if i >= len(low):                       # high goes on where low ends
        return (*low, high[i] - 1)
    if i >= len(high) or high[i] - low[i] < 2:
        return (*low[:i + 1], *((low[i + 1] + 1,) if i + 1 < len(low) else (0,)))
    return (*low[:i], low[i] + 1)
