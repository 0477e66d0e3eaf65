"""The weights of Winograd's small filters: a kernel's transformed taps, for each point a matrix of outputs by terms."""
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.conv.winograd_plan cimport Filter, MAXTAPS, Phase, Tiling

cdef extern from "winograd.h" nogil:
    void ft_winograd_weight(int high, int ry, int rx, const float *g, const int *taps, int n, float **u)
    int ft_kernels_by_tap(const float *w, Py_ssize_t stride, int taps, int n, float *g)

cdef enum:
    W_BLOCK = 8                     # outputs
    KERNELS = 16                    # transformed together: FT_KERNELS


cdef inline Py_ssize_t weights_of(const Weights *job, Py_ssize_t deep, Py_ssize_t index) noexcept nogil:
    """Floats of the transformed weights of a phase; a line more for each point: a power of two would map all points to one set of the cache."""
    cdef const Tiling *t = job.tiling
    return (t.depth.start[deep + 1] - t.depth.start[deep]) * job.phase[index].before[16] * t.inputs * t.outputs + 16 * POINT_GAP


cdef float *weights_at(const Weights *job, Py_ssize_t deep, Py_ssize_t index) noexcept nogil:
    cdef float *u = job.u
    cdef Py_ssize_t d, i, all = job.tiling.y.phases * job.tiling.x.phases
    for d in range(deep + 1):
        for i in range(all if d < deep else index):
            u += weights_of(job, d, i)
    return u


cdef void transform_weights(Weights *job, const float *g, Py_ssize_t o, Py_ssize_t c, int n) noexcept nogil:
    """All filters of the kernels of output o and n inputs from c on."""
    cdef Tiling *t = job.tiling
    cdef Py_ssize_t deep, index, i, k, taps, first, all = t.y.phases * t.x.phases
    cdef int f, p, q, high = t.y.high
    cdef int own[9]
    cdef float *u = job.u
    cdef float *to[16]
    cdef Phase *phase
    cdef Filter *filter
    for deep in range(t.depth.phases):
        first, taps = t.depth.start[deep], t.depth.start[deep + 1] - t.depth.start[deep]
        for index in range(all):
            phase = &job.phase[index]
            for i in range(taps):
                for f in range(phase.count):
                    filter = &phase.filter[f]
                    for p in range(filter.y.taps):
                        for q in range(filter.x.taps):
                            own[p * 3 + q] = <int>((t.depth.tap[first + i] * t.height + filter.y.tap[p]) * t.width + filter.x.tap[q])
                    for p in range(1 if high == 1 else filter.y.taps + 1):
                        for q in range(filter.x.taps + 1):
                            k = filter.point[p * 4 + q]
                            to[p * 4 + q] = u + k * POINT_GAP + taps * t.inputs * (phase.before[k] * t.outputs + o * phase.terms[k]) \
                                + (i * phase.terms[k] + filter.at[p * 4 + q]) * t.inputs + c
                    ft_winograd_weight(high, filter.y.taps, filter.x.taps, g, own, n, to)
            u += weights_of(job, deep, index)


cdef void weights(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Transforms the weights of some blocks of outputs. Rows of u are written from their beginnings to their ends, a line of memory of each
    at a time; a gradient's weights lie by input, so that it takes a few outputs together, which share lines of w."""
    cdef Weights *job = <Weights *>context
    cdef Tiling *t = job.tiling
    cdef Py_ssize_t block, c, o, first, last, together = W_BLOCK if job.gradient else 1
    cdef int n
    cdef const float *w
    cdef float g[MAXTAPS * KERNELS]
    for block in range(begin, end):
        first = block * W_BLOCK
        while first < min(t.outputs, (block + 1) * W_BLOCK):
            last = min(t.outputs, first + together)
            for c in range(0, t.inputs, 16):
                n = <int>min(KERNELS, t.inputs - c)
                for o in range(first, last):
                    # w is [outputs][inputs][taps], for a gradient [inputs][outputs][taps]
                    w = job.w + (c * t.outputs + o if job.gradient else o * t.inputs + c) * t.taps
                    if not ft_kernels_by_tap(w, t.taps * (t.outputs if job.gradient else 1), <int>t.taps, n, g):
                        job.finite = False
                    transform_weights(job, g, o, c, n)
            first = last


cdef Py_ssize_t weights_floats(const Weights *job) noexcept nogil:
    """Of all phases."""
    cdef Py_ssize_t deep, index, total = 0
    for deep in range(job.tiling.depth.phases):
        for index in range(job.tiling.y.phases * job.tiling.x.phases):
            total += weights_of(job, deep, index)
    return total


cdef bint make_weights(Weights *job) noexcept nogil:
    """Fills `u`; False where a weight is not finite."""
    job.finite = True
    parallel_for((job.tiling.outputs + W_BLOCK - 1) // W_BLOCK, max(1, 2048 // job.tiling.inputs), weights, job)
    return job.finite
