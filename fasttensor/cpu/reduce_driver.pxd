# The driver of the reductions: operations R_*, what is done with their totals P_*.
from fasttensor._core.tensor cimport Tensor

cdef extern from "reduce_load.h" nogil:
    enum:
        R_SUM, R_PROD, R_MAX, R_MIN, R_NANSUM, R_COUNT, R_ABSSUM, R_SQSUM, R_ABSMAX, R_ABSMIN, R_ABSPOW, R_SSD, R_SUMEXP, R_SUM_WIDE
        P_NONE, P_DIVIDE, P_SQRT, P_SQRT_DIVIDE, P_ROOT, P_LOG, P_ANY, P_ALL

# Over `dims` (None: all) to dtype `code`. `first` is the operation of a first stage that finds the
# centers for `op`, or -1; `mean` receives its result.
cdef Tensor reduce(Tensor x, int op, int first, int post, double par, object dims, bint keepdim, int code, Tensor mean=?)
# The sum, or mean, that recorded fast paths call.
cdef Tensor total(Tensor x, object dims, bint keepdim, int code, bint mean)
cdef int mark(Tensor x, object dims, bint *reduced) except -1
cdef Tensor result(Tensor x, const bint *reduced, bint keepdim, int code)
