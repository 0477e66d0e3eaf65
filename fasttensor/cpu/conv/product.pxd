# Matrix product of weights with windows of a lattice, written to strided outputs.
from fasttensor.cpu.conv.lattice cimport real, Tap

cdef struct Product:
    Py_ssize_t groups, images, m, k     # m outputs a group, each a sum of k products
    Py_ssize_t channels                 # that the k terms come from
    Py_ssize_t cnt[3]                   # output positions of one image
    Py_ssize_t q[3]                     # extents of the lattice's rows: position (d, h, w) is (d * q[1] + h) * q[2] + w
    const Py_ssize_t *off               # of the k terms in the lattice
    const Tap *taps                     # that the terms of a channel are
    const void *x
    Py_ssize_t xgroup, ximage           # elements
    bint exact                          # nothing may be read past the last image
    const void *w
    Py_ssize_t wgroup
    Py_ssize_t wrow                     # from one of the m outputs to the next
    const Py_ssize_t *woff              # of the k terms in a row of w, and AHEAD more; NULL where they lie side by side
    const void *bias                    # groups * m values or NULL
    void *out
    Py_ssize_t ogroup, oimage, orow     # elements; orow: from one of the m outputs to the next
    Py_ssize_t ostep[3]                 # elements from one position to the next

cdef enum:
    AHEAD = 24

cdef Py_ssize_t scratch_bytes() noexcept nogil          # for one thread
cdef void multiply(Product *p, void *scratch, const real *kind) noexcept nogil
