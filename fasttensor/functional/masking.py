"""Masks and flat positions: masked_fill, masked_select, masked_scatter, nonzero, take, put."""
from fasttensor.autograd.batched import spread
from fasttensor.autograd.checks import flag
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.index import Index, IndexPut, MaskedFill, MaskedScatter, MaskedSelect, SET, ADD
from fasttensor.functional.arguments import backend, check_writable, deliver, description, need_tensor, scalar_like, with_out_apart, wrap
from fasttensor.functional.common import as_new, check_tensor
from fasttensor.functional.retelling import tell_in_place

__all__ = ["masked_fill", "masked_scatter", "masked_select", "nonzero", "argwhere", "take", "take_along_dim", "put"]


@with_out_apart
def take(input, index):
    """The elements of input, seen as 1-d, at the positions in index; the result has index's shape.

    Any dtype; index int64, negative positions count from the end. IndexError for a position outside.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
    tensor([1, 4])
    """
    need_tensor(input, "take", "input", 1)
    need_tensor(index, "take", "index", 2)
    if index.dtype.name != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {description(index)}")
    if input.numel() == 0 and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    flat = apply(Index, input.reshape(-1), index.reshape(-1))
    return flat.reshape(index.shape)


def put(input, index, source, accumulate=False):
    """input with source's elements at the positions in index, both seen as 1-d.

    source: input's dtype and as many elements as index. accumulate: add instead of replacing.

    >>> torch.put(torch.zeros(2, 2), torch.tensor([1, 2]), torch.tensor([5., 6.]))
    tensor([[0., 5.],
            [6., 0.]])
    """
    need_tensor(input, "put", "input", 1)
    need_tensor(index, "put", "index", 2)
    need_tensor(source, "put", "source", 3)
    flag("put", "accumulate", accumulate)
    if source.dtype is not input.dtype:
        raise RuntimeError(f"put(): self and source expected to have the same dtype, but got {description(input)} and {description(source)}")
    if index.dtype.name != "int64":
        raise RuntimeError(f"put(): Expected a long tensor for index, but got {description(index)}")
    if index.numel() != source.numel():
        raise IndexError(f"put(): Expected source and index to have the same number of elements, but got {description(source)} and {description(index)}")
    # a sliced tensor may be flat as it lies: only a copy of its own is written to
    flat = spread((input.clone() if input.is_contiguous() else input.contiguous()).reshape(-1), index, source)
    if index.numel():
        if not input.numel():
            raise IndexError("put(): tried to put elements into an empty tensor")
        flat = apply(IndexPut, flat, source.reshape(-1), ADD if accumulate else SET, index.reshape(-1))
    return as_new(in_order_of(input, flat.reshape(input.shape)))


def in_order_of(x, y):
    """y, of x's shape and contiguous, in x's order in memory."""
    if x.is_contiguous():
        return y
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    back = sorted(range(x.dim()), key=order.__getitem__)
    return y.permute(order).contiguous().permute(back)


def put_(self, index, source, accumulate=False):
    check_tensor("put_", self, index, source)
    return self.copy_(put(self, index, source, accumulate))


@with_out_apart
def take_along_dim(input, indices, dim=None):
    """The elements of input at indices along dim, the two broadcasting in the other dimensions; without dim, of the
    flattened input.

    Any dtype; indices int64. Raises RuntimeError for other indices, and for numbers of dimensions that differ, IndexError for a dimension out of range.

    >>> x = torch.tensor([[3., 1., 2.]])
    >>> torch.take_along_dim(x, x.argsort(1), 1)
    tensor([[1., 2., 3.]])
    """
    check_tensor("take_along_dim", input, indices)
    if indices.dtype.name != "int64":
        raise RuntimeError(f"take_along_dim(): dtype of indices should be Long but got {description(indices)}")
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    dim = wrap(input, dim, "take_along_dim")
    if input.dim() != indices.dim():
        raise RuntimeError(f"take_along_dim(): input and indices should have the same number of dimensions, but got {input.dim()} "
                           f"dimensions for input, and {indices.dim()} dimensions for indices")
    size = input.shape[dim] if input.dim() else 1
    indices = indices.where(indices >= 0, indices + size)
    if input.dim() == 0:
        return input.gather(0, indices)
    shape = []
    for d, (a, b) in enumerate(zip(input.shape, indices.shape)):
        if d != dim and a != b and 1 not in (a, b):
            raise RuntimeError(f"take_along_dim(): {description(input)} and {description(indices)} do not broadcast apart from dimension {dim}")
        shape.append(b if a == 1 else a)
    x = input.expand([input.shape[d] if d == dim else n for d, n in enumerate(shape)])
    return x.gather(dim, indices.expand([indices.shape[d] if d == dim else n for d, n in enumerate(shape)]))


