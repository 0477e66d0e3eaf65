from fasttensor._core.tensor cimport Tensor

# How an operand of a product is read: plain, transposed in its last two dimensions, conjugated, or both.
cdef enum:
    PLAIN = 0
    TRANSPOSED = 1
    CONJUGATED = 2

cdef Tensor mm_plain(Tensor a, Tensor b)       # both 2-d, of one dtype and matching sizes (checked by the caller)
cdef Tensor linear_plain(Tensor x, Tensor w, Tensor bias, int activation)
cdef Tensor linear_any(Tensor x, Tensor w, Tensor bias, int activation)

# activation(alpha * op(a) op(b) + beta * d), batches broadcast; d may be None
cdef Tensor product(Tensor a, Tensor b, int ta, int tb, Tensor d, object beta, object alpha, int activation)
cdef Tensor column_sum(Tensor g)               # sums over all but the last dimension
cdef Tensor flat_rows(Tensor x)                # all but the last dimension as one
cdef Tensor matrix_by_vector(Tensor a, Tensor x, int ta)
