"""Random numbers: PyTorch's CPU generator, and tensors filled from it.

A seed gives the values that PyTorch gives. The Mersenne Twister's words are made serially, a
block of memory at a time; turning them into numbers is a loop over independent elements:

    g = Generator().manual_seed(0)
    uniform_(out, 0.0, 1.0, g)

Tensors are filled in the order of their memory, as PyTorch does: what a transposed view of an
empty tensor receives is the transpose of what the tensor would.
"""
from libc.math cimport ceil, exp, log1p, sqrt
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor._core.parallel cimport parallel_for, thread_count, range_fn
from fasttensor._core.dispatch cimport copy_into
from fasttensor.cpu.generator cimport *

cdef extern from "random_fill.h":
    range_fn ft_uniform[12]
    range_fn ft_normal[12]
    range_fn ft_from_to32[12]
    range_fn ft_from_to64[12]
    range_fn ft_full64[12]
    range_fn ft_any[12]
    range_fn ft_bernoulli[12]
    range_fn ft_exponential[12]
    range_fn ft_geometric[12]
    range_fn ft_cauchy[12]
    void ft_bernoulli_p32(void *f, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    void ft_bernoulli_p64(void *f, Py_ssize_t a, Py_ssize_t b) noexcept nogil

cdef extern from *:
    double ft_fma "__builtin_fma"(double a, double b, double c) noexcept nogil


# --- memory order ---

cdef Tensor memory_order(Tensor x):
    """A contiguous tensor to fill in place of x: x itself, its memory as one row where it is
    dense, or new memory that `store_order` copies."""
    cdef Py_ssize_t one = 1
    if x.contig:
        return x
    if is_dense(x):
        return from_storage(x.store, x.code, 1, &x.count, &one, x.offset)
    return new_tensor(1, &x.count, x.code, x.dev)


cdef int by_stride(Tensor x, int *order) noexcept:
    """Dimensions from the largest stride to the smallest; those of one stay in order."""
    cdef int d, e, n = x.rank
    for d in range(n):
        e = d
        while e > 0 and x.steps[order[e - 1]] < x.steps[d]:
            order[e] = order[e - 1]
            e -= 1
        order[e] = d
    return n


cdef bint store_order(Tensor out, Tensor flat) except False:
    """Copy what was made in memory order to `out`, unless it is already there."""
    cdef int order[64]
    cdef int d, n
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t step = 1
    if flat.store is not out.store:
        n = by_stride(out, order)
        for d in range(n - 1, -1, -1):
            steps[order[d]] = step
            step *= out.sizes[order[d]]
        for d in range(n):
            sizes[d] = out.sizes[d]
        return copy_into(out, from_storage(flat.store, flat.code, n, sizes, steps, flat.offset))
    return True


cdef Tensor like_order(Tensor x, Tensor out):
    """x broadcast to out's shape, its elements in the memory order of `out`."""
    cdef int order[64]
    cdef int d, k, lead = out.rank - x.rank
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    by_stride(out, order)
    for d in range(out.rank):
        k = order[d] - lead
        sizes[d] = out.sizes[order[d]]
        steps[d] = 0 if k < 0 or x.sizes[k] == 1 else x.steps[k]
        if k >= 0 and x.sizes[k] != 1 and x.sizes[k] != sizes[d]:
            raise RuntimeError(f"bernoulli_: probabilities of shape {describe(x)} do not broadcast to {describe(out)}")
    if lead < 0:
        raise RuntimeError(f"bernoulli_: probabilities of shape {describe(x)} do not broadcast to {describe(out)}")
    return contiguous(new_view(x, out.rank, sizes, steps, x.offset))


# --- the engine's rounds ---

cdef bint fill(Generator g, ft_fill *f, range_fn body, Py_ssize_t n, int words, Py_ssize_t out_step, Py_ssize_t in_step,
               Py_ssize_t elements, Py_ssize_t grain) except False:
    """Run body over n indices of `elements` elements and `words` words each. Where the output
    has as many bytes as the words, they are made in its own memory."""
    cdef bint direct = out_step == 4 * words
    cdef Py_ssize_t room = (1 << 18 if thread_count() > 1 else 1 << 14) // elements // 624 * 624
    cdef Py_ssize_t done = 0, m
    cdef Storage scratch = None
    cdef ft_fill part
    cdef uint32_t *w
    room = max(room, 624)
    if not direct:
        scratch = new_storage(<size_t>min(room, n) * words * 4)
    while done < n:
        m = min(n - done, room)
        part = f[0]
        part.out = f.out + done * out_step
        part.in_ = f.in_ + done * in_step
        part.mask = f.mask + done
        w = <uint32_t *>part.out if direct else <uint32_t *>scratch.ptr
        ft_mt_fill(&g.engine, w, m * words)
        part.words = w
        if m * elements < SERIAL:
            body(&part, 0, m)
        else:
            with nogil:
                parallel_for(m, grain, body, &part)
        done += m
    return True


cdef range_fn body_for(range_fn *table, Tensor out, str name) except NULL:
    if out.dev != CPU:
        raise RuntimeError(f"{name}: expected a CPU tensor, got {describe(out)}")
    if out.store is not None and out.store.read_only:
        raise RuntimeError(f"{name}: {describe(out)} shows memory that is not writable (a read-only array or buffer): clone() it first")
    if table[out.code] == NULL:
        raise NotImplementedError(f'"{name}" not implemented for {describe(out)}: use another dtype, for example float32')
    return table[out.code]


cdef bint simple(Tensor out, object gen, range_fn *table, str name, ft_fill *f, int words, Py_ssize_t grain) except False:
    cdef range_fn body = body_for(table, out, name)
    if out.count == 0:
        return True
    cdef Tensor flat = memory_order(out)
    f.out = flat.ptr
    fill(generator_of(gen), f, body, flat.count, words, ITEMSIZE[out.code], 0, 1, grain)
    return store_order(out, flat)


cdef Tensor real_view(Tensor x):
    """Complex numbers as pairs, a last dimension of two."""
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int d
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], 2 * x.steps[d]
    sizes[x.rank], steps[x.rank] = 2, 1
    return from_storage(x.store, real_code(x.code), x.rank + 1, sizes, steps, 2 * x.offset)


