"""Masks: nonzero, masked_select, masked_scatter.

Two passes over chunks of fixed size: count, then write at the running total. The chunks' bounds depend on the
size alone, so the results do not depend on threads."""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy
from fasttensor._core.dtype cimport BOOL, INT64, ITEMSIZE
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, new_view, contiguous, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.iterator cimport Iterator, broadcast_sizes, start, add_operand, finish, run
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.copy cimport overlaps
from fasttensor.cpu.index_loops cimport *

cdef struct Mask:
    const char *x
    char *other
    uint8_t *m
    Py_ssize_t n
    Py_ssize_t *start        # elements set before each chunk; one more entry than chunks
    Py_ssize_t item
    ft_nz_fn test
    ft_squeeze_fn move
    int rank
    const Py_ssize_t *sizes
    int64_t *cols[64]        # where coordinates go, and their distance
    Py_ssize_t col_step


cdef void test_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Mask *k = <Mask *>context
    k.test(k.x + begin * k.item, k.m + begin, end - begin)


cdef void count_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Mask *k = <Mask *>context
    cdef Py_ssize_t c, stop
    for c in range(begin, end):
        stop = (c + 1) * GRAIN
        k.start[c + 1] = ft_count_mask(k.m + c * GRAIN, (stop if stop < k.n else k.n) - c * GRAIN)


cdef void squeeze_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Mask *k = <Mask *>context
    cdef Py_ssize_t c
    for c in range(begin, end):
        k.move(k.other + k.start[c] * k.item, k.x + c * GRAIN * k.item, k.m + c * GRAIN, k.start[c + 1] - k.start[c])


cdef void spread_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Mask *k = <Mask *>context
    cdef Py_ssize_t c
    for c in range(begin, end):
        k.move(k.other + c * GRAIN * k.item, k.x + k.start[c] * k.item, k.m + c * GRAIN, k.start[c + 1] - k.start[c])


cdef void place_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Coordinates of the set elements of chunks [begin, end)."""
    cdef Mask *k = <Mask *>context
    cdef Py_ssize_t c, at, left, i, stop, rest, base, inner = k.sizes[k.rank - 1]
    cdef Py_ssize_t counter[64]
    cdef int d
    for c in range(begin, end):
        at, left = k.start[c], k.start[c + 1]
        i = rest = c * GRAIN
        for d in range(k.rank - 1, -1, -1):
            counter[d] = rest % k.sizes[d]
            rest //= k.sizes[d]
        while at < left:
            base = i - counter[k.rank - 1]
            stop = base + inner
            while i < stop and at < left:
                if i + 8 <= stop and i + 8 <= k.n and (<const uint64_t *>(k.m + i))[0] == 0:
                    i += 8
                    continue
                # Written whether set or not, and overwritten where not: no branch to mispredict.
                for d in range(k.rank - 1):
                    k.cols[d][at * k.col_step] = counter[d]
                k.cols[k.rank - 1][at * k.col_step] = i - base
                at += k.m[i]
                i += 1
            counter[k.rank - 1] = 0
            d = k.rank - 2
            while d >= 0:
                counter[d] += 1
                if counter[d] < k.sizes[d]:
                    break
                counter[d] = 0
                d -= 1


cdef Tensor as_mask(Tensor x):
    cdef Tensor m
    cdef Mask k
    x = contiguous(x)
    if x.code == BOOL:
        return x
    m = new_like(x, BOOL)
    k.x, k.m, k.item, k.test = x.ptr, <uint8_t *>m.ptr, ITEMSIZE[x.code], FT_NZS[x.code]
    with nogil:
        parallel_for(x.count, GRAIN, test_range, &k)
    return m


cdef Py_ssize_t open_mask(Mask *k, Tensor mask) except -1:
    """Counts the chunks of a contiguous mask; returns the total. k.start is the caller's to free."""
    cdef Py_ssize_t c, chunks = (mask.count + GRAIN - 1) // GRAIN
    k.m, k.n = <uint8_t *>mask.ptr, mask.count
    k.start = <Py_ssize_t *>malloc((chunks + 1) * sizeof(Py_ssize_t))
    if k.start == NULL:
        raise no_room(f"no memory to count a mask of {mask.count} elements")
    k.start[0] = 0
    with nogil:
        parallel_for(chunks, 1, count_range, k)
    for c in range(chunks):
        k.start[c + 1] += k.start[c]
    return k.start[chunks]


