# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Normalisation of channels: batch_norm and group_norm of [batch, channels, ...] with their gradients.

Example::

    y, mean, rstd = norm_channel.batch_norm(x, weight, bias, running_mean, running_var, True, 0.1, 1e-5)

A channel, or a group of channels, is a task: its rows are summed, centred and mapped while they
are in the cache. With one element a channel and sample, blocks of channels go side by side.
"""
from libc.math cimport sqrt
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, describe, new_tensor, new_like, contiguous, cast, wrote
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.parallel cimport parallel_for, range_fn
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.norm cimport ft_norm, FT_NORM_OF, NORM_COLS, parameters_fit

cdef struct Channels:
    const ft_norm *f
    const char *x
    const char *g
    char *y
    const double *weight        # [channels] or NULL
    const double *bias
    double *mean                # [channels], or [batch * groups]
    double *rstd
    double *sums                # [..][2]: sum g, sum g (x - mean)
    Py_ssize_t batch, channels, length, item, groups
    double eps
    bint training


cdef void bn_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t c, b, step = s.channels * s.length * s.item
    cdef double total, n = <double>s.batch * s.length
    cdef const char *x
    for c in range(begin, end):
        x = s.x + c * s.length * s.item
        if s.training:
            total = 0
            for b in range(s.batch):
                total += s.f.sum(x + b * step, s.length)
            s.mean[c] = total / n
            total = 0
            for b in range(s.batch):
                total += s.f.squares(x + b * step, s.length, s.mean[c])
            s.rstd[c] = total / n               # the caller needs the variance before it becomes 1 / sqrt
            total = 1 / sqrt(total / n + s.eps)
        else:
            total = s.rstd[c]
        if s.weight != NULL:
            total *= s.weight[c]
        for b in range(s.batch):
            s.f.affine(x + b * step, s.y + (x - s.x) + b * step, s.length, s.mean[c], total, s.bias[c] if s.bias != NULL else 0)


cdef void bn_columns(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t k, c, m, j
    cdef double scale[NORM_COLS]
    cdef double shift[NORM_COLS]
    for k in range(begin, end):
        c = k * NORM_COLS
        m = s.channels - c if s.channels - c < NORM_COLS else NORM_COLS
        for j in range(m):
            if s.training:
                s.mean[c + j] = s.rstd[c + j] = 0
            shift[j] = s.bias[c + j] if s.bias != NULL else 0
        if s.training:
            s.f.col_sum(s.x + c * s.item, s.batch, s.channels, m, s.mean + c)
            for j in range(m):
                s.mean[c + j] /= s.batch
            s.f.col_squares(s.x + c * s.item, s.batch, s.channels, m, s.mean + c, s.rstd + c)
            for j in range(m):
                s.rstd[c + j] /= s.batch
        for j in range(m):
            scale[j] = 1 / sqrt(s.rstd[c + j] + s.eps) if s.training else s.rstd[c + j]
            if s.weight != NULL:
                scale[j] *= s.weight[c + j]
        s.f.col_affine(s.x + c * s.item, s.y + c * s.item, s.batch, s.channels, m, s.mean + c, scale, shift)


cdef void bn_back_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t c, b, at, step = s.channels * s.length * s.item
    cdef double a, n = <double>s.batch * s.length
    cdef double *sums
    for c in range(begin, end):
        sums = s.sums + 2 * c
        sums[0] = sums[1] = 0
        at = c * s.length * s.item
        for b in range(s.batch):
            s.f.dots(s.g + at + b * step, s.x + at + b * step, s.length, s.mean[c], sums)
        if s.y == NULL:
            continue
        a = s.rstd[c] * (s.weight[c] if s.weight != NULL else 1)
        for b in range(s.batch):
            if s.training:
                s.f.affine2(s.g + at + b * step, s.x + at + b * step, s.y + at + b * step, s.length, s.mean[c], a,
                            -a * s.rstd[c] * s.rstd[c] * sums[1] / n, -a * sums[0] / n)
            else:
                s.f.affine(s.g + at + b * step, s.y + at + b * step, s.length, 0, a, 0)


cdef void bn_back_columns(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t k, c, m, j, at
    cdef double t[4][NORM_COLS]
    for k in range(begin, end):
        c = k * NORM_COLS
        m = s.channels - c if s.channels - c < NORM_COLS else NORM_COLS
        for j in range(m):
            t[0][j] = t[1][j] = 0
        at = c * s.item
        s.f.col_dots(s.g + at, s.x + at, s.batch, s.channels, m, s.mean + c, t[0], t[1])
        for j in range(m):
            s.sums[2 * (c + j)], s.sums[2 * (c + j) + 1] = t[0][j], t[1][j]
            t[2][j] = s.rstd[c + j] * (s.weight[c + j] if s.weight != NULL else 1)
            t[3][j] = -t[2][j] * s.rstd[c + j] * s.rstd[c + j] * t[1][j] / s.batch if s.training else 0
            t[0][j] = -t[2][j] * t[0][j] / s.batch if s.training else 0
        if s.y == NULL:
            continue
        s.f.col_affine2(s.g + at, s.x + at, s.y + at, s.batch, s.channels, m, s.mean + c, t[2], t[3], t[0])


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef Tensor doubles(Tensor x):
    return None if x is None else cast(contiguous(x), FLOAT64)


cdef void describe_input(Channels *s, Tensor p, Tensor weight, Tensor bias) noexcept:
    s.f = &FT_NORM_OF[p.code == FLOAT64]
    s.item = ITEMSIZE[p.code]
    s.x = p.ptr
    s.batch = p.sizes[0]
    s.channels = p.sizes[1]
    s.length = p.count // (s.batch * s.channels) if p.count else 0
    s.weight = <const double *>weight.ptr if weight is not None else NULL
    s.bias = <const double *>bias.ptr if bias is not None else NULL


cdef void over_channels(Channels *s, range_fn rows, range_fn columns) noexcept nogil:
    if s.length == 1:
        parallel_for((s.channels + NORM_COLS - 1) // NORM_COLS, 32768 // (s.batch * NORM_COLS) + 1, columns, s)
    elif s.length:
        parallel_for(s.channels, 32768 // (s.batch * s.length) + 1, rows, s)


cdef int blend(Tensor running, Tensor now, double momentum, double factor) except -1:
    """running = (1 - momentum) running + momentum factor now, in place."""
    cdef Tensor r = doubles(running)
    cdef Tensor out = new_like(r, FLOAT64)
    cdef Py_ssize_t i
    for i in range(r.count):
        (<double *>out.ptr)[i] = (1 - momentum) * (<double *>r.ptr)[i] + momentum * factor * (<double *>now.ptr)[i]
    copy_into(running, out)
    wrote(running)
    return 0


def batch_norm(Tensor x, Tensor weight, Tensor bias, Tensor running_mean, Tensor running_var, bint training,
               double momentum, double eps):
    """(y, mean, rstd), the statistics as float64 [channels]; updates the running ones where training."""
    parameters_fit("batch_norm", x, weight, bias, running_mean, running_var)
    cdef Tensor p = plain(x), w = doubles(weight), b = doubles(bias)
    cdef Tensor y = new_like(p, p.code)
    cdef Tensor mean, rstd
    cdef Channels s
    cdef Py_ssize_t i
    cdef double n
    describe_input(&s, p, w, b)
    mean = new_tensor(1, &s.channels, FLOAT64, x.dev)
    rstd = new_tensor(1, &s.channels, FLOAT64, x.dev)
    s.y, s.eps, s.training, s.mean, s.rstd = y.ptr, eps, training, <double *>mean.ptr, <double *>rstd.ptr
    if not training:
        copy_into(mean, running_mean)
        copy_into(rstd, running_var)
        for i in range(s.channels):
            s.rstd[i] = 1 / sqrt(s.rstd[i] + eps)
    with nogil:
        over_channels(&s, bn_rows, bn_columns)
    if training and p.count:
        n = <double>s.batch * s.length
        if running_mean is not None:
            blend(running_mean, mean, momentum, 1)
        if running_var is not None:
            blend(running_var, rstd, momentum, n / (n - 1))
        for i in range(s.channels):
            s.rstd[i] = 1 / sqrt(s.rstd[i] + eps)
    return cast(y, x.code), mean, rstd


def batch_norm_backward(Tensor g, Tensor x, Tensor weight, Tensor mean, Tensor rstd, bint training, bint want_x):
    """(gradient of x or None, of the weight, of the bias); the last two as float64 [channels]."""
    cdef Tensor p = plain(x), q = plain(g), w = doubles(weight)
    cdef Tensor gx = new_like(p, p.code) if want_x else None
    cdef Tensor gw = new_like(mean, FLOAT64), gb = new_like(mean, FLOAT64)
    cdef Channels s
    cdef Py_ssize_t i
    describe_input(&s, p, w, None)
    s.g, s.y, s.training, s.mean, s.rstd = q.ptr, gx.ptr if want_x else NULL, training, <double *>mean.ptr, <double *>rstd.ptr
    s.sums = <double *>malloc(2 * s.channels * sizeof(double) + 8)
    if s.sums == NULL:
        raise no_room(f"batch_norm: no memory for the sums of {s.channels} channels of {describe(x)}")
    for i in range(2 * s.channels):
        s.sums[i] = 0
    with nogil:
        over_channels(&s, bn_back_rows, bn_back_columns)
    for i in range(s.channels):
        (<double *>gb.ptr)[i] = s.sums[2 * i]
        (<double *>gw.ptr)[i] = s.sums[2 * i + 1] * s.rstd[i]
    free(s.sums)
    return (cast(gx, x.code) if want_x else None), gw, gb


cdef void gn_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t k, i, c, per = s.channels // s.groups, n = per * s.length, at
    cdef double a
    for i in range(begin, end):
        at = i * n * s.item
        s.mean[i] = s.f.sum(s.x + at, n) / n
        s.rstd[i] = 1 / sqrt(s.f.squares(s.x + at, n, s.mean[i]) / n + s.eps)
        if s.weight == NULL and s.bias == NULL:
            s.f.affine(s.x + at, s.y + at, n, s.mean[i], s.rstd[i], 0)
            continue
        for k in range(per):
            c = i % s.groups * per + k
            a = s.rstd[i] * (s.weight[c] if s.weight != NULL else 1)
            s.f.affine(s.x + at, s.y + at, s.length, s.mean[i], a, s.bias[c] if s.bias != NULL else 0)
            at += s.length * s.item


cdef void gn_back_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Channels *s = <Channels *>context
    cdef Py_ssize_t k, i, per = s.channels // s.groups, n = per * s.length, at
    cdef double w, sg, sx, r
    cdef double *sums
    for i in range(begin, end):
        at = i * n * s.item
        sg = sx = 0
        r = s.rstd[i]
        for k in range(per):
            sums = s.sums + 2 * (i * per + k)
            sums[0] = sums[1] = 0
            s.f.dots(s.g + at, s.x + at, s.length, s.mean[i], sums)
            w = s.weight[i % s.groups * per + k] if s.weight != NULL else 1
            sg += w * sums[0]
            sx += w * sums[1]
            at += s.length * s.item
        if s.y == NULL:
            continue
        at = i * n * s.item
        for k in range(per):
            w = s.weight[i % s.groups * per + k] if s.weight != NULL else 1
            s.f.affine2(s.g + at, s.x + at, s.y + at, s.length, s.mean[i], w * r, -sx * r * r * r / n, -sg * r / n)
            at += s.length * s.item


def group_norm(Tensor x, Tensor weight, Tensor bias, Py_ssize_t groups, double eps):
    """(y, mean, rstd), the statistics as float64 [batch, groups]."""
    parameters_fit("group_norm", x, weight, bias, None, None)
    cdef Tensor p = plain(x), w = doubles(weight), b = doubles(bias)
    cdef Tensor y = new_like(p, p.code)
    cdef Channels s
    cdef Py_ssize_t sizes[2]
    describe_input(&s, p, w, b)
    sizes[0], sizes[1] = s.batch, groups
    cdef Tensor mean = new_tensor(2, sizes, FLOAT64, x.dev), rstd = new_tensor(2, sizes, FLOAT64, x.dev)
    s.y, s.eps, s.groups, s.mean, s.rstd = y.ptr, eps, groups, <double *>mean.ptr, <double *>rstd.ptr
    if p.count:
        with nogil:
            parallel_for(s.batch * groups, 16384 // (s.channels // groups * s.length) + 1, gn_chunk, &s)
    return cast(y, x.code), mean, rstd


def group_norm_backward(Tensor g, Tensor x, Tensor weight, Tensor mean, Tensor rstd, Py_ssize_t groups, bint want_x):
    """(gradient of x or None, of the weight, of the bias); the last two as float64 [channels]."""
    cdef Tensor p = plain(x), q = plain(g), w = doubles(weight)
    cdef Tensor gx = new_like(p, p.code) if want_x else None
    cdef Channels s
    cdef Py_ssize_t b, c, i
    describe_input(&s, p, w, None)
    cdef Tensor gw = new_tensor(1, &s.channels, FLOAT64, x.dev), gb = new_tensor(1, &s.channels, FLOAT64, x.dev)
    s.g, s.y, s.groups, s.mean, s.rstd = q.ptr, gx.ptr if want_x else NULL, groups, <double *>mean.ptr, <double *>rstd.ptr
    s.sums = <double *>malloc(2 * s.batch * s.channels * sizeof(double) + 8)
    if s.sums == NULL:
        raise no_room(f"group_norm: no memory for the sums of {s.channels} channels of {describe(x)}")
    if p.count:
        with nogil:
            parallel_for(s.batch * groups, 16384 // (s.channels // groups * s.length) + 1, gn_back_chunk, &s)
    for c in range(s.channels):
        (<double *>gw.ptr)[c] = (<double *>gb.ptr)[c] = 0
        for b in range(s.batch if p.count else 0):
            i = b * s.channels + c
            (<double *>gb.ptr)[c] += s.sums[2 * i]
            (<double *>gw.ptr)[c] += s.sums[2 * i + 1] * s.rstd[b * groups + c // (s.channels // groups)]
    free(s.sums)
    return (cast(gx, x.code) if want_x else None), gw, gb
