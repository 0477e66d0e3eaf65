"""An input laid out so that every kernel tap is one constant offset.

A strided, dilated, padded window reads `x[i * stride + k * dilation - pad]`. Pad the input and
split each axis by residue modulo the stride: then tap k of output i lies at `slot(k), i + shift(k)`,
so that neighbouring outputs read neighbouring elements whatever the stride. The input gradient
reads the output gradient the same way, once for each residue of the input's positions.
"""
from libc.string cimport memset

from fasttensor._core.parallel cimport parallel_for

cdef extern from "micro.h" nogil:
    void ft_lattice_rows_f32(float *dst, const float *src, Py_ssize_t pitch, Py_ssize_t count, Py_ssize_t step, Py_ssize_t first, Py_ssize_t last,
                             Py_ssize_t n, const float *src_limit, const float *dst_limit)
    void ft_lattice_rows_f64(double *dst, const double *src, Py_ssize_t pitch, Py_ssize_t count, Py_ssize_t step, Py_ssize_t first, Py_ssize_t last,
                             Py_ssize_t n, const double *src_limit, const double *dst_limit)


cdef Py_ssize_t volume(const Py_ssize_t *v) noexcept nogil:
    return v[0] * v[1] * v[2]


cdef inline Py_ssize_t gcd(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    while b:
        a, b = b, a - a // b * b
    return a


cdef inline Py_ssize_t floor_div(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef Py_ssize_t d = a // b
    return d - 1 if a - d * b < 0 else d


cdef void settle(Lattice *lat) noexcept nogil:
    cdef int a
    lat.plain = True
    lat.volume = volume(lat.size)
    lat.plane = 1
    for a in range(3):
        lat.plane *= lat.slots[a] * lat.q[a]
        if lat.stride[a] != 1 or lat.pad[a] != 0 or lat.q[a] != lat.size[a]:
            lat.plain = False


cdef void forward_lattice(const Geometry *geo, Lattice *lat) noexcept nogil:
    """The input's lattice for the forward pass and the weight's gradient."""
    cdef int a
    cdef Py_ssize_t period
    for a in range(3):
        lat.size[a], lat.pad[a], lat.stride[a], lat.dil[a] = geo.size[a], geo.pad[a], geo.stride[a], geo.dil[a]
        period = geo.stride[a] // gcd(geo.stride[a], geo.dil[a])
        lat.slots[a] = min(period, geo.kernel[a])
        lat.q[a] = geo.out[a] + (geo.kernel[a] - 1) * geo.dil[a] // geo.stride[a]
        # A window that stops short of the edge still reads in place.
        if geo.stride[a] == 1 and geo.pad[a] == 0 and lat.q[a] < geo.size[a]:
            lat.q[a] = geo.size[a]
    settle(lat)


cdef void gradient_lattice(const Geometry *geo, Lattice *lat) noexcept nogil:
    """The output gradient's lattice for the input's gradient: padded by what the taps reach beyond it."""
    cdef int a
    cdef Py_ssize_t i, k, t, low, high, count
    for a in range(3):
        low, high = 0, geo.out[a] - 1
        for i in range(min(geo.stride[a], geo.size[a])):
            count = (geo.size[a] - i + geo.stride[a] - 1) // geo.stride[a]
            for k in range(geo.kernel[a]):
                t = i + geo.pad[a] - k * geo.dil[a]
                if t % geo.stride[a] == 0:
                    t = floor_div(t, geo.stride[a])
                    low = min(low, t)
                    high = max(high, t + count - 1)
        lat.size[a], lat.pad[a], lat.stride[a], lat.dil[a], lat.slots[a] = geo.out[a], -low, 1, 1, 1
        lat.q[a] = high - low + 1
    settle(lat)


cdef Py_ssize_t forward_taps(const Geometry *geo, const Lattice *lat, Tap *taps) noexcept nogil:
    """Every tap of the kernel, in the weight's order; returns their number."""
    cdef Py_ssize_t k0, k1, k2, n = 0
    cdef Py_ssize_t slot, shift
    cdef Py_ssize_t k[3]
    cdef int a
    for k0 in range(geo.kernel[0]):
        for k1 in range(geo.kernel[1]):
            for k2 in range(geo.kernel[2]):
                k[0], k[1], k[2] = k0, k1, k2
                slot = shift = 0
                for a in range(3):
                    slot = slot * lat.slots[a] + k[a] % lat.slots[a]
                    shift = shift * lat.q[a] + k[a] * lat.dil[a] // lat.stride[a]
                taps[n].index = n
                taps[n].offset = slot * volume(lat.q) + shift
                taps[n].low = -floor_div(k1 * geo.dil[1] - geo.pad[1], geo.stride[1])
                taps[n].high = -floor_div(k1 * geo.dil[1] - geo.pad[1] - geo.size[1], geo.stride[1])
                n += 1
    return n


cdef Py_ssize_t gradient_taps(const Geometry *geo, const Lattice *lat, const Py_ssize_t *residue, Tap *taps) noexcept nogil:
    """The taps that reach input positions of one residue modulo the stride."""
    cdef Py_ssize_t k0, k1, k2, t, n = 0, shift
    cdef Py_ssize_t k[3]
    cdef int a
    cdef bint fits
    for k0 in range(geo.kernel[0]):
        for k1 in range(geo.kernel[1]):
            for k2 in range(geo.kernel[2]):
                k[0], k[1], k[2] = k0, k1, k2
                shift, fits = 0, True
                for a in range(3):
                    t = residue[a] + geo.pad[a] - k[a] * geo.dil[a]
                    fits = fits and t % geo.stride[a] == 0
                    shift = shift * lat.q[a] + floor_div(t, geo.stride[a]) + lat.pad[a]
                if fits:
                    taps[n].index = (k0 * geo.kernel[1] + k1) * geo.kernel[2] + k2
                    taps[n].offset = shift
                    taps[n].low = -floor_div(residue[1] + geo.pad[1] - k1 * geo.dil[1], geo.stride[1])
                    taps[n].high = taps[n].low + geo.out[1]
                    n += 1
    return n


cdef inline Py_ssize_t clip(Py_ssize_t v, Py_ssize_t high) noexcept nogil:
    return 0 if v < 0 else high if v > high else v


cdef void fill_plane(const real *src, real *dst, const Lattice *lat) noexcept nogil:
    """One channel's plane in the lattice's layout."""
    cdef Py_ssize_t s0, s1, s2, i0, y0, first, last, start, top, first1, last1
    cdef Py_ssize_t q1 = lat.q[1], q2 = lat.q[2], step = lat.stride[2], pitch = lat.stride[1] * lat.size[2]
    cdef const real *row
    cdef const real *limit = dst + lat.plane
    for s0 in range(lat.slots[0]):
        for s1 in range(lat.slots[1]):
            top = s1 * lat.dil[1] % lat.stride[1] - lat.pad[1]
            first1 = clip(-floor_div(top, lat.stride[1]), q1)
            last1 = max(first1, clip(-floor_div(top - lat.size[1], lat.stride[1]), q1))
            for s2 in range(lat.slots[2]):
                start = s2 * lat.dil[2] % step - lat.pad[2]
                first = clip(-floor_div(start, step), q2)
                last = max(first, clip(-floor_div(start - lat.size[2], step), q2))
                for i0 in range(lat.q[0]):
                    y0 = i0 * lat.stride[0] + s0 * lat.dil[0] % lat.stride[0] - lat.pad[0]
                    if y0 < 0 or y0 >= lat.size[0]:
                        memset(dst, 0, q1 * q2 * sizeof(real))
                        dst += q1 * q2
                        continue
                    memset(dst, 0, first1 * q2 * sizeof(real))
                    dst += first1 * q2
                    row = src + (y0 * lat.size[1] + first1 * lat.stride[1] + top) * lat.size[2] + start
                    if real is float:
                        ft_lattice_rows_f32(dst, row, pitch, last1 - first1, step, first, last, q2, src + lat.volume, limit)
                    else:
                        ft_lattice_rows_f64(dst, row, pitch, last1 - first1, step, first, last, q2, src + lat.volume, limit)
                    dst += (last1 - first1) * q2
                    memset(dst, 0, (q1 - last1) * q2 * sizeof(real))
                    dst += (q1 - last1) * q2


cdef struct Fill:
    const void *src
    void *dst
    const Lattice *lat


cdef void fill_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Fill *f = <Fill *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        fill_plane(<const float *>f.src + i * f.lat.volume, <float *>f.dst + i * f.lat.plane, f.lat)


cdef void fill_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Fill *f = <Fill *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        fill_plane(<const double *>f.src + i * f.lat.volume, <double *>f.dst + i * f.lat.plane, f.lat)


cdef void fill_planes(const real *src, real *dst, Py_ssize_t planes, const Lattice *lat) noexcept nogil:
    cdef Fill f
    f.src, f.dst, f.lat = src, dst, lat
    parallel_for(planes, max(1, 32768 // (lat.plane + 1)), fill_f32 if real is float else fill_f64, &f)
