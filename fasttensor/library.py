"""``torch.library``: operators that a program defines, with their gradients.

>>> import fasttensor as torch
>>> @torch.library.custom_op("mylib::double", mutates_args=())
... def double(x: torch.Tensor) -> torch.Tensor:
...     return 2 * x
>>> double.register_autograd(lambda ctx, grad: 2 * grad)
>>> x = torch.ones(2, requires_grad=True)
>>> double(x).sum().backward()
>>> x.grad
tensor([2., 2.])
"""
import functools
import inspect

import fasttensor as torch

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel", "impl_abstract", "infer_schema", "opcheck",
           "register_vmap", "triton_op", "wrap_triton"]

OPERATORS = {}


class CustomOpDef:
    """An operator that a program defined: call it, and register its gradient and kernels."""

    def __init__(self, name, function, mutates_args):
        namespace, _, short = name.partition("::")
        if not namespace or not short:
            raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")
        self._name, self._qualname, self._init_fn = short, name, function
        self._mutates = mutates_args
        self._kernels = {}
        self._signature = inspect.signature(function)
        self._node = None
        functools.update_wrapper(self, function)
        OPERATORS[name] = self

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, func=None, /):
        """The function for devices of a type; a decorator without `func`."""
        if func is None:
            return lambda found: self.register_kernel(device_types, found) or found
        for kind in [device_types] if isinstance(device_types, str) else device_types or ["cpu", "cuda"]:
            self._kernels[kind] = func
        return None

    def register_fake(self, fn, /):
        """Accepted: what shapes come out is found by running the operator."""
        return fn

    def register_vmap(self, func=None):
        """Accepted: vmap runs the operator itself."""
        return (lambda found: found) if func is None else func

    def register_autograd(self, backward, /, *, setup_context=None):
        """``backward(ctx, *grads)`` returns a gradient for each argument; ``setup_context(ctx, inputs, output)`` keeps what it needs."""
        operator = self

        class Generated(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                output = operator._run(*inputs)
                if setup_context is not None:
                    setup_context(ctx, inputs, output)
                return output

            @staticmethod
            def backward(ctx, *grads):
                return backward(ctx, *grads)
        Generated.__name__ = Generated.__qualname__ = "GeneratedBackwardFor_" + self._qualname.replace("::", "_")
        self._node = Generated

    def _run(self, *inputs):
        kind = next((x.device.type for x in inputs if isinstance(x, torch.Tensor)), "cpu")
        return self._kernels.get(kind, self._init_fn)(*inputs)

    def __call__(self, *args, **kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        inputs = tuple(bound.arguments.values())
        return self._run(*inputs) if self._node is None else self._node.apply(*inputs)


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """Makes a function an operator "namespace::name"; a decorator without `fn`. `mutates_args` names what it writes to."""
    if fn is None:
        return lambda found: CustomOpDef(name, found, mutates_args)
    return CustomOpDef(name, fn, mutates_args)


triton_op = custom_op


def wrap_triton(kernel, /):
    """Returns the kernel as it is."""
    return kernel


def _operator(op):
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPERATORS:
        raise RuntimeError(f"torch.library: no operator {op!r} was defined with custom_op")
    return OPERATORS[op]


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """`CustomOpDef.register_autograd` of an operator or its name."""
    _operator(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """`CustomOpDef.register_kernel` of an operator or its name."""
    return _operator(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Accepted: what shapes come out is found by running the operator."""
    return (lambda found: found) if func is None else func


impl_abstract = register_fake


def register_vmap(op, func=None, /, *, lib=None):
    """Accepted: vmap runs the operator itself."""
    return (lambda found: found) if func is None else func


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The text of an operator's signature, from a function with annotations."""
    kinds = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", complex: "complex"}

    def kind(annotation):
        if annotation in kinds:
            return kinds[annotation]
        if getattr(annotation, "__origin__", None) is list:
            return kind(annotation.__args__[0]) + "[]"
        if getattr(annotation, "__origin__", None) is tuple:
            return "(" + ", ".join(map(kind, annotation.__args__)) + ")"
        parts = [a for a in getattr(annotation, "__args__", ()) if a is not type(None)]
        if len(parts) == 1:
            return kind(parts[0]) + "?"
        if annotation is None:
            return "()"
        raise ValueError(f"infer_schema: no type for the annotation {annotation!r}; use Tensor, int, float, bool, str, lists and | None of these")
    signature = inspect.signature(prototype_function)
    parts, star = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        text = kind(p.annotation) + (f" {p.name}" if p.default is p.empty else f" {p.name}={p.default}")
        if p.name in mutates_args:
            text = text.replace("Tensor", f"Tensor(a{len(parts)}!)", 1)
        parts.append(text)
    return f"{op_name or ''}({', '.join(parts)}) -> {kind(signature.return_annotation)}"


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Runs an operator, and gradcheck where an argument requires a gradient: {"test_autograd": "SUCCESS"} or the error."""
    try:
        _operator(op)(*args, **(kwargs or {}))
        if any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            torch.autograd.gradcheck(lambda *a: _operator(op)(*a, **(kwargs or {})), args)
        return {"test_autograd": "SUCCESS"}
    except Exception as error:
        if raise_exception:
            raise
        return {"test_autograd": error}
