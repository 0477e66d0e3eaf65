"""Copies of a tensor in which a part that a view would show is replaced."""
from fasttensor.autograd.checks import int_of
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.join import ViewScatter
from fasttensor.functional.arguments import need_tensor, with_out, wrap
from fasttensor.functional.common import check_tensor
from fasttensor.functional.dims import numpy_axis

__all__ = ["diagonal_scatter", "select_scatter", "slice_scatter", "as_strided_scatter"]


def into_part(input, src, view, name):
    need_tensor(input, name)
    need_tensor(src, name, "src", 2)
    if src.dtype is not input.dtype:
        src = src.to(input.dtype)
    return apply(ViewScatter, input, src, view)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of input whose diagonal is src.

    Any dtype; `src` has the diagonal's shape: RuntimeError else. The result has the input's shape.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    offset = int_of(offset, "diagonal_scatter", "offset")
    dim1 = int_of(dim1, "diagonal_scatter", "dim1")
    dim2 = int_of(dim2, "diagonal_scatter", "dim2")
    return into_part(input, src, lambda t: t.diagonal(offset, dim1, dim2), "diagonal_scatter")


def select_scatter(input, src, dim, index):
    """A copy of input in which the slice at index along dim is src.

    Any dtype; `src` has the input's shape without `dim`: RuntimeError else. IndexError for an index out of range.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    dim = int_of(dim, "select_scatter", "dim")
    index = int_of(index, "select_scatter", "index")
    return into_part(input, src, lambda t: t.select(dim, index), "select_scatter")


@with_out
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, **names):
    """A copy of input in which the slice start:end:step along dim is src.

    Any dtype; `src` has the slice's shape: RuntimeError else.

    >>> torch.slice_scatter(torch.zeros(3), torch.ones(2), start=1)
    tensor([0., 1., 1.])
    """
    if names:
        dim = numpy_axis("slice_scatter", names, dim, 0)
    if start is not None:
        start = int_of(start, "slice_scatter", "start")
    if end is not None:
        end = int_of(end, "slice_scatter", "end")
    step = int_of(step, "slice_scatter", "step")
    check_tensor("slice_scatter", input, src)
    if input.ndim == 0:
        raise IndexError("slice_scatter: slice() cannot be applied to a 0-dim tensor")
    at = (slice(None),) * wrap(input, dim, "slice_scatter") + (slice(start, end, step),)
    part = input.detach()[at]
    if src.shape != part.shape:
        raise RuntimeError("slice_scatter: expected src to have a size equal to the slice of self: "
                           f"src size = {list(src.shape)}, slice size = {list(part.shape)}")
    return into_part(input, src, lambda t: t[at], "slice_scatter")


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of input in which the elements of ``input.as_strided(size, stride, storage_offset)`` are src.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    need_tensor(input, "as_strided_scatter", "input", 1)
    if storage_offset is not None:
        storage_offset = int_of(storage_offset, "as_strided_scatter", "storage_offset")
    def part(t):
        return t.as_strided(size, stride, storage_offset)
    offset = input.storage_offset()
    if input.is_contiguous() and offset == 0:
        return into_part(input, src, part, "as_strided_scatter")
    # places are those of the memory below, of which the copy keeps the layout
    if storage_offset is None:
        storage_offset = offset
    whole = input.as_strided((input.untyped_storage().nbytes() // input.element_size(),), (1,), 0)
    return into_part(whole, src, part, "as_strided_scatter").as_strided(input.shape, input.stride(), offset)


METHODS = {name: globals()[name] for name in __all__}
