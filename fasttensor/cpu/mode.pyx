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
from fasttensor._core.storage cimport no_room

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
    bint failed


cdef inline bint less(const Item *a, const Item *b) noexcept nogil:
    """NaN is the largest."""
    if a.whole != b.whole:
        return a.whole < b.whole
    return a.real < b.real or (a.real == a.real and b.real != b.real)


cdef int compare(const void *a, const void *b) noexcept nogil:
    return -1 if less(<const Item *>a, <const Item *>b) else less(<const Item *>b, <const Item *>a)


cdef inline void swap(Item *a, Item *b) noexcept nogil:
    cdef Item t = a[0]
    a[0] = b[0]
    b[0] = t


cdef void insert(Item *p, Item *first) noexcept nogil:
    """Moves p down to its place among the sorted elements from `first`."""
    cdef Item v = p[0]
    while p > first and less(&v, p - 1):
        p[0] = (p - 1)[0]
        p -= 1
    p[0] = v


cdef void introsort(Item *first, Item *last, int depth) noexcept nogil:
    """Musser's introspective sort down to runs of 16, by the median of the second, middle and last element.

    Which of several equal elements a run ends with depends on the order of swaps; these are the ones of
    common C++ libraries, so that indices agree with PyTorch's.
    """
    cdef Item *a
    cdef Item *b
    cdef Item *c
    while last - first > 16:
        if depth == 0:
            qsort(first, last - first, sizeof(Item), compare)
            return
        depth -= 1
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if less(a, b):
            swap(first, b if less(b, c) else c if less(a, c) else a)
        else:
            swap(first, a if less(a, c) else c if less(b, c) else b)
        a, b = first + 1, last
        while True:
            while less(a, first):
                a += 1
            b -= 1
            while less(first, b):
                b -= 1
            if not a < b:
                break
            swap(a, b)
            a += 1
        introsort(a, last, depth)
        last = a


cdef void sort_items(Item *items, Py_ssize_t n) noexcept nogil:
    cdef int depth = 0
    cdef Py_ssize_t k = n
    while k > 1:
        k >>= 1
        depth += 2
    introsort(items, items + n, depth)
    for k in range(1, n):
        insert(items + k, items)


cdef void rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Item *items = <Item *>malloc(s.n * sizeof(Item))
    cdef Py_ssize_t r, k, at, run, best, where
    if items == NULL:
        s.failed = True
        return
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
        sort_items(items, s.n)
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
    s.failed = False
    if index.count:
        with nogil:
            parallel_for(index.count, 2048 // s.n + 1, rows, &s)
    if s.failed:
        raise no_room(f"mode: no memory to sort rows of {s.n} elements")
    return cast(value, x.code), index
