# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Negative log likelihood of class indices, and connectionist temporal classification.

Example::

    loss, divisor = loss.nll_loss(x, target, None, -100, "mean")       # x [N, C, ...], target [N, ...]
"""
from libc.stdint cimport int64_t
from libc.math cimport exp, log1p, INFINITY
from libc.stdlib cimport malloc, free
from libc.string cimport memset
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, INT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef inline double get(Tensor x, Py_ssize_t i) noexcept nogil:
    return (<double *>x.ptr)[i] if x.code == FLOAT64 else (<float *>x.ptr)[i]


cdef inline void put(Tensor x, Py_ssize_t i, double v) noexcept nogil:
    if x.code == FLOAT64:
        (<double *>x.ptr)[i] = v
    else:
        (<float *>x.ptr)[i] = <float>v


cdef enum:
    PIECE = 1 << 13         # targets of one task


cdef struct Nll:
    const char *x
    const char *weight
    char *out               # losses of reduction "none" or the gradient of x
    const char *scales      # the incoming gradients of reduction "none", or NULL
    const int64_t *at
    double *sums            # [pieces][2]: losses and weights
    double scale
    int64_t ignore
    Py_ssize_t classes, inner
    bint wide, back


cdef inline double read(const char *p, Py_ssize_t i, bint wide) noexcept nogil:
    return (<const double *>p)[i] if wide else (<const float *>p)[i]


cdef void nll_piece(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Nll *s = <Nll *>context
    cdef Py_ssize_t i, place
    cdef double total = 0, divisor = 0, k, v
    cdef Py_ssize_t n = begin // s.inner, j = begin % s.inner       # of the sample, and within it
    for i in range(begin, end):
        v = k = 0
        if s.at[i] != s.ignore:
            k = read(s.weight, s.at[i], s.wide) if s.weight != NULL else 1
            place = (n * s.classes + s.at[i]) * s.inner + j
            if s.back:
                v = -k * (s.scale if s.scales == NULL else read(s.scales, i, s.wide))
                if s.wide:
                    (<double *>s.out)[place] = v
                else:
                    (<float *>s.out)[place] = <float>v
            else:
                v = -k * read(s.x, place, s.wide)
        if not s.back and s.out != NULL:
            if s.wide:
                (<double *>s.out)[i] = v
            else:
                (<float *>s.out)[i] = <float>v
        total += v
        divisor += k
        j += 1
        if j == s.inner:
            j, n = 0, n + 1
    if s.sums != NULL:
        i = begin // PIECE
        s.sums[2 * i], s.sums[2 * i + 1] = total, divisor


cdef Nll described(Tensor x, Tensor target, Tensor weight, int64_t ignore) except *:
    cdef Nll s
    cdef Py_ssize_t i
    cdef bint bad = False
    s.at, s.ignore, s.classes = <const int64_t *>target.ptr, ignore, x.sizes[1]
    s.inner = target.count // x.sizes[0] if x.sizes[0] else 0
    s.wide = x.code == FLOAT64
    s.weight = weight.ptr if weight is not None else NULL
    s.out, s.scales, s.sums, s.scale, s.back = NULL, NULL, NULL, 1, False
    for i in range(target.count):
        bad |= (s.at[i] < 0 or s.at[i] >= s.classes) and s.at[i] != ignore
    if bad:
        for i in range(target.count):
            if (s.at[i] < 0 or s.at[i] >= s.classes) and s.at[i] != ignore:
                raise IndexError(f"nll_loss: Target {s.at[i]} is out of bounds for {s.classes} classes; use ignore_index for elements to skip")
    return s


def nll_loss(Tensor x, Tensor target, Tensor weight, int64_t ignore, str reduction):
    """(loss, divisor of the mean) of log-probabilities x [N, C, ...] and int64 classes [N, ...]."""
    cdef Tensor p = plain(x), t = contiguous(target), w = cast(contiguous(weight), p.code) if weight is not None else None
    cdef bint each = reduction == "none"
    cdef Tensor loss = new_like(t, p.code) if each else new_tensor(0, NULL, p.code, x.dev)
    cdef Py_ssize_t i, count = (t.count + PIECE - 1) // PIECE
    cdef double total = 0, divisor = 0
    cdef double one[2]
    cdef Nll s = described(p, t, w, ignore)
    s.x = p.ptr
    s.out = loss.ptr if each else NULL
    s.sums = &one[0] if count <= 1 else <double *>malloc(2 * count * sizeof(double))
    if s.sums == NULL:
        raise no_room(f"nll_loss: no memory for {count} sums")
    if count == 1:
        nll_piece(&s, 0, t.count)
    elif count:
        with nogil:
            parallel_for(t.count, PIECE, nll_piece, &s)
    for i in range(count):
        total += s.sums[2 * i]
        divisor += s.sums[2 * i + 1]
    if count > 1:
        free(s.sums)
    if not each:
        put(loss, 0, total / divisor if reduction == "mean" else total)
    return cast(loss, x.code), divisor


def nll_loss_backward(Tensor g, Tensor x, Tensor target, Tensor weight, int64_t ignore, str reduction, double divisor):
    """Gradient of x: -weight at the targets."""
    cdef int code = FLOAT64 if x.code == FLOAT64 else FLOAT32
    cdef Tensor t = contiguous(target), w = cast(contiguous(weight), code) if weight is not None else None
    cdef Tensor q = cast(contiguous(g), code), gx = new_like(x, code)
    cdef bint each = reduction == "none"
    cdef Nll s = described(gx, t, w, ignore)
    s.out, s.back = gx.ptr, True
    if each:
        s.scales = q.ptr
    else:
        s.scale = get(q, 0) / (divisor if reduction == "mean" else 1)
    with nogil:
        memset(gx.ptr, 0, gx.count * ITEMSIZE[gx.code])
        if t.count:
            parallel_for(t.count, PIECE, nll_piece, &s)
    return cast(gx, x.code)


# --- CTC ---
cdef extern from "ctc_steps.h" nogil:
    void ctc_forward_step(const double *before, const double *skip, const double *x, const int64_t *label, double *now, Py_ssize_t n)
    void ctc_backward_step(const double *after, const double *skip, const double *x, const int64_t *label, const double *alpha, double *now,
                           double *part, Py_ssize_t n, double loss)
    void ctc_exps(const double *x, double *y, Py_ssize_t n)

cdef struct Ctc:
    const double *x             # log-probabilities [T, N, C]
    double *alpha               # [N, T, 2 + 2 S + 1], two of -inf in front
    double *loss
    const int64_t *labels       # [N, 2 S + 1]: blanks around the target's labels
    const int64_t *times
    const int64_t *lengths
    const double *g
    double *gx
    Py_ssize_t batch, classes, steps, width
    bint zero_infinity, failed


cdef void fill_skips(const int64_t *label, double *skip, Py_ssize_t states) noexcept nogil:
    # 0 where a state is also reached from two before it: at a label unlike the one before; -inf elsewhere, and twice past the end.
    cdef Py_ssize_t s
    for s in range(states + 2):
        skip[s] = 0 if 1 < s < states and s % 2 and label[s] != label[s - 2] else -INFINITY


cdef void ctc_forward(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ctc *c = <Ctc *>context
    cdef Py_ssize_t n, t, s, states
    cdef double *a
    cdef double *skip = <double *>malloc((c.width + 2) * sizeof(double))
    cdef const int64_t *label
    cdef double last, other
    if skip == NULL:
        c.failed, end = True, begin
    for n in range(begin, end):
        states = 2 * c.lengths[n] + 1
        label = c.labels + n * c.width
        if c.times[n] == 0:
            c.loss[n] = 0 if c.lengths[n] == 0 else INFINITY
            continue
        fill_skips(label, skip, states)
        for t in range(c.times[n]):
            a = c.alpha + (n * c.steps + t) * (c.width + 2)
            a[0] = a[1] = -INFINITY
            a += 2
            if t == 0:
                for s in range(states):
                    a[s] = c.x[n * c.classes + label[s]] if s < 2 else -INFINITY
            else:
                ctc_forward_step(a - c.width - 2, skip, c.x + (t * c.batch + n) * c.classes, label, a, states)
        last, other = a[states - 1], a[states - 2]      # of a single state, the -inf before it
        if other > last:
            last, other = other, last
        c.loss[n] = -last if other == -INFINITY else -(last + log1p(exp(other - last)))
    free(skip)


cdef void ctc_backward(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Ctc *c = <Ctc *>context
    cdef Py_ssize_t n, t, s, k, states, at, room = c.width + 2
    cdef double *beta = <double *>malloc((4 * room + c.classes) * sizeof(double))
    cdef double *skip = beta + 2 * room
    cdef double *part = beta + 3 * room
    cdef double *sums = beta + 4 * room
    cdef double *now
    cdef double *after
    cdef const int64_t *label
    if beta == NULL:
        c.failed, end = True, begin
    for n in range(begin, end):
        states = 2 * c.lengths[n] + 1
        label = c.labels + n * c.width
        if c.loss[n] == INFINITY and c.zero_infinity or c.times[n] == 0:
            continue
        fill_skips(label, skip, states)
        for s in range(2 * room):
            beta[s] = -INFINITY
        # as if a step after the last one had been in a final state: the last blank, or the last label before it
        after = beta + c.times[n] % 2 * room
        after[states - 1] = 0
        for t in range(c.times[n] - 1, -1, -1):
            now, after = beta + t % 2 * room, beta + (t + 1) % 2 * room
            at = (t * c.batch + n) * c.classes
            ctc_backward_step(after, skip, c.x + at, label, c.alpha + (n * c.steps + t) * room + 2, now, part, states, c.loss[n])
            ctc_exps(c.x + at, c.gx + at, c.classes)
            for k in range(c.classes):
                sums[k] = 0
            for s in range(states):
                sums[label[s]] += part[s]
            for k in range(c.classes):
                c.gx[at + k] = c.g[n] * (c.gx[at + k] - sums[k])
    free(beta)


cdef tuple label_rows(Tensor targets, list lengths, Py_ssize_t classes, int64_t blank):
    """Each target with blanks before, between and after its labels: int64 [N, 2 S + 1]."""
    cdef Tensor t = cast(contiguous(targets), INT64), rows
    cdef Py_ssize_t n = len(lengths), i, j, start = 0, longest = 0
    cdef Py_ssize_t sizes[2]
    cdef int64_t label
    cdef bint joined = targets.rank == 1
    for i in range(n):
        if lengths[i] < 0:
            raise RuntimeError(f"ctc_loss(): target_lengths must not be negative, got {lengths[i]}")
        longest = lengths[i] if lengths[i] > longest else longest
    if joined and sum(lengths) > t.count or not joined and (targets.rank != 2 or targets.sizes[0] != n or targets.sizes[1] < longest):
        raise RuntimeError(f"ctc_loss(): targets {[targets.sizes[i] for i in range(targets.rank)]} hold fewer labels than target_lengths {lengths} say")
    sizes[0], sizes[1] = n, 2 * longest + 1
    rows = new_tensor(2, sizes, INT64, targets.dev)
    for i in range(rows.count):
        (<int64_t *>rows.ptr)[i] = blank
    for i in range(n):
        for j in range(lengths[i]):
            label = (<int64_t *>t.ptr)[start + j if joined else i * targets.sizes[1] + j]
            if label < 0 or label >= classes:
                raise RuntimeError(f"ctc_loss(): target label {label} is out of range for {classes} classes")
            (<int64_t *>rows.ptr)[i * sizes[1] + 2 * j + 1] = label
        start += lengths[i]
    return rows, longest


cdef Tensor numbers(list values, int dev):
    cdef Py_ssize_t n = len(values), i
    cdef Tensor t = new_tensor(1, &n, INT64, dev)
    for i in range(n):
        (<int64_t *>t.ptr)[i] = values[i]
    return t


def ctc_loss(Tensor x, Tensor targets, list times, list lengths, int64_t blank):
    """(losses [N], state) of log-probabilities x [T, N, C]; `state` is what the backward pass needs."""
    cdef Ctc c
    cdef Tensor p = cast(contiguous(x), FLOAT64), rows, alpha, loss
    cdef Tensor time_row = numbers(times, x.dev), length_row = numbers(lengths, x.dev)
    cdef Py_ssize_t sizes[3]
    for value in times:
        if not 0 <= value <= x.sizes[0]:
            raise RuntimeError(f"ctc_loss(): Expected input_lengths to have value at most {x.sizes[0]}, but got value {value}")
    rows, _ = label_rows(targets, lengths, x.sizes[2], blank)
    c.steps, c.batch, c.classes, c.width = x.sizes[0], x.sizes[1], x.sizes[2], rows.sizes[1]
    sizes[0], sizes[1], sizes[2] = c.batch, c.steps, c.width + 2
    alpha = new_tensor(3, sizes, FLOAT64, x.dev)
    loss = new_tensor(1, &c.batch, FLOAT64, x.dev)
    c.x, c.alpha, c.loss, c.labels = <double *>p.ptr, <double *>alpha.ptr, <double *>loss.ptr, <int64_t *>rows.ptr
    c.times, c.lengths, c.failed = <int64_t *>time_row.ptr, <int64_t *>length_row.ptr, False
    with nogil:
        parallel_for(c.batch, 2048 // (c.steps * c.width + 1) + 1, ctc_forward, &c)
    if c.failed:
        raise no_room(f"ctc_loss: no memory for {c.width} states")
    return cast(loss, x.code), (p, rows, alpha, loss, time_row, length_row)


def ctc_loss_backward(Tensor g, tuple state, bint zero_infinity, int code):
    """Gradient of the log-probabilities as PyTorch gives it, which takes them to be normalised."""
    cdef Ctc c
    cdef Tensor p = state[0], rows = state[1], alpha = state[2], loss = state[3], times = state[4], lengths = state[5]
    cdef Tensor q = cast(contiguous(g), FLOAT64), gx = new_like(p, FLOAT64)
    memset(gx.ptr, 0, gx.count * 8)
    c.steps, c.batch, c.classes, c.width = p.sizes[0], p.sizes[1], p.sizes[2], rows.sizes[1]
    c.x, c.alpha, c.loss, c.labels = <double *>p.ptr, <double *>alpha.ptr, <double *>loss.ptr, <int64_t *>rows.ptr
    c.times, c.lengths, c.g, c.gx = <int64_t *>times.ptr, <int64_t *>lengths.ptr, <double *>q.ptr, <double *>gx.ptr
    c.zero_infinity, c.failed = zero_infinity, False
    with nogil:
        parallel_for(c.batch, 2048 // (c.steps * (c.width + c.classes) + 1) + 1, ctc_backward, &c)
    if c.failed:
        raise no_room(f"ctc_loss: no memory for the backward sums of {c.classes} classes")
    return cast(gx, code)
