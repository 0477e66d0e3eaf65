# Address of a BLAS or LAPACK routine ("dgetrf_", "cblas_zgemm"), NULL where no library is installed.
cdef void *symbol(str name) except? NULL
# C[m, n] (row-major, rows ldc apart) = op(A) op(B) for complex operands with a unit stride; conj: conjugated.
# False where BLAS is absent or the layout is not one that it reads.
cdef bint complex_gemm(int code, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const char *a, Py_ssize_t ars,
                       Py_ssize_t acs, bint conj_a,
                       const char *b, Py_ssize_t brs, Py_ssize_t bcs, bint conj_b, char *c, Py_ssize_t ldc) except -1
