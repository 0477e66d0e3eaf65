cdef object device_of(int dev)
cdef int device_code(object value) except -1
