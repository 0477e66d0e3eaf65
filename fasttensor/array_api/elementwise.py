"""Functions of each element: PyTorch's after promotion of the arguments to one dtype."""
import fasttensor as torch
from fasttensor import Tensor

from .data_types import isdtype, promoted, result_type

UNARY = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan",
         "log", "log1p", "log2", "log10", "logical_not", "negative", "positive", "reciprocal", "sin", "sinh", "signbit",
         "sqrt", "square", "tan", "tanh", "trunc")
BINARY = ("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal",
          "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
          "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "subtract")
__all__ = [*UNARY, *BINARY, "bitwise_invert", "clip", "conj", "imag", "real", "remainder", "round", "sign"]
_OTHER_NAMES = {"equal": "eq", "logical_not": "logical_not"}


def _unary(name):
    function = getattr(torch, name)

    def run(x, /):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: expected an array, got {type(x).__name__}")
        return function(x)
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``torch.{name}`` of an array."
    return run


def _binary(name):
    function = getattr(torch, _OTHER_NAMES.get(name, name))

    def run(x1, x2, /):
        return function(*promoted(x1, x2))
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``torch.{function.__name__}`` of two arrays, or of an array and a number, in their common dtype."
    return run


globals().update((_name, _unary(_name)) for _name in UNARY)
globals().update((_name, _binary(_name)) for _name in BINARY)


def bitwise_invert(x, /):
    """Every bit turned, or every bool."""
    return torch.bitwise_not(x)


def conj(x, /):
    """Complex conjugates; real numbers as they are."""
    return torch.conj(x)


def real(x, /):
    """Real parts; real numbers as they are."""
    return x.real if isdtype(x.dtype, "complex floating") else x


def imag(x, /):
    """Imaginary parts; 0 of real numbers."""
    return x.imag if isdtype(x.dtype, "complex floating") else torch.zeros_like(x)


def remainder(x1, x2, /):
    """What division leaves, with the sign of the divisor, also where that is zero, unlike PyTorch's.

    >>> import fasttensor as torch
    >>> remainder(torch.tensor([5.0, 4.0]), -2)
    tensor([-1., -0.])
    """
    x1, x2 = promoted(x1, x2)
    made = torch.remainder(x1, x2)
    return torch.where(made == 0, torch.copysign(made, x2), made) if isdtype(made.dtype, "real floating") else made


def round(x, /):
    """The nearest integers, the even one half-way; of complex numbers part by part."""
    return torch.complex(x.real.round(), x.imag.round()) if isdtype(x.dtype, "complex floating") else torch.round(x)


def sign(x, /):
    """-1, 0 or 1, or NaN; x / abs(x) of complex numbers."""
    if isdtype(x.dtype, "complex floating"):
        return torch.sgn(x)
    made = torch.sign(x)
    return torch.where(torch.isnan(x), x, made) if isdtype(x.dtype, "real floating") else made


def clip(x, /, min=None, max=None):
    """The elements within bounds, which are numbers or arrays that broadcast, in the array's dtype.

    >>> import fasttensor as torch
    >>> clip(torch.tensor([1, 5, 9]), 2, 7)
    tensor([2, 5, 7])
    """
    for bound in (min, max):
        if isinstance(bound, Tensor) and result_type(x, bound) != x.dtype:
            raise TypeError(f"clip: a bound of {bound.dtype} would change the array's dtype {x.dtype}")
    if isdtype(x.dtype, "integral"):        # a bound beyond the dtype bounds nothing on that side
        info = torch.iinfo(x.dtype)
        min = None if isinstance(min, int) and min <= info.min else min
        max = None if isinstance(max, int) and max >= info.max else max
    low, high = (None if b is None else promoted(x, b)[1].to(x.dtype) for b in (min, max))
    if low is not None:
        x = torch.maximum(*torch.broadcast_tensors(x, low))
    if high is not None:
        x = torch.minimum(*torch.broadcast_tensors(x, high))
    return x.clone() if low is None and high is None else x
