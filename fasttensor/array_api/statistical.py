"""Sums, means and the like along axes, and functions that ask about all elements."""
import fasttensor as torch

from .data_types import isdtype, promoted

__all__ = ["all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std", "sum", "var"]


def _axes(x, axis):
    """Axes counted from the front."""
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for a in given:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"axis {a} is out of range for an array of {x.ndim} dimensions")
    return tuple(a % x.ndim for a in given)


def reduced(function, x, axis, keepdims):
    """A reduction that takes a list of dimensions; along none it reduces single elements."""
    axes = _axes(x, axis)
    if axes:
        return function(x, axes, keepdims)
    return function(x.unsqueeze(-1), (-1,), False)


def _sum_dtype(x, dtype):
    return dtype if dtype is not None else torch.int64 if isdtype(x.dtype, ("integral", "bool")) else x.dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Sums along axes, or of all elements; integers are added as int64.

    >>> import fasttensor as torch
    >>> sum(torch.ones((2, 3)), axis=(0, 1))
    tensor(6.)
    """
    dtype = _sum_dtype(x, dtype)
    return reduced(lambda t, axes, keep: torch.sum(t, axes, keep, dtype=dtype), x.to(dtype), axis, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Products along axes, or of all elements; integers are multiplied as int64."""
    x = x.to(_sum_dtype(x, dtype))
    for a in sorted(_axes(x, axis), reverse=True):
        x = torch.prod(x, a, keepdims, dtype=x.dtype)
    return x.clone()


def mean(x, /, *, axis=None, keepdims=False):
    """Means along axes, or of all elements."""
    return reduced(torch.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Variances along axes, or of all elements: squares are divided by N - correction."""
    return reduced(lambda t, axes, keep: torch.var(t, axes, correction=correction, keepdim=keep), x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Standard deviations along axes, or of all elements."""
    return torch.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def max(x, /, *, axis=None, keepdims=False):
    """The largest elements along axes, or of all; NaN where there is one."""
    return reduced(torch.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest elements along axes, or of all; NaN where there is one."""
    return reduced(torch.amin, x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements along axes, or all of them, are not zero."""
    return reduced(torch.all, x != 0 if x.dtype != torch.bool else x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element along axes, or any, is not zero."""
    return reduced(torch.any, x != 0 if x.dtype != torch.bool else x, axis, keepdims)


def _cumulative(function, name, x, axis, dtype, include_initial, first):
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}: axis is required for shape {tuple(x.shape)}")
        axis = 0
    if x.ndim == 0:
        x = x.reshape(1)
    axis, = _axes(x, axis)
    x = x.to(_sum_dtype(x, dtype))
    made = function(x, axis, dtype=x.dtype)
    if not include_initial:
        return made
    shape = list(x.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, first, dtype=x.dtype, device=x.device), made], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, beginning with 0 where that is wanted."""
    return _cumulative(torch.cumsum, "cumulative_sum", x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, beginning with 1 where that is wanted."""
    return _cumulative(torch.cumprod, "cumulative_prod", x, axis, dtype, include_initial, 1)


def diff(x, /, n=1, *, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, `n` times, after other arrays were put before or after."""
    x, *others = promoted(x, *(v for v in (prepend, append) if v is not None))
    prepend, append = None if prepend is None else others[0], None if append is None else others[-1]
    return torch.diff(x, n, axis, prepend, append)
