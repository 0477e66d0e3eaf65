# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Fractional max pooling: windows of one size at random places, other ones in each plane.

Example::

    values, indices = pool_fractional.fractional_max_pool(x, samples, (2, 2), (5, 5))      # x [..., H, W], samples [planes, 2]
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free

from fasttensor._core.dtype cimport FLOAT32, FLOAT64, INT64
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast
from fasttensor._core.storage cimport no_room

cdef extern from "pool_fractional.h" nogil:
    void ft_pick_row_f32(const float *x, const int64_t *low, float *best, int64_t *index, int64_t at, Py_ssize_t n, int first)
    void ft_pick_row_f64(const double *x, const int64_t *low, double *best, int64_t *index, int64_t at, Py_ssize_t n, int first)
    void ft_starts_f32(float u, int64_t size, int64_t n, int64_t k, int64_t *low)
    void ft_starts_f64(double u, int64_t size, int64_t n, int64_t k, int64_t *low)

ctypedef fused real:
    float
    double

cdef struct Job:
    bint wide, failed
    char *x
    char *samples
    char *out
    int64_t *indices
    Py_ssize_t size[3]
    Py_ssize_t k[3]
    Py_ssize_t n[3]
    Py_ssize_t volume, outs
    int nd


cdef void plane(Job *s, const real *x, const real *u, real *best, int64_t *index, int64_t *low) noexcept nogil:
    cdef Py_ssize_t o0, o1, i0, i1, i2, at
    cdef int64_t *lows[3]
    cdef int a
    cdef bint first
    for a in range(3):
        lows[a], low = low, low + s.n[a]
        if real is float:
            ft_starts_f32(u[a], s.size[a], s.n[a], s.k[a], lows[a])
        else:
            ft_starts_f64(u[a], s.size[a], s.n[a], s.k[a], lows[a])
    for o0 in range(s.n[0]):
        for o1 in range(s.n[1]):
            first = True
            for i0 in range(s.k[0]):
                for i1 in range(s.k[1]):
                    at = ((lows[0][o0] + i0) * s.size[1] + lows[1][o1] + i1) * s.size[2]
                    for i2 in range(s.k[2]):
                        if real is float:
                            ft_pick_row_f32(x + at + i2, lows[2], best, index, at + i2, s.n[2], first)
                        else:
                            ft_pick_row_f64(x + at + i2, lows[2], best, index, at + i2, s.n[2], first)
                        first = False
            best += s.n[2]
            index += s.n[2]


cdef void planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i
    cdef int a
    cdef float single[3]
    cdef double wide[3]
    cdef int64_t *low = <int64_t *>malloc((s.n[0] + s.n[1] + s.n[2]) * sizeof(int64_t))
    if low == NULL:
        s.failed, end = True, begin
    for i in range(begin, end):
        for a in range(3):
            single[a] = wide[a] = 0
        for a in range(s.nd):
            # of two dimensions the number for the width comes first
            if s.wide:
                wide[2 - a if s.nd == 2 else a] = (<double *>s.samples)[i * s.nd + a]
            else:
                single[2 - a if s.nd == 2 else a] = (<float *>s.samples)[i * s.nd + a]
        if s.wide:
            plane(s, <double *>s.x + i * s.volume, wide, <double *>s.out + i * s.outs, s.indices + i * s.outs, low)
        else:
            plane(s, <float *>s.x + i * s.volume, single, <float *>s.out + i * s.outs, s.indices + i * s.outs, low)
    free(low)


def fractional_max_pool(Tensor x, Tensor samples, tuple kernel, tuple out):
    """(values, flat positions) [..., *out] of the last two or three dimensions of x; samples [planes, nd] in [0, 1) for the planes of x."""
    cdef Job s
    cdef int code = FLOAT64 if x.code == FLOAT64 else FLOAT32, a, nd = len(kernel), lead = x.rank - nd
    cdef Tensor p = cast(contiguous(x), code), u = cast(contiguous(samples), code), values, indices
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t count = 1
    s.nd, s.wide, s.failed = nd, code == FLOAT64, False
    s.volume = s.outs = 1
    for a in range(lead):
        sizes[a] = x.sizes[a]
        count *= x.sizes[a]
    for a in range(3):
        s.size[a] = s.k[a] = s.n[a] = 1
        if a >= 3 - nd:
            s.size[a], s.k[a], s.n[a] = x.sizes[lead + a - 3 + nd], kernel[a - 3 + nd], out[a - 3 + nd]
            sizes[lead + a - 3 + nd] = s.n[a]
        s.volume *= s.size[a]
        s.outs *= s.n[a]
    values, indices = new_tensor(x.rank, sizes, code, x.dev), new_tensor(x.rank, sizes, INT64, x.dev)
    s.x, s.samples, s.out, s.indices = p.ptr, u.ptr, values.ptr, <int64_t *>indices.ptr
    with nogil:
        parallel_for(count, 16384 // (s.outs * s.k[0] * s.k[1] * s.k[2] + 1) + 1, planes, &s)
    if s.failed:
        raise no_room("fractional_max_pool: no memory for the places of the windows")
    return cast(values, x.code), indices
