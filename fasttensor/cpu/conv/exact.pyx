"""Integer convolution, exact in the operands' own type: rare, so one plain loop a direction.

All three directions visit the same triples (input position, tap, output position) and differ
only in which of the three arrays is added to.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from fasttensor._core.dtype cimport UINT8, INT8, INT16, INT32
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.conv.lattice cimport Geometry, volume

ctypedef fused integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

cdef enum:
    FORWARD
    INPUT
    WEIGHT


cdef struct Work:
    const Geometry *geo
    const void *x
    const void *w
    const void *g
    const void *bias
    void *out
    int code


cdef inline bint source(const Geometry *geo, const Py_ssize_t *o, const Py_ssize_t *k, Py_ssize_t *at) noexcept nogil:
    """Where tap k of output position o reads; False in the padding."""
    cdef int a
    cdef Py_ssize_t i
    at[0] = 0
    for a in range(3):
        i = o[a] * geo.stride[a] + k[a] * geo.dil[a] - geo.pad[a]
        if i < 0 or i >= geo.size[a]:
            return False
        at[0] = at[0] * geo.size[a] + i
    return True


cdef void visit(const Geometry *geo, integer *x, integer *w, integer *g, int target) noexcept nogil:
    """All triples of one input plane, one kernel plane and one output plane."""
    cdef Py_ssize_t o[3]
    cdef Py_ssize_t k[3]
    cdef Py_ssize_t i, j = 0, t
    for o[0] in range(geo.out[0]):
        for o[1] in range(geo.out[1]):
            for o[2] in range(geo.out[2]):
                t = 0
                for k[0] in range(geo.kernel[0]):
                    for k[1] in range(geo.kernel[1]):
                        for k[2] in range(geo.kernel[2]):
                            if source(geo, o, k, &i):
                                if target == FORWARD:
                                    g[j] = g[j] + x[i] * w[t]
                                elif target == INPUT:
                                    x[i] = x[i] + g[j] * w[t]
                                else:
                                    w[t] = w[t] + x[i] * g[j]
                            t += 1
                j += 1


cdef void forward_one(Work *job, Py_ssize_t index, const integer *kind) noexcept nogil:
    cdef const Geometry *geo = job.geo
    cdef Py_ssize_t o = index % geo.o, image = index // geo.o, ci = geo.c // geo.groups, group = o // (geo.o // geo.groups), c, i
    cdef integer *out = <integer *>job.out + index * volume(geo.out)
    for i in range(volume(geo.out)):
        out[i] = (<const integer *>job.bias)[o] if job.bias != NULL else 0
    for c in range(ci):
        visit(geo, <integer *>job.x + (image * geo.c + group * ci + c) * volume(geo.size),
              <integer *>job.w + (o * ci + c) * volume(geo.kernel), out, FORWARD)


cdef void input_one(Work *job, Py_ssize_t index, const integer *kind) noexcept nogil:
    cdef const Geometry *geo = job.geo
    cdef Py_ssize_t channel = index % geo.c, image = index // geo.c, ci = geo.c // geo.groups, co = geo.o // geo.groups, o, i
    cdef integer *out = <integer *>job.out + index * volume(geo.size)
    for i in range(volume(geo.size)):
        out[i] = (<const integer *>job.bias)[channel] if job.bias != NULL else 0
    for o in range(channel // ci * co, (channel // ci + 1) * co):
        visit(geo, out, <integer *>job.w + (o * ci + channel % ci) * volume(geo.kernel),
              <integer *>job.g + (image * geo.o + o) * volume(geo.out), INPUT)


cdef void weight_one(Work *job, Py_ssize_t index, const integer *kind) noexcept nogil:
    cdef const Geometry *geo = job.geo
    cdef Py_ssize_t ci = geo.c // geo.groups, c = index % ci, o = index // ci, group = o // (geo.o // geo.groups), image, i
    cdef integer *out = <integer *>job.out + index * volume(geo.kernel)
    for i in range(volume(geo.kernel)):
        out[i] = 0
    for image in range(geo.n):
        visit(geo, <integer *>job.x + (image * geo.c + group * ci + c) * volume(geo.size), out,
              <integer *>job.g + (image * geo.o + o) * volume(geo.out), WEIGHT)


cdef void one(Work *job, Py_ssize_t index, int target, const integer *kind) noexcept nogil:
    if target == FORWARD:
        forward_one(job, index, kind)
    elif target == INPUT:
        input_one(job, index, kind)
    else:
        weight_one(job, index, kind)


cdef void typed(Work *job, Py_ssize_t begin, Py_ssize_t end, int target) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(begin, end):
        if job.code <= UINT8:
            one(job, i, target, <uint8_t *>NULL)
        elif job.code == INT8:
            one(job, i, target, <int8_t *>NULL)
        elif job.code == INT16:
            one(job, i, target, <int16_t *>NULL)
        elif job.code == INT32:
            one(job, i, target, <int32_t *>NULL)
        else:
            one(job, i, target, <int64_t *>NULL)


cdef void forward_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    typed(<Work *>context, begin, end, FORWARD)

cdef void input_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    typed(<Work *>context, begin, end, INPUT)

cdef void weight_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    typed(<Work *>context, begin, end, WEIGHT)


cdef void exact_forward(const Geometry *geo, const void *x, const void *w, const void *bias, void *out, int code) noexcept nogil:
    cdef Work job
    job.geo, job.x, job.w, job.bias, job.out, job.code = geo, x, w, bias, out, code
    parallel_for(geo.n * geo.o, 1, forward_range, &job)


cdef void exact_input(const Geometry *geo, const void *g, const void *w, const void *bias, void *out, int code) noexcept nogil:
    cdef Work job
    job.geo, job.g, job.w, job.bias, job.out, job.code = geo, g, w, bias, out, code
    parallel_for(geo.n * geo.c, 1, input_range, &job)


cdef void exact_weight(const Geometry *geo, const void *x, const void *g, void *out, int code) noexcept nogil:
    cdef Work job
    job.geo, job.x, job.g, job.out, job.code = geo, x, g, out, code
    parallel_for(geo.o * (geo.c // geo.groups), 1, weight_range, &job)
