# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Reductions over any set of dimensions, of any strides and dtypes.

Example (a kernel call, as the derivative rules make it)::

    y = reduce.sum(x, (0, 2), False, INT64)     # dims None: all of them
"""
from fasttensor._core.dtype cimport BFLOAT16, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT64
from fasttensor._core.tensor cimport Tensor, cast
from fasttensor.cpu.reduce_driver cimport *


def sum(Tensor x, dims, bint keepdim, int code):
    """Sum over `dims` (None: all) as dtype `code`: int64 for integers, else x's own or a wider one."""
    return total(x, dims, keepdim, code, False)


def nansum(Tensor x, dims, bint keepdim, int code):
    return reduce(x, R_NANSUM, -1, P_NONE, 0, dims, keepdim, code)


def mean(Tensor x, dims, bint keepdim, int code):
    return total(x, dims, keepdim, code, True)


def prod(Tensor x, dims, bint keepdim, int code):
    return reduce(x, R_PROD, -1, P_NONE, 0, dims, keepdim, code)


def amax(Tensor x, dims, bint keepdim):
    return reduce(x, R_MAX, -1, P_NONE, 0, dims, keepdim, x.code)


def amin(Tensor x, dims, bint keepdim):
    return reduce(x, R_MIN, -1, P_NONE, 0, dims, keepdim, x.code)


def any(Tensor x, dims, bint keepdim, int code):
    return reduce(x, R_COUNT, -1, P_ANY, 0, dims, keepdim, code)


def all(Tensor x, dims, bint keepdim, int code):
    return reduce(x, R_COUNT, -1, P_ALL, 0, dims, keepdim, code)


def count_nonzero(Tensor x, dims):
    return reduce(x, R_COUNT, -1, P_NONE, 0, dims, False, INT64)


def norm(Tensor x, double p, dims, bint keepdim, int code):
    """(sum |x|^p)^(1/p); p = inf, -inf, 0 are the largest, the smallest and the number of nonzeros."""
    cdef double inf = float("inf")
    cdef bint reduced[64]
    cdef Py_ssize_t behind = 1
    cdef int d
    mark(x, dims, reduced)
    for d in range(x.rank):
        behind *= x.sizes[d] if reduced[d] else 1
    if behind == 1 and p != 0:
        p = inf                 # the one element's absolute value, whose power might overflow
    if p == 1:
        return reduce(x, R_ABSSUM, -1, P_NONE, 0, dims, keepdim, code)
    if p == inf:
        return reduce(x, R_ABSMAX, -1, P_NONE, 0, dims, keepdim, code)
    if p == -inf:
        return reduce(x, R_ABSMIN, -1, P_NONE, 0, dims, keepdim, code)
    if p == 0:
        return reduce(x, R_COUNT, -1, P_NONE, 0, dims, keepdim, code)
    cdef Tensor out = powers(x, p, dims, keepdim, code)
    if left_range(out, p, x.code == FLOAT64 or x.code == COMPLEX128):
        return norm_of_shares(x, p, dims, keepdim, code)
    return out


cdef Tensor powers(Tensor x, double p, dims, bint keepdim, int code):
    if p == 2:
        return reduce(x, R_SQSUM, -1, P_SQRT, 0, dims, keepdim, code)
    return reduce(x, R_ABSPOW, -1, P_ROOT, p, dims, keepdim, code)


cdef bint left_range(Tensor out, double p, bint wide):
    """Whether sums of p-th powers, of which `out` has the roots, came near the ends of their dtype's range: digits were lost, or all."""
    cdef Tensor y = cast(out, FLOAT64)
    cdef const double *v = <const double *>y.ptr
    cdef Py_ssize_t i
    # of the root: float32's squares from 1e-30 to 1e38, float64's from 1e-290 to 1e308
    cdef double a = 10 ** ((-290. if wide else -30.) / p), b = 10 ** ((307. if wide else 38.) / p)
    cdef double low = min(a, b), high = max(a, b)
    cdef bint found = False
    for i in range(y.count):
        found |= (v[i] < low) | (v[i] > high)
    return found


cdef Tensor norm_of_shares(Tensor x, double p, dims, bint keepdim, int code):
    """The norm by elements divided by the largest (negative p: the smallest), whose powers neither overflow nor vanish."""
    cdef Tensor wide = x.detach()
    wide = cast(wide, COMPLEX128 if x.code == COMPLEX64 or x.code == COMPLEX128 else FLOAT64)
    cdef object scale = reduce(wide, R_ABSMAX if p > 0 else R_ABSMIN, -1, P_NONE, 0, dims, True, FLOAT64), plain, y
    plain = scale.isfinite().logical_and(scale != 0)
    y = powers(wide / scale.where(plain, 1.0), p, dims, True, FLOAT64) * scale.where(plain, 1.0)
    return cast(y.reshape(result_sizes(x, dims, keepdim)), code)


cdef list result_sizes(Tensor x, dims, bint keepdim):
    cdef bint reduced[64]
    cdef int d
    mark(x, dims, reduced)
    return [1 if reduced[d] else x.sizes[d] for d in range(x.rank) if keepdim or not reduced[d]]


def var(Tensor x, dims, double correction, bint keepdim, bint root, bint with_mean):
    """Variance (its root where `root`) by two passes, and the mean where `with_mean`: (variance, mean or None)."""
    cdef bint reduced[64]
    cdef Tensor mean = None
    if with_mean:
        mark(x, dims, reduced)
        mean = result(x, reduced, keepdim, x.code)
    out = reduce(x, R_SSD, R_SUM_WIDE, P_SQRT_DIVIDE if root else P_DIVIDE, correction, dims, keepdim, x.code, mean)
    if (x.code == FLOAT32 or x.code == FLOAT16 or x.code == BFLOAT16) and extreme(cast(out, FLOAT32), root):
        out = cast(reduce(cast(x, FLOAT64), R_SSD, R_SUM_WIDE, P_SQRT_DIVIDE if root else P_DIVIDE, correction, dims, keepdim, FLOAT64), x.code)
    return out, mean


cdef bint extreme(Tensor out, bint root) noexcept:
    """Whether squares in float32 may have left its range on the way to some result."""
    cdef const float *v = <const float *>out.ptr
    cdef Py_ssize_t i
    cdef float low = <float>1e-15 if root else <float>1e-30, high = <float>3e38
    cdef bint found = False
    for i in range(out.count):
        found |= (v[i] < low) | (v[i] > high)
    return found


def logsumexp(Tensor x, dims, bint keepdim):
    """log(sum(exp(x))) with the largest element taken out of the exponent."""
    return reduce(x, R_SUMEXP, R_MAX, P_LOG, 0, dims, keepdim, x.code)
