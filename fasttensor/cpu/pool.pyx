"""Pooling: the largest value or the mean of windows over the last 1 to 3 dimensions.

    max_pool(x, windows) -> values, int64 indices         plain, adaptive and fractional alike
    avg_pool(x, windows, divisor, count_padding), avg_pool_backward(g, sizes, windows, divisor, count_padding)

`windows` has for each pooled dimension (starts, ends, extents, dilation): output i covers inputs starts[i],
starts[i] + dilation, ... below ends[i], both inside the input; extents[i] counts the padding too. Regular,
ceil-mode, adaptive and fractional pooling differ only in these lists.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport malloc, free
from libc.string cimport memset

from fasttensor._core.dtype cimport FLOAT16, FLOAT32, FLOAT64, INT64, is_complex_code
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast
from fasttensor._core.storage cimport no_room

cdef extern from "pool.h" nogil:
    void ft_max_row_f32(const float *x, Py_ssize_t step, float *best, int32_t *index, int32_t at, Py_ssize_t n, int first)
    void ft_max_row_f64(const double *x, Py_ssize_t step, double *best, int32_t *index, int32_t at, Py_ssize_t n, int first)
    void ft_max_row_i64(const int64_t *x, Py_ssize_t step, int64_t *best, int32_t *index, int32_t at, Py_ssize_t n, int first)
    void ft_sum_row_f32(const float *x, Py_ssize_t step, float *sums, Py_ssize_t n)
    void ft_sum_row_f64(const double *x, Py_ssize_t step, double *sums, Py_ssize_t n)
    void ft_sum_row_i64(const int64_t *x, Py_ssize_t step, int64_t *sums, Py_ssize_t n)
    void ft_spread_row_f32(const float *parts, Py_ssize_t step, float *x, Py_ssize_t n)
    void ft_spread_row_f64(const double *parts, Py_ssize_t step, double *x, Py_ssize_t n)
    void ft_spread_row_i64(const int64_t *parts, Py_ssize_t step, int64_t *x, Py_ssize_t n)
    float ft_row_total_f32(const float *x, Py_ssize_t n)
    double ft_row_total_f64(const double *x, Py_ssize_t n)
    int64_t ft_row_total_i64(const int64_t *x, Py_ssize_t n)

ctypedef fused element:
    float
    double
    int64_t

cdef enum:
    STRIP = 256         # outputs of a row worked on together


cdef int work_code(int code) except -1:
    """The type that a pool computes in."""
    if is_complex_code(code):
        raise RuntimeError("pooling is not defined for complex tensors: pool the real and the imaginary part")
    return code if code == FLOAT32 or code == FLOAT64 or code == INT64 else FLOAT32 if code >= FLOAT16 else INT64


cdef bint start(Windows *w, tuple sizes, tuple windows) except False:
    """Reads the lists. `w.memory` must be freed."""
    cdef int nd = len(windows), lead = 3 - nd, a
    cdef Py_ssize_t total = 0, i, n
    cdef Py_ssize_t *at
    w.memory = NULL
    for a in range(3):
        total += 3 * (len(windows[a - lead][0]) if a >= lead else 1)
    w.memory = <Py_ssize_t *>malloc(total * sizeof(Py_ssize_t) + 1)
    if w.memory == NULL:
        raise no_room("pooling: no memory for the windows")
    at = w.memory
    for a in range(3):
        n = len(windows[a - lead][0]) if a >= lead else 1
        w.out[a], w.low[a], w.high[a], w.extent[a] = n, at, at + n, at + 2 * n
        at += 3 * n
        if a < lead:
            w.size[a] = w.high[a][0] = w.extent[a][0] = w.dil[a] = 1
            w.low[a][0] = 0
            continue
        w.size[a] = sizes[len(sizes) - nd + a - lead]
        lows, highs, extents, dilation = windows[a - lead]
        w.dil[a] = dilation
        for i in range(n):
            w.low[a][i], w.high[a][i], w.extent[a][i] = lows[i], highs[i], extents[i]
    w.planes = 1
    for i in range(len(sizes) - nd):
        w.planes *= sizes[i]
    w.volume = w.size[0] * w.size[1] * w.size[2]
    w.outs = w.out[0] * w.out[1] * w.out[2]
    w.divisor, w.count_padding = 0, False
    regular(w)
    return True


cdef void regular(Windows *w) noexcept nogil:
    """The longest run of columns, from the first full window, that are equally wide and spaced."""
    cdef Py_ssize_t i, n = w.out[2]
    cdef Py_ssize_t *low = w.low[2]
    cdef Py_ssize_t *high = w.high[2]
    w.first = 0
    w.width = 0
    for i in range(n):
        if (high[i] - low[i] + w.dil[2] - 1) // w.dil[2] > w.width:
            w.width = (high[i] - low[i] + w.dil[2] - 1) // w.dil[2]
            w.first = i
    w.last = w.first + 1
    w.step = low[w.first + 1] - low[w.first] if w.first + 1 < n else 1
    while (w.last < n and low[w.last] == low[w.last - 1] + w.step
           and (high[w.last] - low[w.last] + w.dil[2] - 1) // w.dil[2] == w.width):
        w.last += 1


cdef inline bint better(element v, element best) noexcept nogil:
    # a NaN wins, and the first of equals stays
    if element is int64_t:
        return v > best
    else:
        return v > best or v != v


cdef void max_plane(const Windows *w, const element *x, element *out, int64_t *indices) noexcept nogil:
    cdef Py_ssize_t o0, o1, o2, i0, i1, i2, j, n, k
    cdef Py_ssize_t *low = <Py_ssize_t *>w.low[2]
    cdef Py_ssize_t *high = <Py_ssize_t *>w.high[2]
    cdef element best
    cdef int32_t at[STRIP]
    cdef int64_t where
    cdef bint first
    for o0 in range(w.out[0]):
        for o1 in range(w.out[1]):
            o2 = 0
            while o2 < w.out[2]:
                first = True
                if w.first <= o2 < w.last - 3 and w.volume < 0x7fffffff:
                    n = min(STRIP, w.last - o2)
                    i0 = w.low[0][o0]
                    while i0 < w.high[0][o0]:
                        i1 = w.low[1][o1]
                        while i1 < w.high[1][o1]:
                            j = (i0 * w.size[1] + i1) * w.size[2] + low[o2]
                            for _ in range(w.width):
                                if element is float:
                                    ft_max_row_f32(x + j, w.step, out, at, <int32_t>j, n, first)
                                elif element is double:
                                    ft_max_row_f64(x + j, w.step, out, at, <int32_t>j, n, first)
                                else:
                                    ft_max_row_i64(x + j, w.step, out, at, <int32_t>j, n, first)
                                j += w.dil[2]
                                first = False
                            i1 += w.dil[1]
                        i0 += w.dil[0]
                    for k in range(n):
                        indices[k] = at[k]
                    out += n
                    indices += n
                    o2 += n
                    continue
                best, where = 0, 0
                i0 = w.low[0][o0]
                while i0 < w.high[0][o0]:
                    i1 = w.low[1][o1]
                    while i1 < w.high[1][o1]:
                        j = (i0 * w.size[1] + i1) * w.size[2]
                        i2 = low[o2]
                        while i2 < high[o2]:
                            if first or better(x[j + i2], best):
                                best, where, first = x[j + i2], j + i2, False
                            i2 += w.dil[2]
                        i1 += w.dil[1]
                    i0 += w.dil[0]
                out[0], indices[0] = best, where
                out += 1
                indices += 1
                o2 += 1


cdef Py_ssize_t divisor(const Windows *w, Py_ssize_t o0, Py_ssize_t o1, Py_ssize_t o2) noexcept nogil:
    if w.divisor:
        return w.divisor
    if w.count_padding:
        return w.extent[0][o0] * w.extent[1][o1] * w.extent[2][o2]
    return ((w.high[0][o0] - w.low[0][o0]) * (w.high[1][o1] - w.low[1][o1]) * (w.high[2][o2] - w.low[2][o2]))


cdef inline element window_total(const Windows *w, const element *x, Py_ssize_t o0, Py_ssize_t o1, Py_ssize_t o2) noexcept nogil:
    """The sum of one window. Rows that fill the input's width, and planes that do, are one run of memory."""
    cdef Py_ssize_t a0 = w.low[0][o0], b0 = w.high[0][o0], a1 = w.low[1][o1], b1 = w.high[1][o1], i0, i1, j
    cdef Py_ssize_t run = w.high[2][o2] - w.low[2][o2]
    cdef element total = 0
    if run == w.size[2] and b1 > a1:
        run *= b1 - a1
        b1 = a1 + 1
        if run == w.size[1] * w.size[2] and b0 > a0:
            run *= b0 - a0
            b0 = a0 + 1
    for i0 in range(a0, b0):
        for i1 in range(a1, b1):
            j = (i0 * w.size[1] + i1) * w.size[2] + w.low[2][o2]
            if element is float:
                total = total + ft_row_total_f32(x + j, run)
            elif element is double:
                total = total + ft_row_total_f64(x + j, run)
            else:
                total = total + ft_row_total_i64(x + j, run)
    return total


