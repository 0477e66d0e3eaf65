"""`Graph`: the operations of a program in their order."""
import contextlib
import copy
import inspect
import warnings

import fasttensor
from fasttensor.nn import Module

from . import naming
from .codegen import CodeGen, PythonCode, _BoxedCodeGen, _PyTreeCodeGen, _PyTreeInfo  # noqa: F401
from .names_in_graph import _custom_builtins, _is_magic, _Namespace, _register_custom_builtin, _snake_case  # noqa: F401
from .node import Node, map_arg
from .tabular import table

__all__ = ["PythonCode", "CodeGen", "Graph"]

_legal_ops = dict.fromkeys(("call_function", "call_method", "get_attr", "call_module", "placeholder", "output"))


class _InsertPoint:
    """While it is entered, or from its making on, new nodes go to another place."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph, which may be changed while they are gone through."""

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        return _walk(self.graph._root, self.direction)

    def __reversed__(self):
        return _walk(self.graph._root, "_prev" if self.direction == "_next" else "_next")


def _walk(root, direction):
    node = getattr(root, direction)
    while node is not root:
        if not node._erased:
            yield node
        node = getattr(node, direction)


class Graph:
    """A program as a list of `Node`s: placeholders, operations, and an output.

    ``GraphModule(root, graph)`` makes a module of it, `symbolic_trace` a graph of a module.

    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(fasttensor.sin, (x,))
    >>> _ = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %sin : [num_users=1] = call_function[target=torch.sin](args = (%x,), kwargs = {})
        return sin
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields = {}

    @property
    def owning_module(self):
        """The GraphModule whose graph it is, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        """The nodes in their order; ``reversed(graph.nodes)`` goes backwards. They may be changed meanwhile."""
        return _node_list(self)

    def output_node(self):
        """The last node, which is the output."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"Expected output node, got op={node.op}")
        return node

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and of a target where one is given, which call_function needs."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # --- making nodes ---
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node at the place where nodes are inserted. AssertionError for an unknown kind."""
        if op not in _legal_ops:
            raise AssertionError(f"op {op!r} is not in _legal_ops")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_create_node_hooks", ()):
                hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name, type_expr=None, default_value=inspect.Signature.empty):
        """A node for an argument of the graph; with a star before the name for many. `default_value` is what it is where none is passed."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A node that reads an attribute of the module, by its dotted name."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, qualified_name):
            warnings.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                          "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, "
                          "or nn.Module.register_buffer to add the necessary buffer", stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A node that calls a submodule, by its dotted name."""
        if self.owning_module is not None and not isinstance(_attribute(self.owning_module, module_name), Module):
            warnings.warn("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                          "GraphModule.add_submodule to add the necessary submodule", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A node that calls a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The node that says what the graph returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def _target_to_str(self, target):
        if callable(target):
            op = written_last(target)
        else:
            op = str(target)
        return _snake_case(op[2:-2] if _is_magic(op) else op)

    # --- copying ---
    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node of another graph; `arg_transform(node)` gives this graph's node for one of the other's."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name, node.type)
        made.meta = copy.copy(node.meta)
        object.__setattr__(made, "_written", node._written)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copy the nodes of another graph to the end of this one; returns what the other's output is here.

        `val_map` takes the pairs of old and new nodes; nodes that are in it are not copied.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        memo = memo if memo else {}
        made = Graph(tracer_cls=self._tracer_cls)
        output = made.graph_copy(self, memo, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            value, old = output
            new = made.output(value, type_expr=old.type)
            new.meta = copy.copy(old.meta)
        return made

    # --- changing ---
    def erase_node(self, to_erase):
        """Take a node out. RuntimeError where other nodes use it."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph != self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None))

    def inserting_before(self, n=None):
        """Put new nodes before node `n`, or at the begin: in a ``with`` block, or for good."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """Put new nodes after node `n`, or at the end: in a ``with`` block, or for good. The first goes right after it, as each next one does."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def eliminate_dead_code(self, is_impure_node=None):
        """Take out the nodes that nobody uses and that do nothing else; whether there were any.

        `is_impure_node(node)` decides in the place of `Node.is_impure`.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not (node.is_impure() if is_impure_node is None else is_impure_node(node)):
                self.erase_node(node)
                changed = True
        if self.owning_module is not None:
            from .graph_module import GraphModule
            read = {node.target for node in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                if name in read and isinstance(child, GraphModule):
                    changed |= child.graph.eliminate_dead_code()
                    child.recompile()
        return changed

    def lint(self):
        """Raise RuntimeError or ValueError where the graph is not well formed: the order, owners, names and targets of its nodes."""
        seen, names = set(), set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are "
                                       f"copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{self}")
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                                       f"graph are topologically ordered\n{self}")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                _check_target(node, self.owning_module)

    # --- text ---
    def __str__(self):
        lines = [node.format_node([]) for node in self.nodes]
        return "\n    ".join(["graph():", *(line for line in lines if line)])

    def print_tabular(self):
        """Print the nodes as a table: opcode, name, target, args, kwargs.

        The package ``tabulate``, which PyTorch needs for it, is used where it is installed; the text is the same without it.
        """
        rows = [[n.op, n.name, n.target if isinstance(n.target, str) else naming.summary(n.target, n._qualified_target()), n.args, n.kwargs]
                for n in self.nodes]
        print(table(rows, ["opcode", "name", "target", "args", "kwargs"]))

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False,
                    record_func=False, additional_meta=None):
        """The graph as Python: `PythonCode` with the source of a function ``forward`` and the globals that it needs.

        `root_module` is what the source calls the module, "self" as a rule.
        """
        namespace = _Namespace()

        def name_of(node):
            return namespace.create_name(node.name, node)
        before = [(node, node._repr_fn) for node in self.nodes]
        for node, _ in before:
            node._repr_fn = name_of
        try:
            return self._codegen._gen_python_code(
                self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride, include_device=include_device,
                colored=colored, expanded_def=expanded_def, record_func=record_func, additional_meta=additional_meta)
        finally:
            for node, function in before:
                node._repr_fn = function

    def set_codegen(self, codegen):
        """Say what writes the graph's code, a `CodeGen`."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Let a function change the lines of the code: ``make_transformer(the present one or None)`` gives it.

        Used in a ``with`` block, it is in force until the block ends.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end():
            try:
                yield
            finally:
                self._codegen._body_transformer = before
        return until_the_end()

    def process_inputs(self, *args):
        """The arguments of the module as the graph's placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """What the module returns for what the graph gives."""
        return self._codegen.process_outputs(out)

    def _clear_nodes(self):
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)


def written_last(target):
    """The last part of the name in the graph of a function."""
    name = naming.default_name(target) if naming.is_ours(target) and not isinstance(target, type) else None
    if name is not None:
        return name.rpartition(".")[2]
    return getattr(target, "__name__", None) or type(target).__name__


def _attribute(module, qualified_name):
    for part in qualified_name.split("."):
        module = getattr(module, part, None)
        if module is None:
            return None
    return module


def _has_attribute(module, qualified_name):
    owner, _, name = qualified_name.rpartition(".")
    owner = _attribute(module, owner) if owner else module
    return owner is not None and hasattr(owner, name)


def _check_target(node, module):
    """RuntimeError or ValueError where what a node names is not there."""
    if node.op == "call_function":
        if not callable(node.target):
            raise ValueError(f"Node {node} target {node.target} has type {fasttensor.typename(node.target)} but a Callable is expected")
        return
    if not isinstance(node.target, str):
        raise ValueError(f"Node {node} target {node.target} has type {fasttensor.typename(node.target)} but a str is expected")
    if node.op not in ("get_attr", "call_module"):
        return
    parts = node.target.split(".")
    for i, part in enumerate(parts):
        found, path = getattr(module, part, None), ".".join(parts[:i])
        if found is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {path}")
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"Node {node} target {node.target} {part} of {path} does not reference an nn.Module")
        module = found
