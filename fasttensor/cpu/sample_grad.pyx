"""Derivatives of Gamma and Dirichlet samples by their parameters: see sample_grad.h for the formulas.

    standard_gamma_grad(alpha, sample)      # d sample / d alpha
"""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.parallel cimport parallel_for

cdef extern from "sample_grad.h":
    double ft_gamma_slope(double a, double x) noexcept nogil
    double ft_dirichlet_slope(double x, double a, double total) noexcept nogil

ctypedef struct slopes:
    double *out
    double *first
    double *second
    double *third


cdef void gamma_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef slopes *c = <slopes *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        c.out[i] = ft_gamma_slope(c.first[i], c.second[i])


cdef void dirichlet_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef slopes *c = <slopes *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        c.out[i] = ft_dirichlet_slope(c.first[i], c.second[i], c.third[i])


cdef Tensor wide(Tensor x, Tensor like, str op):
    """The elements in float64, one after another, of a tensor that must fit."""
    if x.dev != CPU or not is_float_code(x.code) or x.code != like.code or x.count != like.count:
        raise RuntimeError(f"{op}: expected CPU tensors of one floating-point dtype and shape, got {describe(x)} and {describe(like)}")
    return contiguous(cast(x, FLOAT64))


cdef void run(slopes *c, Py_ssize_t n, void (*body)(void *, Py_ssize_t, Py_ssize_t) noexcept nogil) noexcept:
    # an element costs a microsecond
    if n < 256:
        body(c, 0, n)
    else:
        with nogil:
            parallel_for(n, 128, body, c)


def standard_gamma_grad(Tensor alpha, Tensor sample):
    """d sample / d alpha, where sample has the distribution Gamma(alpha, 1)."""
    cdef Tensor a = wide(alpha, alpha, "_standard_gamma_grad"), x = wide(sample, alpha, "_standard_gamma_grad")
    cdef Tensor out = new_like(a, FLOAT64)
    cdef slopes c
    c.out, c.first, c.second, c.third = <double *>out.ptr, <double *>a.ptr, <double *>x.ptr, NULL
    run(&c, a.count, gamma_range)
    return cast(out, alpha.code)


def dirichlet_grad(Tensor x, Tensor alpha, Tensor total):
    """d x / d alpha / (1 - x), where x has the distribution Beta(alpha, total - alpha)."""
    cdef Tensor p = wide(x, alpha, "_dirichlet_grad"), a = wide(alpha, alpha, "_dirichlet_grad"), t = wide(total, alpha, "_dirichlet_grad")
    cdef Tensor out = new_like(a, FLOAT64)
    cdef slopes c
    c.out, c.first, c.second, c.third = <double *>out.ptr, <double *>p.ptr, <double *>a.ptr, <double *>t.ptr
    run(&c, a.count, dirichlet_range)
    return cast(out, alpha.code)
