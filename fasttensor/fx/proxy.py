"""`Proxy`: a value of a program that is being traced. What is done with it becomes nodes of a graph."""
import collections
import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback

from fasttensor import Tensor
from fasttensor._core import dispatch
from fasttensor.utils import _pytree as pytree

from . import naming
from . import traceback as fx_traceback
from .codegen import magic_methods, reflectable_magic_methods
from .node import Node, base_types
from .traceback import _COPY_META_FIELDS

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "MetaProxy", "Attribute", "ParameterProxy", "Scope", "ScopeContextManager"]

HERE = __file__.rpartition("/")[0]


class TraceError(ValueError):
    """A program does with a traced value what needs to know the value."""


class Scope:
    """In which module an operation is: its path and class."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which `scope` says what `current_scope` does."""

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *error):
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """What makes nodes of what is done with proxies; subclasses change how."""
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node of the graph; overridden to look at, or refuse, what is recorded."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            notes = fx_traceback.get_current_meta()
            if notes.get("stack_trace"):
                node.stack_trace = notes["stack_trace"]
            for field in _COPY_META_FIELDS:
                if field in notes:
                    node.meta[field] = copy.copy(notes[field])
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = "".join(traceback.format_list(self._program_frames())).strip() or None
        return node

    def _program_frames(self):
        frames = traceback.extract_stack()
        if self._record_forward_stack_traces_only:
            return [frame for frame in frames if frame.name == "forward"]
        first = next((i for i, frame in enumerate(frames) if frame.name == "forward"), len(frames))
        root = HERE.rpartition("/")[0]
        return [frame for frame in frames[first:] if not frame.filename.startswith((HERE, root + "/functional/interpose", root + "/nn/module"))]

    def proxy(self, node):
        """The traced value of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A node of arguments that may hold proxies, and the proxy of its value."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def _find_user_frame(self):
        """The innermost frame that is not the tracer's own."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(HERE):
            frame = frame.f_back
        return frame

    def create_arg(self, a):
        """What stands in a node for a program's argument. NotImplementedError for objects that cannot stand in graphs."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(x) for key, x in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if type(a).__name__ == "OpOverload" and naming.is_ours(type(a)):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if isinstance(a, Node):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key):
        made = self.create_arg(key)

        def refuse(x):
            if isinstance(x, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {made}")
        pytree.tree_map_(refuse, made)
        return made

    def to_bool(self, obj):
        """Called where a program asks whether a traced value is true; TraceError unless overridden."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """Called where a program goes through a traced value; TraceError unless overridden."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
                         "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be "
                         "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj):
        """Called for ``**value``: a traced call of ``keys()``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Puts what is done with proxies into a graph that exists."""

    def __init__(self, graph):
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x):
    """What an ``assert`` becomes with ``Tracer.trace_asserts``."""
    if not x:
        raise AssertionError("Assertion failed")


class Proxy:
    """A value of a program that is being traced, over the `Node` that makes it.

    Functions of the library, methods, attributes and operators make new nodes and proxies. What needs the value itself raises
    `TraceError`: truth, iteration (but for unpacking), lengths and conversions to numbers. A function that must not be looked into is
    marked by `fx.wrap`.

    >>> graph = fasttensor.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> fasttensor.relu(x) + 1
    Proxy(add)
    """

    def __new__(cls, *args, **kwargs):
        dispatch.keep_asking()          # from now on functions look for __torch_function__
        return object.__new__(cls)

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for key, value in self.__dict__.items():
            try:
                made.__dict__[key] = copy.deepcopy(value, memo)
            except Exception:           # a tracer may hold what has no copies
                made.__dict__[key] = copy.copy(value)
        return made

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        at = naming.instruction_at(sys._getframe(1))
        if at is not None and at.opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(at.argval))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts and _is_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self):
        """A traced call of ``keys()``, unless the tracer does otherwise."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                           "torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers = {x.tracer: None for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Proxy)}
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers))
        kind, target, args, kwargs, name = naming.recorded(orig_method, args, kwargs, sys._getframe(1))
        if kind == "call_method":
            return tracer.create_proxy(kind, target, args, kwargs)
        short = name.rpartition(".")[2] if name else orig_method.__name__
        made = tracer.create_proxy(kind, target, args, kwargs, name=tracer.graph._target_to_str(short))
        node = getattr(made, "node", None)
        if name is not None and isinstance(node, Node) and node.target is target:
            object.__setattr__(node, "_written", name)
        return made


def _is_assert(frame):
    """Whether a frame asks for a truth value in an ``assert``."""
    steps = [x for x in dis.get_instructions(frame.f_code) if x.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "TO_BOOL")
             or x.offset == frame.f_lasti]
    at = next((i for i, x in enumerate(steps) if x.offset == frame.f_lasti), None)
    if at is None:
        return False
    if steps[at].opname in ("TO_BOOL", "COMPARE_OP"):       # Python 3.13 compares and asks for the truth in one instruction
        at += 1
    after = steps[at + 1] if at + 1 < len(steps) else None
    return "JUMP" in steps[at].opname and "IF_TRUE" in steps[at].opname and after is not None and (
        after.opname == "LOAD_ASSERTION_ERROR" or after.argval in ("AssertionError", AssertionError))


class MetaProxy(Proxy):
    """A proxy with a tensor that says which shape and dtype the value has."""

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode


class Attribute(Proxy):
    """An attribute of a traced value. It has a node only when it is used; called at once it is a call of a method."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A module's parameter while a program is traced: its shape and kin are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, Tensor):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The parameter's."""
        return self.param.shape

    def size(self, dim=None):
        """The parameter's, or one dimension of it."""
        return self.param.size() if dim is None else self.param.size(dim)

    def dim(self):
        """How many dimensions the parameter has."""
        return self.param.dim()

    @property
    def ndim(self):
        """How many dimensions the parameter has."""
        return self.param.ndim

    def numel(self):
        """How many elements the parameter has."""
        return self.param.numel()

    def nelement(self):
        """How many elements the parameter has."""
        return self.param.nelement()


def _operator_of(name, reflected):
    function = getattr(operator, name)
    if reflected:
        def method(self, rhs):
            return self.tracer.create_proxy("call_function", function, (rhs, self), {})
    else:
        def method(*args, **kwargs):
            return args[0].tracer.create_proxy("call_function", function, args, kwargs)
    method.__name__ = f"__{'r' * reflected}{name.strip('_')}__"
    method.__qualname__ = f"Proxy.{method.__name__}"
    method.__doc__ = f"A traced call of operator.{name}."
    return method


for _name in magic_methods:
    if hasattr(operator, _name):
        _method = _operator_of(_name, False)
        setattr(Proxy, _method.__name__, _method)
for _name in reflectable_magic_methods:
    if hasattr(operator, _name) and _name != "getitem":
        _method = _operator_of(_name, True)
        setattr(Proxy, _method.__name__, _method)
Proxy.__hash__ = object.__hash__
