# Integer convolution.
from fasttensor.cpu.conv.lattice cimport Geometry

cdef void exact_forward(const Geometry *geo, const void *x, const void *w, const void *bias, void *out, int code) noexcept nogil
cdef void exact_input(const Geometry *geo, const void *g, const void *w, const void *bias, void *out, int code) noexcept nogil
cdef void exact_weight(const Geometry *geo, const void *x, const void *g, void *out, int code) noexcept nogil
