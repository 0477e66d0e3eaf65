"""Tensors filled from a formula: constants, ranges, identity matrices."""
from libc.math cimport pow
from libc.stdint cimport int64_t
from libc.string cimport memset
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.layout cimport like_layout
from fasttensor._core.element cimport write_element
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.dispatch cimport copy_into
from fasttensor.cpu.copy cimport fill
from fasttensor.cpu.index_loops cimport FT_WEAVE, ft_weave_fn

cdef enum:
    SERIAL = 16384
    GRAIN = 65536

cdef struct Ramp:
    char *out
    double start, step, end, base
    int64_t istart, istep
    Py_ssize_t half, last


def fill_(Tensor out, value):
    """out[...] = value, converted to out's dtype."""
    cdef char item[16]
    write_element(item, out.code, value)
    fill(out, item)


def zero_(Tensor out):
    """out[...] = 0"""
    cdef char item[16]
    memset(item, 0, 16)
    if out.contig and out.count * ITEMSIZE[out.code] <= 65536:
        memset(out.ptr, 0, out.count * ITEMSIZE[out.code])
    else:
        fill(out, item)


cdef void ramp_int(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ramp *r = <Ramp *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        (<int64_t *>r.out)[i] = r.istart + r.istep * i


cdef void ramp_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ramp *r = <Ramp *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        (<float *>r.out)[i] = <float>(r.start + r.step * i)


cdef void ramp_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ramp *r = <Ramp *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        (<double *>r.out)[i] = r.start + r.step * i


cdef void line_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    # from both ends, so that the last value is exact
    cdef Ramp *r = <Ramp *>context
    cdef float start = <float>r.start, stop = <float>r.end, step = <float>r.step
    cdef float *out = <float *>r.out
    cdef Py_ssize_t i, last = r.last, turn = min(max(begin, r.half), end)
    for i in range(begin, turn):
        out[i] = start + step * <float>i
    for i in range(turn, end):
        out[i] = stop - step * <float>(last - i)


cdef void line_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ramp *r = <Ramp *>context
    cdef double start = r.start, stop = r.end, step = r.step
    cdef double *out = <double *>r.out
    cdef Py_ssize_t i, last = r.last, turn = min(max(begin, r.half), end)
    for i in range(begin, turn):
        out[i] = start + step * i
    for i in range(turn, end):
        out[i] = stop - step * (last - i)


cdef void power_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ramp *r = <Ramp *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        (<double *>r.out)[i] = pow(r.base, r.start + r.step * i if i < r.half else r.end - r.step * (r.last - i))


cdef Tensor made(Ramp *r, Py_ssize_t n, int work, int code, void (*body)(void *, Py_ssize_t, Py_ssize_t) noexcept nogil):
    cdef Tensor out = new_tensor(1, &n, work, CPU)
    r.out = out.ptr
    if n < SERIAL:
        body(r, 0, n)
    else:
        with nogil:
            parallel_for(n, GRAIN, body, r)
    return cast(out, code)


def arange(start, step, Py_ssize_t n, int code):
    """start + step * i for i < n."""
    cdef Ramp r
    if is_integral_code(code):
        r.istart, r.istep = start, step
        return made(&r, n, INT64, code, ramp_int)
    r.start, r.step = start, step
    if code == FLOAT64:
        return made(&r, n, FLOAT64, code, ramp_f64)
    return made(&r, n, FLOAT32, code, ramp_f32)


def linspace(start, end, Py_ssize_t n, int code):
    """n values from start to end, evenly spaced."""
    cdef Ramp r
    if is_complex_code(code):
        a, b = complex(start), complex(end)
        return pair(linspace(a.real, b.real, n, FLOAT64), linspace(a.imag, b.imag, n, FLOAT64), code)
    r.start, r.end, r.half, r.last = start, end, n // 2, n - 1
    if is_integral_code(code):
        # the ends lose their fractions, as the dtype holds them
        r.start, r.end = int(start), int(end)
    r.step = (r.end - r.start) / (n - 1) if n > 1 else 0.0
    if n == 1:
        r.half = 1
    if code == FLOAT32 or code == FLOAT16 or code == BFLOAT16:
        r.step = (<float>r.end - <float>r.start) / <float>(n - 1) if n > 1 else 0.0
        return made(&r, n, FLOAT32, code, line_f32)
    return made(&r, n, FLOAT64, code, line_f64)


def logspace(start, end, Py_ssize_t n, double base, int code):
    """base ** x for the n values x of a linspace; computed in double precision."""
    cdef Ramp r
    r.start, r.end, r.half, r.last, r.base = start, end, n // 2, n - 1, base
    r.step = (r.end - r.start) / (n - 1) if n > 1 else 0.0
    if n == 1:
        r.half = 1
    return made(&r, n, FLOAT64, code, power_f64)


cdef struct Weave:
    char *dst
    char **parts
    ft_weave_fn run


cdef void weave_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Weave *w = <Weave *>context
    w.run(w.dst, w.parts, 2, begin, end)


def pair(Tensor real, Tensor imag, int code):
    """Complex numbers from two real tensors of one shape."""
    cdef Tensor out = new_tensor(real.rank, real.sizes, code, CPU) if real.contig else like_layout(real, code)
    cdef Py_ssize_t steps[64]
    cdef char *parts[2]
    cdef Weave w
    cdef int d
    if real.contig and imag.contig and real.code == imag.code == real_code(code) and out.count:
        parts[0], parts[1] = real.ptr, imag.ptr
        w.dst, w.parts, w.run = out.ptr, parts, FT_WEAVE[2 if real.code == FLOAT32 else 3]
        if out.count < SERIAL:
            weave_range(&w, 0, out.count)
        else:
            with nogil:
                parallel_for(out.count, GRAIN, weave_range, &w)
        return out
    for d in range(out.rank):
        steps[d] = 2 * out.steps[d]
    copy_into(from_storage(out.store, real_code(code), out.rank, out.sizes, steps, 0), real)
    copy_into(from_storage(out.store, real_code(code), out.rank, out.sizes, steps, 1), imag)
    return out


def eye(Py_ssize_t n, Py_ssize_t m, int code):
    """Ones on the main diagonal of an n x m matrix, else zeros."""
    cdef Py_ssize_t sizes[2]
    cdef char one[16]
    cdef Py_ssize_t i, k = min(n, m), step = (m + 1) * ITEMSIZE[code]
    cdef int b, size = ITEMSIZE[code]
    sizes[0], sizes[1] = n, m
    cdef Tensor out = new_tensor(2, sizes, code, CPU)
    zero_(out)
    write_element(one, code, 1)
    for i in range(k):
        for b in range(size):
            out.ptr[i * step + b] = one[b]
    return out


def triangle_indices(Py_ssize_t rows, Py_ssize_t cols, offset, bint upper, Py_ssize_t count, int code):
    """Row and column numbers of a triangle's `count` elements, row by row; shape (2, count)."""
    cdef Py_ssize_t edge = min(max(offset, -<object>rows), <object>cols), i, j, low, high, k = 0
    cdef Py_ssize_t sizes[2]
    sizes[0], sizes[1] = 2, count
    cdef Tensor out = new_tensor(2, sizes, INT64, CPU)
    cdef int64_t *p = <int64_t *>out.ptr
    cdef int64_t *q = p + count
    if count == 0:
        return cast(out, code)
    with nogil:
        for i in range(0 if upper else max(-edge, <Py_ssize_t>0), min(rows, cols - edge) if upper else rows):
            low = max(i + edge, <Py_ssize_t>0) if upper else 0
            high = cols if upper else min(i + edge + 1, cols)
            for j in range(low, high):
                p[k], q[k] = i, j
                k += 1
    return cast(out, code)
