"""Views of a part of the elements: select, slice, narrow, diagonals, windows, any strides."""
from cpython.slice cimport PySlice_Unpack, PySlice_AdjustIndices
from fasttensor._core.dtype cimport UINT8, INT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, wrap_dim, CPU, BATCHED, describe
from fasttensor._core.checked cimport reach_of
from fasttensor.autograd.checks cimport integer, later_bools
from fasttensor.autograd.history cimport geometry_of
from fasttensor.autograd.views cimport cut, index_space, sizes_of
from fasttensor.autograd.batched cimport as_batched, wrap


cdef Tensor select_at(Tensor x, int dim, Py_ssize_t index):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k = 0
    for d in range(x.rank):
        if d != dim:
            sizes[k], steps[k] = x.sizes[d], x.steps[d]
            k += 1
    cdef Tensor flat = index_space(x)
    return cut(x, k, sizes, steps, x.offset + index * x.steps[dim], "SelectBackward0",
               None if flat is None else geometry_of(select_at(flat, dim, index), flat))


def select(input, dim, index):
    """One index of a dimension, which is dropped, as a view: ``x[index]`` for the first dimension.

    Args: `input`, at least 1-d; `dim`, `index`, ints that may be negative. Raises IndexError for either out of range, and for a 0-d tensor.

    >>> torch.select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, 0)
    tensor([1, 4])
    """
    cdef Tensor x = <Tensor?>input
    cdef int d
    cdef Py_ssize_t i = integer(index, "select", "index")
    if x.rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(x, dim, "select")
    if not -x.sizes[d] <= i < x.sizes[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(sizes_of(x))} at dimension {d}")
    return select_at(x, d, i + x.sizes[d] if i < 0 else i)


cdef Tensor slice_at(Tensor x, int dim, Py_ssize_t start, Py_ssize_t length, Py_ssize_t step):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], x.steps[d]
    sizes[dim], steps[dim] = length, steps[dim] * step
    cdef Tensor flat = index_space(x)
    return cut(x, x.rank, sizes, steps, x.offset + start * x.steps[dim], "SliceBackward0",
               None if flat is None else geometry_of(slice_at(flat, dim, start, length, step), flat))


def narrow(input, dim, start, length):
    """`length` indices of a dimension from `start` on, as a view.

    Args: `start`, an int or a 0-d integer tensor, negative ones count from the end. Raises IndexError for a start out of range, RuntimeError
    where `length` is negative or leads past the end, and for a 0-d tensor.

    >>> torch.narrow(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, 1, 2)
    tensor([[2, 3],
            [5, 6]])
    """
    cdef Tensor x = <Tensor?>input
    cdef int d = wrap_dim(x, dim, "narrow")
    cdef Py_ssize_t s, n = integer(length, "narrow", "length")
    if isinstance(start, Tensor) and ((<Tensor>start).rank or not UINT8 <= (<Tensor>start).code <= INT64):
        raise RuntimeError(f"narrow: start must be an 0-dim integral Tensor, got {describe(start)}")
    s = integer(start, "narrow", "start")
    if x.rank == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if n < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {n} for {describe(x)}.")
    if not -x.sizes[d] <= s <= x.sizes[d]:
        raise IndexError(f"narrow: start out of range (expected to be in range of [{-x.sizes[d]}, {x.sizes[d]}], but got {s}) for {describe(x)}")
    if s < 0:
        s += x.sizes[d]
    if n > x.sizes[d] - s:
        raise RuntimeError(f"narrow: start ({s}) + length ({n}) exceeds dimension size ({x.sizes[d]}) of {describe(x)}.")
    return slice_at(x, d, s, n, 1)


def slice_dim(input, dim=0, start=None, end=None, step=1):
    """The indices start, start + step, ... before `end` of a dimension, as a view: ``x[start:end:step]`` for `dim` 0.

    Raises RuntimeError for a step below 1, IndexError for a dimension out of range.

    >>> torch.slice_copy(torch.arange(6), 0, 1, 6, 2)
    tensor([1, 3, 5])
    """
    cdef Tensor x = <Tensor?>input
    cdef int d = wrap_dim(x, dim, "slice")
    cdef Py_ssize_t a, b, s, n
    PySlice_Unpack(slice(start, end, step), &a, &b, &s)
    if s <= 0:
        raise RuntimeError("slice step must be positive")
    n = PySlice_AdjustIndices(x.sizes[d], &a, &b, s)
    return slice_at(x, d, a, n, s)


