# LU, Cholesky, QR and triangular systems of float32 and float64 in column-major memory, blocked over `multiply`. What returns
# int returns LAPACK's info, or NO_MEMORY. Columns lie `ld` elements apart.

cdef enum:
    NO_MEMORY = -1010

ctypedef fused real:
    float
    double

# A = P L U, exchanges from 1
cdef int lu(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, int *pivots) noexcept nogil
# x = L U \ P x for `columns` right-hand sides
cdef void lu_solve(Py_ssize_t n, Py_ssize_t columns, real *a, Py_ssize_t ld, int *pivots, real *x, Py_ssize_t ldx) noexcept nogil
# x = a^-1 x for a triangle and x of any strides
cdef void solve(Py_ssize_t n, Py_ssize_t columns, const real *a, Py_ssize_t ars, Py_ssize_t acs, bint upper, bint unit,
                real *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil
# the lower factor in place; what is above it is overwritten
cdef int cholesky(Py_ssize_t n, real *a, Py_ssize_t ld) noexcept nogil
# the inverse of a lower triangle in place; a diagonal of zeros gives inf or nan
cdef void lower_inverse(Py_ssize_t n, real *a, Py_ssize_t rs, Py_ssize_t cs) noexcept nogil
# y (n x n, rows) = (a a^T)^-1 of a lower triangle, which becomes its inverse
cdef int lower_square(Py_ssize_t n, real *a, Py_ssize_t ld, real *y) noexcept nogil
# R and reflections below it
cdef int qr(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, real *tau) noexcept nogil
# the first n columns of the product of the k reflections in a, in place
cdef int qr_columns(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, real *a, Py_ssize_t ld, const real *tau) noexcept nogil
# c (m x columns, any strides) = Q c or Q^T c, Q of k reflections
cdef int qr_apply(Py_ssize_t m, Py_ssize_t k, const real *a, Py_ssize_t ld, const real *tau, bint transpose,
                  real *c, Py_ssize_t crs, Py_ssize_t ccs, Py_ssize_t columns) noexcept nogil
# The solution of least squares (m >= n), or of least norm, in the first n rows of x, which has max(m, n) of them. a: the
# taller of A and A^T. False: A may not have full rank by `rcond` (negative: none, but its R has a zero), and all is overwritten.
cdef int full_rank_solution(Py_ssize_t m, Py_ssize_t n, Py_ssize_t columns, real *a, real *x, double rcond) noexcept nogil
