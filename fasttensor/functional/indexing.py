"""Indexing with tensors: x[i, mask], index_select, index_add, index_copy, index_fill, index_put, index_reduce."""
from fasttensor.autograd.index_arguments import assigned, index_kind, warn_of_bytes
from fasttensor.autograd.batched import find_level, is_inside, spread
from fasttensor.autograd.elementwise_numbers import check_alpha
from fasttensor.autograd.checks import check_vector, flag, index_select_dim, optional_tensor
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.index import Index, IndexPut, IndexSelect, IndexWrite, MaskedFill, MaskedSelect, SET, ADD
from fasttensor.autograd.basic_index import basic_part
from fasttensor.autograd.index_entries import index_tuple
from fasttensor.functional.arguments import Tensor, check_writable, deliver, description, need_tensor, refuse_shared, scalar_like, with_out_apart, wrap
from fasttensor._core.dtype import DTYPES
from fasttensor.functional.common import as_new, in_place
from fasttensor.functional.creation import zeros
from fasttensor.functional.retelling import tell_in_place

__all__ = ["index_select", "index_add", "index_copy", "index_fill", "index_reduce", "index_put", "index_put_"]


int64 = DTYPES["int64"]


def is_mask(t):
    return t.dtype.code <= 1                 # bool, uint8


def is_selecting(entry):
    """Ints and 0-d integer tensors select; bools, masks and tensors with a number for each sample of a vmap do not."""
    if isinstance(entry, Tensor):
        return entry.dim() == 0 and find_level(entry) is None and not is_mask(entry) and not (entry.is_floating_point() or entry.is_complex())
    return isinstance(entry, int) and not isinstance(entry, bool)


