# One element in memory <-> a Python number. All conversions of numbers to dtypes are here.
cdef object read_element(const char *p, int code)
cdef bint write_element(char *p, int code, object value) except False       # RuntimeError where the dtype does not hold it
cdef bint write_operand(char *p, int code, object value) except False       # converted as C does it
cdef bint check_number(int code, object value) except False                 # what write_element refuses
cdef int scalar_code(object value) except -2        # bool/int/float/complex -> code; -1 when not a number
