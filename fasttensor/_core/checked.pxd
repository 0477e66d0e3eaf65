# Sizes and strides that a user chose, multiplied and added without a silent wrap around.
cdef extern from *:
    """
    static inline int ft_mul_overflows(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) { return __builtin_mul_overflow(a, b, out); }
    static inline int ft_add_overflows(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) { return __builtin_add_overflow(a, b, out); }
    """
    bint mul_overflows "ft_mul_overflows"(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) noexcept nogil
    bint add_overflows "ft_add_overflows"(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) noexcept nogil


cdef inline Py_ssize_t reach_of(int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset, Py_ssize_t itemsize) noexcept nogil:
    """Bytes from the storage's start to the end of the last element; 0 without elements, -1 where 64 bits are too few.
    Sizes, steps and offset are not negative."""
    cdef Py_ssize_t reach, far
    cdef int d
    for d in range(rank):
        if sizes[d] == 0:
            return 0
    if add_overflows(offset, 1, &reach):
        return -1
    for d in range(rank):
        if mul_overflows(sizes[d] - 1, steps[d], &far) or add_overflows(reach, far, &reach):
            return -1
    return -1 if mul_overflows(reach, itemsize, &reach) else reach