cdef list nonzero_columns(Tensor x):
    """x.nonzero(as_tuple=True)"""
    cdef Mask k
    cdef Tensor mask = as_mask(x), col
    cdef Py_ssize_t total = open_mask(&k, mask)
    cdef int d
    cdef list out = []
    try:
        for d in range(x.rank):
            col = new_tensor(1, &total, INT64, x.dev)
            k.cols[d] = <int64_t *>col.ptr
            out.append(col)
        k.rank, k.sizes, k.col_step = mask.rank, mask.sizes, 1
        if total and x.rank:
            with nogil:
                parallel_for((k.n + GRAIN - 1) // GRAIN, 1, place_range, &k)
    finally:
        free(k.start)
    return out


def nonzero_tuple(Tensor x):
    """Coordinates of the nonzero elements, one tensor a dimension."""
    return tuple(nonzero_columns(x))


def nonzero(Tensor x):
    """Coordinates of the nonzero elements in row-major order: int64[count, x.dim()], each dimension's by themselves in memory."""
    cdef Mask k
    cdef Tensor mask = as_mask(x), out
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t steps[2]
    cdef int d
    shape[1], shape[0] = open_mask(&k, mask), x.rank
    try:
        out = new_tensor(2, shape, INT64, x.dev)
        k.rank, k.sizes, k.col_step = mask.rank, mask.sizes, 1
        for d in range(x.rank):
            k.cols[d] = <int64_t *>out.ptr + d * shape[1]
        if out.count:
            with nogil:
                parallel_for((k.n + GRAIN - 1) // GRAIN, 1, place_range, &k)
    finally:
        free(k.start)
    steps[0], steps[1] = 1, shape[1]
    shape[0], shape[1] = shape[1], shape[0]
    return new_view(out, 2, shape, steps, 0)


def masked_select(Tensor x, Tensor mask):
    """The elements of x where the bool mask (same shape) is set, as a 1-d tensor."""
    cdef Mask k
    cdef Tensor m = as_mask(mask), out
    cdef Py_ssize_t total
    x = contiguous(x)
    if m.count != x.count:
        raise RuntimeError(f"masked_select: mask {describe(mask)} does not fit {describe(x)}")
    total = open_mask(&k, m)
    try:
        out = new_tensor(1, &total, x.code, x.dev)
        k.x, k.other, k.item = x.ptr, out.ptr, ITEMSIZE[x.code]
        k.move = FT_SQUEEZE[ft_log2(k.item)]
        with nogil:
            parallel_for((k.n + GRAIN - 1) // GRAIN, 1, squeeze_range, &k)
    finally:
        free(k.start)
    return out


def masked_scatter(Tensor x, Tensor mask, Tensor source):
    """x with the elements where mask (same shape) is set replaced by those of source, in order."""
    cdef Mask k
    cdef Tensor m = as_mask(mask), src = contiguous(source), out
    cdef Py_ssize_t total
    if m.count != x.count or src.code != x.code:
        raise RuntimeError(f"masked_scatter: expected self and source of one dtype and a mask of self's shape, "
                           f"got {describe(x)}, {describe(source)} and {describe(mask)}")
    total = open_mask(&k, m)
    try:
        if total > src.count:
            raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes and at least {total} elements "
                               f"in source (the count of ones in mask), got {src.count}")
        out = new_like(x, x.code)
        copy_into(out, x)
        k.x, k.other, k.item = src.ptr, out.ptr, ITEMSIZE[x.code]
        k.move = FT_SPREAD[ft_log2(k.item)]
        with nogil:
            parallel_for((k.n + GRAIN - 1) // GRAIN, 1, spread_range, &k)
    finally:
        free(k.start)
    return out


def masked_fill(Tensor x, Tensor mask, Tensor value, Tensor out=None):
    """x with value (one element of x's dtype) where the bool mask is set; the two broadcast together. `out` may be x."""
    cdef Iterator it
    cdef Py_ssize_t sizes[64]
    cdef double par[2]
    cdef Tensor copied
    cdef int rank = broadcast_sizes("masked_fill", x, mask, None, sizes)
    if out is None:
        out = new_tensor(rank, sizes, x.code, x.dev)
    if out.rank != rank:
        raise RuntimeError(f"masked_fill_: mask {describe(mask)} does not broadcast to {describe(x)}")
    memcpy(par, value.ptr, ITEMSIZE[x.code])
    if overlaps(out, mask):
        copied = new_like(mask, mask.code)
        copy_into(copied, mask)
        mask = copied
    start(&it, out.rank, out.sizes)
    add_operand(&it, out)
    add_operand(&it, x)
    add_operand(&it, mask)
    finish(&it)
    run(&it, FT_FILLS[ft_log2(ITEMSIZE[x.code])], par, GRAIN)
    return out
