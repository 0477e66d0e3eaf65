# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""multi_margin_loss and multilabel_margin_loss of rows of scores, and their gradients: a row in one pass.

Example::

    loss = loss_margin.multi_margin_loss(x, target, 1, 1.0, None, "mean")       # x [N, C], target [N]
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef extern from "margin_loops.h" nogil:
    ctypedef struct ft_margin:
        double (*row)(const void *, Py_ssize_t, Py_ssize_t, double, int) noexcept nogil
        void (*back)(const void *, void *, Py_ssize_t, Py_ssize_t, double, int, double) noexcept nogil
        double (*labels_row)(const void *, Py_ssize_t, const int64_t *, Py_ssize_t, void *) noexcept nogil
        void (*labels_back)(const void *, void *, Py_ssize_t, const int64_t *, Py_ssize_t, double, void *) noexcept nogil
    const ft_margin FT_MARGIN_OF[2]

cdef struct Job:
    const ft_margin *f
    const char *x
    char *gx
    const int64_t *target
    const char *weight
    double *rows                # the loss of each row
    const double *scales        # the incoming gradient of each row, or NULL
    double scale, margin
    Py_ssize_t n, item
    int square, failed


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef inline double factor(Job *s, Py_ssize_t i) noexcept nogil:
    # What row i of multi_margin_loss is multiplied by.
    cdef int64_t t = s.target[i]
    if s.weight == NULL:
        return 1.0 / s.n
    return ((<const double *>s.weight)[t] if s.item == 8 else (<const float *>s.weight)[t]) / s.n


cdef inline double incoming(Job *s, Py_ssize_t i) noexcept nogil:
    return s.scale if s.scales == NULL else s.scale * s.scales[i]


cdef void margin_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        s.rows[i] = factor(s, i) * s.f.row(s.x + i * s.n * s.item, s.n, s.target[i], s.margin, s.square)


cdef void margin_back_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        s.f.back(s.x + i * s.n * s.item, s.gx + i * s.n * s.item, s.n, s.target[i], s.margin, s.square, factor(s, i) * incoming(s, i))


cdef void labels_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *s = <Job *>context
    cdef Py_ssize_t i, listed
    cdef const int64_t *t
    cdef void *room = malloc((2 * s.n + 2) * s.item + s.n)
    if room == NULL:
        s.failed, end = True, begin
    for i in range(begin, end):
        t = s.target + i * s.n
        listed = 0
        while listed < s.n and t[listed] >= 0:
            listed += 1
        if s.gx != NULL:
            s.f.labels_back(s.x + i * s.n * s.item, s.gx + i * s.n * s.item, s.n, t, listed, incoming(s, i) / s.n, room)
        else:
            s.rows[i] = s.f.labels_row(s.x + i * s.n * s.item, s.n, t, listed, room) / s.n
    free(room)


cdef int prepare(Job *s, Tensor x, Tensor target, Tensor weight, str name, int64_t low) except -1:
    cdef Py_ssize_t i
    s.f = &FT_MARGIN_OF[x.code == FLOAT64]
    s.x, s.target, s.n, s.item = x.ptr, <const int64_t *>target.ptr, x.sizes[1], ITEMSIZE[x.code]
    s.weight = weight.ptr if weight is not None else NULL
    s.gx, s.rows, s.scales, s.scale, s.failed = NULL, NULL, NULL, 1, False
    for i in range(target.count):
        if s.target[i] < low or s.target[i] >= s.n:
            raise RuntimeError(f"{name}(): target out of range: expected {low} <= target < {s.n}, got {s.target[i]}")
    return 0


cdef Tensor finished(Job *s, Tensor rows, str reduction, int code):
    """The losses of the rows, their sum, or their mean, which is 0 of no rows at all."""
    cdef Tensor loss
    cdef Py_ssize_t i, n = rows.count
    cdef double total = 0
    if s.failed:
        raise no_room(f"multilabel_margin_loss: no memory for a row of {s.n} scores")
    if reduction == "none":
        return cast(rows, code)
    for i in range(n):
        total += (<double *>rows.ptr)[i]
    loss = new_tensor(0, NULL, FLOAT64, rows.dev)
    (<double *>loss.ptr)[0] = total / n if reduction == "mean" and n else total
    return cast(loss, code)


cdef Tensor take_gradient(Job *s, Tensor g, Py_ssize_t rows, str reduction):
    """Put the incoming gradient into the job; the tensor must live as long."""
    cdef Tensor scales = cast(contiguous(g), FLOAT64)
    if reduction == "none":
        s.scales = <double *>scales.ptr
    else:
        s.scale = (<double *>scales.ptr)[0]
        if reduction == "mean" and rows:
            s.scale /= rows
    return scales


def multi_margin_loss(Tensor x, Tensor target, int p, double margin, Tensor weight, str reduction):
    """weight[t] sum over classes i other than t of max(0, margin - x[t] + x[i])^p, over C, for scores [N, C] and int64 [N]."""
    cdef Job s
    cdef Tensor q = plain(x), t = contiguous(target), w = cast(contiguous(weight), q.code) if weight is not None else None
    cdef Tensor rows = new_like(t, FLOAT64)
    prepare(&s, q, t, w, "multi_margin_loss", 0)
    s.rows, s.margin, s.square = <double *>rows.ptr, margin, p == 2
    with nogil:
        parallel_for(t.count, 32768 // (s.n + 1) + 1, margin_chunk, &s)
    return finished(&s, rows, reduction, x.code)


def multi_margin_loss_backward(Tensor g, Tensor x, Tensor target, int p, double margin, Tensor weight, str reduction):
    """Gradient of the scores."""
    cdef Job s
    cdef Tensor q = plain(x), t = contiguous(target), w = cast(contiguous(weight), q.code) if weight is not None else None
    cdef Tensor gx = new_like(q, q.code), _scales
    prepare(&s, q, t, w, "multi_margin_loss", 0)
    _scales = take_gradient(&s, g, t.count, reduction)
    s.gx, s.margin, s.square = gx.ptr, margin, p == 2
    with nogil:
        parallel_for(t.count, 32768 // (s.n + 1) + 1, margin_back_chunk, &s)
    return cast(gx, x.code)


def multilabel_margin_loss(Tensor x, Tensor target, str reduction):
    """Sum over listed targets j and classes i not listed of max(0, 1 - x[j] + x[i]), over C; scores and int64 lists [N, C]."""
    cdef Job s
    cdef Tensor q = plain(x), t = contiguous(target), rows = new_tensor(1, x.sizes, FLOAT64, x.dev)
    prepare(&s, q, t, None, "multilabel_margin_loss", -1)
    s.rows = <double *>rows.ptr
    with nogil:
        parallel_for(rows.count, 32768 // (s.n * s.n + 1) + 1, labels_chunk, &s)
    return finished(&s, rows, reduction, x.code)


def multilabel_margin_loss_backward(Tensor g, Tensor x, Tensor target, str reduction):
    """Gradient of the scores."""
    cdef Job s
    cdef Tensor q = plain(x), t = contiguous(target), gx = new_like(q, q.code), _scales
    prepare(&s, q, t, None, "multilabel_margin_loss", -1)
    _scales = take_gradient(&s, g, x.sizes[0], reduction)
    s.gx = gx.ptr
    with nogil:
        parallel_for(x.sizes[0], 32768 // (s.n * s.n + 1) + 1, labels_chunk, &s)
    if s.failed:
        raise no_room(f"multilabel_margin_loss: no memory for a row of {s.n} scores")
    return cast(gx, x.code)
