"""Factorisations and triangular solutions: LU, Cholesky; of complex matrices and LDL on LAPACK, the others by `factor`.

Arguments are batches of matrices of any strides; results are column-major, as PyTorch's. `info` holds one
int32 a matrix: 0, or which pivot failed; negative where LAPACKE found a NaN.

    >>> import fasttensor
    >>> lu, pivots, info = getrf(fasttensor.eye(2))
    >>> pivots
    tensor([1, 2], dtype=torch.int32)
"""
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, INT32, COMPLEX64, ITEMSIZE
from fasttensor._core.element cimport write_element
from fasttensor._core.tensor cimport Tensor, new_tensor
from fasttensor.cpu cimport factor
from fasttensor.cpu.lapack cimport *

cdef enum:
    COLUMN_MAJOR = 102
    NO_TRANS = 111
    TRANS = 112
    CONJ_TRANS = 113
    UPPER = 121
    LOWER = 122
    NON_UNIT = 131
    UNIT = 132
    LEFT = 141
    RIGHT = 142

ctypedef int (*getrf_fn)(int, int, int, void *, int, int *) noexcept nogil
ctypedef int (*gesv_fn)(int, int, int, void *, int, int *, void *, int) noexcept nogil
ctypedef int (*potrf_fn)(int, char, int, void *, int) noexcept nogil
ctypedef int (*sytrf_fn)(int, char, int, void *, int, int *) noexcept nogil
ctypedef int (*sytrs_fn)(int, char, int, int, void *, int, int *, void *, int) noexcept nogil
ctypedef void (*trsm_fn)(int, int, int, int, int, int, int, void *, void *, int, void *, int) noexcept nogil


cdef void getrf_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    cdef int *pivots
    for b in range(begin, end):
        a, pivots = t.p[0] + b * t.step[0], <int *>(t.p[1] + b * t.step[1])
        if t.code == FLOAT32:
            t.info[b] = factor.lu(t.m, t.n, <float *>a, t.m, pivots)
        elif t.code == FLOAT64:
            t.info[b] = factor.lu(t.m, t.n, <double *>a, t.m, pivots)
        else:
            t.info[b] = (<getrf_fn>t.fn)(COLUMN_MAJOR, t.m, t.n, a, lead(t.m), pivots)


def getrf(Tensor x):
    """LU with partial pivoting in one matrix, row exchanges counted from 1, info."""
    cdef Task t
    cdef Tensor a = columns(x)
    t.m, t.n = <int>a.sizes[a.rank - 1], <int>a.sizes[a.rank - 2]
    cdef Tensor pivots = batch_of(x, 2, INT32, min(t.m, t.n), -1)
    t.code, t.fn = a.code, complex_routine("getrf_work", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, pivots, 1)
    info = run(&t, a, getrf_range)
    return turned(a), pivots, info


cdef void gesv_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    cdef char *x
    cdef int *pivots
    for b in range(begin, end):
        a, pivots, x = t.p[0] + b * t.step[0], <int *>(t.p[1] + b * t.step[1]), t.p[2] + b * t.step[2]
        if t.code == FLOAT32:
            t.info[b] = factor.lu(t.n, t.n, <float *>a, t.n, pivots)
            if not t.info[b]:
                t.info[b] = factor.lu_solve(t.n, t.k, <float *>a, t.n, pivots, <float *>x, t.n)
        elif t.code == FLOAT64:
            t.info[b] = factor.lu(t.n, t.n, <double *>a, t.n, pivots)
            if not t.info[b]:
                t.info[b] = factor.lu_solve(t.n, t.k, <double *>a, t.n, pivots, <double *>x, t.n)
        else:
            t.info[b] = (<gesv_fn>t.fn)(COLUMN_MAJOR, t.n, t.k, a, lead(t.n), pivots, x, lead(t.n))


