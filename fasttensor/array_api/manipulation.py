"""Functions that rearrange elements."""
import fasttensor as torch
from fasttensor import Tensor

from .data_types import promoted

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze",
           "stack", "tile", "unstack"]


def broadcast_arrays(*arrays):
    """The arrays in their common shape; ValueError where there is none."""
    try:
        return tuple(torch.broadcast_tensors(*arrays))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x, /, shape):
    """The array expanded to a shape; ValueError where it does not fit."""
    try:
        return torch.broadcast_to(x, tuple(shape))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def concat(arrays, /, *, axis=0):
    """The arrays joined along an axis, or flattened with ``axis=None``, in their common dtype."""
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [x.flatten() for x in arrays], 0
    return torch.cat(arrays, axis)


def stack(arrays, /, *, axis=0):
    """The arrays joined along a new axis, in their common dtype."""
    return torch.stack(promoted(*arrays), axis)


def expand_dims(x, /, axis=0):
    """The array with a new axis of size 1, or several at the positions that a tuple says; IndexError outside of -ndim - 1 .. ndim.

    >>> import fasttensor as torch
    >>> expand_dims(torch.ones(2), axis=1).shape
    torch.Size([2, 1])
    """
    if not isinstance(axis, (tuple, list)):
        return torch.unsqueeze(x, axis)
    ndim = x.ndim + len(axis)
    for a in axis:
        if not -ndim <= a < ndim:
            raise IndexError(f"expand_dims: axis {a} is out of range for a result of {ndim} dimensions")
    new = sorted(a % ndim for a in axis)
    if len(set(new)) < len(new):
        raise ValueError(f"expand_dims: axes {tuple(axis)} name one position twice")
    for a in new:
        x = torch.unsqueeze(x, a)
    return x


def flip(x, /, *, axis=None):
    """The elements in reverse order along axes, or along all."""
    return torch.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis))


def moveaxis(x, source, destination, /):
    """The axes in another order."""
    return torch.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    """The axes in the order given."""
    return torch.permute(x, tuple(axes))


def repeat(x, repeats, /, *, axis=None):
    """Each element several times along an axis, or flattened."""
    if axis is None:
        x, axis = x.flatten(), 0
    if isinstance(repeats, Tensor):
        repeats = repeats.to(torch.int64)
        if repeats.ndim == 1 and repeats.shape[0] == 1:
            repeats = repeats.expand(x.shape[axis])
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape; ``copy=False`` raises ValueError where that needs a copy."""
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape: {error}") from None
    made = torch.reshape(x, tuple(shape))
    return made.clone() if copy else made


def roll(x, /, shift, *, axis=None):
    """The elements shifted along axes, or flattened; those that fall off one end come back at the other."""
    if axis is None:
        return torch.roll(x, sum(shift) if isinstance(shift, tuple) else shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return torch.roll(x, (shift,) * len(axes) if isinstance(shift, int) else tuple(shift), axes)


def squeeze(x, /, axis):
    """The array without axes of size 1; ValueError for an axis of another size."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"squeeze: axis {a} is out of range for shape {tuple(x.shape)}")
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {tuple(x.shape)} has not size 1")
    return torch.squeeze(x, axes) if axes else x


def tile(x, repetitions, /):
    """The array several times along each axis."""
    return torch.tile(x, tuple(repetitions))


def unstack(x, /, *, axis=0):
    """A tuple of the array's parts along an axis, as views."""
    return torch.unbind(x, axis)
