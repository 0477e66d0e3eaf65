"""Singular values, eigenvalues and least squares on LAPACK.

    >>> import fasttensor
    >>> u, s, vh, info = gesdd(fasttensor.eye(2), "S")
    >>> s
    tensor([1., 1.])
"""
from fasttensor._core.dtype cimport INT32, COMPLEX64, FLOAT32, real_code, complex_code
from fasttensor._core.tensor cimport Tensor
from fasttensor.cpu cimport factor_qr
from fasttensor.cpu.lapack cimport *

cdef enum:
    COLUMN_MAJOR = 102

ctypedef int (*gesdd_fn)(int, char, int, int, void *, int, void *, void *, int, void *, int) noexcept nogil
ctypedef int (*syevd_fn)(int, char, char, int, void *, int, void *) noexcept nogil
ctypedef int (*geev_real)(int, char, char, int, void *, int, void *, void *, void *, int, void *, int) noexcept nogil
ctypedef int (*geev_complex)(int, char, char, int, void *, int, void *, void *, int, void *, int) noexcept nogil
ctypedef int (*gels_fn)(int, char, int, int, int, void *, int, void *, int) noexcept nogil
ctypedef int (*gelsd_single)(int, int, int, int, void *, int, void *, int, void *, float, int *) noexcept nogil
ctypedef int (*gelsd_double)(int, int, int, int, void *, int, void *, int, void *, double, int *) noexcept nogil

ctypedef fused real:
    float
    double


cdef bint finite(const char *p, Py_ssize_t count, int code) noexcept nogil:
    """Whether all elements are: with infinities some iterations of LAPACK do not end."""
    cdef double total = 0
    cdef float total_f = 0
    cdef Py_ssize_t i, n = 2 * count if code >= COMPLEX64 else count
    if code == FLOAT32 or code == COMPLEX64:
        for i in range(n):
            total_f += (<const float *>p)[i] * 0
        return total_f == 0
    for i in range(n):
        total += (<const double *>p)[i] * 0
    return total == 0


cdef inline bint refused(Task *t, Py_ssize_t b, Py_ssize_t count) noexcept nogil:
    """Marks a matrix that is not finite as failed."""
    if finite(t.p[0] + b * t.step[0], count, t.code):
        return False
    t.info[b] = -1
    return True


cdef void gesdd_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.m * t.n):
            continue
        t.info[b] = (<gesdd_fn>t.fn)(COLUMN_MAJOR, t.f1, t.m, t.n, t.p[0] + b * t.step[0], lead(t.m), t.p[1] + b * t.step[1],
                                     t.p[2] + b * t.step[2], lead(t.m), t.p[3] + b * t.step[3], lead(t.k))


def gesdd(Tensor x, str job):
    """U, the singular values, V^H and info. job: "A" all columns, "S" the first min(m, n), "N" no vectors (None)."""
    cdef Task t
    cdef Tensor a = columns(x)
    cdef Tensor u, s, vh
    cdef Py_ssize_t k
    t.code = a.code
    t.m, t.n, t.f1 = <int>a.sizes[a.rank - 1], <int>a.sizes[a.rank - 2], ord(job)
    k = min(t.m, t.n)
    s = batch_of(x, 2, real_code(a.code), k, -1)
    if job == "N":
        u = vh = s
        t.k = 1
    else:
        u = batch_of(x, 2, a.code, t.m if job == "A" else k, t.m)
        vh = batch_of(x, 2, a.code, t.n, t.n if job == "A" else k)
        t.k = <int>vh.sizes[vh.rank - 1]
    t.fn = routine("gesdd", "gesdd", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, s, 1)
    operand(&t, 2, u, 2)
    operand(&t, 3, vh, 2)
    info = run(&t, a, gesdd_range)
    return (None, s, None, info) if job == "N" else (turned(u), s, turned(vh), info)


cdef void syevd_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.n * t.n):
            continue
        t.info[b] = (<syevd_fn>t.fn)(COLUMN_MAJOR, t.f1, t.f2, t.n, t.p[0] + b * t.step[0], lead(t.n), t.p[1] + b * t.step[1])


def syevd(Tensor x, bint upper, bint vectors):
    """Ascending eigenvalues of Hermitian matrices, given by one triangle, vectors (None) and info."""
    cdef Task t
    cdef Tensor a = columns(x)
    t.code = a.code
    t.n, t.f1, t.f2 = <int>a.sizes[a.rank - 1], b"V" if vectors else b"N", b"U" if upper else b"L"
    cdef Tensor values = batch_of(x, 2, real_code(a.code), t.n, -1)
    t.fn = routine("syevd", "heevd", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, values, 1)
    info = run(&t, a, syevd_range)
    return values, turned(a) if vectors else None, info


