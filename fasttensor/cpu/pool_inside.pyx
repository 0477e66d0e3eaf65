"""Pooling of images whose channels lie innermost in memory (torch.channels_last), pixel by pixel; other tensors go to `pool` and `unpool`.

The results keep that order. A task is a run of output pixels, or for the gradients, where windows overlap, an image and a block of its channels.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fasttensor._core.dtype cimport FLOAT32, FLOAT64, INT64
from fasttensor._core.layout cimport channels_behind, channels_inside, empty_images
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport CPU, Tensor, contiguous
from fasttensor.cpu import pool, unpool
from fasttensor.cpu.pool cimport Windows, divisor as divided_by, start

cdef extern from "pool_inside.h" nogil:
    void ft_larger_f32(const float *x, float *best, int32_t *index, int32_t at, Py_ssize_t n)
    void ft_larger_f64(const double *x, double *best, int32_t *index, int32_t at, Py_ssize_t n)
    void ft_add_pixel_f32(const float *x, float *sums, Py_ssize_t n)
    void ft_add_pixel_f64(const double *x, double *sums, Py_ssize_t n)
    void ft_divide_pixel_f32(const float *x, float *out, float by, Py_ssize_t n)
    void ft_divide_pixel_f64(const double *x, double *out, double by, Py_ssize_t n)

ctypedef fused element:
    float
    double

cdef enum:
    BLOCK = 128         # channels worked on together


cdef struct Job:
    Windows *w
    const char *x       # of all pixels, [N, spatial..., C]
    char *out
    int64_t *indices
    Py_ssize_t channels, blocks
    bint wide


cdef bint suits(Tensor x, int nd) noexcept:
    return nd >= 2 and x.rank == nd + 2 and x.dev == CPU and (x.code == FLOAT32 or x.code == FLOAT64) and not x.contig and channels_inside(x)


cdef void max_pixel(const Job *job, const element *x, element *out, int64_t *indices, Py_ssize_t o0, Py_ssize_t o1, Py_ssize_t o2) noexcept nogil:
    """One output pixel of an image x."""
    cdef const Windows *w = job.w
    cdef Py_ssize_t c0 = 0, c, n, i0, i1, i2
    cdef int32_t at
    cdef int32_t index[BLOCK]
    cdef const element *src
    cdef bint first
    while c0 < job.channels:
        n = min(<Py_ssize_t>BLOCK, job.channels - c0)
        first = True
        i0 = w.low[0][o0]
        while i0 < w.high[0][o0]:
            i1 = w.low[1][o1]
            while i1 < w.high[1][o1]:
                i2 = w.low[2][o2]
                while i2 < w.high[2][o2]:
                    at = <int32_t>((i0 * w.size[1] + i1) * w.size[2] + i2)
                    src = x + at * job.channels + c0
                    if first:
                        for c in range(n):
                            out[c0 + c], index[c] = src[c], at
                        first = False
                    elif element is float:
                        ft_larger_f32(src, out + c0, index, at, n)
                    else:
                        ft_larger_f64(src, out + c0, index, at, n)
                    i2 += w.dil[2]
                i1 += w.dil[1]
            i0 += w.dil[0]
        for c in range(n):
            indices[c0 + c] = index[c]
        c0 += BLOCK


cdef void mean_pixel(const Job *job, const element *x, element *out, Py_ssize_t o0, Py_ssize_t o1, Py_ssize_t o2) noexcept nogil:
    cdef const Windows *w = job.w
    cdef Py_ssize_t i0, i1, i2, c = job.channels, by = divided_by(w, o0, o1, o2)
    cdef const element *src
    memset(out, 0, c * sizeof(element))
    for i0 in range(w.low[0][o0], w.high[0][o0]):
        for i1 in range(w.low[1][o1], w.high[1][o1]):
            src = x + ((i0 * w.size[1] + i1) * w.size[2] + w.low[2][o2]) * c
            for i2 in range(w.high[2][o2] - w.low[2][o2]):
                if element is float:
                    ft_add_pixel_f32(src + i2 * c, out, c)
                else:
                    ft_add_pixel_f64(src + i2 * c, out, c)
    if element is float:
        ft_divide_pixel_f32(out, out, <float>by, c)
    else:
        ft_divide_pixel_f64(out, out, <double>by, c)


cdef void pixels(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Output pixels begin .. end - 1 of all images: the largest values, or the means where there are no indices."""
    cdef Job *job = <Job *>context
    cdef const Windows *w = job.w
    cdef Py_ssize_t p, rest, o1, o2, image = w.volume * job.channels, at
    for p in range(begin, end):
        rest, o2 = p // w.out[2], p % w.out[2]
        rest, o1 = rest // w.out[1], rest % w.out[1]
        at = rest // w.out[0] * image
        if job.indices == NULL:
            if job.wide:
                mean_pixel(job, <const double *>job.x + at, <double *>job.out + p * job.channels, rest % w.out[0], o1, o2)
            else:
                mean_pixel(job, <const float *>job.x + at, <float *>job.out + p * job.channels, rest % w.out[0], o1, o2)
        elif job.wide:
            max_pixel(job, <const double *>job.x + at, <double *>job.out + p * job.channels, job.indices + p * job.channels, rest % w.out[0], o1, o2)
        else:
            max_pixel(job, <const float *>job.x + at, <float *>job.out + p * job.channels, job.indices + p * job.channels, rest % w.out[0], o1, o2)


