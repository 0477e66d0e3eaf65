# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""softmax, log_softmax and their gradients along any dimension, and cross entropy over classes.

Example::

    y = softmax.softmax(x, 1)
    gx = softmax.softmax_backward(g, y, 1)

float32 and float64 are computed as they are, half types in float32. A tensor is seen as
[outer, n, inner]; a row, or a block of columns, is read and written while it is in the cache.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for, range_fn

cdef extern from "softmax_loops.h" nogil:
    enum:
        SOFTMAX_COLS
    ctypedef struct ft_softmax:
        void (*row[2])(const void *, void *, Py_ssize_t) noexcept nogil
        void (*cols[2])(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*back_row)(const void *, const void *, void *, Py_ssize_t, int) noexcept nogil
        void (*back_cols)(const void *, const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, int) noexcept nogil
        void (*ce_row)(const void *, Py_ssize_t, Py_ssize_t, double, double, const void *, double *) noexcept nogil
        void (*ce_back)(const void *, void *, Py_ssize_t, Py_ssize_t, double, double, double, const void *, double) noexcept nogil
        void (*ce_cols)(const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const int64_t *, int64_t, double, double, const void *,
                        double *) noexcept nogil
        void (*ce_cols_back)(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const int64_t *, int64_t, const double *, double,
                             double, const void *, double, double, const double *) noexcept nogil
    const ft_softmax FT_SOFTMAX_OF[2]

cdef struct Job:
    const ft_softmax *f
    const char *x
    const char *g
    char *y
    Py_ssize_t n, inner, blocks, item
    int log


