"""Sorting along a dimension: sort, topk, kthvalue, median. See sort_keys.h for the method."""
from libc.stdint cimport int64_t
from fasttensor._core.dtype cimport BOOL, INT64, COMPLEX64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, describe
from fasttensor._core.layout cimport like_layout
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef extern from "sort_keys.h" nogil:
    ctypedef struct ft_scratch:
        pass
    int ft_scratch_open(ft_scratch *s, Py_ssize_t n)
    void ft_scratch_close(ft_scratch *s)
    void ft_sort_row(ft_scratch *s, int code, int itemsize, const char *x, Py_ssize_t xs, Py_ssize_t n, int descending,
                     char *v, Py_ssize_t vs, char *ix, Py_ssize_t step)
    int ft_sort_ties(ft_scratch *s, int code, int itemsize, const char *x, Py_ssize_t xs, Py_ssize_t n, int descending,
                     char *v, Py_ssize_t vs, char *ix, Py_ssize_t step)
    void ft_topk_row(ft_scratch *s, int code, const char *x, Py_ssize_t xs, Py_ssize_t n, Py_ssize_t k, int descending, char *ix, Py_ssize_t step)
    int64_t ft_select_row(ft_scratch *s, int code, const char *x, Py_ssize_t xs, Py_ssize_t n, Py_ssize_t k, int stable)
    Py_ssize_t ft_first_nan(ft_scratch *s, int code, const char *x, Py_ssize_t xs, Py_ssize_t n, Py_ssize_t *count)
    void ft_emit(int itemsize, char *v, Py_ssize_t vs, const char *x, Py_ssize_t xs, const char *ix, Py_ssize_t step, Py_ssize_t n)

cdef enum:
    SORT, TOPK, KTH, MEDIAN, NANMEDIAN
    MOSTLY_TIES = 16384     # elements of one or two bytes in a row, up to which the order of equal ones is PyTorch's

cdef struct Job:
    int task, code, rank, descending, stable
    Py_ssize_t n, k, out_n                # elements of a row, rank asked for, results of a row
    Py_ssize_t item
    Py_ssize_t sizes[64]                  # the other dimensions
    Py_ssize_t xstep[64]
    Py_ssize_t vstep[64]                  # elements: values and indices have the same layout
    Py_ssize_t xs, vs
    char *x
    char *values
    char *indices
    bint failed


cdef void job_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *j = <Job *>context
    cdef ft_scratch s
    cdef Py_ssize_t row, rest, c, nans, first, k, at
    cdef int d
    cdef char *x
    cdef char *ix
    if not ft_scratch_open(&s, j.n):
        j.failed = True
        return
    for row in range(begin, end):
        x, at, rest = j.x, 0, row
        for d in range(j.rank - 1, -1, -1):
            c = rest % j.sizes[d]
            rest //= j.sizes[d]
            x += c * j.xstep[d] * j.item
            at += c * j.vstep[d]
        ix = j.indices + at * sizeof(int64_t)
        if j.task == SORT and not j.stable and j.item <= 2 and (j.code == BOOL or j.n <= MOSTLY_TIES):
            if ft_sort_ties(&s, j.code, <int>j.item, x, j.xs * j.item, j.n, j.descending,
                            j.values + at * j.item, j.vs * j.item, ix, j.vs * sizeof(int64_t)):
                continue
        if j.task == SORT:
            ft_sort_row(&s, j.code, <int>j.item, x, j.xs * j.item, j.n, j.descending,
                        j.values + at * j.item, j.vs * j.item, ix, j.vs * sizeof(int64_t))
            continue
        elif j.task == TOPK:
            ft_topk_row(&s, j.code, x, j.xs * j.item, j.n, j.k, j.descending, ix, j.vs * sizeof(int64_t))
        else:
            k = j.k
            nans, first = 0, -1
            if j.task != KTH:
                first = ft_first_nan(&s, j.code, x, j.xs * j.item, j.n, &nans)
            if j.task == MEDIAN:
                k = (j.n - 1) // 2
            elif j.task == NANMEDIAN:
                k = (j.n - nans - 1) // 2 if nans < j.n else 0
            if j.task == MEDIAN and nans:
                (<int64_t *>ix)[0] = first
            else:
                (<int64_t *>ix)[0] = ft_select_row(&s, j.code, x, j.xs * j.item, j.n, k, j.task != KTH)
        ft_emit(j.item, j.values + at * j.item, j.vs * j.item, x, j.xs * j.item, ix, j.vs * sizeof(int64_t), j.out_n)
    ft_scratch_close(&s)


