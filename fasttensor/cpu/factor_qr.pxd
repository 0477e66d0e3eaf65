# QR of float32 and float64 in column-major memory. What returns int returns LAPACK's info, or NO_MEMORY of `factor`.
from fasttensor.cpu.factor cimport real

# R and reflections below it
cdef int qr(Py_ssize_t m, Py_ssize_t n, real *a, Py_ssize_t ld, real *tau) noexcept nogil
# the first n columns of the product of the k reflections in a, in place
cdef int qr_columns(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, real *a, Py_ssize_t ld, const real *tau) noexcept nogil
# c (m x columns, any strides) = Q c or Q^T c, Q of k reflections
cdef int qr_apply(Py_ssize_t m, Py_ssize_t k, const real *a, Py_ssize_t ld, const real *tau, bint transpose,
                  real *c, Py_ssize_t crs, Py_ssize_t ccs, Py_ssize_t columns) noexcept nogil
# The solution of least squares (m >= n), or of least norm, in the first n rows of x, which has max(m, n) of them. a: the
# taller of A and A^T. False: A may not have full rank by `rcond` (negative: as `dependent_line` says), and all is overwritten.
cdef int full_rank_solution(Py_ssize_t m, Py_ssize_t n, Py_ssize_t columns, real *a, real *x, double rcond) noexcept nogil
# The first line (from 1) of a triangular factor that is, up to rounding, a sum of the lines before it; 0: none. The scale of lines
# does not matter. Line j has its elements 0 .. j at a[(j * line + i * step) * parts], parts: 2 of a complex one; tall: elements of a line before.
cdef int dependent_line(Py_ssize_t n, const real *a, Py_ssize_t line, Py_ssize_t step, int parts, Py_ssize_t tall) noexcept nogil
