# Names of rows, and errors of PyTorch's types.
cdef str name_of(int op)
cdef object unsupported(int op, int code)
cdef object bad_operand(int op, object x, int position)
cdef object refuse_number(int op, object x, int position)
cdef bint one_dtype(int op, object a, object b, object c) except False
cdef bint cast_error(str name, int from_code, int to_code) except False
cdef bint is_bool(object x) noexcept
cdef object refuse_bool(int op, object a, object b)
cdef bint check_zero(int op, object b, int code) except False
cdef int check_devices(int op, object a, object b, object c) except -1
