cdef int numpy_code(object d) except -1         # the code of a numpy dtype; TypeError where there is none
