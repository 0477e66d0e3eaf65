from fasttensor._core.tensor cimport Tensor

# How an operand of a product is read: plain, transposed in its last two dimensions, conjugated, or both.
cdef enum:
    PLAIN = 0
    TRANSPOSED = 1
    CONJUGATED = 2

cdef Tensor mm_plain(Tensor a, Tensor b)       # both 2-d, of one dtype and matching sizes (checked by the caller)
cdef Tensor linear_plain(Tensor x, Tensor w, Tensor bias, int activation)