cdef inline Py_ssize_t find(Job *s, Py_ssize_t i, Py_ssize_t *m) noexcept nogil:
    # First byte of task i, and how many columns it has.
    cdef Py_ssize_t j = i % s.blocks * SOFTMAX_COLS
    m[0] = s.inner - j if s.inner - j < SOFTMAX_COLS else SOFTMAX_COLS
    return (i // s.blocks * s.n * s.inner + j) * s.item


cdef void forward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i, at, m
    for i in range(begin, end):
        at = find(s, i, &m)
        if s.inner == 1:
            s.f.row[s.log](s.x + at, s.y + at, s.n)
        else:
            s.f.cols[s.log](s.x + at, s.y + at, s.n, s.inner, m)


cdef void backward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i, at, m
    for i in range(begin, end):
        at = find(s, i, &m)
        if s.inner == 1:
            s.f.back_row(s.g + at, s.x + at, s.y + at, s.n, s.log)
        else:
            s.f.back_cols(s.g + at, s.x + at, s.y + at, s.n, s.inner, m, s.log)


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef Tensor run(Tensor x, Tensor g, int dim, int log):
    cdef Tensor p = plain(x)
    cdef Tensor q = plain(g) if g is not None else None
    cdef Tensor y = new_like(p, p.code)
    cdef Job s
    cdef Py_ssize_t outer = 1, grain
    cdef int i
    if x.count == 0:
        return cast(y, x.code)
    s.f = &FT_SOFTMAX_OF[p.code == FLOAT64]
    s.inner, s.log, s.item = 1, log, ITEMSIZE[p.code]
    for i in range(x.rank):
        if i < dim:
            outer *= x.sizes[i]
        elif i > dim:
            s.inner *= x.sizes[i]
    s.n = x.sizes[dim] if x.rank else 1
    s.blocks = (s.inner + SOFTMAX_COLS - 1) // SOFTMAX_COLS
    s.x, s.y, s.g = p.ptr, y.ptr, q.ptr if g is not None else NULL
    grain = 16384 // (s.n * (s.inner if s.inner < SOFTMAX_COLS else SOFTMAX_COLS)) + 1
    cdef range_fn body = forward_chunk if g is None else backward_chunk
    if x.count < 4096:
        parallel_for(outer * s.blocks, grain, body, &s)
    else:
        with nogil:
            parallel_for(outer * s.blocks, grain, body, &s)
    return cast(y, x.code)


def softmax(Tensor x, int dim):
    """exp(x) / sum(exp(x)) along `dim`."""
    return run(x, None, dim, 0)


def log_softmax(Tensor x, int dim):
    """x - log(sum(exp(x))) along `dim`."""
    return run(x, None, dim, 1)


def softmax_backward(Tensor g, Tensor y, int dim):
    return run(y, g, dim, 0)


def log_softmax_backward(Tensor g, Tensor y, int dim):
    return run(y, g, dim, 1)


cdef struct Loss:
    const ft_softmax *f
    const char *x
    char *gx
    const int64_t *target
    const char *weight
    double *rows                # loss and log-sum-exp of each row or column
    double own, rest, sum_w, scale
    const double *scales        # of each row or column, or NULL
    int64_t ignore
    Py_ssize_t n, inner, blocks, count, item
    bint wide


cdef inline double weight_of(Loss *s, Py_ssize_t t) noexcept nogil:
    if s.weight == NULL:
        return 1
    return (<const double *>s.weight)[t] if s.wide else (<const float *>s.weight)[t]


cdef void ce_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Loss *s = <Loss *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        if s.target[i] == s.ignore:
            s.rows[2 * i] = s.rows[2 * i + 1] = 0
        else:
            s.f.ce_row(s.x + i * s.n * s.item, s.n, s.target[i], s.own * weight_of(s, s.target[i]), s.rest, s.weight,
                       s.rows + 2 * i)


cdef void ce_back_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Loss *s = <Loss *>context
    cdef Py_ssize_t i
    cdef double k
    cdef char *d
    for i in range(begin, end):
        d = s.gx + i * s.n * s.item
        if s.target[i] == s.ignore:
            memset(d, 0, s.n * s.item)
        else:
            k = s.scale * (s.scales[i] if s.scales != NULL else 1)
            s.f.ce_back(s.x + i * s.n * s.item, d, s.n, s.target[i], s.rows[2 * i + 1],
                        k * s.own * weight_of(s, s.target[i]), k * s.rest, s.weight, s.sum_w)


cdef inline Py_ssize_t block(Loss *s, Py_ssize_t i, Py_ssize_t *m, Py_ssize_t *row) noexcept nogil:
    # First byte of block i of columns, how many it has, and the place of its first target.
    cdef Py_ssize_t j = i % s.blocks * SOFTMAX_COLS
    m[0] = s.inner - j if s.inner - j < SOFTMAX_COLS else SOFTMAX_COLS
    row[0] = i // s.blocks * s.inner + j
    return (i // s.blocks * s.n * s.inner + j) * s.item


cdef void ce_cols_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Loss *s = <Loss *>context
    cdef Py_ssize_t i, at, m, row
    for i in range(begin, end):
        at = block(s, i, &m, &row)
        s.f.ce_cols(s.x + at, s.n, s.inner, m, s.target + row, s.ignore, s.own, s.rest, s.weight, s.rows + 2 * row)


cdef void ce_cols_back_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Loss *s = <Loss *>context
    cdef Py_ssize_t i, at, m, row
    for i in range(begin, end):
        at = block(s, i, &m, &row)
        s.f.ce_cols_back(s.x + at, s.gx + at, s.n, s.inner, m, s.target + row, s.ignore, s.rows + 2 * row, s.own, s.rest, s.weight,
                         s.sum_w, s.scale, s.scales + row if s.scales != NULL else NULL)


cdef int prepare(Loss *s, Tensor x, Tensor target, Tensor weight, int64_t ignore, double smoothing) except -1:
    cdef Py_ssize_t i, n = x.sizes[1]
    cdef int64_t t
    s.f = &FT_SOFTMAX_OF[x.code == FLOAT64]
    s.wide = x.code == FLOAT64
    s.x, s.target, s.n, s.item, s.ignore = x.ptr, <const int64_t *>target.ptr, n, ITEMSIZE[x.code], ignore
    s.count = target.count
    s.inner = target.count // x.sizes[0] if x.sizes[0] else 0
    s.blocks = (s.inner + SOFTMAX_COLS - 1) // SOFTMAX_COLS
    s.weight = weight.ptr if weight is not None else NULL
    s.own, s.rest = 1 - smoothing, smoothing / n if n else 0
    s.sum_w = 0
    for i in range(n):
        s.sum_w += weight_of(s, i)
    for i in range(s.count):
        t = s.target[i]
        if (t < 0 or t >= n) and t != ignore:
            raise IndexError(f"cross_entropy: Target {t} is out of bounds for {n} classes; use ignore_index for rows to skip")
    return 0


cdef void over_rows(Loss *s, Py_ssize_t outer, range_fn rows, range_fn cols) noexcept nogil:
    if s.inner == 1:
        parallel_for(outer, 16384 // (s.n + 1) + 1, rows, s)
    elif s.n > 0:
        parallel_for(outer * s.blocks, 16384 // (s.n * (s.inner if s.inner < SOFTMAX_COLS else SOFTMAX_COLS) + 1) + 1, cols, s)


def cross_entropy(Tensor x, Tensor target, Tensor weight, int64_t ignore, double smoothing, str reduction):
    """Loss of logits x [N, C, ...] against int64 classes [N, ...].

    Returns (loss, state): the loss is a scalar, or of the target's shape for reduction "none"; `state` is a float64
    tensor [targets + 1, 2] of the losses and log-sum-exps of each, then the divisor of the mean.
    """
    cdef Loss s
    cdef Py_ssize_t i, rows = target.count
    cdef Py_ssize_t sizes[2]
    cdef Tensor p = plain(x), t = contiguous(target), w = cast(contiguous(weight), p.code) if weight is not None else None
    prepare(&s, p, t, w, ignore, smoothing)
    sizes[0], sizes[1] = rows + 1, 2
    cdef Tensor state = new_tensor(2, sizes, FLOAT64, x.dev)
    cdef Tensor loss
    cdef double total = 0, divisor = 0
    s.rows = <double *>state.ptr
    with nogil:
        over_rows(&s, x.sizes[0], ce_chunk, ce_cols_chunk)
        for i in range(rows):
            total += s.rows[2 * i]
            if s.target[i] != ignore:
                divisor += weight_of(&s, s.target[i])
    s.rows[2 * rows], s.rows[2 * rows + 1] = total, divisor
    if reduction == "none":
        loss = new_like(t, FLOAT64)
        for i in range(rows):
            (<double *>loss.ptr)[i] = s.rows[2 * i]
    else:
        loss = new_tensor(0, NULL, FLOAT64, x.dev)
        (<double *>loss.ptr)[0] = total / divisor if reduction == "mean" else total
    return cast(loss, x.code), state


def cross_entropy_backward(Tensor g, Tensor x, Tensor target, Tensor weight, Tensor state, int64_t ignore,
                           double smoothing, str reduction):
    """Gradient of the logits, one pass over them."""
    cdef Loss s
    cdef Tensor p = plain(x), t = contiguous(target), w = cast(contiguous(weight), p.code) if weight is not None else None
    cdef Tensor gx = new_like(p, p.code), scales = cast(contiguous(g), FLOAT64)
    cdef Py_ssize_t rows = target.count
    prepare(&s, p, t, w, ignore, smoothing)
    s.rows, s.gx, s.scale, s.scales = <double *>state.ptr, gx.ptr, 1, NULL
    if reduction == "none":
        s.scales = <double *>scales.ptr
    else:
        s.scale = (<double *>scales.ptr)[0]
        if reduction == "mean":
            s.scale /= s.rows[2 * rows + 1]
    with nogil:
        over_rows(&s, x.sizes[0], ce_back_chunk, ce_cols_back_chunk)
    return cast(gx, x.code)
