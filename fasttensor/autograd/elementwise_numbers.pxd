# Numbers among the arguments of elementwise operations.
cdef bint number_operand(int op, char *p, int code, int position, object value) except False
cdef object factored(int op, str key, object value, object operand, object a, object b, object c, bint negated, double *par)
cdef double fitting(int op, double value, object given, object x, int how) except? -1.0
