# The gradients of a convolution's weight and bias.
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, Tap, real

cdef size_t weight_scratch(const Geometry *geo, Py_ssize_t images, Py_ssize_t *chunk, Py_ssize_t *splits,
                           size_t *sums, size_t itemsize) noexcept nogil
cdef void weight_gradient(const Geometry *geo, const Lattice *lat, const real *x, Py_ssize_t ximage, const real *g, Py_ssize_t images,
                          const Tap *taps, Py_ssize_t *off, real *transposed, real *partial, Py_ssize_t splits, bint fresh) noexcept nogil
cdef void weight_finish(const Geometry *geo, const real *partial, Py_ssize_t splits, real *out) noexcept nogil
cdef void channel_sums(const real *g, Py_ssize_t images, Py_ssize_t channels, Py_ssize_t plane, real *out) noexcept nogil