cdef inline void add_row(const element *x, element *sums, Py_ssize_t n) noexcept nogil:
    if element is float:
        ft_sum_row_f32(x, 1, sums, n)
    elif element is double:
        ft_sum_row_f64(x, 1, sums, n)
    else:
        ft_sum_row_i64(x, 1, sums, n)


cdef void avg_plane(const Windows *w, const element *x, element *out, element *row) noexcept nogil:
    """`row` has room for a row of inputs: the rows of a strip of windows are added there, then their columns."""
    cdef Py_ssize_t o0, o1, o2, i0, i1, n, k, by, span, start
    cdef const element *sums
    for o0 in range(w.out[0]):
        for o1 in range(w.out[1]):
            o2 = 0
            while o2 < w.out[2]:
                n = 1
                if w.first <= o2 < w.last - 3:
                    n = min(STRIP, w.last - o2)
                    span, start = (n - 1) * w.step + w.width, w.low[2][o2]
                    if w.high[0][o0] - w.low[0][o0] == 1 and w.high[1][o1] - w.low[1][o1] == 1:     # the row lies in the input
                        sums = x + (w.low[0][o0] * w.size[1] + w.low[1][o1]) * w.size[2] + start
                    else:
                        memset(row, 0, span * sizeof(element))
                        for i0 in range(w.low[0][o0], w.high[0][o0]):
                            for i1 in range(w.low[1][o1], w.high[1][o1]):
                                add_row(x + (i0 * w.size[1] + i1) * w.size[2] + start, row, span)
                        sums = row
                    memset(out, 0, n * sizeof(element))
                    for k in range(w.width):
                        if element is float:
                            ft_sum_row_f32(sums + k, w.step, out, n)
                        elif element is double:
                            ft_sum_row_f64(sums + k, w.step, out, n)
                        else:
                            ft_sum_row_i64(sums + k, w.step, out, n)
                else:
                    out[0] = window_total(w, x, o0, o1, o2)
                for k in range(n):
                    by = divisor(w, o0, o1, o2 + k)
                    out[k] = out[k] / by if by else 0
                out += n
                o2 += n


