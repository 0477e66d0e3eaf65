"""Random numbers: PyTorch's CPU generator, and tensors filled from it.

A seed gives the values that PyTorch gives. The Mersenne Twister's words are made serially, a
block of memory at a time; turning them into numbers is a loop over independent elements:

    g = Generator().manual_seed(0)
    uniform_(out, 0.0, 1.0, g)

Tensors are filled in the order of their memory, as PyTorch does: what a transposed view of an
empty tensor receives is the transpose of what the tensor would.
"""
import os
from libc.math cimport ceil, cos, log1p, sin, sqrt, exp
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor._core.parallel cimport parallel_for, thread_count, range_fn
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.device cimport device_of

cdef extern from "random_fill.h":
    ctypedef struct ft_fill:
        const uint32_t *words
        char *out
        const char *in_ "in"
        unsigned char *mask
        double a, b
        uint64_t range
        int64_t base
    range_fn ft_uniform[12]
    range_fn ft_normal[12]
    range_fn ft_from_to32[12]
    range_fn ft_from_to64[12]
    range_fn ft_full64[12]
    range_fn ft_any[12]
    range_fn ft_bernoulli[12]
    range_fn ft_dropout[12]
    range_fn ft_scale_mask[12]
    range_fn ft_exponential[12]
    range_fn ft_geometric[12]
    range_fn ft_cauchy[12]
    void ft_bernoulli_p32(void *f, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    void ft_bernoulli_p64(void *f, Py_ssize_t a, Py_ssize_t b) noexcept nogil

cdef extern from *:
    double ft_fma "__builtin_fma"(double a, double b, double c) noexcept nogil

cdef enum:
    SERIAL = 4096               # elements below which threads and the GIL's release cost more than they give
    STATE_BYTES = 5056
    DEFAULT_SEED = 67280421310721


# PyTorch's record of a CPU generator, byte for byte: states move between the two libraries.
cdef packed struct State:
    uint64_t seed
    int32_t left
    int32_t seeded
    uint64_t next
    uint64_t words[624]
    double unused[1]
    double normal
    double unused_too[1]
    int32_t has_normal
    int32_t pad
    float next_float
    unsigned char has_float
    unsigned char pad_too[3]


cdef class Generator:
    """A source of random numbers with a state of its own.

    ``Generator(device="cpu")`` starts from a fixed seed; give it as ``generator=`` to the
    functions that draw numbers.

    >>> import fasttensor
    >>> g = fasttensor.Generator().manual_seed(0)
    >>> fasttensor.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    def __cinit__(self, device=None):
        if device is not None and not str(device).startswith("cpu"):
            raise RuntimeError(f"Generator: only device='cpu' has a generator here, got {device!r}")
        ft_mt_seed(&self.engine, DEFAULT_SEED)

    @property
    def device(self):
        """The device whose tensors it fills."""
        return device_of(CPU)

    def manual_seed(self, seed):
        """Start anew from `seed`, an int of 64 bits (negative ones count from 2**64); returns the generator."""
        cdef object value = int(seed)
        if not -0x8000000000000000 <= value <= 0xffffffffffffffff:
            raise RuntimeError("Overflow when unpacking long long: manual_seed expects a value in "
                               f"[-0x8000000000000000, 0xffffffffffffffff], got {seed}")
        ft_mt_seed(&self.engine, <uint64_t>(value & 0xffffffffffffffff))
        self.has_normal = self.has_float = False
        return self

    def initial_seed(self):
        """The seed that the sequence started from."""
        return self.engine.seed

    def seed(self):
        """Start anew from a seed of the operating system's random source; returns that seed."""
        # 53 bits, as PyTorch draws: such a seed survives a trip through a float
        cdef uint64_t value = int.from_bytes(os.urandom(8), "little") & 0x1fffffffffffff
        self.manual_seed(value)
        return value

    def get_state(self):
        """The state as a uint8 tensor of 5056 bytes, PyTorch's layout."""
        cdef Py_ssize_t n = STATE_BYTES
        cdef Tensor out = new_tensor(1, &n, UINT8, CPU)
        cdef State *s = <State *>out.ptr
        cdef int j
        memset(s, 0, STATE_BYTES)
        s.seed, s.left, s.seeded, s.next = self.engine.seed, self.engine.left, 1, self.engine.next
        for j in range(624):
            s.words[j] = self.engine.state[j]
        if self.has_normal:
            s.has_normal, s.normal = 1, self.next_normal
        if self.has_float:
            s.has_float, s.next_float = 1, self.next_float
        return out

    def set_state(self, new_state):
        """Continue from a state that ``get_state`` gave; returns the generator."""
        if not isinstance(new_state, Tensor) or (<Tensor>new_state).code != UINT8 or (<Tensor>new_state).dev != CPU:
            raise TypeError(f"set_state: expected a uint8 CPU tensor, got {describe(new_state)}")
        cdef Tensor x = contiguous(new_state)
        if x.count != STATE_BYTES:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {x.count}")
        cdef State s
        cdef int j
        memcpy(&s, x.ptr, STATE_BYTES)
        if s.seeded == 0 or s.left < 1 or s.left > 624 or s.next > 624 or s.next + <uint64_t>(s.left - 1) > 624:
            raise RuntimeError("Invalid mt19937 state")
        self.engine.seed, self.engine.left, self.engine.next = s.seed, s.left, <uint32_t>s.next
        for j in range(624):
            self.engine.state[j] = <uint32_t>s.words[j]
        self.has_normal, self.next_normal = s.has_normal != 0, s.normal
        self.has_float, self.next_float = s.has_float != 0, s.next_float
        return self

    def clone_state(self):
        """A new generator that continues from the same state."""
        return Generator().set_state(self.get_state())

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, Generator other not None):
        """Continue from another generator's state."""
        return self.set_state(other.get_state())

    def get_offset(self):
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self):
        return restore, (self.initial_seed(), self.get_state())

    cdef double normal(self) noexcept:
        """The next standard normal, one of a pair."""
        cdef double u1, u2, r, theta
        if self.has_normal:
            self.has_normal = False
            return self.next_normal
        u1 = ft_mt_uniform(&self.engine)
        u2 = ft_mt_uniform(&self.engine)
        r = sqrt(-2.0 * log1p(-u2))
        theta = 2.0 * 3.14159265358979323846 * u1
        self.next_normal, self.has_normal = r * sin(theta), True
        return r * cos(theta)

    cdef Py_ssize_t advance(self, Tensor state) except -1:
        self.set_state(state)
        return 0