def bool_mask(mask, name):
    need_tensor(mask, name, "mask", 2)
    if mask.dtype.name != "bool":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask {description(mask)}; convert with .bool()")
    return mask


@with_out_apart
def masked_select(input, mask):
    """The elements of input where the bool mask is True, as a 1-d tensor; the two broadcast together.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    need_tensor(input, "masked_select")
    bool_mask(mask, "masked_select")
    if input.shape != mask.shape:
        from fasttensor.functional.rearranging import broadcast_tensors
        input, mask = broadcast_tensors(input, mask)
    return apply(MaskedSelect, input, mask)


def masked_fill(input, mask, value):
    """input with value (a number or a 0-d tensor) where the bool mask is True; the two broadcast together.

    >>> torch.masked_fill(torch.zeros(3), torch.tensor([True, False, True]), 5)
    tensor([5., 0., 5.])
    """
    need_tensor(input, "masked_fill")
    return apply(MaskedFill, input, bool_mask(mask, "masked_fill"), scalar_like(value, input, "masked_fill"), False)


def masked_fill_(self, mask, value):
    bool_mask(mask, "masked_fill_")
    check_writable(self, "masked_fill_")
    return apply(MaskedFill, self, mask, scalar_like(value, self, "masked_fill_"), True)


@with_out_apart
def masked_scatter(input, mask, source):
    """input with source's elements, in order, where the bool mask is True; mask and input broadcast together.

    RuntimeError where source has fewer elements than the mask has ones.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    need_tensor(source, "masked_scatter", "source", 3)
    need_tensor(input, "masked_scatter")
    bool_mask(mask, "masked_scatter")
    if source.dtype is not input.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {description(input)} and {description(source)}")
    if input.shape != mask.shape:
        from fasttensor.functional.rearranging import broadcast_tensors
        input, mask = broadcast_tensors(input, mask)
    return apply(MaskedScatter, input, mask, source)


def masked_scatter_(self, mask, source):
    check_tensor("masked_scatter_", self, mask, source)
    check_writable(self, "masked_scatter_")
    return self.copy_(masked_scatter(self, mask.expand(self.shape), source))


def nonzero(input, *, as_tuple=False, out=None):
    """The positions of the elements that are not zero, in row-major order: int64[count, input.dim()].

    as_tuple: one 1-d tensor a dimension instead, fit for indexing.

    >>> torch.nonzero(torch.tensor([[0, 3], [4, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    flag("nonzero", "as_tuple", as_tuple)
    need_tensor(input, "nonzero")
    x = input.detach()
    if as_tuple:
        if out is not None:
            raise RuntimeError(f"nonzero(): as_tuple=True gives {max(x.dim(), 1)} tensors and takes no out=")
        if x.dim() == 0:
            x = x.unsqueeze(0)
        return backend(x).nonzero_tuple(x)
    return deliver(out, backend(x).nonzero(x), "nonzero", True)


def argwhere(input):
    """The positions of the elements that are not zero: ``nonzero(input)``.

    >>> torch.argwhere(torch.tensor([0, 2, 3]))
    tensor([[1],
            [2]])
    """
    return nonzero(input)


tell_in_place(globals(), "put", "masked_fill", "masked_scatter")
METHODS = {name: globals()[name] for name in
           ("masked_fill", "masked_fill_", "masked_scatter", "masked_scatter_", "masked_select", "nonzero", "argwhere", "take",
            "put", "put_", "take_along_dim")}
NN_FUNCTIONAL = []
