# One element in memory <-> a Python number.
cdef object read_element(const char *p, int code)
cdef bint write_element(char *p, int code, object value) except False
cdef int scalar_code(object value) except -2        # bool/int/float/complex -> code; -1 when not a number
