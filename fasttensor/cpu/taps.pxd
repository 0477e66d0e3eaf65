cdef extern from "resample_taps.h" nogil:
    ctypedef struct ft_taps:
        Py_ssize_t n, size
        int *start
        int *index
        double *weight


cdef class Taps:
    cdef readonly Py_ssize_t n, size
    cdef tuple recipe
    cdef ft_taps forth
    cdef ft_taps back
    cdef bint made, transposed
    cdef const ft_taps *get(self, bint transposed) except NULL
    cdef bint fill(self) except False