def inverse(Tensor x):
    """The inverses of square matrices, info. The LU of the transposes, which needs no reordering, loses digits where that of the
    matrices does not: of triangles and of rows of one scale each."""
    cdef Task t
    cdef Tensor a = columns(x)
    cdef Tensor b = new_tensor(x.rank, x.sizes, x.code, x.dev)
    cdef Py_ssize_t n = x.sizes[x.rank - 1], i, item = ITEMSIZE[x.code]
    cdef Tensor pivots = batch_of(x, 2, INT32, n, -1)
    if b.count:
        memset(b.ptr, 0, n * n * item)
        for i in range(n):
            write_element(b.ptr + (i * n + i) * item, x.code, 1)
        for i in range(1, b.count // (n * n)):
            memcpy(b.ptr + i * n * n * item, b.ptr, n * n * item)
    t.n = t.k = <int>n
    t.code, t.fn = a.code, complex_routine("gesv_work", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, pivots, 1)
    operand(&t, 2, b, 2)
    info = run(&t, a, gesv_range)
    return turned(b), info


def gesv(Tensor x, Tensor y):
    """The solution of x @ s = y, the LU of x, its pivots, info. One batch shape."""
    cdef Task t
    cdef Tensor a = columns(x), b = columns(y)
    t.n, t.k = <int>a.sizes[a.rank - 1], <int>b.sizes[b.rank - 2]
    cdef Tensor pivots = batch_of(x, 2, INT32, t.n, -1)
    t.code, t.fn = a.code, complex_routine("gesv_work", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, pivots, 1)
    operand(&t, 2, b, 2)
    info = run(&t, a, gesv_range)
    return turned(b), turned(a), pivots, info


cdef inline bint is_nan_at(const char *p, int code) noexcept nogil:
    """The real part of an element."""
    cdef double v = (<const float *>p)[0] if code == FLOAT32 or code == COMPLEX64 else (<const double *>p)[0]
    return v != v


cdef bint is_infinite_at(const char *p, int code) noexcept nogil:
    """Whether the (real part of the) element is infinite."""
    cdef double v = (<const float *>p)[0] if code == FLOAT32 or code == COMPLEX64 else (<const double *>p)[0]
    return v - v != 0


cdef void potrf_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b, i, n = t.n, item = ITEMSIZE[t.code]
    cdef char *a
    for b in range(begin, end):
        a = t.p[0] + b * t.step[0]
        if t.code == FLOAT32:
            t.info[b] = factor.cholesky(n, <float *>a, n)
        elif t.code == FLOAT64:
            t.info[b] = factor.cholesky(n, <double *>a, n)
        else:
            t.info[b] = (<potrf_fn>t.fn)(COLUMN_MAJOR, b"L", t.n, a, lead(t.n))
        for i in range(n):
            # LAPACK asks whether a pivot is not positive, which NaN passes
            if t.info[b] == 0 and is_nan_at(a + i * (n + 1) * item, t.code):
                t.info[b] = <int>(i + 1)
            elif t.info[b] == 0 and i + 1 < n and is_infinite_at(a + i * (n + 1) * item, t.code):
                t.info[b] = <int>(i + 2)        # what is divided by it is not positive
        for i in range(n):
            memset(a + i * n * item, 0, i * item)


def potrf(Tensor x, bint upper):
    """The Cholesky factor, info. In row-major memory an upper factor is the lower one of the transpose."""
    cdef Task t
    cdef Tensor a = rows(x) if upper else columns(x)
    t.n, t.code = <int>a.sizes[a.rank - 1], a.code
    t.fn = complex_routine("potrf_work", a.code)
    operand(&t, 0, a, 2)
    info = run(&t, a, potrf_range)
    return a if upper else turned(a), info


cdef void potri_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    cdef char *y
    for b in range(begin, end):
        a, y = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1]
        if t.code == FLOAT32:
            t.info[b] = factor.lower_square(t.n, <float *>a, t.n, <float *>y)
        else:
            t.info[b] = factor.lower_square(t.n, <double *>a, t.n, <double *>y)


def potri(Tensor x, bint upper):
    """The inverse of what has the real Cholesky factor x."""
    cdef Task t
    cdef Tensor a = rows(x) if upper else columns(x)
    cdef Tensor y = new_tensor(x.rank, x.sizes, x.code, x.dev)
    t.n, t.code = <int>a.sizes[a.rank - 1], a.code
    operand(&t, 0, a, 2)
    operand(&t, 1, y, 2)
    run(&t, a, potri_range)
    return y


cdef void trsm_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b, m = t.m, n = t.n
    cdef char *a
    cdef char *x
    cdef double one[2]
    cdef float one_f[2]
    cdef int side = t.f1 + 100, uplo = t.f2 + 100, unit = t.f3 + 100
    cdef bint upper = uplo == UPPER, ones = unit == UNIT
    one[0] = one_f[0] = 1
    one[1] = one_f[1] = 0
    for b in range(begin, end):
        a, x = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1]
        if t.code == FLOAT32 and side == LEFT:
            t.info[b] = factor.solve(m, n, <float *>a, 1, t.ld, upper, ones, <float *>x, 1, m)
        elif t.code == FLOAT32:         # of the transposes, whose upper triangle is the lower one
            t.info[b] = factor.solve(n, m, <float *>a, t.ld, 1, not upper, ones, <float *>x, m, 1)
        elif t.code == FLOAT64 and side == LEFT:
            t.info[b] = factor.solve(m, n, <double *>a, 1, t.ld, upper, ones, <double *>x, 1, m)
        elif t.code == FLOAT64:
            t.info[b] = factor.solve(n, m, <double *>a, t.ld, 1, not upper, ones, <double *>x, m, 1)
        else:
            (<trsm_fn>t.fn)(COLUMN_MAJOR, side, uplo, NO_TRANS, unit, t.m, t.n, <void *>one_f if t.code == COMPLEX64 else <void *>one,
                            a, t.ld, x, lead(t.m))


