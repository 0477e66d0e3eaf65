# Checks of arguments that compiled families make.
cdef Py_ssize_t integer(object value, str name, str argument) except? -1
cpdef object later_bools(object items)
cdef double number(object value, str name, str argument) except? -1
cdef object named_dim(str name, object dim, object axis)
