"""Samples whose draws depend on tensors: counts by rejection, random slopes, orders.

They run serially, since each element draws from the generator as often as it must.
"""
from libc.math cimport NAN
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor.cpu.generator cimport *

cdef extern from "sample.h":
    double ft_poisson(ft_mt *m, double rate) noexcept nogil
    float ft_binomial_f32(ft_mt *m, float count, float p) noexcept nogil
    double ft_binomial_f64(ft_mt *m, double count, double p) noexcept nogil
    double ft_between(ft_mt *m, double low, double high) noexcept nogil
    ctypedef struct ft_pair:
        ft_mt *m
        double next
        int has_next
    double ft_gamma_f32(ft_pair *p, float alpha) noexcept nogil
    double ft_gamma_f64(ft_pair *p, double alpha) noexcept nogil


cdef bint check_float(Tensor x, str op) except False:
    if x.dev != CPU or not is_float_code(x.code):
        raise NotImplementedError(f'"{op}" not implemented for {describe(x)}: a floating-point CPU tensor is needed')
    return True


# --- counts ---

def poisson(Tensor rate, generator=None):
    """Poisson numbers, each of its own rate."""
    cdef Generator g = generator_of(generator)
    check_float(rate, "poisson")
    cdef Tensor x = contiguous(cast(rate, FLOAT64))
    cdef Tensor out = new_like(x, FLOAT64)
    cdef Py_ssize_t i
    for i in range(x.count):
        if not (<double *>x.ptr)[i] >= 0:
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    for i in range(x.count):
        (<double *>out.ptr)[i] = ft_poisson(&g.engine, (<double *>x.ptr)[i])
    return cast(cast(out, FLOAT32), rate.code) if rate.code != FLOAT64 else out


def binomial(Tensor count, Tensor prob, generator=None):
    """Binomial numbers for counts and probabilities of one shape and dtype."""
    cdef Generator g = generator_of(generator)
    check_float(count, "binomial")
    cdef int code = FLOAT64 if count.code == FLOAT64 else FLOAT32
    cdef Tensor n = contiguous(cast(count, code)), p = contiguous(cast(prob, code))
    cdef Tensor out = new_like(n, code)
    cdef Py_ssize_t i
    for i in range(n.count):
        if code == FLOAT64:
            (<double *>out.ptr)[i] = ft_binomial_f64(&g.engine, (<double *>n.ptr)[i], (<double *>p.ptr)[i])
        else:
            (<float *>out.ptr)[i] = ft_binomial_f32(&g.engine, (<float *>n.ptr)[i], (<float *>p.ptr)[i])
    return cast(out, count.code)


# --- gamma ---

def standard_gamma(Tensor alpha, generator=None):
    """Gamma numbers of the given shapes and scale 1; NaN for a shape that is negative or NaN."""
    cdef Generator g = generator_of(generator)
    check_float(alpha, "standard_gamma")
    cdef int code = FLOAT64 if alpha.code == FLOAT64 else FLOAT32
    cdef Tensor a = contiguous(cast(alpha, code))
    cdef Tensor out = new_like(a, code)
    cdef Py_ssize_t i
    cdef double shape, drawn
    cdef ft_pair normals
    normals.m, normals.next, normals.has_next = &g.engine, g.next_normal, g.has_normal
    for i in range(a.count):
        if code == FLOAT64:
            shape = (<double *>a.ptr)[i]
            drawn = ft_gamma_f64(&normals, shape)
            (<double *>out.ptr)[i] = (drawn if drawn > 2.2250738585072014e-308 else 2.2250738585072014e-308) if shape >= 0 else NAN
        else:
            shape = (<float *>a.ptr)[i]
            drawn = <float>ft_gamma_f32(&normals, <float>shape)
            (<float *>out.ptr)[i] = <float>((drawn if drawn > 1.1754943508222875e-38 else 1.1754943508222875e-38) if shape >= 0 else NAN)
    g.next_normal, g.has_normal = normals.next, normals.has_next
    return cast(out, alpha.code)


# --- random slopes ---

def rrelu(Tensor x, double lower, double upper, generator=None):
    """x times a slope of [lower, upper), drawn for each element at or below zero; 1 for the others.
    Returns the result and the slopes, in x's dtype."""
    cdef Generator g = generator_of(generator)
    check_float(x, "rrelu")
    cdef int code = FLOAT64 if x.code == FLOAT64 else FLOAT32
    cdef Tensor src = contiguous(cast(x, code)), y = new_like(x, code), noise = new_like(x, code)
    cdef Py_ssize_t i
    cdef float slope
    if code == FLOAT64:
        for i in range(x.count):
            (<double *>noise.ptr)[i] = ft_between(&g.engine, lower, upper) if (<double *>src.ptr)[i] <= 0 else 1.0
            (<double *>y.ptr)[i] = (<double *>src.ptr)[i] * (<double *>noise.ptr)[i]
        return y, noise
    # the bounds are rounded to float, as PyTorch has them in the input's precision
    lower, upper = <float>lower, <float>upper
    for i in range(x.count):
        slope = <float>ft_between(&g.engine, lower, upper) if (<float *>src.ptr)[i] <= 0 else 1.0
        (<float *>noise.ptr)[i] = slope
        (<float *>y.ptr)[i] = (<float *>src.ptr)[i] * slope
    return cast(y, x.code), cast(noise, x.code)


# --- permutations ---

def randperm(Py_ssize_t n, int code, generator=None):
    """A random order of 0 .. n - 1: swaps from the front, each with a place at or behind it."""
    cdef Generator g = generator_of(generator)
    cdef Tensor wide
    cdef int64_t *p
    cdef int32_t *q
    cdef uint32_t words[1248]
    cdef Py_ssize_t i, m
    cdef int64_t z
    if n >= 4294967295 // 20:
        wide = new_tensor(1, &n, INT64, CPU)
        p = <int64_t *>wide.ptr
        with nogil:
            for i in range(n):
                z = <int64_t>(ft_mt_next64(&g.engine) % <uint64_t>(i + 1))
                p[i] = i
                p[i] = p[z]
                p[z] = i
        return cast(wide, code)
    wide = new_tensor(1, &n, INT32, CPU)
    q = <int32_t *>wide.ptr
    for i in range(n):
        q[i] = <int32_t>i
    i = 0
    while i < n - 1:
        m = min(n - 1 - i, 1248)
        ft_mt_fill(&g.engine, words, m)
        shuffle(q, words, i, m, n)
        i += m
    return cast(wide, code)


cdef void shuffle(int32_t *q, uint32_t *words, Py_ssize_t first, Py_ssize_t m, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j
    cdef uint32_t w, left
    cdef int64_t r
    cdef int32_t t
    cdef Py_ssize_t z
    for j in range(m):
        # the remainder through a quotient in double, which is off by one at most, as this vectorises
        w = ft_temper(words[j])
        left = <uint32_t>(n - first - j)
        r = <int64_t>w - <int64_t>(<double><int64_t>(<double>w / <double>left)) * left
        words[j] = <uint32_t>(r + left if r < 0 else r - left if r >= left else r)
    for j in range(m):
        z = first + j + words[j]
        t = q[first + j]
        q[first + j] = q[z]
        q[z] = t