cdef void geev_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b
    cdef char *a
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.n * t.n):
            continue
        a = t.p[0] + b * t.step[0]
        if t.code >= COMPLEX64:
            t.info[b] = (<geev_complex>t.fn)(COLUMN_MAJOR, b"N", t.f1, t.n, a, lead(t.n), t.p[1] + b * t.step[1], NULL, 1,
                                             t.p[3] + b * t.step[3], lead(t.n))
        else:
            t.info[b] = (<geev_real>t.fn)(COLUMN_MAJOR, b"N", t.f1, t.n, a, lead(t.n), t.p[1] + b * t.step[1], t.p[2] + b * t.step[2],
                                          NULL, 1, t.p[3] + b * t.step[3], lead(t.n))


cdef void pair_up(real *wr, real *wi, real *v, real *values, real *vectors, Py_ssize_t batch, Py_ssize_t n, bint wanted) noexcept nogil:
    """LAPACK's real form of conjugate pairs as complex numbers: columns j and j + 1 hold a real and an imaginary part."""
    cdef Py_ssize_t b, j, i
    cdef real *at
    cdef real *to
    for b in range(batch):
        j = 0
        while j < n:
            values[2 * (b * n + j)], values[2 * (b * n + j) + 1] = wr[b * n + j], wi[b * n + j]
            if wanted:
                at, to = v + (b * n + j) * n, vectors + 2 * (b * n + j) * n
                if wi[b * n + j] == 0 or j + 1 == n:
                    for i in range(n):
                        to[2 * i], to[2 * i + 1] = at[i], 0
                else:
                    for i in range(n):
                        to[2 * i], to[2 * i + 1] = at[i], at[n + i]
                        to[2 * (n + i)], to[2 * (n + i) + 1] = at[i], -at[n + i]
                    j += 1
                    values[2 * (b * n + j)], values[2 * (b * n + j) + 1] = wr[b * n + j], wi[b * n + j]
            j += 1


def geev(Tensor x, bint vectors):
    """Complex eigenvalues, eigenvectors of length 1 (None) and info."""
    cdef Task t
    cdef Tensor a = columns(x)
    cdef Tensor wi, w, v, values, result
    cdef Py_ssize_t n = a.sizes[a.rank - 1]
    t.n, t.code, t.f1 = <int>n, a.code, b"V" if vectors else b"N"
    w = batch_of(x, 2, a.code, n, -1)
    wi = batch_of(x, 2, a.code, n, -1)
    v = batch_of(x, 2, a.code, n, n) if vectors else w
    t.fn = routine("geev", "geev", a.code)
    operand(&t, 0, a, 2)
    operand(&t, 1, w, 1)
    operand(&t, 2, wi, 1)
    operand(&t, 3, v, 2 if vectors else 1)
    info = run(&t, a, geev_range)
    if a.code >= COMPLEX64:
        return w, turned(v) if vectors else None, info
    values = batch_of(x, 2, complex_code(a.code), n, -1)
    result = batch_of(x, 2, complex_code(a.code), n, n) if vectors else values
    if values.count and a.code == FLOAT32:
        pair_up[float](<float *>w.ptr, <float *>wi.ptr, <float *>v.ptr, <float *>values.ptr, <float *>result.ptr, w.count // n, n, vectors)
    elif values.count:
        pair_up[double](<double *>w.ptr, <double *>wi.ptr, <double *>v.ptr, <double *>values.ptr, <double *>result.ptr, w.count // n, n, vectors)
    return values, turned(result) if vectors else None, info


cdef void gels_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Task *t = <Task *>context
    cdef Py_ssize_t b, n = min(t.m, t.n), tall = max(t.m, t.n)
    # R's columns, or L's rows
    cdef Py_ssize_t line = t.m if t.m >= t.n else 1, step = 1 if t.m >= t.n else t.m
    cdef int parts = 2 if t.code >= COMPLEX64 else 1
    cdef char *a
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.m * t.n):
            continue
        a = t.p[0] + b * t.step[0]
        t.info[b] = (<gels_fn>t.fn)(COLUMN_MAJOR, b"N", t.m, t.n, t.k, a, lead(t.m), t.p[1] + b * t.step[1], t.ld)
        if t.info[b] == 0 and (t.code == FLOAT32 or t.code == COMPLEX64):
            t.info[b] = factor_qr.dependent_line(n, <float *>a, line, step, parts, tall)
        elif t.info[b] == 0:
            t.info[b] = factor_qr.dependent_line(n, <double *>a, line, step, parts, tall)


cdef struct Tolerance:
    Task task           # first: the bodies read either
    double rcond


cdef void gelsd_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Tolerance *z = <Tolerance *>context
    cdef Task *t = &z.task
    cdef Py_ssize_t b
    cdef int *rank
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.m * t.n):
            continue
        rank = <int *>(t.p[3] + b * t.step[3])
        if t.code == FLOAT32 or t.code == COMPLEX64:
            t.info[b] = (<gelsd_single>t.fn)(COLUMN_MAJOR, t.m, t.n, t.k, t.p[0] + b * t.step[0], lead(t.m), t.p[1] + b * t.step[1], t.ld,
                                             t.p[2] + b * t.step[2], <float>z.rcond, rank)
        else:
            t.info[b] = (<gelsd_double>t.fn)(COLUMN_MAJOR, t.m, t.n, t.k, t.p[0] + b * t.step[0], lead(t.m), t.p[1] + b * t.step[1], t.ld,
                                             t.p[2] + b * t.step[2], z.rcond, rank)


