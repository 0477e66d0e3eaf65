"""Functions about dtypes, and what the other files need to promote them."""
from dataclasses import dataclass
from typing import Any

import fasttensor as torch
from fasttensor import Tensor

__all__ = ["astype", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8",)
_REAL, _COMPLEX = ("float16", "bfloat16", "float32", "float64"), ("complex64", "complex128")
KINDS = {"bool": ("bool",), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _SIGNED + _UNSIGNED, "real floating": _REAL,
         "complex floating": _COMPLEX, "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX}


def isdtype(dtype, kind):
    """Whether a dtype is another one, of a kind such as "real floating", or of one of a tuple of these.

    >>> import fasttensor as torch
    >>> isdtype(torch.float32, ("integral", torch.float32))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}: expected one of {', '.join(KINDS)}")
        return dtype.name in KINDS[kind]
    if not isinstance(kind, torch.dtype):
        raise TypeError(f"isdtype: 'kind' must be a dtype, a string or a tuple of these, not {type(kind).__name__}")
    return dtype == kind


def _scalar_dtype(dtype, value):
    """The dtype of an array's operation with a Python number."""
    number = torch.complex128 if isinstance(value, complex) else torch.float64 if isinstance(value, float) else torch.int64
    if isinstance(value, bool) or isdtype(number, "integral") and not isdtype(dtype, "bool"):
        return dtype
    if isdtype(number, "real floating"):
        return dtype if isdtype(dtype, ("real floating", "complex floating")) else torch.get_default_dtype()
    if isdtype(number, "complex floating"):
        return dtype if isdtype(dtype, "complex floating") else torch.complex128 if dtype == torch.float64 else torch.complex64
    return number


def result_type(*arrays_and_dtypes):
    """The dtype that arrays, dtypes and Python numbers promote to; at least one of them has a dtype.

    >>> import fasttensor as torch
    >>> result_type(torch.tensor(1.0, dtype=torch.float64), torch.float32, 2)
    torch.float64
    """
    dtypes = [x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes if isinstance(x, (Tensor, torch.dtype))]
    numbers = [x for x in arrays_and_dtypes if not isinstance(x, (Tensor, torch.dtype))]
    for x in numbers:
        if not isinstance(x, (bool, int, float, complex)):
            raise TypeError(f"result_type: expected arrays, dtypes and numbers, got {type(x).__name__}")
    if not dtypes:
        raise ValueError("result_type: at least one array or dtype is required")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = torch.promote_types(result, dtype)
    for x in numbers:
        result = _scalar_dtype(result, x)
    return result


def promoted(*values):
    """The arrays and numbers as arrays of their common dtype."""
    arrays = [x for x in values if isinstance(x, Tensor)]
    if not arrays:
        raise TypeError(f"expected at least one array, got {', '.join(type(x).__name__ for x in values)}")
    dtype = result_type(*values)
    return [x.to(dtype) if isinstance(x, Tensor) else torch.tensor(x, dtype=dtype, device=arrays[0].device) for x in values]


def broadcast_shapes(*shapes):
    """The common shape of several; ValueError where there is none.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def can_cast(from_, to, /):
    """Whether a dtype, or an array's, promotes to another one by the standard's tables, which do not mix kinds."""
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    if dtype == to:
        return True
    same = any(isdtype(dtype, kinds[0]) and isdtype(to, kinds) for kinds in (("integral",), ("real floating", "complex floating"), ("complex floating",)))
    return same and torch.promote_types(dtype, to) == to


def astype(x, dtype, /, *, copy=True, device=None):
    """The array in another dtype; itself where that is the same and ``copy=False``. TypeError from complex to real."""
    if isdtype(x.dtype, "complex floating") and not isdtype(dtype, "complex floating"):
        raise TypeError(f"astype: complex numbers ({x.dtype}) cannot become {dtype}: take real() or abs() first")
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


@dataclass(frozen=True)
class Finfo:
    """The limits of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclass(frozen=True)
class Iinfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Any


def finfo(type, /):
    """The limits of a floating-point dtype, or of an array's."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = torch.finfo(dtype)
    return Finfo(info.bits, info.eps, info.max, info.min, info.smallest_normal, getattr(torch, info.dtype))


def iinfo(type, /):
    """The limits of an integer dtype, or of an array's."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = torch.iinfo(dtype)
    return Iinfo(info.bits, info.max, info.min, dtype)
