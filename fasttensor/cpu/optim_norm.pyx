"""The norm of many tensors together and their scaling, each in one call: gradient clipping.

    total = norm_of([p.grad for p in params], 2.0)
    if total > limit: scale_([p.grad for p in params], limit / total)

Chunks run over the elements of all tensors, and each chunk has its own sum: the result does
not depend on the number of threads.
"""
from libc.math cimport fabs, pow, sqrt
from libc.stdlib cimport free, malloc

from fasttensor._core.dtype cimport FLOAT32, FLOAT64
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport CPU, Tensor, describe, is_dense, wrote
from fasttensor._core.storage cimport no_room

cdef extern from "optim_locate.h" nogil:
    Py_ssize_t ft_locate(const Py_ssize_t *start, Py_ssize_t n, Py_ssize_t element)

cdef enum:
    GRAIN = 16384       # elements a chunk

cdef struct Norm:
    Py_ssize_t n
    void **ptr
    Py_ssize_t *start
    bint *wide
    double order            # inf: largest; -1 marks scaling
    double factor
    double *partial         # [chunks]


cdef double power_sum(const Norm *work, Py_ssize_t i, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """Sum of |x|^order (largest |x| for an infinite order) of elements of array i, in double."""
    cdef double lanes[8]
    cdef double x, total = 0
    cdef Py_ssize_t k, j
    cdef const float *f = <const float *>work.ptr[i] + first
    cdef const double *d = <const double *>work.ptr[i] + first
    if work.order == 2:
        # Eight running sums: the compiler may not reorder one.
        for j in range(8):
            lanes[j] = 0
        k = 0
        if work.wide[i]:
            while k + 8 <= count:
                for j in range(8):
                    lanes[j] += d[k + j] * d[k + j]
                k += 8
        else:
            while k + 8 <= count:
                for j in range(8):
                    lanes[j] += <double>f[k + j] * <double>f[k + j]
                k += 8
        while k < count:
            x = d[k] if work.wide[i] else f[k]
            total += x * x
            k += 1
        for j in range(8):
            total += lanes[j]
        return total
    for k in range(count):
        x = fabs(d[k] if work.wide[i] else f[k])
        if work.order == 1:
            total += x
        elif work.order > 1e300:
            total = x if x > total or x != x else total
        else:
            total += pow(x, work.order)
    return total


cdef void norm_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Norm *work = <Norm *>context
    cdef Py_ssize_t low = ft_locate(work.start, work.n, begin), count, k, chunk = begin // GRAIN, first
    cdef double part, total = 0
    cdef float *f
    cdef double *d
    while begin < end:
        first = begin - work.start[low]
        count = (end if end < work.start[low + 1] else work.start[low + 1]) - begin
        if work.order == -1:
            if work.wide[low]:
                d = <double *>work.ptr[low] + first
                for k in range(count):
                    d[k] *= work.factor
            else:
                f = <float *>work.ptr[low] + first
                for k in range(count):
                    f[k] *= <float>work.factor
        else:
            part = power_sum(work, low, first, count)
            if work.order > 1e300:
                total = part if part > total or part != part else total
            else:
                total += part
        begin += count
        low += 1
    if work.order != -1:
        work.partial[chunk] = total


cdef double over_all(list tensors, double order, double factor) except? -1:
    cdef Norm work
    cdef Py_ssize_t i, n = len(tensors), total = 0, chunks
    cdef Tensor t
    cdef double result = 0
    work.n = n
    work.order = order
    work.factor = factor
    work.ptr = <void **>malloc((n + 1) * sizeof(void *))
    work.start = <Py_ssize_t *>malloc((n + 1) * sizeof(Py_ssize_t))
    work.wide = <bint *>malloc((n + 1) * sizeof(bint))
    work.partial = NULL
    try:
        if work.ptr == NULL or work.start == NULL or work.wide == NULL:
            raise no_room(f"clip_grad_norm_: no memory to list {n} gradients")
        for i in range(n):
            t = tensors[i]
            work.ptr[i] = t.ptr
            work.start[i] = total
            work.wide[i] = t.code == FLOAT64
            total += t.count
        work.start[n] = total
        if total == 0:
            return 0
        chunks = (total + GRAIN - 1) // GRAIN
        work.partial = <double *>malloc(chunks * sizeof(double))
        if work.partial == NULL:
            raise no_room(f"clip_grad_norm_: no memory for {chunks} partial norms")
        with nogil:
            parallel_for(total, GRAIN, norm_range, &work)
        if order == -1:
            return 0
        for i in range(chunks):
            if order > 1e300:
                result = work.partial[i] if work.partial[i] > result or work.partial[i] != work.partial[i] else result
            else:
                result += work.partial[i]
        return result
    finally:
        free(work.ptr)
        free(work.start)
        free(work.wide)
        free(work.partial)


def takes(list tensors):
    """Whether `norm_of` and `scale_` can take all of these: dense float32 or float64 on the CPU."""
    cdef Tensor t
    for t in tensors:
        if t.dev != CPU or (t.code != FLOAT32 and t.code != FLOAT64) or not is_dense(t):
            return False
    return True


def norm_of(list tensors, double order):
    """The norm of all elements together, a float; order > 0, inf included.

    Sums of squares that overflow a double are infinite, as PyTorch's are.
    """
    cdef double total
    if not order > 0:
        raise ValueError(f"norm_of: order must be positive, got {order}")
    if not takes(tensors):
        raise TypeError("norm_of: expected dense float32 or float64 tensors, got "
                        + ", ".join(describe(t) for t in tensors[:4]))
    total = over_all(tensors, order, 0)
    if order == 2:
        return sqrt(total)
    return total if order == 1 or order > 1e300 else pow(total, 1 / order)


def scale_(list tensors, double factor):
    """Multiplies every element in place."""
    cdef Tensor t
    if not takes(tensors):
        raise TypeError("scale_: expected dense float32 or float64 tensors, got "
                        + ", ".join(describe(t) for t in tensors[:4]))
    over_all(tensors, -1, factor)
    for t in tensors:
        wrote(t)
