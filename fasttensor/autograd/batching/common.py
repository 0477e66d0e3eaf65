"""What the rules for batches share. `value` is None for what is not batched at the level."""
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import batch, value_at


def wrapped(made, level):
    """Tensors of all samples as batched tensors; those that are batched already (written in place) as they are."""
    if isinstance(made, Tensor):
        return made if value_at(made, level) is not None else batch(made, level)
    if isinstance(made, (tuple, list)):
        parts = [wrapped(m, level) if isinstance(m, Tensor) else m for m in made]
        return type(made)(*parts) if hasattr(made, "_fields") or hasattr(made, "_parts") else tuple(parts)
    return made


def full(x, level):
    """All samples of x along dimension 0, without a copy where they are one."""
    value = value_at(x, level)
    return x.unsqueeze(0).expand(level.size, *x.shape) if value is None else value


def padded(x, level, rank):
    """All samples of x with dimensions of size 1 behind the batch, so that they broadcast as samples of `rank`
    dimensions do; x itself where it is not batched."""
    value = value_at(x, level)
    if value is None:
        return x
    missing = rank - (value.dim() - 1)
    return value if missing <= 0 else value.reshape((value.shape[0],) + (1,) * missing + tuple(value.shape[1:]))


def moved(dims):
    """Dimensions of a sample as dimensions of all samples."""
    return None if dims is None else tuple(d + 1 for d in dims)


def only_first(*others):
    """Whether none of the other arguments is batched at any level."""
    return not any(isinstance(o, Tensor) for o in others)


def is_shared(value):
    """Whether all samples are one, as `expand` makes them."""
    return value.shape[0] > 1 and value.stride(0) == 0


def one_of(value):
    """The one sample that all are."""
    return value.select(0, 0)


def joined(value):
    """The batch and the first dimension of the samples as one dimension."""
    return value.reshape((value.shape[0] * value.shape[1],) + tuple(value.shape[2:]))


def split(value, level):
    """The inverse of `joined`."""
    return value.reshape((level.size, value.shape[0] // level.size) + tuple(value.shape[1:]))
