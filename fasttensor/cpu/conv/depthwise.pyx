"""Convolution of each input channel by itself: groups == input channels.

A plane at a time: lay it out so that taps are constant offsets, then run over the flattened rows,
with every tap of a vector of outputs in registers. The few columns past a row's end that this
computes too are dropped when rows are copied out.
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memset

from fasttensor._core.parallel cimport parallel_for, thread_index
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.conv.lattice cimport (Geometry, Lattice, Tap, real, volume, fill_plane, forward_taps, gradient_taps)

cdef extern from "micro.h" nogil:
    enum: FT_VECTOR_BYTES
    void ft_taps_f32(Py_ssize_t taps, const Py_ssize_t *off, const float *w, const float *src, float bias, float *dst, Py_ssize_t n)
    void ft_taps_f64(Py_ssize_t taps, const Py_ssize_t *off, const double *w, const double *src, double bias, double *dst, Py_ssize_t n)
    void ft_plane_f32(Py_ssize_t taps, const Py_ssize_t *off, const float *w, const float *src, Py_ssize_t pitch, float bias, float *dst,
                      Py_ssize_t ldc, Py_ssize_t n, Py_ssize_t height)
    void ft_plane_f64(Py_ssize_t taps, const Py_ssize_t *off, const double *w, const double *src, Py_ssize_t pitch, double bias, double *dst,
                      Py_ssize_t ldc, Py_ssize_t n, Py_ssize_t height)
    void ft_dots_f32(Py_ssize_t taps, const Py_ssize_t *off, const float *g, const float *x, Py_ssize_t n, float *sums)
    void ft_dots_f64(Py_ssize_t taps, const Py_ssize_t *off, const double *g, const double *x, Py_ssize_t n, double *sums)
    void ft_copy_f32(float *dst, const float *src, Py_ssize_t n)
    void ft_copy_f64(double *dst, const double *src, Py_ssize_t n)


cdef struct Work:
    const Geometry *geo
    const Lattice *lat
    const void *x
    const void *g
    const void *w
    const void *bias
    void *out
    void *scratch
    Py_ssize_t size             # scratch elements a thread
    Py_ssize_t taps
    const Tap *tap
    const Py_ssize_t *off


cdef Py_ssize_t depthwise_scratch(const Geometry *geo, const Lattice *lat) noexcept nogil:
    cdef Py_ssize_t multiplier = geo.o // geo.c
    # laid-out planes, a flattened result or gradient, and the weights of one residue
    return ((multiplier + 1) * lat.plane + volume(lat.q) + 2 * multiplier * volume(geo.kernel) + 64) // 16 * 16 + 16


cdef void sweep(const real *src, const Py_ssize_t *off, Py_ssize_t taps, const real *w, real bias, const Py_ssize_t *q,
                const Py_ssize_t *cnt, const Py_ssize_t *step, real *out, real *rows) noexcept nogil:
    """Windows of one laid-out source (or several: offsets say) for all output positions."""
    cdef Py_ssize_t d, j, n = (cnt[1] - 1) * q[2] + cnt[2]
    cdef bint whole = step[2] == 1 and q[2] == cnt[2] and step[1] == cnt[2]
    # rows of a few whole vectors, the last overlapping, go straight to the output
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real)
    cdef bint by_row = step[2] == 1 and cnt[2] >= lanes and (cnt[2] + lanes - 1) // lanes * lanes <= q[2] + lanes // 4
    cdef real *dst
    cdef real *row
    for d in range(cnt[0]):
        dst = out + d * step[0]
        row = dst if whole else rows
        if by_row:
            if real is float:
                ft_plane_f32(taps, off, w, src + d * q[1] * q[2], q[2], bias, dst, step[1], cnt[2], cnt[1])
            else:
                ft_plane_f64(taps, off, w, src + d * q[1] * q[2], q[2], bias, dst, step[1], cnt[2], cnt[1])
            continue
        if real is float:
            ft_taps_f32(taps, off, w, src + d * q[1] * q[2], bias, row, n)
        else:
            ft_taps_f64(taps, off, w, src + d * q[1] * q[2], bias, row, n)
        if whole:
            continue
        for _ in range(cnt[1]):
            if step[2] == 1:
                if real is float:
                    ft_copy_f32(dst, row, cnt[2])
                else:
                    ft_copy_f64(dst, row, cnt[2])
            else:
                for j in range(cnt[2]):
                    dst[j * step[2]] = row[j]
            dst += step[1]
            row += q[2]


cdef void forward_task(Work *job, Py_ssize_t index, const real *kind) noexcept nogil:
    """One input plane (image, channel) and the outputs it makes."""
    cdef const Geometry *geo = job.geo
    cdef Py_ssize_t multiplier = geo.o // geo.c, channel = index % geo.c, i, o
    cdef real *plane = <real *>job.scratch + thread_index() * job.size
    cdef real *rows = plane + job.lat.plane
    cdef const real *src = <const real *>job.x + index * job.lat.volume
    cdef Py_ssize_t step[3]
    step[0], step[1], step[2] = geo.out[1] * geo.out[2], geo.out[2], 1
    if not job.lat.plain:
        fill_plane(src, plane, job.lat)
        src = plane
    for i in range(multiplier):
        o = channel * multiplier + i
        sweep(src, job.off, job.taps, <const real *>job.w + o * job.taps,
              (<const real *>job.bias)[o] if job.bias != NULL else 0, job.lat.q, geo.out, step,
              <real *>job.out + (index * multiplier + i) * volume(geo.out), rows)


cdef void input_task(Work *job, Py_ssize_t index, const real *kind) noexcept nogil:
    """The gradient of one input plane: the sum over the outputs that it made."""
    cdef const Geometry *geo = job.geo
    cdef const Lattice *lat = job.lat
    cdef Py_ssize_t multiplier = geo.o // geo.c, channel = index % geo.c, i, t, n, kernel = volume(geo.kernel), r0, r1, r2
    cdef real *planes = <real *>job.scratch + thread_index() * job.size
    cdef real *rows = planes + multiplier * lat.plane
    cdef real *w = rows + volume(lat.q)
    cdef const Py_ssize_t *off = job.off
    cdef const Tap *tap = job.tap
    cdef real *out
    cdef Py_ssize_t step[3]
    cdef Py_ssize_t cnt[3]
    for i in range(multiplier):
        fill_plane(<const real *>job.g + (index * multiplier + i) * lat.volume, planes + i * lat.plane, lat)
    step[2] = geo.stride[2]
    step[1] = geo.stride[1] * geo.size[2]
    step[0] = geo.stride[0] * geo.size[1] * geo.size[2]
    for r0 in range(geo.stride[0]):
        for r1 in range(geo.stride[1]):
            for r2 in range(geo.stride[2]):
                # `index` of the entry before each residue's taps holds their number
                n = tap.index
                for i in range(multiplier):
                    for t in range(n):
                        w[i * n + t] = (<const real *>job.w)[(channel * multiplier + i) * kernel + tap[t + 1].index]
                cnt[0] = (geo.size[0] - r0 + geo.stride[0] - 1) // geo.stride[0]
                cnt[1] = (geo.size[1] - r1 + geo.stride[1] - 1) // geo.stride[1]
                cnt[2] = (geo.size[2] - r2 + geo.stride[2] - 1) // geo.stride[2]
                if cnt[0] > 0 and cnt[1] > 0 and cnt[2] > 0:
                    out = <real *>job.out + index * volume(geo.size) + (r0 * geo.size[1] + r1) * geo.size[2] + r2
                    sweep(planes, off, n * multiplier, w, (<const real *>job.bias)[channel] if job.bias != NULL else 0,
                          lat.q, cnt, step, out, rows)
                off += n * multiplier
                tap += n + 1


cdef void weight_task(Work *job, Py_ssize_t o, const real *kind) noexcept nogil:
    """The weight's gradient of one output channel, over all images."""
    cdef const Geometry *geo = job.geo
    cdef const Lattice *lat = job.lat
    cdef Py_ssize_t channel = o // (geo.o // geo.c), image, d, h, n = (geo.out[1] - 1) * lat.q[2] + geo.out[2], t
    cdef real *plane = <real *>job.scratch + thread_index() * job.size
    cdef real *rows = plane + lat.plane
    cdef real *sums = rows + volume(lat.q)
    cdef const real *x
    cdef const real *g
    for t in range(job.taps):
        sums[t] = 0
    # the gaps between rows stay zero
    memset(rows, 0, volume(lat.q) * sizeof(real))
    for image in range(geo.n):
        x = <const real *>job.x + (image * geo.c + channel) * lat.volume
        g = <const real *>job.g + (image * geo.o + o) * volume(geo.out)
        if not lat.plain:
            fill_plane(x, plane, lat)
            x = plane
        for d in range(geo.out[0]):
            for h in range(geo.out[1]):
                if real is float:
                    ft_copy_f32(rows + h * lat.q[2], g, geo.out[2])
                else:
                    ft_copy_f64(rows + h * lat.q[2], g, geo.out[2])
                g += geo.out[2]
            if real is float:
                ft_dots_f32(job.taps, job.off, rows, x + d * lat.q[1] * lat.q[2], n, sums)
            else:
                ft_dots_f64(job.taps, job.off, rows, x + d * lat.q[1] * lat.q[2], n, sums)
    for t in range(job.taps):
        (<real *>job.out)[o * job.taps + t] = sums[t]


