# The lists of windows, read once for a kernel.
cdef struct Windows:
    Py_ssize_t size[3]                  # input extents
    Py_ssize_t out[3]
    Py_ssize_t *low[3]
    Py_ssize_t *high[3]
    Py_ssize_t *extent[3]
    Py_ssize_t dil[3]
    Py_ssize_t first, last, step        # columns first .. last - 1 have full windows `step` apart
    Py_ssize_t width                    # inputs of a full window
    Py_ssize_t planes, volume, outs
    Py_ssize_t divisor
    bint count_padding
    Py_ssize_t *memory

cdef bint start(Windows *w, tuple sizes, tuple windows) except False       # w.memory is the caller's to free
cdef Py_ssize_t divisor(const Windows *w, Py_ssize_t o0, Py_ssize_t o1, Py_ssize_t o2) noexcept nogil
