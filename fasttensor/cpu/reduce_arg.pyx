# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Extremes with their indices: max and min along a dimension, argmax, argmin, and what their
gradients need: `place` adds values at chosen indices of a dimension, `pick` reads them.

Example::

    values, indices = reduce_arg.extreme(x, 1, False, False)     # the largest of each row

float32, float64 and int64 are searched as they lie; other dtypes through a converted copy.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset
from fasttensor._core.dtype cimport INT64, FLOAT16, FLOAT32, FLOAT64, COMPLEX64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for

cdef extern from "arg_loops.h" nogil:
    enum:
        ARG_COLS
    ctypedef void (*ft_arg_row)(const void *, Py_ssize_t, void *, int64_t *) noexcept nogil
    ctypedef void (*ft_arg_cols)(const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, void *, int64_t *) noexcept nogil
    const ft_arg_row FT_ARG_ROW[2][3]
    const ft_arg_cols FT_ARG_COLS[2][3]

cdef struct Search:
    const char *x
    char *value
    int64_t *index
    Py_ssize_t n, inner, blocks, item
    ft_arg_row row
    ft_arg_cols cols


cdef void rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Search *s = <Search *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        s.row(s.x + i * s.n * s.item, s.n, s.value + i * s.item if s.value != NULL else NULL, s.index + i)


cdef void columns(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Search *s = <Search *>context
    cdef Py_ssize_t i, outer, j, m, at
    for i in range(begin, end):
        outer, j = i // s.blocks, i % s.blocks * ARG_COLS
        m = s.inner - j
        m = ARG_COLS if m > ARG_COLS else m
        at = outer * s.inner + j
        s.cols(s.x + (outer * s.n * s.inner + j) * s.item, s.n, s.inner, m,
               s.value + at * s.item if s.value != NULL else NULL, s.index + at)


cdef void search(Tensor x, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, bint least, Tensor value, Tensor index):
    cdef Search s
    cdef int kind = 0 if x.code == INT64 else 1 if x.code == FLOAT32 else 2
    cdef Py_ssize_t grain
    s.x, s.value, s.index = x.ptr, value.ptr if value is not None else NULL, <int64_t *>index.ptr
    s.n, s.inner, s.item = n, inner, ITEMSIZE[x.code]
    s.row, s.cols = FT_ARG_ROW[least][kind], FT_ARG_COLS[least][kind]
    s.blocks = (inner + ARG_COLS - 1) // ARG_COLS
    if index.count == 0:
        return
    if inner == 1:
        grain = 32768 // n + 1
        with nogil:
            parallel_for(outer, grain, rows, &s)
    else:
        grain = 32768 // (n * ARG_COLS) + 1
        with nogil:
            parallel_for(outer * s.blocks, grain, columns, &s)


cdef Tensor plain(Tensor x):
    if x.code < INT64:
        return cast(x, INT64)
    if FLOAT16 <= x.code < FLOAT32:
        return cast(x, FLOAT32)
    return contiguous(x)


def extreme(Tensor x, int dim, bint keepdim, bint least):
    """(values, indices) of the largest, or smallest, elements along `dim`, which is not empty."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t outer = 1, inner = 1
    cdef int i, rank = 0
    for i in range(x.rank):
        if i < dim:
            outer *= x.sizes[i]
        elif i > dim:
            inner *= x.sizes[i]
        if i != dim:
            sizes[rank] = x.sizes[i]
            rank += 1
        elif keepdim:
            sizes[rank] = 1
            rank += 1
    cdef Tensor p = plain(x)
    cdef Tensor value = new_tensor(rank, sizes, p.code, x.dev)
    cdef Tensor index = new_tensor(rank, sizes, INT64, x.dev)
    search(p, outer, x.sizes[dim] if x.rank else 1, inner, least, value, index)
    return (value if p.code == x.code else cast(value, x.code)), index


def argextreme(Tensor x, dim, bint keepdim, bint least):
    """Indices (int64) along `dim`, or in the flattened tensor where it is None."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t outer = 1, inner = 1, n = 1
    cdef int i, rank = 0, d = -1 if dim is None else dim
    for i in range(x.rank):
        if d < 0 or i == d:
            n *= x.sizes[i]
        elif i < d:
            outer *= x.sizes[i]
        else:
            inner *= x.sizes[i]
        if d >= 0 and i != d:
            sizes[rank] = x.sizes[i]
            rank += 1
        elif keepdim:
            sizes[rank] = 1
            rank += 1
    cdef Tensor p = plain(x)
    cdef Tensor index = new_tensor(rank, sizes, INT64, x.dev)
    search(p, outer, n, inner, least, None, index)
    return index


ctypedef fused value_t:
    int64_t
    float
    double
    float complex
    double complex


cdef void move_values(value_t *whole, value_t *part, const int64_t *index, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t k,
                      Py_ssize_t inner, bint add) noexcept nogil:
    cdef Py_ssize_t o, i, j, at
    for o in range(outer):
        for i in range(k):
            for j in range(inner):
                at = (o * k + i) * inner + j
                if add:
                    whole[(o * n + index[at]) * inner + j] += part[at]
                else:
                    part[at] = whole[(o * n + index[at]) * inner + j]


cdef int move(Tensor whole, Tensor part, Tensor index, int dim, bint add) except -1:
    cdef Py_ssize_t outer = 1, inner = 1, n = whole.sizes[dim] if whole.rank else 1, k = index.sizes[dim] if index.rank else 1
    cdef int i
    for i in range(whole.rank):
        if i < dim:
            outer *= whole.sizes[i]
        elif i > dim:
            inner *= whole.sizes[i]
    cdef const int64_t *at = <const int64_t *>index.ptr
    with nogil:
        if whole.code == FLOAT32:
            move_values(<float *>whole.ptr, <float *>part.ptr, at, outer, n, k, inner, add)
        elif whole.code == FLOAT64:
            move_values(<double *>whole.ptr, <double *>part.ptr, at, outer, n, k, inner, add)
        elif whole.code == COMPLEX64:
            move_values(<float complex *>whole.ptr, <float complex *>part.ptr, at, outer, n, k, inner, add)
        elif whole.code == INT64:       # a selection inside vmap, where integers pass through the rule as well
            move_values(<int64_t *>whole.ptr, <int64_t *>part.ptr, at, outer, n, k, inner, add)
        else:
            move_values(<double complex *>whole.ptr, <double complex *>part.ptr, at, outer, n, k, inner, add)
    return 0


def place(Tensor g, Tensor index, int dim, Py_ssize_t n):
    """Zeros with n elements along `dim` plus g at `index`, which has g's shape and indices made by a kernel."""
    cdef Tensor p = plain(g), at = contiguous(index), whole
    cdef Py_ssize_t sizes[64]
    cdef int i
    for i in range(g.rank):
        sizes[i] = n if i == dim else g.sizes[i]
    whole = new_tensor(g.rank, sizes, p.code, g.dev)
    memset(whole.ptr, 0, whole.count * ITEMSIZE[p.code])
    if g.count:
        move(whole, p, at, dim, True)
    return cast(whole, g.code)


def pick(Tensor x, Tensor index, int dim):
    """The elements of x at `index` along `dim`: the transpose of `place`."""
    if index.code != INT64:         # the loop reads it as such
        raise RuntimeError(f"pick(): expected an index of dtype int64, got {describe(index)}")
    cdef Tensor p = plain(x), at = contiguous(index)
    cdef Tensor part = new_tensor(index.rank, index.sizes, p.code, x.dev)
    if part.count:
        move(p, part, at, dim, False)
    return cast(part, x.code)
