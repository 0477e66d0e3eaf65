"""PyTorch's CPU generator: the Mersenne Twister, its seeds and its states.

    g = Generator().manual_seed(0)
    state = g.get_state()               5056 bytes, as PyTorch writes them
"""
import os
from libc.math cimport cos, log1p, sin, sqrt
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport UINT8
from fasttensor._core.tensor cimport *
from fasttensor._core.device cimport device_of

cdef enum:
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
            raise ValueError("Overflow when unpacking long long: manual_seed expects a value in "
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
        return type(self), (device_of(CPU),), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state):
        # a seed, the offset of a GPU's generator, and the state
        self.set_state(state[2])

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


default_generator = Generator()
default_generator.seed()
cdef Generator _default = default_generator


cdef Generator generator_of(object g):
    if g is None:
        return _default
    if isinstance(g, Generator):
        return <Generator>g
    raise TypeError(f"generator must be a fasttensor.Generator or None, got {type(g).__name__}")