cdef void full_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Tolerance *z = <Tolerance *>context
    cdef Task *t = &z.task
    cdef Py_ssize_t b
    cdef char *a
    cdef char *x
    for b in range(begin, end):
        if refused(t, b, <Py_ssize_t>t.m * t.n):
            continue
        a, x = t.p[0] + b * t.step[0], t.p[1] + b * t.step[1]
        if t.code == FLOAT32:
            t.info[b] = factor_qr.full_rank_solution(t.m, t.n, t.k, <float *>a, <float *>x, z.rcond)
        else:
            t.info[b] = factor_qr.full_rank_solution(t.m, t.n, t.k, <double *>a, <double *>x, z.rcond)


cdef Tensor by_rank(Tensor x, Tensor y, bint tested, double rcond):
    """The overwritten y where all the real matrices x have full rank, else None."""
    cdef Tolerance z
    cdef Tensor a = columns(x) if x.sizes[x.rank - 2] >= x.sizes[x.rank - 1] else rows(x), b = columns(y), info
    cdef Py_ssize_t i
    z.rcond = max(rcond, 1e-15) if tested else -1
    z.task.code = a.code
    z.task.m, z.task.n, z.task.k = <int>x.sizes[x.rank - 2], <int>x.sizes[x.rank - 1], <int>b.sizes[b.rank - 2]
    operand(&z.task, 0, a, 2)
    operand(&z.task, 1, b, 2)
    info = run(&z.task, a, full_range)
    for i in range(info.count):
        if (<int *>info.ptr)[i] != 1:
            return None
    return turned(b)


def least_squares(Tensor x, Tensor y, str driver, double rcond):
    """x (m, n) @ s = y, with y given max(m, n) rows: the overwritten y, ranks and singular values (of gelsd, gelss), info."""
    cdef Tolerance z
    cdef Tensor a, b, values, ranks
    if x.code < COMPLEX64 and driver in ("gels", "gelsy"):      # they have one solution where the rank is full
        b = by_rank(x, y, driver == "gelsy", rcond)
        if b is not None:
            ranks = batch_of(x, 2, INT32, -1, -1)
            ranks.fill_(min(x.sizes[x.rank - 1], x.sizes[x.rank - 2]))
            return b, ranks, None, ranks * 0
    a, b = columns(x), columns(y)
    z.rcond = rcond
    z.task.code = a.code
    z.task.m, z.task.n = <int>a.sizes[a.rank - 1], <int>a.sizes[a.rank - 2]
    z.task.k, z.task.ld = <int>b.sizes[b.rank - 2], lead(b.sizes[b.rank - 1])
    if driver == "gelsy":       # it asks for a pivot array where the others take singular values: they find the same solution
        driver = "gelsd"
    z.task.fn = routine(driver, driver, a.code)
    operand(&z.task, 0, a, 2)
    operand(&z.task, 1, b, 2)
    if driver == "gels":
        return turned(b), None, None, run(&z.task, a, gels_range)
    values = batch_of(x, 2, real_code(a.code), min(z.task.m, z.task.n), -1)
    ranks = batch_of(x, 2, INT32, -1, -1)
    ranks.zero_()
    operand(&z.task, 2, values, 1)
    operand(&z.task, 3, ranks, 0)
    info = run(&z.task, a, gelsd_range)
    return turned(b), ranks, values, info