def restore(seed, state):
    """The generator that a pickle describes."""
    return Generator().set_state(state)


default_generator = Generator()
default_generator.seed()
cdef Generator _default = default_generator


cdef Generator generator_of(object g):
    if g is None:
        return _default
    if isinstance(g, Generator):
        return <Generator>g
    raise TypeError(f"generator must be a fasttensor.Generator or None, got {type(g).__name__}")


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
    wrote(out)
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
    if out.store.read_only:
        raise RuntimeError(f"{name}: {describe(out)} shows memory that is not writable (a read-only array or buffer): clone() it first")
    if table[out.code] == NULL:
        raise RuntimeError(f'"{name}" not implemented for {describe(out)}: use another dtype, for example float32')
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
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
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
    wrote(out)


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
        raise RuntimeError(f"bernoulli_: probabilities must be floating point, got {describe(p)}")
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


# --- dropout ---

def dropout(Tensor x, double p, generator=None):
    """Zeroes elements with probability p and scales the rest by 1 / (1 - p): one pass over x.
    Returns the result and the mask of what was kept (bool, x's layout)."""
    cdef ft_fill f
    cdef range_fn body = ft_dropout[x.code]
    if body == NULL or x.dev != CPU:
        raise RuntimeError(f'"dropout" not implemented for {describe(x)}: a floating-point CPU tensor is needed')
    cdef bint dense = x.contig or is_dense(x)
    cdef Tensor src = x if dense else contiguous(x)
    cdef Tensor y = from_storage(new_storage(<size_t>x.count * ITEMSIZE[x.code]), x.code, x.rank, src.sizes, src.steps, 0)
    cdef Tensor mask = from_storage(new_storage(<size_t>x.count), BOOL, x.rank, src.sizes, src.steps, 0)
    f.base = threshold(1.0 - p)
    f.b = inverse(1.0 - p, x.code)
    f.out, f.in_, f.mask = y.ptr, src.ptr, <unsigned char *>mask.ptr
    fill(generator_of(generator), &f, body, x.count, 2, ITEMSIZE[x.code], ITEMSIZE[x.code], 1, 1 << 14)
    return y, mask


cdef double inverse(double keep, int code) noexcept:
    """1 / keep as the dtype holds it: PyTorch divides a tensor of ones."""
    if code == FLOAT64:
        return 1.0 / keep
    cdef float q = <float>1.0 / <float>keep
    if code == FLOAT32:
        return q
    return round_to(q, code)


cdef double round_to(float q, int code):
    cdef Py_ssize_t one = 1
    cdef Tensor t = new_tensor(1, &one, FLOAT32, CPU)
    (<float *>t.ptr)[0] = q
    return (<float *>cast(cast(t, code), FLOAT32).ptr)[0]


def dropout_backward(Tensor g, Tensor mask, double p):
    """g where the mask is set, times 1 / (1 - p), elsewhere 0 (or NaN where g is not finite)."""
    cdef ft_fill f
    cdef range_fn body = ft_scale_mask[g.code]
    if body == NULL or g.dev != CPU:
        raise RuntimeError(f'"dropout" not implemented for {describe(g)}: a floating-point CPU tensor is needed')
    cdef Tensor src = contiguous(g)
    cdef Tensor keep = contiguous(mask)
    cdef Tensor y = new_like(src, g.code)
    f.b = inverse(1.0 - p, g.code)
    f.out, f.in_, f.mask = y.ptr, src.ptr, <unsigned char *>keep.ptr
    if g.count < SERIAL:
        body(&f, 0, g.count)
    else:
        with nogil:
            parallel_for(g.count, 1 << 14, body, &f)
    return y


# --- permutations ---

def randperm(Py_ssize_t n, int code, generator=None):
    """A random order of 0 .. n - 1: swaps from the front, each with a place at or behind it."""
    cdef Generator g = generator_of(generator)
    cdef Tensor wide
    cdef int64_t *p
    cdef int32_t *q
    cdef uint32_t words[1248]
    cdef Py_ssize_t i, j, m
    cdef int64_t z
    cdef int32_t t
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
