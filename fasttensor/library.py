"""``torch.library``: operators that a program defines, with their gradients.

>>> import fasttensor as torch
>>> @torch.library.custom_op("mylib::double", mutates_args=())
... def double(x: torch.Tensor) -> torch.Tensor:
...     return 2 * x
>>> double.register_autograd(lambda ctx, grad: 2 * grad)
>>> x = torch.ones(2, requires_grad=True)
>>> torch.ops.mylib.double(x).sum().backward()
>>> x.grad
tensor([2., 2.])
"""
import contextlib
import functools

import fasttensor as torch
from fasttensor import library_schema
from fasttensor.library_operator import KEYS, OPERATORS, Operator, Undefined, below_autograd, fallthrough_kernel  # noqa: F401
from fasttensor.library_schema import infer_schema
from fasttensor.ops import OpOverloadPacket

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "register_autocast",
           "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "impl_abstract", "infer_schema", "opcheck",
           "register_vmap", "triton_op", "wrap_triton"]

def packet_of(namespace, name):
    """``torch.ops.NAMESPACE.NAME``. Raises AttributeError where nobody has defined it."""
    overloads = [q.partition(".")[2] or "default" for q in OPERATORS if q.partition(".")[0] == f"{namespace}::{name}"]
    if not overloads:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
    function = OPERATORS.get(f"{namespace}::{name}") or OPERATORS[f"{namespace}::{name}.{overloads[0]}"]
    packet = OpOverloadPacket(namespace, name, function, overloads)
    for overload in overloads:
        getattr(packet, overload)._function = OPERATORS[f"{namespace}::{name}" + ("" if overload == "default" else "." + overload)]
    return packet


def schema_of(op):
    """The schema of an operator of ``torch.ops``."""
    if isinstance(op._function, Operator):
        return op._function.schema
    base = op.overloadpacket.__name__
    return library_schema.of_function(op.overloadpacket._qualified_op_name, op._overloadname, op._function, base[-1] == "_" and base[:2] != "__")


