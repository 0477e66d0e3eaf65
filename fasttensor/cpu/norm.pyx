# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Normalisation of rows: layer_norm and rms_norm with their gradients, each row in one visit.

Example::

    y, mean, rstd = norm.layer_norm(x, weight, bias, 1e-5, n)          # rows of n elements
    gx, gw, gb = norm.layer_norm_backward(g, x, mean, rstd, weight, True, True, True)

float32 and float64 are computed as they are, half types in float32. Gradients of weight and bias
are summed over groups of rows whose bounds depend on sizes alone.
"""
from libc.math cimport sqrt
from libc.stdlib cimport calloc, free
from fasttensor._core.dtype cimport BFLOAT16, FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef struct Rows:
    const ft_norm *f
    const char *x
    const char *g
    char *y
    const char *weight
    const char *bias
    char *mean
    char *rstd
    char *partial               # [groups][2][n] gradients of weight and bias
    Py_ssize_t rows, n, item, group, groups
    double eps
    bint wide, centered, want_w, want_b


cdef inline double get(const char *p, Py_ssize_t i, bint wide) noexcept nogil:
    return (<const double *>p)[i] if wide else (<const float *>p)[i]


cdef inline void put(char *p, Py_ssize_t i, bint wide, double v) noexcept nogil:
    if wide:
        (<double *>p)[i] = v
    else:
        (<float *>p)[i] = <float>v


cdef void forward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Rows *s = <Rows *>context
    cdef Py_ssize_t i, at
    cdef double mean, rstd
    for i in range(begin, end):
        at = i * s.n * s.item
        mean = s.f.sum(s.x + at, s.n) / s.n if s.centered else 0
        rstd = 1 / sqrt(s.f.squares(s.x + at, s.n, mean) / s.n + s.eps)
        s.f.scale(s.x + at, s.y + at, s.n, mean, rstd, s.weight, s.bias)
        if s.centered:
            put(s.mean, i, s.wide, mean)
        put(s.rstd, i, s.wide, rstd)


cdef void backward_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Rows *s = <Rows *>context
    cdef Py_ssize_t i, k, at, last
    cdef char *gw
    cdef char *gb
    for k in range(begin, end):
        gw = s.partial + 2 * k * s.n * s.item if s.want_w else NULL
        gb = s.partial + (2 * k + 1) * s.n * s.item if s.want_b else NULL
        last = (k + 1) * s.group
        for i in range(k * s.group, s.rows if last > s.rows else last):
            at = i * s.n * s.item
            s.f.scale_back(s.g + at, s.x + at, s.y + at if s.y != NULL else NULL, s.n,
                           get(s.mean, i, s.wide) if s.centered else 0, get(s.rstd, i, s.wide), s.weight, gw, gb, s.centered)


cdef Tensor add_groups(Rows *s, int which, Tensor like):
    # Groups are added in order, in double.
    cdef Tensor out = new_tensor(like.rank, like.sizes, FLOAT64 if s.wide else FLOAT32, like.dev)
    s.f.add(s.partial + which * s.n * s.item, s.groups, s.n, out.ptr)
    return cast(out, like.code)


cdef Tensor plain(Tensor x):
    return contiguous(x) if x.code >= FLOAT32 else cast(x, FLOAT32)


cdef Tensor as_code(Tensor x, int code):
    return None if x is None else cast(contiguous(x), code)


cdef bint parameters_fit(str name, Tensor x, Tensor a, Tensor b, Tensor c, Tensor d) except False:
    cdef int code = x.code
    cdef Tensor first = a if a is not None else b if b is not None else c if c is not None else d
    if first is None:
        return True
    if first.code == FLOAT32 and code <= BFLOAT16:
        code = FLOAT32
    for p in (a, b, c, d):
        if p is not None and (<Tensor>p).code != code:
            raise RuntimeError(f"{name}: mixed dtype (CPU): expected weights and statistics of the input's dtype, or float32 beside half precision, "
                               f"but got {describe(p)} for {describe(x)}")
    return True


cdef tuple forward(Tensor x, Tensor weight, Tensor bias, double eps, Py_ssize_t n, bint centered):
    cdef Tensor p = plain(x)
    cdef Tensor w = as_code(weight, p.code), b = as_code(bias, p.code)
    cdef Tensor y = new_like(p, p.code)
    cdef Rows s
    cdef int i, rank = x.rank
    cdef Py_ssize_t run = 1
    cdef Py_ssize_t sizes[64]
    for i in range(x.rank - 1, -1, -1):     # statistics keep the normalised dimensions as ones
        sizes[i] = 1 if run < n or x.sizes[i] == 1 and run == n else x.sizes[i]
        run *= x.sizes[i]
    cdef Tensor mean = new_tensor(rank, sizes, p.code, x.dev) if centered else None
    cdef Tensor rstd = new_tensor(rank, sizes, p.code, x.dev)
    s.f, s.wide = &FT_NORM_OF[p.code == FLOAT64], p.code == FLOAT64
    s.x, s.y, s.item, s.n, s.eps, s.centered = p.ptr, y.ptr, ITEMSIZE[p.code], n, eps, centered
    s.weight = w.ptr if w is not None else NULL
    s.bias = b.ptr if b is not None else NULL
    s.mean = mean.ptr if centered else NULL
    s.rstd = rstd.ptr
    if n and x.count > 4096:
        with nogil:
            parallel_for(x.count // n, 16384 // n + 1, forward_chunk, &s)
    elif n:
        parallel_for(x.count // n, 16384 // n + 1, forward_chunk, &s)
    return cast(y, x.code), mean, rstd


cdef tuple backward(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor weight, Tensor bias_like, Py_ssize_t n, bint want_x,
                    bint want_w, bint want_b, bint centered):
    cdef Tensor p = plain(x), q = plain(g)
    cdef Tensor w = as_code(weight, p.code)
    cdef Tensor gx = new_like(p, p.code) if want_x else None
    cdef Rows s
    s.f, s.wide = &FT_NORM_OF[p.code == FLOAT64], p.code == FLOAT64
    s.x, s.g, s.item, s.n, s.centered = p.ptr, q.ptr, ITEMSIZE[p.code], n, centered
    s.y = gx.ptr if want_x else NULL
    s.weight = w.ptr if w is not None else NULL
    s.mean = mean.ptr if centered else NULL
    s.rstd, s.want_w, s.want_b = rstd.ptr, want_w, want_b
    s.rows = x.count // n if n else 0
    s.group = 32768 // (n + 1) + 1
    if s.group < (s.rows + 31) // 32:
        s.group = (s.rows + 31) // 32
    s.groups = (s.rows + s.group - 1) // s.group
    s.partial = NULL
    if want_w or want_b:
        s.partial = <char *>calloc(2 * s.groups * n + 1, s.item)
        if s.partial == NULL:
            raise no_room(f"norm: no memory for the sums of {n} weights in {s.groups} groups of rows of {describe(x)}")
    try:
        with nogil:
            parallel_for(s.groups, 1, backward_chunk, &s)
        gw = add_groups(&s, 0, weight) if want_w else None
        gb = add_groups(&s, 1, bias_like) if want_b else None
    finally:
        free(s.partial)
    return (cast(gx, x.code) if want_x else None), gw, gb


def layer_norm(Tensor x, Tensor weight, Tensor bias, double eps, Py_ssize_t n):
    """(x - mean) rstd weight + bias over rows of n elements: (y, mean, rstd)."""
    parameters_fit("layer_norm", x, weight, bias, None, None)
    return forward(x, weight, bias, eps, n, True)


def layer_norm_backward(Tensor g, Tensor x, Tensor mean, Tensor rstd, Tensor weight, Tensor bias, Py_ssize_t n,
                        bint want_x, bint want_w, bint want_b):
    """Gradients (x, weight, bias), None for those not wanted."""
    return backward(g, x, mean, rstd, weight, bias, n, want_x, want_w, want_b, True)


def rms_norm(Tensor x, Tensor weight, double eps, Py_ssize_t n):
    """x rstd weight with rstd = 1 / sqrt(mean(x^2) + eps): (y, rstd)."""
    y, _, rstd = forward(x, weight, None, eps, n, False)
    return y, rstd


def rms_norm_backward(Tensor g, Tensor x, Tensor rstd, Tensor weight, Py_ssize_t n, bint want_x, bint want_w):
    return backward(g, x, None, rstd, weight, None, n, want_x, want_w, False, False)[:2]