def consumed(entry):
    """How many dimensions of x an entry uses up."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    return entry.dim() if isinstance(entry, Tensor) and is_mask(entry) else 1


def split_index(x, index):
    """A view of x on which only whole dimensions and index tensors remain: (view, indices by dimension)."""
    entries = list(index_tuple(index))
    used = sum(map(consumed, entries))
    if used > x.dim():
        raise IndexError(f"too many indices for tensor of dimension {x.dim()} ({description(x)})")
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if dots:
        entries[dots[0]:] = [slice(None)] * (x.dim() - used) + [e for e in entries[dots[0] + 1:] if e is not Ellipsis]
    dim, indices = 0, []
    for entry in entries:
        if is_selecting(entry):
            i, size = int(entry), x.shape[dim]
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {size}")
            x = x.select(dim, i)
        elif isinstance(entry, slice):
            if entry != slice(None):
                x = x[(slice(None),) * dim + (entry,)]
            indices.append(None)
            dim += 1
        elif entry is None:
            x = x.unsqueeze(dim)
            indices.append(None)
            dim += 1
        elif isinstance(entry, bool) or entry.dim() == 0 and is_mask(entry):
            # A truth value adds a dimension of size 1 or 0.
            x = x.unsqueeze(dim)
            indices.append(zeros(1 if entry else 0, dtype=int64, device=x.device))
            dim += 1
        else:
            if entry.is_floating_point() or entry.is_complex():
                raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, got {description(entry)}")
            if entry.dtype.code == 1:
                warn_of_bytes()
            indices.append(entry)
            dim += entry.dim() if is_mask(entry) else 1
    while indices and indices[-1] is None:
        indices.pop()
    return x, indices


def advanced_getitem(x, index):
    """x[index] where the index holds tensors, lists, arrays or bools."""
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    if isinstance(index, Tensor) and index.ndim and x.ndim:
        return apply(MaskedSelect if index_kind(x, index) == 2 else Index, x, index)
    view, indices = split_index(x, index)
    if not indices:
        return view
    if len(indices) == 1 and is_mask(indices[0]) and indices[0].shape == view.shape:
        return apply(MaskedSelect, view, indices[0])
    return apply(Index, view, *indices)


def advanced_setitem(x, index, value):
    """x[index] = value where the index holds tensors, lists, arrays or bools."""
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    if isinstance(index, Tensor) and index.ndim and x.ndim:
        index_kind(x, index)
        view, indices = x, (index,)
    else:
        view, indices = split_index(x, index)
    if not isinstance(value, Tensor):
        value = assigned(value, view)
    if not indices:
        view.copy_(value)
        return
    masks = [i for i in indices if i is not None]
    filling = value.numel() == 1 and len(masks) == 1 and is_mask(masks[0])
    if value.dtype is not view.dtype:
        if not filling:         # which PyTorch takes for masked_fill_
            raise RuntimeError(f"Index put requires the source and destination dtypes match, got {description(view)} for the destination and"
                               f" {description(value)} for the source: convert one with .to()")
        value = scalar_like(value.reshape(()), view, "index_put_")
    if value.ndim == 0 and value.is_cpu != view.is_cpu:
        value = value.to(view.device)
    check_writable(view, "index_put_")
    if filling and len(indices) == 1 and indices[0].shape == view.shape:
        mask = indices[0]
        apply(MaskedFill, view, mask if mask.dtype.code == 0 else mask.bool(), value if value.ndim == 0 else value.reshape(()), True)
        return
    apply(IndexPut, view, value, SET, *indices)


def setitem(x, index, value):
    """x[index] = value: ints, slices, None and Ellipsis cut out a view; index tensors write through it."""
    if isinstance(index, Tensor) and index.ndim and x.ndim:
        advanced_setitem(x, index, value)
        return
    if index is True or index is False:         # alone, True names the whole and False nothing
        if not index:
            if not isinstance(value, Tensor):
                assigned(value, x)          # which refuses what is no number
            return
        view = x.unsqueeze(0)
    else:
        index = index_tuple(index)
        if len(index) == 1 and isinstance(index[0], Tensor) and index[0].ndim and x.ndim:
            advanced_setitem(x, index[0], value)
            return
        view, rest = basic_part(x, index)
        if rest is not None:
            advanced_setitem(view, rest, value)
            return
    if not isinstance(value, Tensor):
        if view.dtype.itemsize >= 4 and (type(value) is float or type(value) is int and -2**63 <= value < 2**63):
            view.fill_(value)
            return
        value = assigned(value, view)
    while value.dim() > view.dim() and value.shape[0] == 1:
        value = value.squeeze(0)             # as an assignment allows
    view.copy_(value)


def check_indices(x, indices, name):
    need_tensor(x, name, "self", 1)
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"{name}(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}")
    indices = list(indices)
    if len(indices) > x.dim() + sum(i is None for i in indices):
        raise IndexError(f"{name}(): too many indices for tensor of dimension {x.dim()} (got {len(indices)})")
    for i in indices:
        optional_tensor(i, name, "indices", 2)
    while indices and indices[-1] is None:
        indices.pop()
    return indices


def index_put_(self, indices, values, accumulate=False):
    """Puts values at the positions given by a tuple of index tensors, in place.

    values: of self's dtype, broadcastable to the shape of ``self[indices]``. accumulate: add instead of replacing;
    repeated positions then count each time. RuntimeError for other dtypes or shapes, IndexError outside the bounds.

    >>> torch.zeros(3).index_put_((torch.tensor([0, 0, 2]),), torch.tensor([1., 2., 3.]), accumulate=True)
    tensor([3., 0., 3.])
    """
    indices = check_indices(self, indices, "index_put_")
    flag("index_put_", "accumulate", accumulate)
    need_tensor(values, "index_put_", "values", 3)
    if values.dtype is not self.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {description(self)} for the "
                           f"destination and {description(values)} for the source.")
    check_writable(self, "index_put_")
    if not indices:
        return self.add_(values) if accumulate else self.copy_(values)
    if any(i is not None and i.ndim == 0 and is_mask(i) for i in indices):
        view, indices = split_index(self, tuple(slice(None) if i is None else i.unsqueeze(0) if i.ndim == 0 and not is_mask(i) else i for i in indices))
        apply(IndexPut, view, values, ADD if accumulate else SET, *indices)
        return self
    return apply(IndexPut, self, values, ADD if accumulate else SET, *indices)


def index_put(input, indices, values, accumulate=False):
    """A copy of `input` with `values` written at, or with `accumulate` added to, the places that `indices` name: see ``Tensor.index_put_``.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0, 2]),), torch.tensor([1., 2., 3.]), accumulate=True)
    tensor([3., 0., 3.])
    """
    need_tensor(input, "index_put", "input", 1)
    flag("index_put", "accumulate", accumulate)
    return as_new(index_put_(fresh(input, *indices, values), indices, values, accumulate))


def fresh(x, *others, plain=False):
    """A copy to write the others into, in x's order in memory unless `plain`, and without its expanded dimensions; inside
    vmap, one a sample where only they are batched."""
    copy = x.contiguous() if plain and not x.is_contiguous() else x.clone()
    return spread(copy, *others) if is_inside() else copy


def index_select(input, dim, index, *, out=None):
    """The slices of input along dim at the positions in index (1-d or 0-d, int32 or int64, not negative).

    The result has input's shape but ``index.numel()`` along dim. IndexError for a position outside.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1]))
    tensor([[2],
            [4]])
    """
    dim = index_select_dim(input, dim, index)
    if out is not None:
        refuse_shared("index_select", out, (input, index))
    made = apply(IndexSelect, input, dim, index)
    return made if out is None else deliver(out, made, "index_select", True)


def check_slices(x, dim, n, source, name, copies):
    """source must have x's shape but for n along dim; a 0-d tensor passes for one element where `copies`."""
    a, b = x.shape, source.shape
    if len(a) == len(b) > 0 and b[dim] == n and a[:dim] == b[:dim] and a[dim + 1:] == b[dim + 1:]:
        return
    error = refusal(x, dim, n, source, copies)
    if error:
        raise error(f"{name}(): source {description(source)} must have the shape of self {description(x)} but for {n} "
                    f"(the number of indices) along dimension {dim}")


