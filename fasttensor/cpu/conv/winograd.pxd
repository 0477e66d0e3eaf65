# 3 x 3 convolution with stride 1 in two dimensions by Winograd's minimal filtering.
from fasttensor.cpu.conv.lattice cimport Geometry

cdef bint winograd_fits(const Geometry *geo, Py_ssize_t inputs, Py_ssize_t outputs, const Py_ssize_t *out) noexcept nogil
cdef bint winograd(const Geometry *geo, const float *x, const float *w, const float *bias, float *out, bint gradient) except -1
