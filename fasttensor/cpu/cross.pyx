# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Cross products of vectors of three elements along any dimension.

Example::

    c = cross.cross(a, b, 1)        # a, b [..., 3, ...] of one shape and dtype
"""
from libc.stdint cimport int64_t
from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, INT64, COMPLEX64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for

ctypedef fused element:
    int64_t
    float
    double
    float complex
    double complex

cdef struct Job:
    const char *a
    const char *b
    char *c
    Py_ssize_t inner
    int code


cdef void products(const element *a, const element *b, element *c, Py_ssize_t inner, Py_ssize_t outer) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef element a0, a1, a2, b0, b1, b2
    if inner == 1:          # vectors of adjacent elements, as most are
        for i in range(0, 3 * outer, 3):
            a0, a1, a2, b0, b1, b2 = a[i], a[i + 1], a[i + 2], b[i], b[i + 1], b[i + 2]
            c[i] = a1 * b2 - a2 * b1
            c[i + 1] = a2 * b0 - a0 * b2
            c[i + 2] = a0 * b1 - a1 * b0
        return
    for _ in range(outer):
        for j in range(inner):
            a0, a1, a2, b0, b1, b2 = a[j], a[j + inner], a[j + 2 * inner], b[j], b[j + inner], b[j + 2 * inner]
            c[j] = a1 * b2 - a2 * b1
            c[j + inner] = a2 * b0 - a0 * b2
            c[j + 2 * inner] = a0 * b1 - a1 * b0
        a, b, c = a + 3 * inner, b + 3 * inner, c + 3 * inner


cdef void chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t at = 3 * begin * s.inner * ITEMSIZE[s.code]
    if s.code == FLOAT32:
        products(<float *>(s.a + at), <float *>(s.b + at), <float *>(s.c + at), s.inner, end - begin)
    elif s.code == FLOAT64:
        products(<double *>(s.a + at), <double *>(s.b + at), <double *>(s.c + at), s.inner, end - begin)
    elif s.code == INT64:
        products(<int64_t *>(s.a + at), <int64_t *>(s.b + at), <int64_t *>(s.c + at), s.inner, end - begin)
    elif s.code == COMPLEX64:
        products(<float complex *>(s.a + at), <float complex *>(s.b + at), <float complex *>(s.c + at), s.inner, end - begin)
    else:
        products(<double complex *>(s.a + at), <double complex *>(s.b + at), <double complex *>(s.c + at), s.inner, end - begin)


def cross(Tensor a, Tensor b, int dim):
    """a x b along `dim`, which has three elements; half types are computed in float32, integers wrap in their own type."""
    cdef Job s
    cdef int d
    cdef Tensor x, y, out
    s.code = a.code if a.code >= FLOAT32 else FLOAT32 if a.code >= FLOAT16 else INT64
    x, y = cast(contiguous(a), s.code), cast(contiguous(b), s.code)
    out = new_like(x, s.code)
    s.a, s.b, s.c, s.inner = x.ptr, y.ptr, out.ptr, 1
    for d in range(dim + 1, a.rank):
        s.inner *= a.sizes[d]
    if out.count < 4096:
        chunk(&s, 0, out.count // (3 * s.inner) if out.count else 0)
    else:
        with nogil:
            parallel_for(out.count // (3 * s.inner), 16384 // (3 * s.inner) + 1, chunk, &s)
    return cast(out, a.code)
