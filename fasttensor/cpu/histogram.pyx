# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counting: occurrences of whole numbers, and of values between edges.

Example::

    counts = histogram.bincount(histogram.grid_numbers(x, (edges0, edges1)), None, bins0 * bins1)       # x [points, 2]
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, calloc, free
from libc.string cimport memset
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, INT64
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef enum:
    TABLES = 4          # counted into in turn, so that one addition does not wait for the last one to the same number
    FEW = 1 << 13       # numbers whose tables stay in the cache


def int_bounds(Tensor x):
    """(least, largest) of a tensor of integers with at least one element."""
    cdef Tensor ix = contiguous(cast(x, INT64))
    cdef const int64_t *p = <const int64_t *>ix.ptr
    cdef int64_t low = p[0], high = p[0]
    cdef Py_ssize_t i
    with nogil:
        for i in range(ix.count):
            low = p[i] if p[i] < low else low
            high = p[i] if p[i] > high else high
    return low, high


cdef bint count_apart(const int64_t *p, Py_ssize_t n, int64_t *counts, Py_ssize_t size) noexcept nogil:
    """Counts into several tables; False without memory for them."""
    cdef int64_t *table = <int64_t *>calloc(TABLES * size, sizeof(int64_t))
    cdef Py_ssize_t i = 0, j
    cdef size_t limit = <size_t>size
    if table == NULL:
        return False
    while i + TABLES <= n:
        for j in range(TABLES):
            if <size_t>p[i + j] < limit:            # a negative number is a large one there
                table[j * size + p[i + j]] += 1
        i += TABLES
    while i < n:
        if <size_t>p[i] < limit:
            table[p[i]] += 1
        i += 1
    for j in range(TABLES):
        for i in range(size):
            counts[i] += table[j * size + i]
    free(table)
    return True


def bincount(Tensor x, Tensor weights, Py_ssize_t size):
    """Occurrences of 0..size-1 in a 1-d tensor of integers, or the sums of float64 weights; other numbers do not count."""
    cdef Tensor ix = contiguous(cast(x, INT64)), w, out
    cdef Py_ssize_t i
    cdef const int64_t *p = <const int64_t *>ix.ptr
    cdef int64_t *counts
    cdef double *sums
    cdef const double *wp
    if weights is None:
        out = new_tensor(1, &size, INT64, x.dev)
        memset(out.ptr, 0, size * 8)
        counts = <int64_t *>out.ptr
        with nogil:
            if not (size <= FEW and ix.count > 4 * size and count_apart(p, ix.count, counts, size)):
                for i in range(ix.count):
                    if 0 <= p[i] < size:
                        counts[p[i]] += 1
        return out
    w = contiguous(cast(weights, FLOAT64))
    if w.count != ix.count:
        raise RuntimeError(f"bincount: weights {describe(weights)} must have the shape of input {describe(x)}")
    out = new_tensor(1, &size, FLOAT64, x.dev)
    memset(out.ptr, 0, size * 8)
    sums, wp = <double *>out.ptr, <const double *>w.ptr
    with nogil:
        for i in range(ix.count):
            if 0 <= p[i] < size:
                sums[p[i]] += wp[i]
    return out


cdef struct Grid:
    const char *x
    const double **edges
    const Py_ssize_t *counts    # edges of each dimension
    int64_t *out
    Py_ssize_t dims
    bint wide


cdef inline Py_ssize_t interval(double v, const double *edges, Py_ssize_t n) noexcept nogil:
    """The last edge that v reaches; the last interval has its upper edge too. -1 outside, and for NaN."""
    cdef Py_ssize_t base = 0, half
    if n < 2 or not (v >= edges[0] and v <= edges[n - 1]):
        return -1
    while n > 1:                # a conditional move, since the branch would be taken at random
        half = n // 2
        base += half if edges[base + half] <= v else 0
        n -= half
    return base