class CustomOpDef:
    """An operator that a program defined: call it, and register its gradient and kernels."""

    def __init__(self, name, function, mutates_args, schema=None):
        namespace, _, short = name.partition("::")
        if not namespace or not short:
            raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")
        self._namespace, self._name, self._qualname, self._init_fn = namespace, short, name, function
        self._schema = schema or infer_schema(function, mutates_args=mutates_args)
        _forget(namespace, short)
        self._operator = Operator(name, library_schema.parse(short + self._schema, namespace))
        self._operator.kernels["CompositeExplicitAutograd"] = function
        self._operator.checked = True
        functools.update_wrapper(self, function)

    @property
    def _opoverload(self):
        return getattr(getattr(torch.ops, self._namespace), self._name).default

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """The function for devices of a type; a decorator without `fn`."""
        def register(found):
            for kind in [device_types] if isinstance(device_types, str) else device_types or ["cpu", "cuda"]:
                self._operator.kernels[KEYS.get(kind, kind)] = found
            return found
        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """The function that gives results of the right shape and dtype, for tensors on the device "meta"."""
        self._operator.fake = fn
        return fn

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """``fn(mode or class, func, types, args, kwargs)`` in the place of a class's or mode's ``__torch_dispatch__``."""
        def register(found):
            self._operator.taken_over[torch_dispatch_class] = found
            return found
        return register if fn is None else register(fn)

    def register_vmap(self, func=None):
        """``func(info, in_dims, *args)`` returns (result, its batch dimension); without it vmap runs the operator itself."""
        def register(found):
            self._operator.batched = found
            return found
        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs):
        """Inside autocast of the device the operator's floating-point tensors are converted to `cast_inputs`."""
        _add_autocast(self._operator, device_type, cast_inputs)

    def register_autograd(self, backward, /, *, setup_context=None):
        """``backward(ctx, *grads)`` returns a gradient for each argument; ``setup_context(ctx, inputs, output)`` keeps what it needs."""
        if self._operator.schema.is_mutable:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self!r} with schema {self._schema}. Please create a "
                               "functional operator and register an autograd formula for that.")
        self._operator.gradient, self._operator.node = (backward, setup_context), None

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A block in which a kernel of `register_kernel` is (not) used."""
        key = KEYS.get(device_type, device_type)
        kernel = self._operator.kernels.get(key)
        if not enabled and kernel is not None:
            del self._operator.kernels[key]
        try:
            yield
        finally:
            if kernel is not None:
                self._operator.kernels[key] = kernel

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)


def _forget(namespace, name):
    torch.ops.Namespace.named(namespace).__dict__.pop(name, None)


def _add_autocast(operator, device_type, dtype):
    before = operator.kernels.get("Autograd")

    def cast(*args, **kwargs):
        if torch.is_autocast_enabled(device_type):
            def convert(x):
                return x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else [convert(v) for v in x] if isinstance(x, list) else x
            args = tuple(map(convert, args))
        operator.kernels.pop("Autograd")
        if before is not None:
            operator.kernels["Autograd"] = before
        try:
            return operator(*args, **kwargs)
        finally:
            operator.kernels["Autograd"] = cast
    operator.kernels["Autograd"] = cast


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """Makes a function an operator "namespace::name"; a decorator without `fn`.

    mutates_args: the names of the tensors that it writes to. schema: its signature; without it the function's annotations say it.
    device_types: the devices that the function is for (all). Raises ValueError where an annotation is missing or unknown.
    """
    def make(found):
        made = CustomOpDef(name, found, mutates_args, schema)
        if device_types is not None:
            del made._operator.kernels["CompositeExplicitAutograd"]
            made.register_kernel(device_types, found)
        return made
    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(kernel, /):
    """Returns the kernel as it is."""
    return kernel


def _qualname(op):
    name = op if isinstance(op, str) else op.name() if hasattr(op, "_overloadname") else getattr(op, "_qualname", None) or op._qualified_op_name
    return name.removesuffix(".default")


def _operator(op):
    name = _qualname(op)
    if name not in OPERATORS:
        raise RuntimeError(f"torch.library: no operator {name!r} was defined with custom_op, define or Library.define")
    return OPERATORS[name]


def _with_fake(op):
    """What keeps a fake function: an operator, or the place of one of a namespace that a compiled extension would have filled."""
    name = _qualname(op)
    namespace = name.partition("::")[0] + "::"
    if any(q.startswith(namespace) for q in OPERATORS):
        return _operator(name)
    return Undefined(name)


class Library:
    """The operators of a namespace: "DEF" makes it, "FRAGMENT" adds to it, "IMPL" gives kernels.

    >>> lib = Library("listed", "FRAGMENT")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'listed::twice'
    >>> lib.impl("twice", lambda x: 2 * x, "CPU")
    >>> torch.ops.listed.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported library kind: ", kind)
        if ns in ("prim", "prims") or kind == "DEF" and ns == "aten":
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names = set()

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Make an operator from a schema; returns its name."""
        parsed = library_schema.parse(schema, self.ns)
        name = parsed.name + (f".{parsed.overload_name}" if parsed.overload_name else "")
        if name in OPERATORS:
            raise RuntimeError(f"Tried to register an operator ({schema}) with the same name and overload name multiple times.")
        _forget(self.ns, parsed.name.partition("::")[2])
        Operator(name, parsed)
        self._names.add(name)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator for a dispatch key: "CPU", "Meta", "Autograd", "CompositeImplicitAutograd" ..."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else _qualname(op_name)
        name = name if "::" in name else f"{self.ns}::{name}"
        if name.startswith("aten::"):
            raise NotImplementedError(f"Library.impl: {name}: the library's own operators are not replaced; use TorchDispatchMode to take them over")
        key = str(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd").rpartition(".")[2]
        operator = OPERATORS.get(name) or Undefined(name)
        if key in operator.kernels and not allow_override:
            raise RuntimeError(f"This is not allowed since there's already a kernel registered from python overriding {name}'s behavior for "
                               f"{key} dispatch key and {self.ns} namespace.")
        operator.kernels[key] = functools.partial(fn, None) if with_keyset else fn
        if key == "Meta":
            operator.fake = fn

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _with_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}").fake = fn

    def _destroy(self):
        for name in self._names:
            OPERATORS.pop(name, None)
            _forget(self.ns, name.partition("::")[2].partition(".")[0])
        self._names.clear()


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def define(qualname, schema, *, lib=None, tags=()):
    """Make the operator "namespace::name" from "(TYPE name, ...) -> TYPE"."""
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f"define(qualname, schema): expected qualname {qualname!r} to be of the form 'namespace::name'")
    (lib or Library(namespace, "FRAGMENT")).define(name + schema, tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """The function of an operator for device types ("cpu", "default" for all) or a dispatch key; a decorator without `func`."""
    def register(found):
        for kind in [types] if isinstance(types, str) else types:
            key = "CompositeExplicitAutograd" if kind == "default" else KEYS.get(kind, kind)
            (lib or Library(qualname.partition("::")[0], "FRAGMENT")).impl(qualname, found, key)
        return found
    return register if func is None else register(func)


def get_ctx():
    """What a fake function asks for sizes that depend on values."""
    raise RuntimeError("get_ctx: results whose shape depends on values have no shape on the device meta")


def get_kernel(op, dispatch_key):
    """The function of an operator for a dispatch key."""
    return _operator(op).kernels[str(dispatch_key).rpartition(".")[2]]


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """`CustomOpDef.register_autograd` of an operator or its name."""
    operator = _operator(op)
    operator.gradient, operator.node = (backward, setup_context), None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """`CustomOpDef.register_kernel` of an operator or its name."""
    def register(found):
        for kind in [device_types] if isinstance(device_types, str) else device_types or ["cpu", "cuda"]:
            _operator(op).kernels[KEYS.get(kind, kind)] = found
        return found
    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """`CustomOpDef.register_fake` of an operator or its name."""
    def register(found):
        _with_fake(op).fake = found
        return found
    return register if func is None else register(func)


impl_abstract = register_fake


def register_vmap(op, func=None, /, *, lib=None):
    """`CustomOpDef.register_vmap` of an operator or its name."""
    def register(found):
        _operator(op).batched = found
        return found
    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """`CustomOpDef.register_autocast` of an operator or its name."""
    _add_autocast(_operator(op), device_type, cast_inputs)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """`CustomOpDef.register_torch_dispatch` of an operator or its name."""
    def register(found):
        _operator(op).taken_over[torch_dispatch_class] = found
        return found
    return register if func is None else register(func)


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Runs an operator twice: arguments that its schema does not mark are not written to, the fake function gives the same shapes and
    dtypes, gradcheck passes in double precision. {name of the test: "SUCCESS" or the error}."""
    from fasttensor.library_check import check
    return check(_operator(op), tuple(args), dict(kwargs or {}), test_utils, raise_exception)