cdef void forward_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        forward_task(<Work *>context, begin, <float *>NULL)

cdef void forward_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        forward_task(<Work *>context, begin, <double *>NULL)

cdef void input_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        input_task(<Work *>context, begin, <float *>NULL)

cdef void input_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        input_task(<Work *>context, begin, <double *>NULL)

cdef void weight_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        weight_task(<Work *>context, begin, <float *>NULL)

cdef void weight_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        weight_task(<Work *>context, begin, <double *>NULL)


cdef Tap *taps_room(size_t nbytes) except NULL nogil:
    cdef Tap *taps = <Tap *>malloc(nbytes)
    if taps == NULL:
        with gil:
            raise no_room("convolution: no memory for the offsets of the kernel's elements")
    return taps


cdef Tap *plain_taps(const Geometry *geo, const Lattice *lat, Work *job) except NULL nogil:
    cdef Py_ssize_t kernel = volume(geo.kernel), t
    cdef Tap *taps = taps_room(kernel * (sizeof(Tap) + sizeof(Py_ssize_t)))
    cdef Py_ssize_t *off = <Py_ssize_t *>(taps + kernel)
    job.taps = forward_taps(geo, lat, taps)
    for t in range(kernel):
        off[t] = taps[t].offset
    job.off = off
    return taps


