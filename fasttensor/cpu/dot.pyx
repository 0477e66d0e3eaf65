# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The dot product of two vectors of one dtype and length, of any strides.

Example::

    s = dot.dot(x, y, True)         # sum(conj(x) y), 0-d

Half types are multiplied in float32; the sums of pieces of fixed length are added in float64. Integers wrap in their own type.
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport BOOL, COMPLEX64, COMPLEX128, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef extern from "dot_rows.h" nogil:
    enum: K_INT
    const signed char *FT_KIND_SIZE
    int ft_kind_of(int code)
    const void *ft_load(int code, int kind, const char *p, Py_ssize_t step, Py_ssize_t n, void *dst)
    void ft_store_int(char *out, int code, int64_t v)
    void ft_store_real(char *out, int code, double v)
    void ft_dot_rows(int kind, const void *x, const void *y, Py_ssize_t n, int conj, void *sum)

cdef enum:
    PIECE = 1 << 15         # elements of one task
    LOAD = 512              # elements converted at a time
    FEW = 64                # pieces whose sums find room on the stack

ctypedef union Sum:
    int64_t whole
    double real[2]

cdef struct Job:
    const char *x
    const char *y
    Py_ssize_t xstep, ystep, n
    int code, kind, conj
    bint direct             # both vectors are read where they lie
    Sum *sums


cdef void pieces(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef double complex a[LOAD]
    cdef double complex b[LOAD]
    cdef Sum part
    cdef Sum *total
    cdef Py_ssize_t piece, i, n, stop
    for piece in range(begin, end):
        i, total = piece * PIECE, s.sums + piece
        stop = s.n if s.n - i < PIECE else i + PIECE
        if s.direct:
            ft_dot_rows(s.kind, s.x + i * s.xstep, s.y + i * s.ystep, stop - i, s.conj, total)
            continue
        total.real[0] = total.real[1] = 0           # whose bits are those of the integer 0
        while i < stop:
            n = LOAD if stop - i > LOAD else stop - i
            ft_dot_rows(s.kind, ft_load(s.code, s.kind, s.x + i * s.xstep, s.xstep, n, a),
                        ft_load(s.code, s.kind, s.y + i * s.ystep, s.ystep, n, b), n, s.conj, &part)
            if s.kind == K_INT:
                total.whole += part.whole
            else:
                total.real[0] += part.real[0]
                total.real[1] += part.real[1]
            i += n


cdef Tensor dot_plain(Tensor x, Tensor y, bint conj):
    cdef Tensor out
    cdef Job s
    cdef Sum few[FEW]
    cdef Sum total
    cdef Py_ssize_t i, count = (x.sizes[0] + PIECE - 1) // PIECE
    if x.code == BOOL:
        raise NotImplementedError(f"\"dot\" not implemented for 'Bool': cast {describe(x)} and {describe(y)} to an integer or floating point dtype")
    out = new_tensor(0, NULL, x.code, x.dev)
    s.code, s.kind, s.conj, s.n = x.code, ft_kind_of(x.code), conj, x.sizes[0]
    s.x, s.xstep, s.y, s.ystep = x.ptr, x.steps[0] * ITEMSIZE[x.code], y.ptr, y.steps[0] * ITEMSIZE[x.code]
    s.direct = s.xstep == ITEMSIZE[x.code] and s.ystep == s.xstep and ITEMSIZE[x.code] == FT_KIND_SIZE[s.kind]
    s.sums = &few[0] if count <= FEW else <Sum *>malloc(count * sizeof(Sum))
    if s.sums == NULL:
        raise no_room(f"dot: no memory for {count} sums")
    if count <= 1:
        pieces(&s, 0, count)
    else:
        with nogil:
            parallel_for(count, 1, pieces, &s)
    total.real[0] = total.real[1] = 0
    for i in range(count):
        if s.kind == K_INT:
            total.whole += s.sums[i].whole
        else:
            total.real[0] += s.sums[i].real[0]
            total.real[1] += s.sums[i].real[1]
    if s.sums != &few[0]:
        free(s.sums)
    if s.kind == K_INT:
        ft_store_int(out.ptr, x.code, total.whole)
    elif x.code == COMPLEX64:
        (<float *>out.ptr)[0], (<float *>out.ptr)[1] = <float>total.real[0], <float>total.real[1]
    elif x.code == COMPLEX128:
        (<double *>out.ptr)[0], (<double *>out.ptr)[1] = total.real[0], total.real[1]
    else:
        ft_store_real(out.ptr, x.code, total.real[0])
    return out


def dot(Tensor x not None, Tensor y not None, bint conj=False):
    """Sum of products of two vectors; with ``conj`` the first is conjugated."""
    return dot_plain(x, y, conj)
