# Weights as Winograd's small filters take them.
from fasttensor.cpu.conv.winograd_plan cimport Phase, Tiling

cdef enum:
    POINT_GAP = 16              # floats between points: by a power of two all would fall into one set of the cache

cdef struct Weights:
    Tiling *tiling
    Phase *phase                # of rows and columns
    const float *w              # [outputs][inputs][taps], for a gradient [inputs][outputs][taps]
    float *u                    # for each phase [point][outputs][tap of depth][filter][inputs]
    bint gradient
    bint finite

cdef Py_ssize_t weights_floats(const Weights *job) noexcept nogil
cdef float *weights_at(const Weights *job, Py_ssize_t deep, Py_ssize_t index) noexcept nogil
cdef bint make_weights(Weights *job) noexcept nogil