cdef void avg_back_plane(const Windows *w, const element *g, element *gx, element *row) noexcept nogil:
    """A row of windows is spread over `row` once, and that is added to each row of inputs under them."""
    cdef Py_ssize_t o0, o1, o2, i0, i1, i2, k, n, by, left = w.low[2][0], span = w.high[2][w.out[2] - 1] - w.low[2][0]
    cdef element parts[STRIP]
    cdef element *at
    cdef bint single = w.size[0] * w.size[1] == 1       # the row lies in the gradient itself
    memset(gx, 0, w.volume * sizeof(element))
    row = gx + left if single else row
    for o0 in range(w.out[0]):
        for o1 in range(w.out[1]):
            if not single:
                memset(row, 0, span * sizeof(element))
            o2 = 0
            while o2 < w.out[2]:
                n = min(STRIP, w.last - o2) if w.first <= o2 < w.last - 3 else 1
                for k in range(n):
                    by = divisor(w, o0, o1, o2 + k)
                    parts[k] = g[k] / by if by else 0
                at = row + w.low[2][o2] - left
                if n == 1:
                    for i2 in range(w.high[2][o2] - w.low[2][o2]):
                        at[i2] += parts[0]
                else:
                    for k in range(w.width):
                        if element is float:
                            ft_spread_row_f32(parts, w.step, at + k, n)
                        elif element is double:
                            ft_spread_row_f64(parts, w.step, at + k, n)
                        else:
                            ft_spread_row_i64(parts, w.step, at + k, n)
                g += n
                o2 += n
            if single:
                continue
            for i0 in range(w.low[0][o0], w.high[0][o0]):
                for i1 in range(w.low[1][o1], w.high[1][o1]):
                    add_row(row, gx + (i0 * w.size[1] + i1) * w.size[2] + left, span)


cdef struct Job:
    Windows *w
    int code
    void *x
    void *out
    int64_t *indices
    bint failed


cdef void max_planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, n = job.w.outs, v = job.w.volume
    for i in range(begin, end):
        if job.code == FLOAT32:
            max_plane(job.w, <float *>job.x + i * v, <float *>job.out + i * n, job.indices + i * n)
        elif job.code == FLOAT64:
            max_plane(job.w, <double *>job.x + i * v, <double *>job.out + i * n, job.indices + i * n)
        else:
            max_plane(job.w, <int64_t *>job.x + i * v, <int64_t *>job.out + i * n, job.indices + i * n)


