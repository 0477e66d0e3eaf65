# Tensors that stand for each sample of a batch, inside vmap.
from fasttensor._core.tensor cimport Tensor

cdef class Level:
    cdef readonly int depth             # 1 for the outermost vmap
    cdef readonly Py_ssize_t size
    cdef readonly str randomness
    cdef readonly bint alive

cdef class Batched(Tensor):
    cdef readonly Tensor value          # the samples along dimension 0
    cdef readonly Level level

cdef Batched as_batched(Tensor x)
cdef Tensor memory_of(Tensor x)                      # the tensor behind all batches
cdef Tensor wrap(Tensor value, Level level)
cdef Level level_of(object values)                          # the innermost level among the values, in lists too; None without
cdef Level living(object values)                            # the same; raises where that vmap has ended
cdef object padded(Tensor x, Level level, int rank)         # what an elementwise operation of this rank takes for x
cdef bint has_batched(tuple values) noexcept
