# The twelve element types, as small C integers in the order of promotion.
cdef enum:
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT16 = 6
    BFLOAT16 = 7
    FLOAT32 = 8
    FLOAT64 = 9
    COMPLEX64 = 10
    COMPLEX128 = 11
    NDTYPES = 12

cdef class dtype:
    cdef readonly int code
    cdef readonly str name
    cdef readonly int itemsize

cdef int ITEMSIZE[12]

cdef inline bint is_float_code(int code) noexcept nogil:
    return FLOAT16 <= code <= FLOAT64

cdef inline bint is_complex_code(int code) noexcept nogil:
    return code >= COMPLEX64

cdef inline bint is_integral_code(int code) noexcept nogil:
    """Integers and bool."""
    return code <= INT64

cdef inline int category(int code) noexcept nogil:
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    return 0 if code == BOOL else 1 if code <= INT64 else 2 if code <= FLOAT64 else 3

cdef int promote(int a, int b) noexcept nogil
cdef int real_code(int code) noexcept nogil
cdef int complex_code(int code) noexcept nogil
cdef int default_float() noexcept nogil
cdef int default_complex() noexcept nogil
cdef dtype dtype_of(int code)
cdef int code_of(object value) except -1