def trsm(Tensor x, Tensor y, bint upper, bint left, bint unit):
    """The solution of x @ s = y, or of s @ x = y, with the triangle of x that `upper` names. A zero on its diagonal gives inf or nan."""
    cdef Task t
    cdef Tensor a = columns(x), b = columns(y)
    t.code, t.ld = a.code, lead(a.sizes[a.rank - 1])
    t.m, t.n = <int>b.sizes[b.rank - 1], <int>b.sizes[b.rank - 2]
    t.f1, t.f2, t.f3 = (LEFT if left else RIGHT) - 100, (UPPER if upper else LOWER) - 100, (UNIT if unit else NON_UNIT) - 100
    t.fn = blas_routine("trsm", a.code) if a.code >= COMPLEX64 else NULL
    operand(&t, 0, a, 2)
    operand(&t, 1, b, 2)
    if b.count:
        run(&t, a, trsm_range)
    return turned(b)


cdef void sytrf_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b, i
    cdef int *pivots
    for b in range(begin, end):
        pivots = <int *>(t.p[1] + b * t.step[1])
        for i in range(t.n):        # a matrix that holds NaN is refused, with no pivot written
            pivots[i] = <int>(i + 1)
        t.info[b] = (<sytrf_fn>t.fn)(COLUMN_MAJOR, b"L", t.n, t.p[0] + b * t.step[0], lead(t.n), pivots)


def sytrf(Tensor x, bint hermitian):
    """The LDL factors of the lower triangle by Bunch and Kaufman's pivoting, pivots, info."""
    cdef Task t
    cdef Tensor a = columns(x)
    t.n = <int>a.sizes[a.rank - 1]
    cdef Tensor pivots = batch_of(x, 2, INT32, t.n, -1)
    t.fn = routine("sytrf", "hetrf" if hermitian else "sytrf", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, pivots, 1)
    info = run(&t, a, sytrf_range)
    return turned(a), pivots, info


cdef void sytrs_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    for b in range(begin, end):
        t.info[b] = (<sytrs_fn>t.fn)(COLUMN_MAJOR, b"L", t.n, t.k, t.p[0] + b * t.step[0], lead(t.n), <int *>(t.p[1] + b * t.step[1]),
                                     t.p[2] + b * t.step[2], lead(t.n))


def sytrs(Tensor x, Tensor pivots, Tensor y, bint hermitian):
    """The solution by the factors of `sytrf`; info."""
    cdef Task t
    cdef Tensor a = columns(x), b = columns(y)
    cdef Tensor given = pivots.contiguous()
    cdef Py_ssize_t i
    cdef int p
    t.n, t.k = <int>a.sizes[a.rank - 1], <int>b.sizes[b.rank - 2]
    for i in range(given.count):        # LAPACK would write outside of memory
        p = (<int *>given.ptr)[i]
        if p == 0 or p > t.n or p < -t.n:
            raise RuntimeError(f"linalg.ldl_solve: pivots are 1 .. {t.n} or their negatives, got {p}")
    t.fn = routine("sytrs", "hetrs" if hermitian else "sytrs", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, given, 1)
    operand(&t, 2, b, 2)
    info = run(&t, a, sytrs_range)
    return turned(b), info


def row_order(Tensor pivots, Py_ssize_t m):
    """The permutation that LAPACK's row exchanges make: order[i] is the row that comes to row i. int32 (..., k) gives int32 (..., m)."""
    cdef Tensor p = pivots.contiguous()
    cdef Tensor order = batch_of(p, 1, INT32, m, -1)
    cdef Py_ssize_t b, i, k = p.sizes[p.rank - 1]
    cdef int *exchange
    cdef int *o
    cdef int j
    if m == 0 or order.count == 0:
        return order
    for b in range(order.count // m):
        exchange, o = <int *>p.ptr + b * k, <int *>order.ptr + b * m
        for i in range(m):
            o[i] = <int>i
        for i in range(min(k, m)):
            j = exchange[i] - 1
            if not 0 <= j < m:
                raise RuntimeError(f"linalg: pivots count rows from 1 to {m}, got {j + 1}")
            o[i], o[j] = o[j], o[i]
    return order
