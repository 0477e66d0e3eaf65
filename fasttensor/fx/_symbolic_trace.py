"""`Tracer`: runs a program with `Proxy` objects in the place of its arguments and keeps what it does as a graph."""
import collections
import copy
import functools
import inspect
import math
import sys
import threading
from types import FunctionType

import fasttensor
from fasttensor import Tensor
from fasttensor.nn import Module, Parameter, Sequential, _call
from fasttensor.utils import _pytree as pytree

from .codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule
from .node import base_types
from .patching import Patches
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["Tracer", "wrap", "symbolic_trace", "PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "is_fx_tracing", "is_fx_symbolic_tracing"]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes = {}
_wrapped_fns_to_patch = {}      # (id of a namespace, name): the namespace
_wrapped_methods_to_patch = []  # (class, name)
_tracing = threading.local()


def is_fx_tracing():
    """Whether this thread traces a program."""
    return getattr(_tracing, "depth", 0) > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: objects of its classes that are made of traced values become calls of the class in the graph."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        made = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)
            return made
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            cls.__init__(made, *args, **kwargs)
            return made
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """A place in `concrete_args` where a traced value goes."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same with notes: its attributes go to the placeholder's node."""

    def __init__(self, ph_key=None):
        self.ph_key = ph_key


def _transfer_attrs(fr, to):
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def find_proxy(*values):
    """A proxy among nested values, or None."""
    return next((x for x in pytree.tree_leaves(values) if isinstance(x, Proxy)), None)


class Tracer(TracerBase):
    """Makes a `Graph` of a module or function: ``Tracer().trace(module)``.

    Modules of ``nn`` are not looked into (`is_leaf_module`). Subclasses change that, what is recorded of a call (`call_module`), or which
    objects may stand in the graph (`create_arg`). Functions of `autowrap_modules` and `autowrap_functions` are recorded when traced values
    are among their arguments; with `param_shapes_constant` the shapes of parameters are numbers in the program.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        found = {id(value) for module in autowrap_modules for name, value in vars(module).items() if name[0] != "_" and callable(value)}
        self._autowrap_function_ids = found | {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}

    # --- what may stand in the graph ---
    def create_arg(self, a):
        """What stands in a node for an argument: parameters, tensors and modules by their names; a tensor without one becomes an
        attribute ``_tensor_constant0`` of the module."""
        if isinstance(a, Parameter):
            name = next((n for n, p in self.root.named_parameters() if p is a), None)
            if name is None:
                raise NameError("parameter is not a member of this module")
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Tensor):
            name = next((n for n, b in self.root.named_buffers() if b is a), None)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        elif isinstance(a, Module):
            name = next((n for n, m in self.root.named_modules() if m is a), None)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(x) for x in a), {})
        if isinstance(a, Tensor):
            name = self.tensor_attrs.get(a)
            if not name:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix):
        """`prefix` with the first number that makes an attribute which the module has not."""
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    # --- modules ---
    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module is one operation of the graph: those of ``nn`` are, but for Sequential."""
        return type(m).__module__.startswith(("fasttensor.nn", "fasttensor.ao.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The dotted name of a submodule. NameError where it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, module in self.root.named_modules() if module is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m, forward, args, kwargs):
        """What a call of a submodule becomes: a node for a leaf, else what ``forward(*args, **kwargs)`` does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            self.module_stack[f"{scope.module_path}@{count}" if count else scope.module_path] = (path, scope.module_type)
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What the program gets for a parameter, buffer or submodule that it reads: a proxy for a parameter of the traced module, and for
        a buffer with ``proxy_buffer_attributes``; else the thing itself."""
        def cached(value, named, constant):
            name = next((n for n, x in named if x is value), None)
            if name is None:
                return None
            if name not in parameter_proxy_cache:
                how = {}
                if constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                    how["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
                parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **how)
            return parameter_proxy_cache[name]

        found = None
        if isinstance(attr_val, Parameter):
            found = cached(attr_val, self.root.named_parameters(), self.param_shapes_constant)
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = cached(attr_val, self.root.named_buffers(), False)
        return attr_val if found is None else found

    _module_getattr = getattr

    # --- arguments ---
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(the function to run, its arguments as traced values); `concrete_args` are those that stay what they are."""
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        given = list(code.co_varnames[:count])
        names = iter(code.co_varnames)
        args, first = [], 0
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args, first = [self.root], 1
        signature = inspect.signature(analysed)
        if isinstance(concrete_args, tuple):
            if len(given) - first != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(given) - first} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(given[first:], concrete_args))
        args.extend(self._proxy_placeholder(next(names), concrete_args, signature, analysed) for _ in range(first, count))
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(self._proxy_placeholder("*" + next(names), concrete_args, signature, analysed))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._proxy_placeholder("**" + next(names), concrete_args, signature, analysed))
            root_fn = _all_positional(analysed, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if not any(not child.is_leaf() for child in spec.children_specs):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(given[:count], spec, None))

        def flatten_fn(*leaves):
            out, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(leaves), spec)))
            self.graph._codegen.pytree_info = self.graph._codegen.pytree_info._replace(out_spec=out_spec)
            return out
        return flatten_fn, leaves

    def _proxy_placeholder(self, name, concrete_args, signature, function):
        def default_of():
            default = signature.parameters[name].default
            return () if default is inspect.Parameter.empty else (default,)
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, () if name[0] == "*" else default_of(), {},
                                     type_expr=getattr(function, "__annotations__", {}).get(name))
        count = 0

        def place(x):
            nonlocal count
            count += 1
            out = self.create_proxy("placeholder", f"{name}_{count}", default_of(), {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _transfer_attrs(x, out.node)
                return out
            if type(x) is bool or type(x) in base_types and type(x) is not Tensor:
                fasttensor._assert(out == x, f"{name} has been specialized to have value {x} but got another value")
            elif x is None:
                self.create_proxy("call_function", _assert_is_none,
                                  (out, f"{name} has been specialized to have value None but got another value"), {})
            else:
                import warnings
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to "
                              "make sure that your inputs match the inputs you specialized the function with.", stacklevel=2)
            return x
        return pytree.tree_map(place, concrete_args[name])

    # --- tracing ---
    def trace(self, root, concrete_args=None):
        """The graph of a module's ``forward`` or of a function.

        `concrete_args` gives arguments (a dict, or a tuple of all) that are part of the program: they are traced with these values, and
        the graph checks them where it can; `PH` in nested ones marks traced values.

        >>> print(Tracer().trace(lambda x: x.relu() + 1))
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
            %add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})
            return add
        """
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(function, "__code__", None)
        if code is not None:
            self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}
        self.tensor_attrs = {}
        self._collect_tensors(self.root, "")
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        namespace = function.__globals__
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        parameters, patches = {}, Patches()
        thread = threading.get_ident()

        def attribute(module, name, value):
            return self.getattr(name, value, parameters) if threading.get_ident() == thread else value

        def call(module, args, kwargs):
            if threading.get_ident() != thread:
                return _call.call_plainly(module, args, kwargs)
            patches.autowrap(getattr(type(module).forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(module, functools.partial(_forward, module), args, kwargs)

        before = _call.take_over(call, attribute)
        _tracing.depth = getattr(_tracing, "depth", 0) + 1
        try:
            patches.wrapped(_wrapped_fns_to_patch, _wrapped_methods_to_patch)
            patches.autowrap(namespace, self._autowrap_function_ids)
            for module in self._autowrap_search:
                patches.autowrap(vars(module), self._autowrap_function_ids)
            returned = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
            self.create_node("output", "output", (self.create_arg(function(*args)),), {}, type_expr=returned)
        finally:
            _tracing.depth -= 1
            _call.take_over(*before)
            patches.undo()
            self.submodule_paths = None
        return self.graph

    def _collect_tensors(self, module, prefix):
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = prefix + name
        for name, child in module.named_children():
            self._collect_tensors(child, f"{prefix}{name}.")

    def __deepcopy__(self, memo):
        made = Tracer.__new__(type(self))
        for name, value in vars(self).items():
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


def _forward(module, *args, **kwargs):
    return _call.call_plainly(module, args, kwargs)


def _all_positional(function, count):
    """The function with ``*args``, ``**kwargs`` and keyword-only arguments as plain arguments."""
    code = function.__code__
    code = code.replace(co_flags=code.co_flags & ~HAS_VARSTUFF, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def wrap(fn_or_name):
    """Marks a function of a module, by itself or by its name, as one that is recorded and not looked into; returns it.

    It is called at the top level of the module that uses the function, or as a decorator. NotImplementedError elsewhere, RuntimeError for
    what is neither a function nor a name.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root, concrete_args=None):
    """A `GraphModule` that does what a module or function does, made by running it with symbols in the place of its arguments.

    `concrete_args` as in `Tracer.trace`. TraceError where the program's course depends on values.

    >>> def f(x):
    ...     return fasttensor.relu(x) + 1
    >>> print(symbolic_trace(f).code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)


