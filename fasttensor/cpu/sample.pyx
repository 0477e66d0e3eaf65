"""Samples whose draws depend on tensors: counts by rejection, categories, random slopes.

They run serially, since each element draws from the generator as often as it must.
"""
from libc.math cimport NAN, isfinite
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport new_storage, Storage
from fasttensor._core.layout cimport like_layout
from fasttensor.cpu.generator cimport *
from fasttensor.cpu.random import exponential_

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

ctypedef fused real:
    float
    double


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


# --- categories ---

cdef object row_error(str what):
    return RuntimeError("invalid multinomial distribution (" + what + ")")


cdef bint with_replacement(Generator g, real *p, real *sums, Py_ssize_t n, Py_ssize_t draws, int64_t *out) except False:
    """Inverts the running sum of one row by bisection."""
    cdef real total = 0
    cdef Py_ssize_t i, low, high, middle, last = 0
    cdef double u
    for i in range(n):
        if not p[i] >= 0:
            raise row_error("encountering probability entry < 0")
        if not isfinite(p[i]):
            raise row_error("encountering probability entry = infinity or NaN")
        if p[i] > 0:
            last = i
        total += p[i]
        sums[i] = total
    if not total > 0:
        raise row_error("sum of probabilities <= 0")
    for i in range(n):
        sums[i] /= total
    sums[n - 1] = 1
    for i in range(draws):
        u = ft_mt_uniform(&g.engine)
        low, high = 0, n
        while low < high:
            middle = low + (high - low) // 2
            if sums[middle] < u:
                low = middle + 1
            else:
                high = middle
        # a draw of exactly zero, or one past the rounded sum, must not give an item of probability zero
        low = min(low, last)
        while p[low] == 0:
            low += 1
        out[i] = low
    return True


cdef bint without_replacement(real *p, real *q, Py_ssize_t n, Py_ssize_t draws, int64_t *out, real *best) except False:
    """The `draws` largest of p / q, largest first, kept in a sorted row by insertion."""
    cdef real total = 0, ratio
    cdef Py_ssize_t i, k, kept = 0, positive = 0
    for i in range(n):
        if not (p[i] >= 0 and isfinite(p[i])):
            raise RuntimeError("multinomial: probability tensor contains either `inf`, `nan` or element < 0")
        total += p[i]
        positive += p[i] > 0
    if total == 0:
        raise row_error("sum of probabilities <= 0")
    if positive < draws:
        raise row_error(f"with replacement=False, {draws} samples need as many positive probabilities, a row has {positive}")
    for i in range(n):
        if p[i] == 0:
            continue
        ratio = p[i] / q[i]
        if kept == draws and not ratio > best[kept - 1]:
            continue
        k = kept if kept < draws else kept - 1
        kept = k + 1
        while k > 0 and best[k - 1] < ratio:
            best[k], out[k] = best[k - 1], out[k - 1]
            k -= 1
        best[k], out[k] = ratio, i
    return True


cdef bint order_rows(real *p, real *q, Py_ssize_t n, Py_ssize_t draws, int64_t *out) except False:
    """For many draws: all ratios sorted, since insertion would be quadratic."""
    cdef Py_ssize_t i
    cdef real total = 0
    for i in range(n):
        if not (p[i] >= 0 and isfinite(p[i])):
            raise RuntimeError("multinomial: probability tensor contains either `inf`, `nan` or element < 0")
        total += p[i]
    if total == 0:
        raise row_error("sum of probabilities <= 0")
    ranked = sorted([(-(p[i] / q[i]), i) for i in range(n) if p[i] > 0])
    if len(ranked) < draws:
        raise row_error(f"with replacement=False, {draws} samples need as many positive probabilities, a row has {len(ranked)}")
    for i in range(draws):
        out[i] = ranked[i][1]
    return True


def multinomial(Tensor prob, Py_ssize_t draws, bint replacement, generator=None):
    """Indices drawn by the weights of a row, or of each row of a matrix: int64, (draws,) or (rows, draws)."""
    cdef Generator g = generator_of(generator)
    check_float(prob, "multinomial")
    cdef int code = FLOAT64 if prob.code == FLOAT64 else FLOAT32
    cdef Tensor p = contiguous(cast(prob, code)), q, out
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t rows = p.sizes[0] if p.rank == 2 else 1, n = p.sizes[p.rank - 1], i, size = ITEMSIZE[code]
    sizes[0], sizes[1] = rows, draws
    out = new_tensor(2, sizes, INT64, CPU) if p.rank == 2 else new_tensor(1, &draws, INT64, CPU)
    if out.count == 0:
        return out
    cdef Storage room = new_storage(<size_t>max(n, draws) * 8)
    cdef int64_t *to = <int64_t *>out.ptr
    # a single draw replaces nothing: PyTorch takes the other algorithm for it
    if replacement and draws > 1:
        for i in range(rows):
            if code == FLOAT64:
                with_replacement[double](g, <double *>(p.ptr + i * n * size), <double *>room.ptr, n, draws, to + i * draws)
            else:
                with_replacement[float](g, <float *>(p.ptr + i * n * size), <float *>room.ptr, n, draws, to + i * draws)
        return out
    # the largest of p / q with q exponential: a Gumbel-max draw without the logarithms
    q = like_layout(prob, prob.code)
    exponential_(q, 1.0, g)
    q = contiguous(cast(q, code))
    for i in range(rows):
        if code == FLOAT64:
            pick[double](<double *>(p.ptr + i * n * size), <double *>(q.ptr + i * n * size), n, draws, to + i * draws, <double *>room.ptr)
        else:
            pick[float](<float *>(p.ptr + i * n * size), <float *>(q.ptr + i * n * size), n, draws, to + i * draws, <float *>room.ptr)
    return out


cdef bint pick(real *p, real *q, Py_ssize_t n, Py_ssize_t draws, int64_t *out, real *best) except False:
    if draws <= 64:
        return without_replacement[real](p, q, n, draws, out, best)
    return order_rows[real](p, q, n, draws, out)


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
