"""Tables of a resampling along one dimension: which inputs each output sums, and their weights.

Keys, "Cubic convolution interpolation for digital image processing" (1981), for the cubic weights; those of PyTorch: a = -0.75, and
-0.5 where the filter widens with the scale.
"""
from fasttensor._core.storage cimport no_room
from libc.math cimport copysign, fabs, floor
from libc.string cimport memset

cdef extern from "resample_taps.h" nogil:
    void ft_taps_free(ft_taps *t)
    bint ft_taps_room(ft_taps *t, Py_ssize_t n, Py_ssize_t size, Py_ssize_t count)
    bint ft_taps_lanes(ft_taps *t)
    bint ft_taps_transpose(const ft_taps *t, ft_taps *back)

cdef enum:
    NEAREST, EXACT, EXACT_DOUBLE, LINEAR, CUBIC, WIDE_LINEAR, WIDE_CUBIC

KINDS = {"nearest": NEAREST, "nearest-exact": EXACT, "nearest-exact double": EXACT_DOUBLE, "linear": LINEAR, "cubic": CUBIC,
         "wide linear": WIDE_LINEAR, "wide cubic": WIDE_CUBIC}


cdef double near_cubic(double x, double a) noexcept nogil:
    return ((a + 2) * x - (a + 3)) * x * x + 1


cdef double far_cubic(double x, double a) noexcept nogil:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


cdef double wide_weight(double x, bint cubic) noexcept nogil:
    x = fabs(x)
    if not cubic:
        return max(0.0, 1.0 - x)
    return near_cubic(x, -0.5) if x < 1 else far_cubic(x, -0.5) if x < 2 else 0.0


cdef Py_ssize_t below(double at, Py_ssize_t size) noexcept nogil:
    """A position without its fraction, inside of `size` inputs."""
    return size - 1 if not at < size else <Py_ssize_t>max(at, 0.0)


