# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans along one dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.

Example::

    y = scan.cumsum(x, 1)

The tensor is seen as [outer, n, inner]: rows where inner is 1, else blocks of columns. int64,
float32, float64 and complex dtypes are scanned as they are, others through a converted copy.
"""
from libc.stdint cimport int64_t
from fasttensor._core.dtype cimport INT64, FLOAT16, FLOAT32, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for

cdef extern from "scan_loops.h" nogil:
    enum:
        SCAN_COLS
    ctypedef void (*ft_scan_row)(const void *, void *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_scan_cols)(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_scan_arg)(const void *, void *, int64_t *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    const ft_scan_row FT_SCAN_ROW[2][5]
    const ft_scan_cols FT_SCAN_COLS_OF[3][5]
    const ft_scan_arg FT_SCAN_ARG[2][3]

cdef enum:
    CUMSUM, CUMPROD, LOGCUMSUMEXP

cdef struct Scan:
    const char *x
    char *y
    int64_t *index
    Py_ssize_t n, inner, blocks, item
    ft_scan_row row
    ft_scan_cols cols
    ft_scan_arg arg
    bint back


cdef void turn(const char *x, char *y, Py_ssize_t n, Py_ssize_t item) noexcept nogil:
    """y = x backwards."""
    cdef Py_ssize_t i
    if item == 4:
        for i in range(n):
            (<float *>y)[n - 1 - i] = (<const float *>x)[i]
    elif item == 8:
        for i in range(n):
            (<double *>y)[n - 1 - i] = (<const double *>x)[i]
    else:
        for i in range(n):
            (<double complex *>y)[n - 1 - i] = (<const double complex *>x)[i]


cdef void turn_back(char *y, Py_ssize_t n, Py_ssize_t item) noexcept nogil:
    """y backwards, in place."""
    cdef Py_ssize_t i, j
    for i in range(n // 2):
        j = n - 1 - i
        if item == 4:
            (<float *>y)[i], (<float *>y)[j] = (<float *>y)[j], (<float *>y)[i]
        elif item == 8:
            (<double *>y)[i], (<double *>y)[j] = (<double *>y)[j], (<double *>y)[i]
        else:
            (<double complex *>y)[i], (<double complex *>y)[j] = (<double complex *>y)[j], (<double complex *>y)[i]


cdef void scan_back(Scan *s, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    # Rows from their ends; a row is turned, in the result's memory, so that the forward loop serves.
    cdef Py_ssize_t i, at
    for i in range(begin, end):
        at = i * s.n * s.item
        turn(s.x + at, s.y + at, s.n, s.item)
        s.row(s.y + at, s.y + at, s.n)
        turn_back(s.y + at, s.n, s.item)


cdef void scan_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Scan *s = <Scan *>context
    cdef Py_ssize_t i, j, m, at
    if s.back and s.row != NULL:
        scan_back(s, begin, end)
        return
    for i in range(begin, end):
        if s.row != NULL:
            at = i * s.n * s.item
            s.row(s.x + at, s.y + at, s.n)
            continue
        j = i % s.blocks * SCAN_COLS
        m = s.inner - j
        m = SCAN_COLS if m > SCAN_COLS else m
        at = i // s.blocks * s.n * s.inner + j
        if s.arg != NULL:
            s.arg(s.x + at * s.item, s.y + at * s.item, s.index + at, s.n, s.inner, m)
        elif s.back:
            at += (s.n - 1) * s.inner
            s.cols(s.x + at * s.item, s.y + at * s.item, s.n, -s.inner, m)
        else:
            s.cols(s.x + at * s.item, s.y + at * s.item, s.n, s.inner, m)


cdef int execute(Tensor x, Tensor y, Tensor index, int op, int dim, bint back) except -1:
    cdef Scan s
    cdef Py_ssize_t outer = 1, grain, width
    cdef int i, kind = 0 if x.code == INT64 else x.code - FLOAT32 + 1
    if x.count == 0:
        return 0
    s.inner = 1
    for i in range(x.rank):
        if i < dim:
            outer *= x.sizes[i]
        elif i > dim:
            s.inner *= x.sizes[i]
    s.n, s.back = x.sizes[dim] if x.rank else 1, back
    s.x, s.y, s.item = x.ptr, y.ptr, ITEMSIZE[x.code]
    s.index = <int64_t *>index.ptr if index is not None else NULL
    s.blocks = (s.inner + SCAN_COLS - 1) // SCAN_COLS
    s.row = FT_SCAN_ROW[op][kind] if index is None and s.inner == 1 and op <= CUMPROD else NULL
    s.cols = FT_SCAN_COLS_OF[op][kind] if index is None else NULL
    s.arg = FT_SCAN_ARG[op][kind] if index is not None else NULL
    width = SCAN_COLS if s.inner > SCAN_COLS else s.inner
    grain = 16384 // (s.n * width) + 1
    with nogil:
        parallel_for(outer * s.blocks, grain, scan_chunk, &s)
    return 0


cdef Tensor plain(Tensor x):
    if x.code < INT64:
        return cast(x, INT64)
    if FLOAT16 <= x.code < FLOAT32:
        return cast(x, FLOAT32)
    return contiguous(x)


cdef Tensor scan(Tensor x, int dim, int op, bint back):
    cdef Tensor p = plain(x)
    cdef Tensor y = new_like(p, p.code)
    execute(p, y, None, op, dim, back)
    return cast(y, x.code)


def cumsum(Tensor x, int dim, bint back):
    """Running sums along `dim`, in x's own dtype, from the end where `back`."""
    return scan(x, dim, CUMSUM, back)


def cumprod(Tensor x, int dim):
    return scan(x, dim, CUMPROD, False)


def logcumsumexp(Tensor x, int dim, bint back):
    """Running log(sum(exp)) of a floating-point tensor."""
    return scan(x, dim, LOGCUMSUMEXP, back)


def cumextreme(Tensor x, int dim, bint least):
    """(values, indices) of the running largest, or smallest, elements along `dim`."""
    cdef Tensor p = plain(x)
    cdef Tensor y = new_like(p, p.code)
    cdef Tensor index = new_like(p, INT64)
    execute(p, y, index, least, dim, False)
    return cast(y, x.code), index