def refusal(x, dim, n, source, copies):
    """The type of the error, if any, for a source that is not plainly of the right shape."""
    if source.dim() == 0 and n != 1:
        return IndexError
    if copies:
        if source.dim() and x.dim() and source.dim() != x.dim():
            return IndexError
    elif dim >= max(source.dim(), 1) or (source.dim() and source.shape[dim] != n):
        return RuntimeError
    apart = copies or (source.dim() and x.dim())
    if others(x, dim, apart) != others(source, dim, apart):
        return RuntimeError
    return IndexError if source.dim() and source.shape[dim] != n else None


def others(x, dim, apart):
    """The sizes of x, without that along dim where `apart`."""
    return [s for d, s in enumerate(x.shape) if d != dim or not apart]


def index_write(x, dim, index, source, how, name):
    need_tensor(index, name, "index", 3)
    need_tensor(source, name, "source", 4)
    dim = wrap(x, dim, name)
    check_vector(index, name)
    if source.dtype is not x.dtype:
        raise RuntimeError(f"{name}(): self and source expected to have the same dtype, but got {description(x)} and {description(source)}")
    check_slices(x, dim, index.numel(), source, name, how == SET)
    check_writable(x, name)
    if x.dim() == 0:
        return index_write(x.unsqueeze(0), 0, index, source.reshape(-1), how, name).squeeze(0)
    if source.dim() == 0:
        source = source.expand(tuple(1 if d == dim else s for d, s in enumerate(x.shape)))
    return apply(IndexWrite, x, dim, index.reshape(-1), source, how)


def index_add_(self, dim, index, source, *, alpha=1):
    alpha = check_alpha("index_add_", "alpha", alpha, self.dtype, self.dim() > 1)
    index_write(self, dim, index, source if alpha == 1 else source * alpha, ADD, "index_add")
    return self


