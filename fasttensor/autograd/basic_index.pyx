"""x[ints, slices, None, Ellipsis] as views; the rest is left to advanced indexing."""
from cpython.long cimport PyLong_AsLongAndOverflow
from cpython.slice cimport PySlice_Unpack, PySlice_AdjustIndices
from fasttensor._core.dtype cimport INT64, UINT8
from fasttensor._core.tensor cimport Tensor, describe, MAX_DIMS
from fasttensor._core.dispatch cimport binary_slots, SLOT_GETITEM
from fasttensor.autograd.watching cimport watching, announced, announce, begin, finish
from fasttensor._core.dispatch cimport hook as python_hook
from fasttensor.autograd.history cimport geometry_of
from fasttensor.autograd.index_entries import index_tuple
from fasttensor.autograd.views cimport cut, index_space
from fasttensor.autograd.cutting cimport select_at, slice_at


cdef bint is_plain_int(object i):
    return isinstance(i, int) and not isinstance(i, bool)


cdef Py_ssize_t position(object e) except? -1:
    """An int or 0-d tensor as a C integer; PyTorch's ValueError beyond 64 bits."""
    cdef int beyond = 0
    cdef Py_ssize_t i = PyLong_AsLongAndOverflow(e if isinstance(e, int) else int(e), &beyond)
    if beyond:
        raise ValueError(f"Overflow when unpacking long long: {e} is no index")
    return i


cdef object getitem(object self, object index):
    """x[index] for ints, slices, None and Ellipsis; anything else is advanced indexing."""
    cdef Tensor x = <Tensor?>self
    cdef Py_ssize_t i, a, b, s, n
    if watching and not announced():
        return watched_getitem(self, index)
    if is_plain_int(index):
        if x.rank == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert"
                             " a 0-dim tensor to a number")
        i = position(index)
        if not -x.sizes[0] <= i < x.sizes[0]:
            raise IndexError(f"index {i} is out of bounds for dimension 0 with size {x.sizes[0]}")
        return select_at(x, 0, i + x.sizes[0] if i < 0 else i)
    if type(index) is slice:
        if x.rank == 0:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        PySlice_Unpack(index, &a, &b, &s)
        if s <= 0:
            raise ValueError("step must be greater than zero")
        n = PySlice_AdjustIndices(x.sizes[0], &a, &b, s)
        return slice_at(x, 0, a, n, s)
    if type(index) is not tuple:
        if isinstance(index, Tensor) and (<Tensor>index).rank and x.rank:
            return python_hook("advanced_getitem")(x, index)
    index = index_tuple(index)
    if len(index) == 1 and isinstance(index[0], Tensor) and (<Tensor>index[0]).rank and x.rank:
        return python_hook("advanced_getitem")(x, index[0])
    view, rest = basic_part(x, <tuple>index)
    if rest is None:
        return view
    return python_hook("advanced_getitem")(view, rest)


def basic_part(Tensor x, tuple index):
    """The view that the ints, slices, Nones and Ellipsis of an index cut out, and the index that is left
    for advanced indexing (full slices and index tensors), or None."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t offset = x.offset, a, b, s, n, i
    cdef int dim = 0, k = 0, used = 0, added = 0, gap
    cdef list rest = None
    cdef bint advanced = False, seen = False, lost = False
    for e in index:
        if e is Ellipsis or e is None:
            added += e is None
            continue
        if is_bool_mask(e):
            used += mask_rank(e)
            advanced = True
            continue
        used += 1
        if is_plain_int(e) or is_scalar_index(e):
            added -= 1
        elif type(e) is not slice:
            advanced = True
    if used > x.rank:
        raise IndexError(f"too many indices for tensor of dimension {x.rank} ({describe(x)})")
    if x.rank + added > MAX_DIMS:
        # checked before the first write to the arrays above
        raise RuntimeError(f"indexing: a tensor can have at most {MAX_DIMS} dimensions, this index of {describe(x)} makes {x.rank + added}")
    gap = x.rank - used
    rest = []
    for e in index:
        if lost and e is not Ellipsis:
            raise IndexError(f"an index can only have a single ellipsis ('...') before other entries, got {index} for {describe(x)}")
        if e is None:
            sizes[k], steps[k] = 1, x.sizes[dim] * x.steps[dim] if dim < x.rank else 1
            k += 1
            rest.append(FULL)
        elif e is Ellipsis:
            if seen:                # PyTorch lets another one stand where nothing follows, or nothing is left for either
                lost = gap > 0
                continue
            seen = True
            for _ in range(gap):
                sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
                k += 1
                dim += 1
                rest.append(FULL)
        elif type(e) is slice:
            PySlice_Unpack(e, &a, &b, &s)
            if s <= 0:
                raise ValueError("step must be greater than zero")
            n = PySlice_AdjustIndices(x.sizes[dim], &a, &b, s)
            sizes[k], steps[k] = n, x.steps[dim] * s
            offset += a * x.steps[dim] if n else 0
            k += 1
            dim += 1
            rest.append(FULL)
        elif is_plain_int(e) or is_scalar_index(e):
            i = position(e)
            if not -x.sizes[dim] <= i < x.sizes[dim]:
                raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {x.sizes[dim]}")
            offset += (i + x.sizes[dim] if i < 0 else i) * x.steps[dim]
            dim += 1
        else:
            rest.append(e)
            n = mask_rank(e) if is_bool_mask(e) else 1
            for _ in range(n):
                sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
                k += 1
                dim += 1
    while dim < x.rank:
        sizes[k], steps[k] = x.sizes[dim], x.steps[dim]
        k += 1
        dim += 1
    if advanced and used_as_is(x, index):
        return x, tuple(rest)
    cdef Tensor flat = index_space(x)
    geometry = None if flat is None else geometry_of(basic_part(flat, index)[0], flat)
    return cut(x, k, sizes, steps, offset, "SliceBackward0", geometry), (tuple(rest) if advanced else None)


FULL = slice(None)


cdef bint used_as_is(Tensor x, tuple index):
    """Whether the basic part changes nothing: only full slices beside the tensors."""
    for e in index:
        if e is None or is_plain_int(e) or (type(e) is slice and e != FULL) or is_scalar_index(e):
            return False
    return True


cdef bint is_bool_mask(object e):
    return isinstance(e, bool) or isinstance(e, Tensor) and (<Tensor>e).code <= UINT8


cdef int mask_rank(object e) except -1:
    return 0 if isinstance(e, bool) else e.ndim


cdef bint is_scalar_index(object e):
    """A 0-d integer tensor stands for its number."""
    return isinstance(e, Tensor) and (<Tensor>e).rank == 0 and UINT8 < (<Tensor>e).code <= INT64 and not (<Tensor>e).needs_grad


cdef object watched_getitem(object self, object index):
    """Indexing that listeners are told of, under the name of what PyTorch runs for it."""
    cdef object parts = index if type(index) is tuple else (index,), token, result = None
    cdef str name = "select" if is_plain_int(index) else "slice"
    for part in parts:
        if not (is_plain_int(part) or type(part) is slice or part is None or part is Ellipsis):
            name = "index"
    token = begin(name, (self,))
    announce(True)
    try:
        result = getitem(self, index)
    finally:
        announce(False)
        finish(token, result)
    return result


binary_slots()[SLOT_GETITEM] = getitem
