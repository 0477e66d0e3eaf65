"""QR of float32 and float64 matrices by blocks, and least squares by it.

A panel's reflections are gathered as I - V T V^T (R. Schreiber and C. Van Loan, "A storage-efficient WY representation"), so
that the other columns take them in three products. Signs are LAPACK's.
"""
from libc.float cimport DBL_EPSILON, FLT_EPSILON
from libc.math cimport fabs, sqrt
from libc.stdlib cimport malloc, free
from libc.string cimport memset
from fasttensor.cpu.factor cimport real, NO_MEMORY, lower_inverse, padded, product, solve

cdef extern from "factor.h":
    enum:
        FT_PANEL
    void pad_f32(float *w, Py_ssize_t ldw, const float *a, Py_ssize_t lda, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void pad_f64(double *w, Py_ssize_t ldw, const double *a, Py_ssize_t lda, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void unpad_f32(float *a, Py_ssize_t lda, const float *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void unpad_f64(double *a, Py_ssize_t lda, const double *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void ft_qr_f32(float *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, float *tau, float *v) noexcept nogil
    void ft_qr_f64(double *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, double *tau, double *v) noexcept nogil
    void ft_q_f32(float *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const float *tau, float *v) noexcept nogil
    void ft_q_f64(double *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const double *tau, double *v) noexcept nogil
    void ft_compact_f32(float *g, Py_ssize_t n, const float *tau) noexcept nogil
    void ft_compact_f64(double *g, Py_ssize_t n, const double *tau) noexcept nogil


# Memory for a panel of reflections and its products with `columns` others.
cdef struct Reflections:
    char *vectors           # padded columns
    char *one               # a padded column
    char *t                 # the triangle
    char *products
    char *turned            # the triangle's products


cdef bint reserve(Reflections *r, Py_ssize_t m, Py_ssize_t columns, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t ldw = (m + 64 // size - 1) // (64 // size) * (64 // size)
    r.vectors = <char *>malloc(((FT_PANEL + 1) * ldw + FT_PANEL * FT_PANEL + 2 * FT_PANEL * columns) * size)
    r.one = r.vectors + FT_PANEL * ldw * size
    r.t = r.one + ldw * size
    r.products = r.t + FT_PANEL * FT_PANEL * size
    r.turned = r.products + FT_PANEL * columns * size
    return r.vectors != NULL


cdef int gather(Reflections *r, Py_ssize_t m, Py_ssize_t count, const real *tau) noexcept nogil:
    """Makes V (ones on the diagonal, zeros above it) and T from the reflections in r.vectors."""
    cdef real *v = <real *>r.vectors
    cdef real *t = <real *>r.t
    cdef Py_ssize_t i, j, ldw = padded(m, v)
    for j in range(count):
        for i in range(min(j, m)):
            v[j * ldw + i] = 0
        if j < m:
            v[j * ldw + j] = 1
    if product(t, count, 1, v, ldw, 1, v, 1, ldw, count, count, m, False):
        return NO_MEMORY
    if real is float:
        ft_compact_f32(t, count, tau)
    else:
        ft_compact_f64(t, count, tau)
    return 0


cdef int apply_panel(Reflections *r, Py_ssize_t m, Py_ssize_t count, bint transpose, real *c, Py_ssize_t crs, Py_ssize_t ccs,
                     Py_ssize_t columns) noexcept nogil:
    """c -= V T V^T c, or with T^T."""
    cdef const real *v = <const real *>r.vectors
    cdef const real *t = <const real *>r.t
    cdef real *w = <real *>r.products
    cdef real *z = <real *>r.turned
    cdef Py_ssize_t ldw = padded(m, w)
    if columns == 0:
        return 0
    if product(w, columns, 1, v, ldw, 1, c, crs, ccs, count, columns, m, False):
        return NO_MEMORY
    if product(z, columns, 1, t, 1 if transpose else count, count if transpose else 1, w, columns, 1, count, columns, count, False):
        return NO_MEMORY
    return NO_MEMORY if product(c, crs, ccs, v, 1, ldw, z, columns, 1, m, columns, count, True) else 0


cdef int qr(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, real *tau) noexcept nogil:
    cdef Reflections r
    cdef Py_ssize_t j = 0, count, ldw, most = min(m, n)
    cdef real *at
    cdef real *w
    cdef int failed = 0
    if most == 0:
        return 0
    if not reserve(&r, m, n, sizeof(real)):
        return NO_MEMORY
    w = <real *>r.vectors
    while j < most and not failed:
        count, at = min(FT_PANEL, most - j), a + j * (ld + 1)
        ldw = padded(m - j, a)
        if real is float:
            pad_f32(w, ldw, at, ld, m - j, count)
            ft_qr_f32(w, ldw, m - j, count, tau + j, <float *>r.one)
            unpad_f32(at, ld, w, ldw, m - j, count)
        else:
            pad_f64(w, ldw, at, ld, m - j, count)
            ft_qr_f64(w, ldw, m - j, count, tau + j, <double *>r.one)
            unpad_f64(at, ld, w, ldw, m - j, count)
        if j + count < n:
            failed = gather(&r, m - j, count, tau + j)
            if not failed:
                failed = apply_panel(&r, m - j, count, True, at + count * ld, 1, ld, n - j - count)
        j += count
    free(r.vectors)
    return failed


cdef int qr_columns(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, real *a, Py_ssize_t ld, const real *tau) noexcept nogil:
    cdef Reflections r
    cdef Py_ssize_t i, j, count, ldw
    cdef real *at
    cdef real *w
    cdef int failed = 0
    if m == 0 or n == 0:
        return 0
    if not reserve(&r, m, n, sizeof(real)):
        return NO_MEMORY
    w = <real *>r.vectors
    if n <= FT_PANEL:
        ldw = padded(m, a)
        if real is float:
            pad_f32(w, ldw, a, ld, m, k)
            ft_q_f32(w, ldw, m, n, k, tau, <float *>r.one)
            unpad_f32(a, ld, w, ldw, m, n)
        else:
            pad_f64(w, ldw, a, ld, m, k)
            ft_q_f64(w, ldw, m, n, k, tau, <double *>r.one)
            unpad_f64(a, ld, w, ldw, m, n)
        free(r.vectors)
        return 0
    for i in range(k, n):
        memset(a + i * ld, 0, m * sizeof(real))
        a[i * (ld + 1)] = 1
    j = (k - 1) // FT_PANEL * FT_PANEL if k else -1
    while j >= 0 and not failed:
        count, at = min(FT_PANEL, k - j), a + j * (ld + 1)
        ldw = padded(m - j, a)
        if real is float:
            pad_f32(w, ldw, at, ld, m - j, count)
        else:
            pad_f64(w, ldw, at, ld, m - j, count)
        failed = gather(&r, m - j, count, tau + j)
        for i in range(j, j + count):
            memset(a + i * ld, 0, m * sizeof(real))
            a[i * (ld + 1)] = 1
        if not failed:
            failed = apply_panel(&r, m - j, count, False, at, 1, ld, n - j)
        j -= FT_PANEL
    free(r.vectors)
    return failed


cdef int qr_apply(Py_ssize_t m, Py_ssize_t k, const real *a, Py_ssize_t ld, const real *tau, bint transpose,
                  real *c, Py_ssize_t crs, Py_ssize_t ccs, Py_ssize_t columns) noexcept nogil:
    cdef Reflections r
    cdef Py_ssize_t j, count, ldw, panel, panels = (k + FT_PANEL - 1) // FT_PANEL
    cdef real *w
    cdef int failed = 0
    if m == 0 or columns == 0 or k == 0:
        return 0
    if not reserve(&r, m, columns, sizeof(real)):
        return NO_MEMORY
    w = <real *>r.vectors
    for panel in range(panels):
        j = FT_PANEL * (panel if transpose else panels - 1 - panel)
        count, ldw = min(FT_PANEL, k - j), padded(m - j, w)
        if real is float:
            pad_f32(w, ldw, a + j * (ld + 1), ld, m - j, count)
        else:
            pad_f64(w, ldw, a + j * (ld + 1), ld, m - j, count)
        failed = gather(&r, m - j, count, tau + j)
        if not failed:
            failed = apply_panel(&r, m - j, count, transpose, c + j * crs, crs, ccs, columns)
        if failed:
            break
    free(r.vectors)
    return failed


cdef int dependent_line(Py_ssize_t n, const real *a, Py_ssize_t line, Py_ssize_t step, int parts, Py_ssize_t tall) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef int p
    cdef double size, square, last, v, tolerance = 2 * sqrt(<double>tall) * (FLT_EPSILON if real is float else DBL_EPSILON)
    for j in range(n):
        size = square = last = 0
        for i in range(j + 1):
            for p in range(parts):
                size = max(size, fabs(<double>a[(j * line + i * step) * parts + p]))
        for i in range(j + 1):
            last = 0
            for p in range(parts):
                v = a[(j * line + i * step) * parts + p] / size
                last += v * v
            square += last
        # what is left of a line that rounding alone makes differ from a sum of those before it; also where all is 0, which makes NaN
        if not last > tolerance * tolerance * square:
            return <int>(j + 1)
    return 0


cdef bint has_full_rank(Py_ssize_t n, const real *a, Py_ssize_t ld, real *room, double rcond) noexcept nogil:
    """Whether R's least singular value over its greatest exceeds rcond: it is at least 1 / (|R| |R^-1|), with Frobenius' norms."""
    cdef Py_ssize_t i, j
    cdef double size = 0, inverse = 0
    if rcond < 0:
        return not dependent_line(n, a, ld, 1, 1, ld)
    for i in range(n):
        if a[i * (ld + 1)] == 0:
            return False
    for i in range(n):
        for j in range(i + 1):
            room[i * n + j] = a[i * ld + j]
            size += <double>a[i * ld + j] * a[i * ld + j]
    if lower_inverse(n, room, n, 1):
        return False        # not known: LAPACK decides
    for i in range(n):
        for j in range(i + 1):
            inverse += <double>room[i * n + j] * room[i * n + j]
    return size * inverse * rcond * rcond < 0.25


cdef int full_rank_solution(Py_ssize_t m, Py_ssize_t n, Py_ssize_t columns, real *a, real *x, double rcond) noexcept nogil:
    cdef Py_ssize_t tall = max(m, n), short = min(m, n), j
    cdef real *tau = <real *>malloc((short + short * short) * sizeof(real))
    cdef int found
    if tau == NULL:
        return NO_MEMORY
    found = qr(tall, short, a, tall, tau)
    if found == 0 and has_full_rank(short, a, tall, tau + short, rcond):
        found = 1
        if m >= n:
            if qr_apply(tall, short, a, tall, tau, True, x, 1, tall, columns):
                found = NO_MEMORY
            if solve(short, columns, a, 1, tall, True, False, x, 1, tall):
                found = NO_MEMORY
        else:               # A = R^T Q^T
            if solve(short, columns, a, tall, 1, False, False, x, 1, tall):
                found = NO_MEMORY
            for j in range(columns):
                memset(x + j * tall + short, 0, (tall - short) * sizeof(real))
            if qr_apply(tall, short, a, tall, tau, False, x, 1, tall, columns):
                found = NO_MEMORY
    free(tau)
    return found
