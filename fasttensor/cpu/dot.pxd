from fasttensor._core.tensor cimport Tensor

cdef Tensor dot_plain(Tensor x, Tensor y, bint conj)       # vectors of one dtype and length
