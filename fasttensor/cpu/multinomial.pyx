"""Indices drawn by weights, with and without replacement."""
from libc.math cimport isfinite
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport new_storage, Storage
from fasttensor._core.layout cimport like_layout
from fasttensor.cpu.generator cimport *
from fasttensor.cpu.random import exponential_

cdef extern from "first_order.h":
    ctypedef struct ft_item:
        uint64_t k
        int64_t i
    void ft_first_places(ft_item *a, Py_ssize_t n, Py_ssize_t k, int64_t *out) noexcept nogil
    uint64_t ft_falling_key(double v) noexcept nogil

ctypedef fused real:
    float
    double


cdef object row_error(str what):
    return RuntimeError("invalid multinomial distribution (" + what + ")")


cdef bint with_replacement(Generator g, real *p, real *sums, Py_ssize_t n, Py_ssize_t draws, int64_t *out) except False:
    """Inverts the running sum of one row by bisection."""
    cdef real total = 0
    cdef Py_ssize_t i, low, high, middle, last = 0
    cdef double u
    for i in range(n):
        if not p[i] >= 0:
            raise row_error("encountering probability entry < 0")
        if not isfinite(p[i]):
            raise row_error("encountering probability entry = infinity or NaN")
        if p[i] > 0:
            last = i
        total += p[i]
        sums[i] = total
    if not total > 0:
        raise row_error("sum of probabilities <= 0")
    for i in range(n):
        sums[i] /= total
    sums[n - 1] = 1
    for i in range(draws):
        u = ft_mt_uniform(&g.engine)
        low, high = 0, n
        while low < high:
            middle = low + (high - low) // 2
            if sums[middle] < u:
                low = middle + 1
            else:
                high = middle
        # a draw of exactly zero, or one past the rounded sum, must not give an item of probability zero
        low = min(low, last)
        while p[low] == 0:
            low += 1
        out[i] = low
    return True


cdef bint check_weights(real *p, Py_ssize_t rows, Py_ssize_t n) except False:
    cdef Py_ssize_t i, k
    cdef bint some, fine = True
    for i in range(rows * n):
        fine = fine and p[i] >= 0 and isfinite(p[i])
    if not fine:
        raise RuntimeError("multinomial: probability tensor contains either `inf`, `nan` or element < 0")
    for i in range(rows):
        some = False
        for k in range(n):
            some = some or p[i * n + k] > 0
        if not some:
            raise row_error("sum of probabilities <= 0")
    return True


cdef void largest(real *x, Py_ssize_t n, int64_t *out) noexcept nogil:
    """The place of the first largest element; NaN is largest."""
    cdef Py_ssize_t i, best = 0
    for i in range(n):
        if not x[i] <= x[best]:
            best = i
            if x[i] != x[i]:
                break
    out[0] = best


cdef void largest_places(real *x, Py_ssize_t n, Py_ssize_t draws, int64_t *out, ft_item *room) noexcept nogil:
    cdef Py_ssize_t i
    if draws == 1:
        largest(x, n, out)
        return
    for i in range(n):
        room[i].k, room[i].i = ft_falling_key(x[i]), i
    ft_first_places(room, n, draws, out)


cdef Tensor ratios(Tensor prob, Tensor p, int code, Generator g):
    """p / q with q exponential, rounded to the dtype of the weights. The largest are a draw without replacement: Gumbel-max without the logarithms.
    More draws than weights that are not zero go on with those of weight zero, which are all equal, as in PyTorch."""
    cdef Tensor drawn = like_layout(prob, prob.code), q, ratio = new_like(p, code)
    cdef Py_ssize_t i
    exponential_(drawn, 1.0, g)
    q = contiguous(cast(drawn, code))
    if code == FLOAT64:
        for i in range(p.count):
            (<double *>ratio.ptr)[i] = (<double *>p.ptr)[i] / (<double *>q.ptr)[i]
    else:
        for i in range(p.count):
            (<float *>ratio.ptr)[i] = (<float *>p.ptr)[i] / (<float *>q.ptr)[i]
    return ratio if prob.code == code else cast(cast(ratio, prob.code), code)


def multinomial(Tensor prob, Py_ssize_t draws, bint replacement, generator=None):
    """Indices drawn by the weights of a row, or of each row of a matrix: int64, (draws,) or (rows, draws)."""
    cdef Generator g = generator_of(generator)
    if prob.dev != CPU or not is_float_code(prob.code):
        raise NotImplementedError(f'"multinomial" not implemented for {describe(prob)}: a floating-point CPU tensor is needed')
    cdef int code = FLOAT64 if prob.code == FLOAT64 else FLOAT32
    cdef Tensor p = contiguous(cast(prob, code)), x, out
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t rows = p.sizes[0] if p.rank == 2 else 1, n = p.sizes[p.rank - 1], i, size = ITEMSIZE[code]
    sizes[0], sizes[1] = rows, draws
    out = new_tensor(2, sizes, INT64, CPU) if p.rank == 2 else new_tensor(1, &draws, INT64, CPU)
    if out.count == 0:
        return out
    cdef Storage room
    cdef int64_t *to = <int64_t *>out.ptr
    # a single draw replaces nothing: PyTorch takes the other algorithm for it
    if replacement and draws > 1:
        room = new_storage(<size_t>n * 8)
        for i in range(rows):
            if code == FLOAT64:
                with_replacement[double](g, <double *>(p.ptr + i * n * size), <double *>room.ptr, n, draws, to + i * draws)
            else:
                with_replacement[float](g, <float *>(p.ptr + i * n * size), <float *>room.ptr, n, draws, to + i * draws)
        return out
    if code == FLOAT64:
        check_weights[double](<double *>p.ptr, rows, n)
    else:
        check_weights[float](<float *>p.ptr, rows, n)
    x = ratios(prob, p, code, g)
    room = new_storage(<size_t>(n if draws > 1 else 0) * sizeof(ft_item))
    with nogil:
        for i in range(rows):
            if code == FLOAT64:
                largest_places[double](<double *>(x.ptr + i * n * size), n, draws, to + i * draws, <ft_item *>room.ptr)
            else:
                largest_places[float](<float *>(x.ptr + i * n * size), n, draws, to + i * draws, <ft_item *>room.ptr)
    return out