cdef Py_ssize_t held(Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    return min(max(at, <Py_ssize_t>0), size - 1)


cdef void fixed(ft_taps *t, int kind, double scale, bint align) noexcept nogil:
    """The tables in which all outputs have as many inputs."""
    cdef Py_ssize_t i, base, e = 0
    cdef double at, rest
    cdef int k
    for i in range(t.n):
        t.start[i] = <int>e
        if kind == NEAREST:
            # positions are PyTorch's: rounded to float32
            t.index[e], t.weight[e] = <int>below(<float>(i * scale), t.size), 1.0
            e += 1
        elif kind <= EXACT_DOUBLE:
            # the center that the linear mode would read between pixels, held as the dtype holds it, and the pixel nearest to it in float32
            at = (i + 0.5) * scale - 0.5
            if kind == EXACT:
                at = <float>at
            t.index[e], t.weight[e] = <int>below(<float>(max(at, 0.0) + 0.5), t.size), 1.0
            e += 1
        else:
            at = i * scale if align else (i + 0.5) * scale - 0.5
            if kind == LINEAR:
                at = max(at, 0.0)
                base = below(at, t.size)
                rest = min(at - base, 1.0)
                t.index[e], t.weight[e] = <int>base, 1.0 - rest
                t.index[e + 1], t.weight[e + 1] = <int>held(base + 1, t.size), rest
                e += 2
            else:
                base = <Py_ssize_t>floor(at)
                rest = at - base
                for k in range(4):
                    t.index[e + k] = <int>held(base + k - 1, t.size)
                t.weight[e], t.weight[e + 1] = far_cubic(rest + 1, -0.75), near_cubic(rest, -0.75)
                t.weight[e + 2], t.weight[e + 3] = near_cubic(1 - rest, -0.75), far_cubic(2 - rest, -0.75)
                e += 4
    t.start[t.n] = <int>e


cdef Py_ssize_t window(Py_ssize_t i, Py_ssize_t size, double scale, double reach, Py_ssize_t *low) noexcept nogil:
    """How many inputs the widened filter of output i reaches, from `low` on."""
    cdef double center = scale * (i + 0.5)
    low[0] = <Py_ssize_t>max(center - reach + 0.5, 0.0)
    return max(<Py_ssize_t>min(center + reach + 0.5, <double>size) - low[0], <Py_ssize_t>0)


cdef void widened(ft_taps *t, bint cubic, double scale, double reach) noexcept nogil:
    """A filter that widens with the scale, so that shrinking averages."""
    cdef double wide = max(scale, 1.0), total
    cdef Py_ssize_t i, k, low, n, e = 0
    for i in range(t.n):
        t.start[i] = <int>e
        n = window(i, t.size, scale, reach, &low)
        total = 0
        for k in range(n):
            t.index[e + k] = <int>(low + k)
            t.weight[e + k] = wide_weight((low + k - scale * (i + 0.5) + 0.5) / wide, cubic)
            total += t.weight[e + k]
        for k in range(n):
            t.weight[e + k] = t.weight[e + k] / total if total else 0.0
        e += n
    t.start[t.n] = <int>e


cdef void round_weights(ft_taps *t) noexcept nogil:
    """Weights of 16 bits at most, as PyTorch and Pillow resize bytes. Those of an input that is named twice, at the border, are one weight."""
    cdef Py_ssize_t i, e, f
    cdef double most = 0, unit
    cdef int bits = 0
    for i in range(t.n):
        for e in range(t.start[i], t.start[i + 1]):
            for f in range(e + 1, t.start[i + 1]):
                if t.index[f] == t.index[e]:
                    t.weight[e] += t.weight[f]
                    t.weight[f] = 0
            most = max(most, t.weight[e])
    while bits < 22 and 0.5 + most * (2 << bits) < 1 << 15:
        bits += 1
    unit = 1 << bits
    for e in range(t.start[t.n]):
        t.weight[e] = copysign(floor(fabs(t.weight[e]) * unit + 0.5) / unit, t.weight[e])


cdef class Taps:
    """Taps(kind, size, n, factor, align, rounded): n outputs over `size` inputs, by a kind of KINDS.

    `factor` is what positions are computed with, n / size where it is None. The arrays are made when a kernel asks for them.
    """

    def __cinit__(self):
        memset(&self.forth, 0, sizeof(ft_taps))
        memset(&self.back, 0, sizeof(ft_taps))

    def __init__(self, str kind, Py_ssize_t size, Py_ssize_t n, factor=None, bint align=False, bint rounded=False):
        self.n, self.size = n, size
        if align:
            scale = <double>(size - 1) / (n - 1) if n > 1 else 0.0
        else:
            scale = 1.0 / <double>factor if factor else <double>size / n
        self.recipe = (KINDS[kind], scale, align, rounded)

    def __dealloc__(self):
        ft_taps_free(&self.forth)
        ft_taps_free(&self.back)

    cdef bint fill(self) except False:
        cdef Py_ssize_t i, low, count = 0
        cdef int kind = self.recipe[0]
        cdef bint align = self.recipe[2], rounded = self.recipe[3], cubic = kind == WIDE_CUBIC
        cdef double scale = self.recipe[1], reach = (2 if cubic else 1) * max(scale, 1.0)
        if kind <= EXACT_DOUBLE:
            count = self.n
            if kind != EXACT_DOUBLE:
                scale = <float>scale
        elif kind <= CUBIC:
            count = self.n * (2 if kind == LINEAR else 4)
        else:
            with nogil:
                for i in range(self.n):
                    count += window(i, self.size, scale, reach, &low)
        if max(self.size, count) > 0x7fffffff:
            raise RuntimeError(f"interpolate: {self.size} inputs and {self.n} outputs along one dimension are too many: {count} weights, at most {0x7fffffff}")
        if not ft_taps_room(&self.forth, self.n, self.size, count):
            raise no_room(f"interpolate: no memory for the {count} weights")
        with nogil:
            if kind <= CUBIC:
                fixed(&self.forth, kind, scale, align)
            else:
                widened(&self.forth, cubic, scale, reach)
            if rounded:
                round_weights(&self.forth)
        if not ft_taps_lanes(&self.forth):
            raise no_room(f"interpolate: no memory for the {count} weights")
        self.made = True
        return True

    cdef const ft_taps *get(self, bint transposed) except NULL:
        if not self.made:
            ft_taps_free(&self.forth)
            self.fill()
        if not transposed:
            return &self.forth
        if not self.transposed:
            ft_taps_free(&self.back)
            if not ft_taps_transpose(&self.forth, &self.back):
                raise no_room(f"interpolate: no memory for the weights of {self.n} gradients")
            self.transposed = True
        return &self.back
