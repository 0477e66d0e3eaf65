# Convolution of each input channel by itself: groups == input channels.
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, real

cdef Py_ssize_t depthwise_scratch(const Geometry *geo, const Lattice *lat) noexcept nogil      # elements a thread
cdef int depthwise_forward(const Geometry *geo, const Lattice *lat, const real *x, const real *w, const real *bias, real *out,
                           real *scratch) except -1 nogil
cdef int depthwise_input(const Geometry *geo, const Lattice *lat, const real *g, const real *w, const real *bias, real *out,
                         real *scratch) except -1 nogil
cdef int depthwise_weight(const Geometry *geo, const Lattice *lat, const real *x, const real *g, real *out, real *scratch) except -1 nogil
