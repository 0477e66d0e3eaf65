"""Functions that search, sort and find distinct elements, and indexing by arrays."""
from typing import NamedTuple

import fasttensor as torch
from fasttensor import Tensor

from .data_types import isdtype, promoted
from .statistical import reduced

__all__ = ["argmax", "argmin", "argsort", "count_nonzero", "isin", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "unique_all",
           "unique_counts", "unique_inverse", "unique_values", "where"]


def _arg(function, x, axis, keepdims):
    if axis is not None:
        return function(x, axis, keepdims)
    made = function(x)
    return made.reshape((1,) * x.ndim) if keepdims else made


def argmax(x, /, *, axis=None, keepdims=False):
    """Positions of the largest elements along an axis, or in the flattened array; the first of several."""
    return _arg(torch.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Positions of the smallest elements along an axis, or in the flattened array; the first of several."""
    return _arg(torch.argmin, x, axis, keepdims)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The positions that sort the elements along an axis."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).indices


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis.

    >>> import fasttensor as torch
    >>> sort(torch.tensor([2, 3, 1]), descending=True)
    tensor([3, 2, 1])
    """
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero along axes, or in all."""
    return reduced(torch.sum, x != 0, axis, keepdims)


def isin(x1, x2, /, *, invert=False):
    """Which elements of x1 are in x2, or with ``invert`` which are not; one of them may be a number.

    >>> import fasttensor as torch
    >>> isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    x1, x2 = promoted(x1, x2)
    if isdtype(x1.dtype, "complex floating"):
        found = torch.any(x1.unsqueeze(-1) == x2.flatten(), -1)
        return torch.logical_not(found) if invert else found
    return torch.isin(x1, x2, invert=invert)


def nonzero(x, /):
    """A tuple of the positions, axis by axis, of the elements that are not zero. ValueError for a 0-d array."""
    if x.ndim == 0:
        raise ValueError("nonzero: expected an array of at least one dimension, got a 0-d array")
    return torch.nonzero(x, as_tuple=True)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where elements of x2, or one number, would be put into the sorted x1 to keep it sorted."""
    x1, x2 = promoted(x1, x2)
    return torch.searchsorted(x1, x2, side=side, sorter=None if sorter is None else sorter.to(torch.int64))


def where(condition, x1=None, x2=None, /):
    """Elements of x1 where the condition is true, of x2 elsewhere; without both, as `nonzero`, which NumPy's programs call so."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        x1 = torch.asarray(x1, device=condition.device)
    return torch.where(condition, *promoted(x1, x2))


def _from_front(x, indices, axis):
    """Positions as int64, negative ones counted from the end."""
    indices = indices.to(torch.int64)
    return torch.where(indices < 0, indices + x.shape[axis], indices)


def take(x, indices, /, *, axis=None):
    """The parts of an array at positions along an axis, which may be left out for one dimension."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis is required for shape {tuple(x.shape)}")
        axis = 0
    indices = _from_front(x, indices, axis)
    return torch.index_select(x, axis, indices.flatten()).unflatten(axis, tuple(indices.shape)) if indices.ndim != 1 else (
        torch.index_select(x, axis, indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at positions along an axis, which match the array's other axes or broadcast."""
    indices = _from_front(x, indices, axis)
    return torch.take_along_dim(x, indices, axis)


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def _unique(x, **what):
    """``torch.unique``, also of complex numbers: in the order of their real and then imaginary parts."""
    if not isdtype(x.dtype, "complex floating"):
        return torch.unique(x, **what)
    got = torch.unique(torch.view_as_real(x.flatten()), dim=0, **what)
    values, *others = got if what else (got,)
    values = torch.view_as_complex(values.contiguous())
    return (values, *others) if what else values


def unique_all(x, /):
    """The distinct elements, where each is first, where each element is among them, and how often; every NaN is distinct."""
    values, inverse, counts = _unique(x, return_inverse=True, return_counts=True)
    places = torch.arange(x.numel(), device=x.device)
    first = torch.full((values.numel(),), x.numel(), dtype=torch.int64, device=x.device)
    first.scatter_reduce_(0, inverse.flatten(), places, "amin")
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """The distinct elements and how often each is there."""
    return UniqueCounts(*_unique(x, return_counts=True))


def unique_inverse(x, /):
    """The distinct elements and where each element is among them."""
    values, inverse = _unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x, /):
    """The distinct elements in order."""
    return _unique(x)
