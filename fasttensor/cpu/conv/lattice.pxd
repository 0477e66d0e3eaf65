# Shapes of a convolution, and its input laid out so that every kernel tap is one constant offset.
ctypedef fused real:
    float
    double

cdef struct Geometry:
    Py_ssize_t n, c, o, groups          # images, input channels, output channels
    Py_ssize_t size[3]                  # input; axis 0 is depth, 1 height, 2 width
    Py_ssize_t kernel[3]
    Py_ssize_t out[3]
    Py_ssize_t stride[3]
    Py_ssize_t pad[3]
    Py_ssize_t dil[3]

cdef struct Lattice:
    Py_ssize_t size[3]                  # of the source
    Py_ssize_t pad[3]                   # zeros in front
    Py_ssize_t stride[3]
    Py_ssize_t dil[3]
    Py_ssize_t slots[3]                 # residues modulo the stride that taps read
    Py_ssize_t q[3]                     # extents of one residue's part
    Py_ssize_t volume                   # elements of a source plane
    Py_ssize_t plane                    # elements of a prepared plane
    bint plain                          # the source serves as it is

cdef struct Tap:
    Py_ssize_t index                    # in the kernel's plane
    Py_ssize_t offset                   # in the lattice
    Py_ssize_t low, high                # lines of the output, low <= h < high, where it meets no padding above or below

cdef Py_ssize_t volume(const Py_ssize_t *v) noexcept nogil
cdef void settle(Lattice *lat) noexcept nogil        # what follows from sizes, slots and extents
cdef void forward_lattice(const Geometry *geo, Lattice *lat) noexcept nogil
cdef void gradient_lattice(const Geometry *geo, Lattice *lat) noexcept nogil
cdef Py_ssize_t forward_taps(const Geometry *geo, const Lattice *lat, Tap *taps) noexcept nogil
cdef Py_ssize_t gradient_taps(const Geometry *geo, const Lattice *lat, const Py_ssize_t *residue, Tap *taps) noexcept nogil
cdef void fill_plane(const real *src, real *dst, const Lattice *lat) noexcept nogil
cdef void fill_planes(const real *src, real *dst, Py_ssize_t planes, const Lattice *lat) noexcept nogil