cdef void max_back(const Job *job, const element *g, element *gx, Py_ssize_t image, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """Channels low .. high - 1 of one image."""
    cdef Py_ssize_t p, c, first = image * job.w.outs
    gx += image * job.w.volume * job.channels
    for p in range(first, first + job.w.outs):
        for c in range(low, high):
            gx[job.indices[p * job.channels + c] * job.channels + c] += g[p * job.channels + c]


cdef void mean_back(const Job *job, const element *g, element *gx, Py_ssize_t image, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef const Windows *w = job.w
    cdef Py_ssize_t o0, o1, o2, i0, i1, i2, n = high - low
    cdef element part[BLOCK]
    cdef element *at
    gx += image * w.volume * job.channels + low
    g += image * w.outs * job.channels + low
    for o0 in range(w.out[0]):
        for o1 in range(w.out[1]):
            for o2 in range(w.out[2]):
                if element is float:
                    ft_divide_pixel_f32(g, part, <float>divided_by(w, o0, o1, o2), n)
                else:
                    ft_divide_pixel_f64(g, part, <double>divided_by(w, o0, o1, o2), n)
                for i0 in range(w.low[0][o0], w.high[0][o0]):
                    for i1 in range(w.low[1][o1], w.high[1][o1]):
                        for i2 in range(w.low[2][o2], w.high[2][o2]):
                            at = gx + ((i0 * w.size[1] + i1) * w.size[2] + i2) * job.channels
                            if element is float:
                                ft_add_pixel_f32(part, at, n)
                            else:
                                ft_add_pixel_f64(part, at, n)
                g += job.channels


cdef void blocks(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The gradients of blocks of channels, numbered through all images; job.x is the gradient of the result."""
    cdef Job *job = <Job *>context
    cdef Py_ssize_t k, low, high
    for k in range(begin, end):
        low = k % job.blocks * BLOCK
        high = min(low + BLOCK, job.channels)
        if job.indices != NULL:
            if job.wide:
                max_back(job, <const double *>job.x, <double *>job.out, k // job.blocks, low, high)
            else:
                max_back(job, <const float *>job.x, <float *>job.out, k // job.blocks, low, high)
        elif job.wide:
            mean_back(job, <const double *>job.x, <double *>job.out, k // job.blocks, low, high)
        else:
            mean_back(job, <const float *>job.x, <float *>job.out, k // job.blocks, low, high)


cdef Tensor images_of(Tensor x, const Py_ssize_t *extents, int code):
    """Images of x's number and channels with other extents, the last of `extents`, channels innermost."""
    cdef Py_ssize_t sizes[5]
    cdef int a, nd = x.rank - 2
    sizes[0], sizes[1] = x.sizes[0], x.sizes[1]
    for a in range(nd):
        sizes[2 + a] = extents[3 - nd + a]
    return empty_images(x.rank, sizes, code, CPU)


cdef void run(Job *job, Py_ssize_t images) noexcept nogil:
    cdef Py_ssize_t n = images * job.w.outs
    parallel_for(n, max(<Py_ssize_t>1, 16384 * n // (job.channels * (job.w.volume * images + n) + 1)), pixels, job)


def max_pool(Tensor x, tuple windows):
    """The largest value of each window and its flat index in the pooled dimensions."""
    cdef Windows w
    cdef Job job
    cdef Tensor lies, out, indices
    if not suits(x, len(windows)):
        return pool.max_pool(x, windows)
    start(&w, tuple(x.shape), windows)
    try:
        if w.volume >= 0x7fffffff:
            return pool.max_pool(x, windows)
        lies = contiguous(channels_behind(x, False))
        out, indices = images_of(x, w.out, x.code), images_of(x, w.out, INT64)
        job.w, job.x, job.out, job.indices, job.channels, job.wide = &w, lies.ptr, out.ptr, <int64_t *>indices.ptr, x.sizes[1], x.code == FLOAT64
        if out.count:
            with nogil:
                run(&job, x.sizes[0])
    finally:
        free(w.memory)
    return out, indices


def avg_pool(Tensor x, tuple windows, Py_ssize_t divisor, bint count_padding):
    """The mean of each window; `divisor` not 0 divides the sum instead of the count."""
    cdef Windows w
    cdef Job job
    cdef Tensor lies, out
    if not suits(x, len(windows)) or x.rank != 4:
        return pool.avg_pool(x, windows, divisor, count_padding)
    start(&w, tuple(x.shape), windows)
    try:
        w.divisor, w.count_padding = divisor, count_padding
        lies = contiguous(channels_behind(x, False))
        out = images_of(x, w.out, x.code)
        job.w, job.x, job.out, job.indices, job.channels, job.wide = &w, lies.ptr, out.ptr, NULL, x.sizes[1], x.code == FLOAT64
        if out.count:
            with nogil:
                run(&job, x.sizes[0])
    finally:
        free(w.memory)
    return out


cdef Tensor gradient(Job *job, Tensor g, const Py_ssize_t *extents):
    cdef Tensor lies = contiguous(channels_behind(g, False)), out = images_of(g, extents, g.code)
    job.x, job.out, job.channels, job.wide = lies.ptr, out.ptr, g.sizes[1], g.code == FLOAT64
    job.blocks = (job.channels + BLOCK - 1) // BLOCK
    with nogil:
        memset(out.ptr, 0, out.count * (8 if job.wide else 4))
        if out.count and g.count:
            parallel_for(g.sizes[0] * job.blocks, max(<Py_ssize_t>1, 16384 // (job.w.volume * BLOCK + 1)), blocks, job)
    return out


def avg_pool_backward(Tensor g, tuple sizes, tuple windows, Py_ssize_t divisor, bint count_padding):
    """The gradient of an input with extents `sizes` in the pooled dimensions."""
    cdef Windows w
    cdef Job job
    cdef Tensor out
    if not suits(g, len(windows)) or g.rank != 4:
        return pool.avg_pool_backward(g, sizes, windows, divisor, count_padding)
    start(&w, (g.sizes[0], g.sizes[1]) + sizes, windows)
    try:
        w.divisor, w.count_padding = divisor, count_padding
        job.w, job.indices = &w, NULL
        out = gradient(&job, g, w.size)
    finally:
        free(w.memory)
    return out


cdef bint within(const int64_t *index, Py_ssize_t n, Py_ssize_t volume) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint good = True
    for i in range(n):
        good &= (index[i] >= 0) & (index[i] < volume)
    return good


def max_pool_backward(Tensor g, Tensor indices, tuple sizes):
    """Values at the indices of zeroed planes with extents `sizes`, those of equal indices added."""
    cdef Windows w
    cdef Job job
    cdef Tensor places
    cdef int a, nd = len(sizes)
    if not suits(g, nd) or indices.code != INT64 or not channels_inside(indices):
        return unpool.max_pool_backward(g, indices, sizes)
    w.volume = w.outs = 1
    for a in range(3):
        w.size[a] = sizes[a - 3 + nd] if a >= 3 - nd else 1
        w.volume *= w.size[a]
        w.outs *= g.sizes[a - 1 + nd] if a >= 3 - nd else 1
    places = contiguous(channels_behind(indices, False))
    if not within(<const int64_t *>places.ptr, places.count, w.volume):
        return unpool.max_pool_backward(g, indices, sizes)      # which says what is wrong
    job.w, job.indices = &w, <int64_t *>places.ptr
    return gradient(&job, g, w.size)
