from fasttensor._core.tensor cimport Tensor

cdef list nonzero_columns(Tensor x)      # one int64 tensor a dimension
cdef Tensor as_mask(Tensor x)            # bytes 0 and 1, contiguous