# --- fills ---

def uniform_(Tensor out, double low, double high, generator=None):
    """Fill with uniform numbers of [low, high)."""
    cdef ft_fill f
    if is_complex_code(out.code):
        out = real_view(out)
    f.a, f.b = low, high
    simple(out, generator, ft_uniform, "uniform_", &f, 2 if out.code == FLOAT64 else 1, 1 << 14)


def normal_(Tensor out, double mean, double std, generator=None):
    """Fill with normal numbers: blocks of 16 by Box-Muller for contiguous tensors of 16 or more
    elements, pairs in double precision for the others, as PyTorch does."""
    cdef Generator g = generator_of(generator)
    cdef ft_fill f
    cdef range_fn body
    cdef int words
    cdef Py_ssize_t size
    cdef uint32_t spare[32]
    if is_complex_code(out.code):
        out = real_view(out)
        std /= sqrt(2.0)        # the variance is shared by the two parts
    body = body_for(ft_normal, out, "normal_")
    if out.count < 16 or not out.contig:
        serial_normal(out, mean, std, g, False)
        return
    f.a, f.b, f.out = mean, std, out.ptr
    words = 2 if out.code == FLOAT64 else 1
    size = ITEMSIZE[out.code]
    fill(g, &f, body, out.count // 16, 16 * words, 16 * size, 0, 16, 64 if words == 2 else 512)
    if out.count % 16:
        # PyTorch draws uniforms for every element, then 16 more that replace the last 16; half
        # types go block by block
        if size >= 4:
            ft_mt_fill(&g.engine, spare, out.count % 16 * words)
        f.out = out.ptr + (out.count - 16) * size
        fill(g, &f, body, 1, 16 * words, 16 * size, 0, 16, 1)


cdef bint serial_normal(Tensor out, double mean, double std, Generator g, bint log) except False:
    """One at a time from the generator's pairs; the logarithm's normal where `log`."""
    cdef Tensor flat = memory_order(out)
    cdef Tensor wide = flat if flat.code == FLOAT64 else new_tensor(1, &flat.count, FLOAT64, CPU)
    cdef double *p = <double *>wide.ptr
    cdef Py_ssize_t i
    for i in range(flat.count):
        p[i] = ft_fma(g.normal(), std, mean)
        if log:
            p[i] = exp(p[i])
    if wide is not flat:
        # a half type is reached through float, as in PyTorch
        wide = cast(wide, FLOAT32)
        copy_into(flat, from_storage(wide.store, wide.code, flat.rank, flat.sizes, flat.steps, 0))
    return store_order(out, flat)


def log_normal_(Tensor out, double mean, double std, generator=None):
    """Fill with exponentials of normal numbers."""
    body_for(ft_normal, out, "log_normal_")
    serial_normal(out, mean, std, generator_of(generator), True)


def random_(Tensor out, generator=None):
    """Fill with integers from 0 to the largest that the dtype counts exactly."""
    cdef ft_fill f
    simple(out, generator, ft_any, "random_", &f, 2 if out.code == FLOAT64 or out.code == INT64 else 1, 1 << 14)


def random_from_to_(Tensor out, object count, int64_t base, generator=None):
    """Fill with integers of [base, base + count); count up to 2**64."""
    cdef ft_fill f
    f.base = base
    if count >= 1 << 64:
        simple(out, generator, ft_full64, "random_", &f, 2, 1 << 13)
        return
    f.range = count
    f.a = 1.0 / <double>f.range
    # PyTorch takes 64 bits from 2**28 on, where 32 would skew the remainder
    if f.range >= 1 << 28:
        simple(out, generator, ft_from_to64, "random_", &f, 2, 1 << 12)
    else:
        simple(out, generator, ft_from_to32, "random_", &f, 1, 1 << 14)


cdef int64_t threshold(double p) noexcept nogil:
    return <int64_t>ceil(p * 9007199254740992.0)


def bernoulli_(Tensor out, double p, generator=None):
    """Fill with ones of probability p, else zeros."""
    cdef ft_fill f
    f.base = threshold(p)
    simple(out, generator, ft_bernoulli, "bernoulli_", &f, 2, 1 << 14)


def bernoulli_tensor_(Tensor out, Tensor p, generator=None):
    """Fill with ones, each of its own probability; p broadcasts to the output."""
    cdef ft_fill f
    cdef Generator g = generator_of(generator)
    cdef bint wide = p.code == FLOAT64
    if not is_float_code(p.code):
        raise NotImplementedError(f"bernoulli_: probabilities must be floating point, got {describe(p)}")
    body_for(ft_bernoulli, out, "bernoulli_")
    if out.count == 0:
        return
    p = like_order(cast(p, FLOAT64 if wide else FLOAT32), out)
    cdef Py_ssize_t i
    cdef bint bad = False
    if wide:
        for i in range(p.count):
            bad |= not 0 <= (<double *>p.ptr)[i] <= 1
    else:
        for i in range(p.count):
            bad |= not 0 <= (<float *>p.ptr)[i] <= 1
    if bad:
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: bernoulli expects all probabilities in [0, 1]")
    cdef Tensor hits = new_tensor(1, &out.count, BOOL, CPU)
    f.out, f.in_ = hits.ptr, p.ptr
    fill(g, &f, ft_bernoulli_p64 if wide else ft_bernoulli_p32, out.count, 2 if wide else 1, 1, 8 if wide else 4, 1, 1 << 14)
    store_order(out, hits)


def exponential_(Tensor out, double rate, generator=None):
    """Fill with exponential numbers of the given rate."""
    cdef ft_fill f
    f.a = -1.0 / rate
    simple(out, generator, ft_exponential, "exponential_", &f, 2, 1 << 11)


def geometric_(Tensor out, double p, generator=None):
    """Fill with the number of trials up to the first success."""
    cdef ft_fill f
    f.a = log1p(-p)
    simple(out, generator, ft_geometric, "geometric_", &f, 2, 1 << 11)


def cauchy_(Tensor out, double median, double sigma, generator=None):
    """Fill with Cauchy numbers."""
    cdef ft_fill f
    f.a, f.b = median, sigma
    simple(out, generator, ft_cauchy, "cauchy_", &f, 2, 1 << 11)
