from fasttensor._core.tensor cimport Tensor

# What one matrix of a batch needs: a routine, up to six arrays that advance by `step` bytes a matrix, sizes and letters.
cdef struct Task:
    void *fn
    char *p[6]
    Py_ssize_t step[6]
    int *info
    int m, n, k, code, ld
    char f1, f2, f3

cdef void *routine(str real, str other, int code) except NULL     # "getrf" -> scipy_LAPACKE_dgetrf; `other`: its complex name
cdef void *complex_routine(str name, int code) except? NULL       # NULL for real dtypes, which need none
cdef void *blas_routine(str name, int code) except NULL
cdef Tensor columns(Tensor x)                   # a fresh column-major copy: a contiguous tensor of the transposed shape
cdef Tensor rows(Tensor x)                      # a fresh row-major copy: to LAPACK, the transposes
cdef Tensor turned(Tensor x)                    # its last two dimensions exchanged, in place
cdef Tensor batch_of(Tensor x, int drop, int code, Py_ssize_t a, Py_ssize_t b)    # x's shape without its last `drop` sizes, then a and b where >= 0
cdef void operand(Task *t, int place, Tensor x, int drop) noexcept    # drop: the dimensions of one matrix
cdef Tensor run(Task *t, Tensor a, void (*body)(void *, Py_ssize_t, Py_ssize_t) noexcept nogil)   # over a's batch; the infos


cdef inline int lead(Py_ssize_t rows) noexcept nogil:
    """The leading dimension of a matrix, which LAPACK wants positive."""
    return <int>rows if rows > 1 else 1