cdef int depthwise_forward(const Geometry *geo, const Lattice *lat, const real *x, const real *w, const real *bias, real *out,
                           real *scratch) except -1 nogil:
    cdef Work job
    cdef Tap *taps = plain_taps(geo, lat, &job)
    job.geo, job.lat, job.x, job.w, job.bias, job.out, job.scratch = geo, lat, x, w, bias, out, scratch
    job.size = depthwise_scratch(geo, lat)
    parallel_for(geo.n * geo.c, max(1, 200000 // (lat.plane * job.taps + 1)), forward_f32 if real is float else forward_f64, &job)
    free(taps)
    return 0


cdef int depthwise_weight(const Geometry *geo, const Lattice *lat, const real *x, const real *g, real *out, real *scratch) except -1 nogil:
    cdef Work job
    cdef Tap *taps = plain_taps(geo, lat, &job)
    job.geo, job.lat, job.x, job.g, job.out, job.scratch = geo, lat, x, g, out, scratch
    job.size = depthwise_scratch(geo, lat)
    parallel_for(geo.o, max(1, 200000 // (lat.plane * job.taps * geo.n + 1)), weight_f32 if real is float else weight_f64, &job)
    free(taps)
    return 0


cdef int depthwise_input(const Geometry *geo, const Lattice *lat, const real *g, const real *w, const real *bias, real *out,
                         real *scratch) except -1 nogil:
    cdef Work job
    cdef Py_ssize_t residues = volume(geo.stride), kernel = volume(geo.kernel), multiplier = geo.o // geo.c, i, t, n
    cdef Tap *taps = taps_room((residues + kernel) * sizeof(Tap) + multiplier * kernel * sizeof(Py_ssize_t))
    cdef Py_ssize_t *off = <Py_ssize_t *>(taps + residues + kernel)
    cdef Tap *tap = taps
    cdef Py_ssize_t r[3]
    job.off, job.tap = off, taps
    for r[0] in range(geo.stride[0]):
        for r[1] in range(geo.stride[1]):
            for r[2] in range(geo.stride[2]):
                n = gradient_taps(geo, lat, r, tap + 1)
                tap.index = n
                for i in range(multiplier):
                    for t in range(n):
                        off[i * n + t] = i * lat.plane + tap[t + 1].offset
                off += n * multiplier
                tap += n + 1
    job.geo, job.lat, job.g, job.w, job.bias, job.out, job.scratch = geo, lat, g, w, bias, out, scratch
    job.size = depthwise_scratch(geo, lat)
    parallel_for(geo.n * geo.c, max(1, 200000 // (lat.plane * kernel * multiplier + 1)), input_f32 if real is float else input_f64, &job)
    free(taps)
    return 0
