"""Joining, splitting and rearranging."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import apply

from .common import full, moved, padded


def join(level, rule, dim, code, *tensors):
    return apply(rule, dim + 1, code, *[full(t, level) for t in tensors])


def cat(level, rule, dim, code, *tensors):
    rank = max(t.dim() for t in tensors)
    # an empty vector joins with any shape, which a batch of them would not
    return join(level, rule, dim, code, *[t for t in tensors if t.dim() == rank])


def split(level, rule, x, dim, sizes):
    return apply(rule, value_at(x, level), dim + 1, sizes)


def unbind(level, rule, x, dim):
    return apply(rule, value_at(x, level), dim + 1)


def roll(level, rule, x, shifts, dims):
    return apply(rule, value_at(x, level), shifts, moved(dims))


def matrices(level, rule, x, *args):
    """Rules of the last two dimensions."""
    return apply(rule, value_at(x, level), *args) if x.dim() > 1 else NotImplemented


def repeat(level, rule, x, repeats):
    return apply(rule, padded(x, level, len(repeats)), [1, *repeats])


def repeat_each(level, rule, x, times, dim):
    return apply(rule, value_at(x, level), times, dim + 1) if x.dim() else NotImplemented


def diag_embed(level, rule, x, offset, dim1, dim2):
    return apply(rule, value_at(x, level), offset, dim1 + 1, dim2 + 1)


def view_scatter(level, rule, x, src, view):
    """A copy of x, batched even where x is not, written through the view."""
    from fasttensor.autograd.batched import batch
    y = batch(full(x, level).clone().contiguous(), level)
    part = view(y)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self: src size = {list(src.shape)}, slice size = {list(part.shape)}")
    part.copy_(src)
    return y


def everywhere(level, rule, *tensors):
    """Elementwise rules that the operation table does not hold."""
    rank = max(t.dim() for t in tensors)
    return apply(rule, *[padded(t, level, rank).expand(level.size, *broadcast(tensors, rank)) for t in tensors])


def broadcast(tensors, rank):
    """The shape of a sample's result."""
    shapes = [(1,) * (rank - t.dim()) + tuple(t.shape) for t in tensors]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes))


def as_complex(level, rule, x):
    return apply(rule, value_at(x, level))


RULES = {"Cat": cat, "Stack": join, "Split": split, "Unbind": unbind, "Roll": roll, "Triu": matrices, "Tril": matrices, "Repeat": repeat,
         "RepeatEach": repeat_each, "DiagEmbed": diag_embed, "ViewScatter": view_scatter, "Complex": everywhere,
         "ViewAsReal": as_complex, "ViewAsComplex": as_complex}
