"""Products of Householder's reflections: QR, its Q, and products with it; of complex matrices on LAPACK, the others by `factor_qr`.

Arguments and results are those of `linalg`.
"""
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, COMPLEX64
from fasttensor._core.tensor cimport Tensor
from fasttensor.cpu cimport factor_qr
from fasttensor.cpu.lapack cimport *

cdef enum:
    COLUMN_MAJOR = 102

ctypedef int (*geqrf_fn)(int, int, int, void *, int, void *) noexcept nogil
ctypedef int (*orgqr_fn)(int, int, int, int, void *, int, void *) noexcept nogil
ctypedef int (*ormqr_fn)(int, char, char, int, int, int, void *, int, void *, void *, int) noexcept nogil


cdef void geqrf_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    cdef char *tau
    for b in range(begin, end):
        a, tau = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1]
        if t.code == FLOAT32:
            t.info[b] = factor_qr.qr(t.m, t.n, <float *>a, t.m, <float *>tau)
        elif t.code == FLOAT64:
            t.info[b] = factor_qr.qr(t.m, t.n, <double *>a, t.m, <double *>tau)
        else:
            t.info[b] = (<geqrf_fn>t.fn)(COLUMN_MAJOR, t.m, t.n, a, lead(t.m), tau)


def geqrf(Tensor x):
    """R with Householder vectors below it, their factors, info."""
    cdef Task t
    cdef Tensor a = columns(x)
    t.m, t.n = <int>a.sizes[a.rank - 1], <int>a.sizes[a.rank - 2]
    cdef Tensor tau = batch_of(x, 2, a.code, min(t.m, t.n), -1)
    t.code, t.fn = a.code, complex_routine("geqrf", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, tau, 1)
    info = run(&t, a, geqrf_range)
    return turned(a), tau, info


cdef void orgqr_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    cdef char *tau
    for b in range(begin, end):
        a, tau = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1]
        if t.code == FLOAT32:
            t.info[b] = factor_qr.qr_columns(t.m, t.n, t.k, <float *>a, t.m, <float *>tau)
        elif t.code == FLOAT64:
            t.info[b] = factor_qr.qr_columns(t.m, t.n, t.k, <double *>a, t.m, <double *>tau)
        else:
            t.info[b] = (<orgqr_fn>t.fn)(COLUMN_MAJOR, t.m, t.n, t.k, a, lead(t.m), tau)


def orgqr(Tensor x, Tensor factors):
    """The first columns of the product of Householder reflections: (m, n) with k <= n <= m of them; info."""
    cdef Task t
    cdef Tensor a = columns(x)
    cdef Tensor tau = factors.contiguous()
    t.m, t.n, t.k = <int>a.sizes[a.rank - 1], <int>a.sizes[a.rank - 2], <int>tau.sizes[tau.rank - 1]
    t.code, t.fn = a.code, complex_routine("ungqr", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, tau, 1)
    info = run(&t, a, orgqr_range)
    return turned(a), info


cdef void ormqr_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef Py_ssize_t m = t.m, n = t.n
    cdef bint transpose = t.f2 != b"N", left = t.f1 == b"L"
    cdef char *a
    cdef char *tau
    cdef char *c
    for b in range(begin, end):
        a, tau, c = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1], t.p[2] + b * t.step[2]
        if t.code == FLOAT32 and left:
            t.info[b] = factor_qr.qr_apply(m, t.k, <float *>a, t.ld, <float *>tau, transpose, <float *>c, 1, m, n)
        elif t.code == FLOAT32:         # c Q is the transpose of Q^T c^T
            t.info[b] = factor_qr.qr_apply(n, t.k, <float *>a, t.ld, <float *>tau, not transpose, <float *>c, m, 1, m)
        elif t.code == FLOAT64 and left:
            t.info[b] = factor_qr.qr_apply(m, t.k, <double *>a, t.ld, <double *>tau, transpose, <double *>c, 1, m, n)
        elif t.code == FLOAT64:
            t.info[b] = factor_qr.qr_apply(n, t.k, <double *>a, t.ld, <double *>tau, not transpose, <double *>c, m, 1, m)
        else:
            t.info[b] = (<ormqr_fn>t.fn)(COLUMN_MAJOR, t.f1, t.f2, t.m, t.n, t.k, a, t.ld, tau, c, lead(t.m))


def ormqr(Tensor x, Tensor factors, Tensor other, bint left, bint transpose):
    """Q, or its adjoint, times `other` from either side; info."""
    cdef Task t
    cdef Tensor a = columns(x), c = columns(other)
    cdef Tensor tau = factors.contiguous()
    t.m, t.n, t.k = <int>c.sizes[c.rank - 1], <int>c.sizes[c.rank - 2], <int>tau.sizes[tau.rank - 1]
    t.ld = lead(a.sizes[a.rank - 1])
    t.f1 = b"L" if left else b"R"
    t.f2 = b"N" if not transpose else b"C" if a.code >= COMPLEX64 else b"T"
    t.code, t.fn = a.code, complex_routine("unmqr", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, tau, 1)
    operand(&t, 2, c, 2)
    info = run(&t, c, ormqr_range) if a.count else None
    return turned(c), info