cdef tuple run_job(Job *j, Tensor x, int dim, str op):
    """Values and indices: x's shape with j.out_n along dim."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t rows
    cdef int d
    cdef Tensor values, indices
    if x.code >= COMPLEX64:
        raise RuntimeError(f"{op}: complex numbers have no order, got {describe(x)}; sort x.abs() or a part")
    for d in range(x.rank):
        shape[d] = x.sizes[d]
    if x.rank:
        shape[dim] = j.out_n
    if j.task == SORT and not x.contig:
        values, indices = like_layout(x, x.code), like_layout(x, INT64)
    else:
        values = new_tensor(x.rank, shape, x.code, x.dev)
        indices = new_tensor(x.rank, shape, INT64, x.dev)
    if values.count == 0:
        return values, indices
    j.code, j.item, j.rank, j.failed = x.code, ITEMSIZE[x.code], 0, False
    j.x, j.values, j.indices = x.ptr, values.ptr, indices.ptr
    j.xs = j.vs = 1
    for d in range(x.rank):
        if d == dim:
            j.xs, j.vs = x.steps[d], values.steps[d]
        else:
            j.sizes[j.rank], j.xstep[j.rank], j.vstep[j.rank] = x.sizes[d], x.steps[d], values.steps[d]
            j.rank += 1
    rows = values.count // j.out_n
    if x.count < 2048:
        job_range(j, 0, rows)
    else:
        with nogil:
            parallel_for(rows, 1 + 16384 // j.n, job_range, j)
    if j.failed:
        raise no_room(f"{op}: no memory to sort rows of {j.n} elements")
    return values, indices


def sort(Tensor x, int dim, bint descending=False, bint stable=True):
    """(values, indices) along dim. Stable (elements of one or two bytes only where asked for); NaN counts as the greatest value."""
    cdef Job j
    # one number in expanded memory stays in place
    j.task, j.descending, j.stable, j.k = SORT, descending, stable or (x.rank and x.steps[dim] == 0), 0
    j.n = j.out_n = x.sizes[dim] if x.rank else 1
    return run_job(&j, x, dim, "sort")


def topk(Tensor x, Py_ssize_t k, int dim, bint largest=True):
    """The k largest (smallest) along dim in order, 0 <= k <= size: (values, indices)."""
    cdef Job j
    j.task, j.descending, j.k, j.out_n = TOPK, largest, k, k
    j.n = x.sizes[dim] if x.rank else 1
    return run_job(&j, x, dim, "topk")


def kthvalue(Tensor x, Py_ssize_t k, int dim):
    """The k-th smallest (0-based) along dim: (values, indices), with a size of 1 there."""
    cdef Job j
    j.task, j.descending, j.k, j.out_n = KTH, 0, k, 1
    j.n = x.sizes[dim] if x.rank else 1
    return run_job(&j, x, dim, "kthvalue")


def median(Tensor x, int dim, bint ignore_nan=False):
    """The lower median along a dim that is not empty: (values, indices), with a size of 1 there. A NaN is the
    median of its row unless ignore_nan."""
    cdef Job j
    j.task, j.descending, j.k, j.out_n = NANMEDIAN if ignore_nan else MEDIAN, 0, 0, 1
    j.n = x.sizes[dim] if x.rank else 1
    return run_job(&j, x, dim, "nanmedian" if ignore_nan else "median")
