# The sum and mean that recorded fast paths call without an interpreted step.
from fasttensor._core.tensor cimport Tensor

# Over `dims` (None: all) as dtype `code`; the mean where `mean`.
cdef Tensor total(Tensor x, object dims, bint keepdim, int code, bint mean)