cdef void avg_planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, n = job.w.outs, v = job.w.volume
    cdef void *row = malloc(job.w.size[2] * 8 + 8)
    if row == NULL:
        job.failed, end = True, begin
    for i in range(begin, end):
        if job.code == FLOAT32:
            avg_plane(job.w, <float *>job.x + i * v, <float *>job.out + i * n, <float *>row)
        elif job.code == FLOAT64:
            avg_plane(job.w, <double *>job.x + i * v, <double *>job.out + i * n, <double *>row)
        else:
            avg_plane(job.w, <int64_t *>job.x + i * v, <int64_t *>job.out + i * n, <int64_t *>row)
    free(row)


cdef void avg_back_planes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Py_ssize_t i, n = job.w.outs, v = job.w.volume
    cdef void *row = malloc(job.w.size[2] * 8 + 8)
    if row == NULL:
        job.failed, end = True, begin
    for i in range(begin, end):
        if job.code == FLOAT32:
            avg_back_plane(job.w, <float *>job.x + i * n, <float *>job.out + i * v, <float *>row)
        elif job.code == FLOAT64:
            avg_back_plane(job.w, <double *>job.x + i * n, <double *>job.out + i * v, <double *>row)
        else:
            avg_back_plane(job.w, <int64_t *>job.x + i * n, <int64_t *>job.out + i * v, <int64_t *>row)
    free(row)


cdef Tensor shaped(Tensor x, int nd, const Py_ssize_t *tail, int code):
    """A new tensor with x's leading dimensions and `tail` for the last nd."""
    cdef Py_ssize_t sizes[64]
    cdef int a
    for a in range(x.rank):
        sizes[a] = x.sizes[a] if a < x.rank - nd else tail[3 - nd + a - (x.rank - nd)]
    return new_tensor(x.rank, sizes, code, x.dev)


def max_pool(Tensor x, tuple windows):
    """The largest value of each window and its flat index in the pooled dimensions."""
    cdef Windows w
    cdef Job job
    cdef int code = work_code(x.code)
    cdef Tensor plain = cast(contiguous(x), code), out, indices
    start(&w, tuple(plain.shape), windows)
    try:
        out, indices = shaped(x, len(windows), w.out, code), shaped(x, len(windows), w.out, INT64)
        job.w, job.code, job.x, job.out, job.indices = &w, code, plain.ptr, out.ptr, <int64_t *>indices.ptr
        if out.count:
            with nogil:
                parallel_for(w.planes, max(1, 16384 // (w.volume + 1)), max_planes, &job)
    finally:
        free(w.memory)
    return cast(out, x.code), indices


def avg_pool(Tensor x, tuple windows, Py_ssize_t divisor, bint count_padding):
    """The mean of each window; `divisor` not 0 divides the sum instead of the count."""
    cdef Windows w
    cdef Job job
    cdef int code = work_code(x.code)
    cdef Tensor plain = cast(contiguous(x), code), out
    start(&w, tuple(plain.shape), windows)
    try:
        w.divisor, w.count_padding = divisor, count_padding
        out = shaped(x, len(windows), w.out, code)
        job.w, job.code, job.x, job.out, job.failed = &w, code, plain.ptr, out.ptr, False
        if out.count:
            with nogil:
                parallel_for(w.planes, max(1, 16384 // (w.volume + 1)), avg_planes, &job)
        if job.failed:
            raise no_room("avg_pool: no memory for a row")
    finally:
        free(w.memory)
    return cast(out, x.code)


def avg_pool_backward(Tensor g, tuple sizes, tuple windows, Py_ssize_t divisor, bint count_padding):
    """The gradient of an input with extents `sizes` in the pooled dimensions."""
    cdef Windows w
    cdef Job job
    cdef int code = work_code(g.code), nd = len(windows)
    cdef Tensor plain = cast(contiguous(g), code), out
    start(&w, tuple(g.shape[:g.rank - nd]) + sizes, windows)
    try:
        w.divisor, w.count_padding = divisor, count_padding
        out = shaped(g, nd, w.size, code)
        job.w, job.code, job.x, job.out, job.failed = &w, code, plain.ptr, out.ptr, False
        if out.count:
            with nogil:
                parallel_for(w.planes, max(1, 16384 // (w.volume + 1)), avg_back_planes, &job)
        if job.failed:
            raise no_room("avg_pool: no memory for a row")
    finally:
        free(w.memory)
    return cast(out, g.code)