cdef void number_points(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Grid *s = <Grid *>context
    cdef Py_ssize_t i, d, at, flat
    cdef double v
    for i in range(begin, end):
        flat = 0
        for d in range(s.dims):
            v = (<const double *>s.x)[i * s.dims + d] if s.wide else (<const float *>s.x)[i * s.dims + d]
            at = interval(v, s.edges[d], s.counts[d])
            if at < 0:
                flat = -1
                break
            at = s.counts[d] - 2 if at > s.counts[d] - 2 else at
            flat = flat * (s.counts[d] - 1) + at
        s.out[i] = flat


def grid_numbers(Tensor x, tuple edges):
    """The number of each point's cell, cells counted row by row, -1 outside: points [N, D] and D rising 1-d tensors of edges."""
    cdef Grid s
    cdef int code = FLOAT32 if x.code == FLOAT32 else FLOAT64
    cdef Tensor p = contiguous(cast(x, code)), out, e
    cdef list kept = []
    cdef Py_ssize_t d
    s.dims = len(edges)
    out = new_tensor(1, x.sizes, INT64, x.dev)
    s.x, s.out, s.wide = p.ptr, <int64_t *>out.ptr, code == FLOAT64
    for d in range(s.dims):
        kept.append(contiguous(cast(<Tensor>edges[d], FLOAT64)))
    s.edges = <const double **>malloc(s.dims * (sizeof(double *) + sizeof(Py_ssize_t)) + 1)
    if s.edges == NULL:
        raise no_room(f"histogram: no memory for {s.dims} dimensions")
    cdef Py_ssize_t *counts = <Py_ssize_t *>(s.edges + s.dims)
    for d in range(s.dims):
        e = kept[d]
        s.edges[d], counts[d] = <const double *>e.ptr, e.count
    s.counts = counts
    with nogil:
        parallel_for(out.count, 4096, number_points, &s)
    free(<void *>s.edges)
    return out


cdef Py_ssize_t quotient_bin(double v, const double *edges, Py_ssize_t bins, bint single) noexcept nogil:
    """The bin of v by its quotient alone, in steps of the input's precision as in PyTorch; -1 outside."""
    cdef float part
    cdef Py_ssize_t at
    if not (v >= edges[0] and v <= edges[bins]):
        return -1
    if single:
        part = <float>v - <float>edges[0]
        part = part * <float>bins
        at = <Py_ssize_t>(part / (<float>edges[bins] - <float>edges[0]))
    else:
        at = <Py_ssize_t>((v - edges[0]) * bins / (edges[bins] - edges[0]))
    return bins - 1 if at >= bins else at


cdef Py_ssize_t find_bin(double v, const double *edges, Py_ssize_t bins, double scale) noexcept nogil:
    """The bin of v between equally spaced edges, which decide where the quotient rounds the other way; -1 outside."""
    cdef Py_ssize_t at
    cdef double quotient
    if not (v >= edges[0] and v <= edges[bins]):
        return -1
    quotient = (v - edges[0]) * scale           # NaN or infinite where the edges are subnormally close
    at = <Py_ssize_t>quotient if 0 <= quotient < bins else bins - 1 if quotient > 0 else 0
    while at > 0 and v < edges[at]:
        at -= 1
    while at < bins - 1 and v >= edges[at + 1]:
        at += 1
    return at


def uniform_histogram(Tensor x, Tensor edges, Tensor weights=None, bint by_quotient=False):
    """Counts (int64), or sums of float64 weights, of a 1-d tensor between equally spaced edges: by the edges' rounded values, or by the
    quotient alone."""
    cdef Tensor e = contiguous(cast(edges, FLOAT64)), v, w, out
    cdef Py_ssize_t bins = e.count - 1, i, at
    cdef double *edge = <double *>e.ptr
    cdef double scale = bins / (edge[bins] - edge[0])
    cdef bint single = x.code == FLOAT32
    cdef double value
    v = contiguous(x) if single else contiguous(cast(x, FLOAT64))
    out = new_tensor(1, &bins, INT64 if weights is None else FLOAT64, x.dev)
    memset(out.ptr, 0, bins * 8)
    w = None if weights is None else contiguous(cast(weights, FLOAT64))
    cdef double *wp = <double *>w.ptr if w is not None else NULL
    with nogil:
        for i in range(v.count):
            value = (<float *>v.ptr)[i] if single else (<double *>v.ptr)[i]
            at = quotient_bin(value, edge, bins, single) if by_quotient else find_bin(value, edge, bins, scale)
            if at >= 0:
                if wp == NULL:
                    (<int64_t *>out.ptr)[at] += 1
                else:
                    (<double *>out.ptr)[at] += wp[i]
    return out