@with_out_apart
def index_add(input, dim, index, source, *, alpha=1):
    """input with ``alpha * source`` added slice by slice at the positions in index along dim.

    source: input's dtype and shape but for ``index.numel()`` along dim. Repeated positions add up, in order.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.tensor([1., 2., 3.]))
    tensor([4., 0., 2.])
    """
    need_tensor(input, "index_add", "input", 1)
    need_tensor(source, "index_add", "source", 4)
    return as_new(index_add_(fresh(input, index, source, plain=True), dim, index, source, alpha=alpha))


def index_copy_(self, dim, index, source):
    index_write(self, dim, index, source, SET, "index_copy")
    return self


@with_out_apart
def index_copy(input, dim, index, source):
    """input with the slices at index along dim replaced by those of source.

    The result has input's shape. Any one dtype; index int64, 1-d. Raises IndexError for a position outside, RuntimeError for a source of another
    shape or dtype.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2]), torch.tensor([5.]))
    tensor([0., 0., 5.])
    """
    need_tensor(input, "index_copy", "input", 1)
    return as_new(index_copy_(fresh(input, index, source, plain=True), dim, index, source))


def index_fill_(self, dim, index, value):
    need_tensor(index, "index_fill_", "index", 3)
    dim = wrap(self, dim, "index_fill_")
    if index.dim() > 1:
        raise RuntimeError(f"index_fill_(): Index has to be a vector or a scalar, got {description(index)}")
    if index.dtype.itemsize != 8 or index.is_floating_point():
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {description(index)}")
    if (value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)) and not self.is_complex():
        raise RuntimeError(f"index_fill_(): Converting complex Scalar to non-complex type is not supported: {value!r} for {description(self)}")
    value = scalar_like(value, self, "index_fill_")
    check_writable(self, "index_fill_")
    if self.dim() == 0:
        index_fill_(self.unsqueeze(0), 0, index, value)
        return self
    index = index.reshape(-1)
    if needs_history(value):
        # A slice that is named twice is still filled once.
        if find_level(index) is not None:
            from fasttensor.functional.ranges import arange
            shape = [1] * self.dim()
            shape[dim] = -1
            return self.masked_fill_((arange(self.shape[dim]).unsqueeze(1) == index).any(1).reshape(shape), value)
        from fasttensor.functional.searching import unique
        index = unique(index)
    return apply(IndexPut, self, value, SET, *((None,) * dim), index)


@with_out_apart
def index_fill(input, dim, index, value):
    """input with the slices at index along dim filled with value (a number or a 0-d tensor).

    Any dtype; index int64, 1-d. IndexError for a position or dimension out of range.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0]), 7)
    tensor([7., 0., 0.])
    """
    need_tensor(input, "index_fill", "input", 1)
    return as_new(index_fill_(fresh(input, index, value), dim, index, value))


@with_out_apart
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """input combined with the slices of source at index along dim by "prod", "mean", "amax" or "amin".

    The result has input's shape. Any one real dtype; index int64, 1-d. Raises RuntimeError for another `reduce` and for a source that does not fit.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 4.]), "prod")
    tensor([12.,  1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = wrap(input, dim, "index_reduce")
    check_vector(index, "index_reduce")
    if source.dtype is not input.dtype:
        raise RuntimeError(f"index_reduce(): self and source expected to have the same dtype, but got {description(input)} and {description(source)}")
    check_slices(input, dim, index.numel(), source, "index_reduce", False)
    if input.dim() == 0:
        return input.scatter_reduce(0, index.reshape(-1)[0].long(), source.reshape(()), reduce, include_self=include_self)
    shape = [1] * source.dim()
    shape[dim] = -1
    return input.scatter_reduce(dim, index.long().reshape(shape).expand(source.shape), source, reduce, include_self=include_self)


tell_in_place(globals(), "index_add", "index_copy", "index_fill")
METHODS = {name: globals()[name] for name in
           ("index_select", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_", "index_reduce",
            "index_put", "index_put_")}
METHODS["index_reduce_"] = in_place(index_reduce)
NN_FUNCTIONAL = []
HOOKS = {"advanced_getitem": advanced_getitem, "setitem": setitem}
