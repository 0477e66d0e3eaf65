# Convolution by sums of Winograd's small filters.
from fasttensor.cpu.conv.lattice cimport Geometry

cdef bint winograd_fits(const Geometry *geo, bint gradient) noexcept nogil
cdef bint winograd(const Geometry *geo, const float *x, const float *w, const float *bias, float *out, bint gradient) except -1
