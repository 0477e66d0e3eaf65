from fasttensor._core.tensor cimport Tensor

# The sizes in a tuple of arguments, (2, 3) or ((2, 3),): fills `sizes`, returns the rank.
cdef int parse_sizes(str op, object args, Py_ssize_t *sizes) except -1
