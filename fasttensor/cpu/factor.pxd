# LU, Cholesky and triangular systems of float32 and float64 in column-major memory, blocked over `multiply`. What returns
# int returns LAPACK's info, or NO_MEMORY. Columns lie `ld` elements apart.

cdef enum:
    NO_MEMORY = -1010

ctypedef fused real:
    float
    double

# A = P L U, exchanges from 1
cdef int lu(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, int *pivots) noexcept nogil
# x = L U \ P x for `columns` right-hand sides
cdef int lu_solve(Py_ssize_t n, Py_ssize_t columns, real *a, Py_ssize_t ld, int *pivots, real *x, Py_ssize_t ldx) noexcept nogil
# x = a^-1 x for a triangle and x of any strides
cdef int solve(Py_ssize_t n, Py_ssize_t columns, const real *a, Py_ssize_t ars, Py_ssize_t acs, bint upper, bint unit,
               real *x, Py_ssize_t xrs, Py_ssize_t xcs) noexcept nogil
# the lower factor in place; what is above it is overwritten
cdef int cholesky(Py_ssize_t n, real *a, Py_ssize_t ld) noexcept nogil
# the inverse of a lower triangle in place; a diagonal of zeros gives inf or nan
cdef int lower_inverse(Py_ssize_t n, real *a, Py_ssize_t rs, Py_ssize_t cs) noexcept nogil
# y (n x n, rows) = (a a^T)^-1 of a lower triangle, which becomes its inverse
cdef int lower_square(Py_ssize_t n, real *a, Py_ssize_t ld, real *y) noexcept nogil
# c = a b, or c -= a b, of any strides
cdef int product(real *c, Py_ssize_t crs, Py_ssize_t ccs, const real *a, Py_ssize_t ars, Py_ssize_t acs,
                 const real *b, Py_ssize_t brs, Py_ssize_t bcs, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, bint subtract) noexcept nogil
# rows that make whole vectors
cdef Py_ssize_t padded(Py_ssize_t m, real *like) noexcept nogil
