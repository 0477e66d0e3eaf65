"""Factorisations of float32 and float64 matrices, blocked so that most of the work is matrix products.

LU and Cholesky halve the matrix (S. Toledo, "Locality of reference in LU decomposition with partial pivoting") down to
panels that factor.h computes in registers. Pivots and infos are LAPACK's. The threads are those of the products; how a
matrix is cut depends on its size alone.
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memset
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.gemm.blocks cimport Product, start_product, set_scalars, multiply

cdef extern from "factor.h":
    enum:
        FT_PANEL
    void pad_f32(float *w, Py_ssize_t ldw, const float *a, Py_ssize_t lda, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void pad_f64(double *w, Py_ssize_t ldw, const double *a, Py_ssize_t lda, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void unpad_f32(float *a, Py_ssize_t lda, const float *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    void unpad_f64(double *a, Py_ssize_t lda, const double *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n) noexcept nogil
    int ft_lu_f32(float *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, int *pivots) noexcept nogil
    int ft_lu_f64(double *w, Py_ssize_t ldw, Py_ssize_t m, Py_ssize_t n, int *pivots) noexcept nogil
    void ft_exchange_f32(float *a, Py_ssize_t lda, Py_ssize_t n, const int *pivots, Py_ssize_t first, Py_ssize_t count) noexcept nogil
    void ft_exchange_f64(double *a, Py_ssize_t lda, Py_ssize_t n, const int *pivots, Py_ssize_t first, Py_ssize_t count) noexcept nogil
    int ft_cholesky_f32(float *w, Py_ssize_t ldw, Py_ssize_t n) noexcept nogil
    int ft_cholesky_f64(double *w, Py_ssize_t ldw, Py_ssize_t n) noexcept nogil
    void ft_solve_f32(Py_ssize_t n, Py_ssize_t columns, const float *a, Py_ssize_t ars, Py_ssize_t acs, int upper, int unit,
                      float *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil
    void ft_solve_f64(Py_ssize_t n, Py_ssize_t columns, const double *a, Py_ssize_t ars, Py_ssize_t acs, int upper, int unit,
                      double *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil

cdef enum:
    NARROW = 16             # columns of a panel of LU, whose reads of a column are strided in rows
    GROUP = 128             # right-hand sides of one task
    SPLIT = 1 << 19         # multiply-adds from which they are shared by the threads


cdef inline Py_ssize_t rounded(Py_ssize_t n, Py_ssize_t unit) noexcept nogil:
    return (n + unit - 1) // unit * unit


cdef Py_ssize_t padded(Py_ssize_t m, real *like) noexcept nogil:
    return rounded(m, 64 // <Py_ssize_t>sizeof(real))


cdef int product(real *c, Py_ssize_t crs, Py_ssize_t ccs, const real *a, Py_ssize_t ars, Py_ssize_t acs,
                 const real *b, Py_ssize_t brs, Py_ssize_t bcs, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, bint subtract) noexcept nogil:
    """c = a b, or c -= a b."""
    cdef Product g
    start_product(&g, 8 if real is float else 9, m, n, k)
    g.a, g.b, g.c = <const char *>a, <const char *>b, <char *>c
    g.ars, g.acs, g.brs, g.bcs, g.crs, g.ccs = ars, acs, brs, bcs, crs, ccs
    if subtract:
        g.d, g.drs, g.dcs = <const char *>c, crs, ccs
        set_scalars(&g, -1, 1)
    return multiply(&g)


cdef inline void exchange(real *a, Py_ssize_t ld, Py_ssize_t n, const int *pivots, Py_ssize_t count) noexcept nogil:
    if real is float:
        ft_exchange_f32(a, ld, n, pivots, 0, count)
    else:
        ft_exchange_f64(a, ld, n, pivots, 0, count)


cdef int lu_halves(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, int *pivots, real *room) noexcept nogil:
    cdef Py_ssize_t half, i, ldw
    cdef int info, below
    cdef real *beside
    if n <= NARROW or (n <= FT_PANEL and m <= 2 * FT_PANEL):
        ldw = padded(m, a)
        if real is float:
            pad_f32(room, ldw, a, ld, m, n)
            info = ft_lu_f32(room, ldw, m, n, pivots)
            unpad_f32(a, ld, room, ldw, m, n)
        else:
            pad_f64(room, ldw, a, ld, m, n)
            info = ft_lu_f64(room, ldw, m, n, pivots)
            unpad_f64(a, ld, room, ldw, m, n)
        return info
    half = m if n > m else rounded(n // 2, NARROW)
    beside = a + half * ld
    info = lu_halves(m, half, a, ld, pivots, room)
    if info < 0:            # no memory: the pivots are not all there
        return info
    exchange(beside, ld, n - half, pivots, half)
    if solve(half, n - half, a, 1, ld, False, True, beside, 1, ld):
        return NO_MEMORY
    if m == half:
        return info
    if product(beside + half, 1, ld, a + half, 1, ld, beside, 1, ld, m - half, n - half, half, True):
        return NO_MEMORY
    below = lu_halves(m - half, n - half, beside + half, ld, pivots + half, room)
    exchange(a + half, ld, half, pivots + half, min(m, n) - half)
    for i in range(half, min(m, n)):
        pivots[i] += <int>half
    if below < 0 or info:
        return below if below < 0 else info
    return below + <int>half if below else 0


cdef int lu(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, int *pivots) noexcept nogil:
    cdef real *room
    cdef int info
    if m == 0 or n == 0:
        return 0
    room = <real *>malloc((padded(m, a) * NARROW + 3 * FT_PANEL * FT_PANEL) * sizeof(real))
    if room == NULL:
        return NO_MEMORY
    info = lu_halves(m, n, a, ld, pivots, room)
    free(room)
    return info


cdef int lu_solve(Py_ssize_t n, Py_ssize_t columns, real *a, Py_ssize_t ld, int *pivots, real *x, Py_ssize_t ldx) noexcept nogil:
    exchange(x, ldx, columns, pivots, n)
    if solve(n, columns, a, 1, ld, False, True, x, 1, ldx):
        return NO_MEMORY
    return solve(n, columns, a, 1, ld, True, False, x, 1, ldx)


cdef int solve_halves(Py_ssize_t n, Py_ssize_t columns, const real *a, Py_ssize_t ars, Py_ssize_t acs, bint upper, bint unit,
                      real *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil:
    cdef Py_ssize_t half
    if n <= FT_PANEL:
        if real is float:
            ft_solve_f32(n, columns, a, ars, acs, upper, unit, x, xrs, xcs)
        else:
            ft_solve_f64(n, columns, a, ars, acs, upper, unit, x, xrs, xcs)
        return 0
    half = rounded(n // 2, FT_PANEL)
    if half >= n:
        half -= FT_PANEL
    if upper:
        if (solve_halves(n - half, columns, a + half * (ars + acs), ars, acs, upper, unit, x + half * xrs, xrs, xcs)
                or product(x, xrs, xcs, a + half * acs, ars, acs, x + half * xrs, xrs, xcs, half, columns, n - half, True)):
            return NO_MEMORY
        return solve_halves(half, columns, a, ars, acs, upper, unit, x, xrs, xcs)
    if (solve_halves(half, columns, a, ars, acs, upper, unit, x, xrs, xcs)
            or product(x + half * xrs, xrs, xcs, a + half * ars, ars, acs, x, xrs, xcs, n - half, columns, half, True)):
        return NO_MEMORY
    return solve_halves(n - half, columns, a + half * (ars + acs), ars, acs, upper, unit, x + half * xrs, xrs, xcs)


cdef struct System:
    Py_ssize_t n, columns, ars, acs, xrs, xcs
    const char *a
    char *x
    bint upper, unit, double_precision, failed


cdef void solve_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef System *s = <System *>context
    cdef Py_ssize_t first = begin * GROUP, count = min(end * GROUP, s.columns) - first
    cdef int failed
    if s.double_precision:
        failed = solve_halves[double](s.n, count, <const double *>s.a, s.ars, s.acs, s.upper, s.unit, <double *>s.x + first * s.xcs, s.xrs, s.xcs)
    else:
        failed = solve_halves[float](s.n, count, <const float *>s.a, s.ars, s.acs, s.upper, s.unit, <float *>s.x + first * s.xcs, s.xrs, s.xcs)
    if failed:
        s.failed = True


cdef int solve(Py_ssize_t n, Py_ssize_t columns, const real *a, Py_ssize_t ars, Py_ssize_t acs, bint upper, bint unit,
               real *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil:
    cdef System s
    if columns <= GROUP or <double>n * n * columns < SPLIT:
        return solve_halves(n, columns, a, ars, acs, upper, unit, x, xrs, xcs)
    s.n, s.columns, s.ars, s.acs, s.xrs, s.xcs = n, columns, ars, acs, xrs, xcs
    s.a, s.x, s.upper, s.unit, s.double_precision = <const char *>a, <char *>x, upper, unit, real is double
    s.failed = False
    parallel_for((columns + GROUP - 1) // GROUP, 1, solve_range, &s)
    return NO_MEMORY if s.failed else 0


cdef int cholesky(Py_ssize_t n, real *a, Py_ssize_t ld) noexcept nogil:
    cdef real room[32 * 32]
    cdef Py_ssize_t half, rest, c, ldw, width
    cdef int info
    cdef real *below
    cdef real *corner
    if n <= FT_PANEL:
        ldw = padded(n, a)
        if real is float:
            pad_f32(room, ldw, a, ld, n, n)
            info = ft_cholesky_f32(room, ldw, n)
            unpad_f32(a, ld, room, ldw, n, n)
        else:
            pad_f64(room, ldw, a, ld, n, n)
            info = ft_cholesky_f64(room, ldw, n)
            unpad_f64(a, ld, room, ldw, n, n)
        return info
    half = rounded(n // 2, FT_PANEL)
    if half >= n:
        half -= FT_PANEL
    rest = n - half
    below, corner = a + half, a + half * (ld + 1)
    info = cholesky(half, a, ld)
    if info:
        return info
    if solve(half, rest, a, 1, ld, False, False, below, ld, 1):     # below L^T = what was below
        return NO_MEMORY
    c = 0
    while c < rest:             # the lower triangle of the remainder, by blocks of columns
        width = min(GROUP, rest - c)
        if product(corner + c * (ld + 1), 1, ld, below + c, 1, ld, below + c, ld, 1, rest - c, width, half, True):
            return NO_MEMORY
        c += width
    info = cholesky(rest, corner, ld)
    return info + <int>half if info > 0 else info


cdef int lower_inverse(Py_ssize_t n, real *a, Py_ssize_t rs, Py_ssize_t cs) noexcept nogil:
    cdef real room[32 * 32]
    cdef Py_ssize_t half, i, j
    cdef real *below
    if n <= FT_PANEL:
        memset(room, 0, n * n * sizeof(real))
        for i in range(n):
            room[i * (n + 1)] = 1
        if real is float:
            ft_solve_f32(n, n, a, rs, cs, False, False, room, n, 1)
        else:
            ft_solve_f64(n, n, a, rs, cs, False, False, room, n, 1)
        for i in range(n):
            for j in range(i + 1):
                a[i * rs + j * cs] = room[i * n + j]
        return 0
    half = rounded(n // 2, FT_PANEL)
    if half >= n:
        half -= FT_PANEL
    below = a + half * rs
    # - corner^-1 below a^-1, then the two inverses
    if (solve(n - half, half, below + half * cs, rs, cs, False, False, below, rs, cs)
            or solve(half, n - half, a, cs, rs, True, False, below, cs, rs)):
        return NO_MEMORY
    for i in range(n - half):
        for j in range(half):
            below[i * rs + j * cs] = -below[i * rs + j * cs]
    if lower_inverse(half, a, rs, cs):
        return NO_MEMORY
    return lower_inverse(n - half, below + half * cs, rs, cs)


cdef int lower_square(Py_ssize_t n, real *a, Py_ssize_t ld, real *y) noexcept nogil:
    cdef Py_ssize_t i, j, width
    if lower_inverse(n, a, 1, ld):
        return NO_MEMORY
    for j in range(n):
        memset(a + j * ld, 0, j * sizeof(real))
    j = 0
    while j < n:            # a^-T a^-1, the lower triangle by blocks of columns, without the rows of zeros
        width = min(GROUP // 4, n - j)
        if product(y + j * (n + 1), n, 1, a + j * (ld + 1), ld, 1, a + j * (ld + 1), 1, ld, n - j, width, n - j, False):
            return NO_MEMORY
        j += width
    for i in range(n):
        for j in range(i):
            y[j * n + i] = y[i * n + j]
    return 0
