# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The most frequent value along a dimension.

Example::

    values, indices = mode.mode(x, 1, False)

Each row is sorted with its indices; the longest run wins, the first of equally long ones, and the index
is the run's last, as PyTorch gives it.
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free, qsort
from fasttensor._core.dtype cimport INT64, FLOAT64
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast
from fasttensor._core.parallel cimport parallel_for

cdef struct Item:
    double real         # one of the two is used
    int64_t whole
    int64_t index

cdef struct Job:
    const double *x
    const int64_t *ints
    double *value
    int64_t *value_int
    int64_t *index
    Py_ssize_t n, inner


cdef inline int by_index(const Item *a, const Item *b) noexcept nogil:
    return -1 if a.index < b.index else 1


cdef int compare_real(const void *pa, const void *pb) noexcept nogil:
    cdef const Item *a = <const Item *>pa
    cdef const Item *b = <const Item *>pb
    if a.real < b.real or (a.real == a.real and b.real != b.real):
        return -1
    if a.real > b.real or (a.real != a.real and b.real == b.real):
        return 1
    return by_index(a, b)


cdef int compare_int(const void *pa, const void *pb) noexcept nogil:
    cdef const Item *a = <const Item *>pa
    cdef const Item *b = <const Item *>pb
    if a.whole != b.whole:
        return -1 if a.whole < b.whole else 1
    return by_index(a, b)


cdef void rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Item *items = <Item *>malloc(s.n * sizeof(Item))
    cdef Py_ssize_t r, k, at, run, best, where
    for r in range(begin, end):
        at = r // s.inner * s.n * s.inner + r % s.inner
        for k in range(s.n):
            items[k].index = k
            if s.x != NULL:
                items[k].real = s.x[at + k * s.inner]
                items[k].whole = 0
            else:
                items[k].real = 0
                items[k].whole = s.ints[at + k * s.inner]
        qsort(items, s.n, sizeof(Item), compare_real if s.x != NULL else compare_int)
        run = best = where = 0
        for k in range(s.n):
            run += 1
            if k == s.n - 1 or items[k].real != items[k + 1].real or items[k].whole != items[k + 1].whole:
                if run > best:
                    best, where = run, k
                run = 0
        s.index[r] = items[where].index
        if s.x != NULL:
            s.value[r] = items[where].real
        else:
            s.value_int[r] = items[where].whole
    free(items)


def mode(Tensor x, int dim, bint keepdim):
    """(values, indices) along `dim`, which is not empty."""
    cdef Py_ssize_t sizes[64]
    cdef int i, rank = 0
    cdef Job s
    s.inner = 1
    for i in range(x.rank):
        if i > dim:
            s.inner *= x.sizes[i]
        if i != dim:
            sizes[rank] = x.sizes[i]
            rank += 1
        elif keepdim:
            sizes[rank] = 1
            rank += 1
    cdef bint ints = x.code <= INT64
    cdef Tensor p = cast(contiguous(x), INT64 if ints else FLOAT64)
    cdef Tensor value = new_tensor(rank, sizes, p.code, x.dev), index = new_tensor(rank, sizes, INT64, x.dev)
    s.n = x.sizes[dim] if x.rank else 1
    s.x, s.ints = NULL if ints else <double *>p.ptr, <int64_t *>p.ptr if ints else NULL
    s.value, s.value_int, s.index = <double *>value.ptr, <int64_t *>value.ptr, <int64_t *>index.ptr
    if index.count:
        with nogil:
            parallel_for(index.count, 2048 // s.n + 1, rows, &s)
    return cast(value, x.code), index