def as_strided(input, size, stride, storage_offset=None):
    """A view with any shape and strides over the memory of `input`, counted in elements from the storage's start.

    Args: `size`, `stride`, sequences of as many ints, not negative; `storage_offset`, by default that of `input`. Raises RuntimeError where an
    element would lie outside of the storage, and for unlike lengths or negative values.

    >>> torch.as_strided(torch.arange(6), (3, 2), (1, 2))
    tensor([[0, 2],
            [1, 3],
            [2, 4]])
    """
    cdef Tensor x = <Tensor?>input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, rank
    cdef Py_ssize_t reach, offset = x.offset if storage_offset is None else integer(storage_offset, "as_strided", "storage_offset")
    cdef size_t room
    cdef Tensor value
    for argument, given in (("size", size), ("stride", stride)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"as_strided(): argument '{argument}' must be tuple of ints, not {type(given).__name__}")
    size, stride = later_bools(size), later_bools(stride)
    rank = len(size)
    if x.dev == BATCHED:
        value = as_batched(x).value
        return wrap(as_strided(value, (value.sizes[0], *size), (value.steps[0], *stride), storage_offset), as_batched(x).level)
    if rank != len(stride) or rank > 64:
        raise RuntimeError(f"as_strided: mismatch in length of strides and shape: {list(size)}, {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"as_strided: Tensor: invalid storage offset {offset}")
    for d in range(rank):
        sizes[d], steps[d] = integer(size[d], "as_strided", "size"), integer(stride[d], "as_strided", "stride")
        if sizes[d] < 0 or steps[d] < 0:
            raise RuntimeError(f"as_strided: Negative sizes or strides are not supported at the moment, got {list(size)}, {list(stride)}")
    reach = reach_of(rank, sizes, steps, offset, ITEMSIZE[x.code])
    if reach < 0:
        raise RuntimeError(f"as_strided: Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    # without a storage there is no memory at all, but for meta tensors
    room = x.store.length if x.store is not None else 0
    if (x.store is not None or x.dev == CPU) and <size_t>reach > room:
        raise RuntimeError(f"as_strided: setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize"
                           f" {ITEMSIZE[x.code]} requiring a storage size of {reach} are out of bounds for storage of size {room}")
    return cut(x, rank, sizes, steps, offset, "AsStridedBackward0", None)


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions as the last dimension of a view; `offset` above (or below, if negative) the main one.

    Args: `input`, at least 2-d. Raises RuntimeError where `dim1` is `dim2`, IndexError for a dimension out of range.

    >>> torch.diagonal(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1)
    tensor([2, 6])
    """
    cdef Tensor x = <Tensor?>input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int a = wrap_dim(x, dim1, "diagonal"), b = wrap_dim(x, dim2, "diagonal"), d, k = 0
    cdef Py_ssize_t n, start = x.offset, off = integer(offset, "diagonal", "offset")
    if x.rank < 2 or a == b:
        raise RuntimeError(f"diagonal: diagonal dimensions cannot be identical {dim1}, {dim2} for {describe(x)}")
    for d in range(x.rank):
        if d != a and d != b:
            sizes[k], steps[k] = x.sizes[d], x.steps[d]
            k += 1
    if off >= 0:
        n = min(x.sizes[a], x.sizes[b] - off)
    else:
        n = min(x.sizes[a] + off, x.sizes[b])
    n = max(n, 0)
    if n:
        start += off * x.steps[b] if off >= 0 else -off * x.steps[a]
    sizes[k], steps[k] = n, x.steps[a] + x.steps[b]
    cdef Tensor flat = index_space(x)
    return cut(x, k + 1, sizes, steps, start, "DiagonalBackward0", None if flat is None else geometry_of(diagonal(flat, offset, dim1, dim2), flat))


def unfold(self, dimension, size, step):
    """Windows of `size` every `step` along a dimension, as a last dimension of a view: (..., n, ...) -> (..., (n - size) // step + 1, ..., size).

    Raises RuntimeError where `size` exceeds the dimension or `step` is below 1.

    >>> torch.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """
    cdef Tensor x = <Tensor?>self
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int d, dim = wrap_dim(x, dimension, "unfold")
    cdef Py_ssize_t window = integer(size, "unfold", "size"), by = integer(step, "unfold", "step"), length = x.sizes[dim] if x.rank else 1
    if window < 0 or window > length:
        raise RuntimeError(f"unfold: maximum size for tensor at dimension {dimension} is {length} but size is {window}")
    if by <= 0:
        raise RuntimeError(f"unfold: step is {by} but must be > 0")
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], x.steps[d]
    if x.rank == 0:
        sizes[0], steps[0] = window, 1
        return cut(x, 1, sizes, steps, x.offset, "UnfoldBackward0", None)
    sizes[dim], steps[dim] = (length - window) // by + 1, x.steps[dim] * by
    sizes[x.rank], steps[x.rank] = window, x.steps[dim]
    cdef Tensor flat = index_space(x)
    return cut(x, x.rank + 1, sizes, steps, x.offset, "UnfoldBackward0", None if flat is None else geometry_of(unfold(flat, dimension, size, step), flat))


METHODS = {"select": select, "narrow": narrow, "as_strided": as_strided, "diagonal": diagonal, "unfold": unfold}
