from libc.stdint cimport uint32_t, uint64_t, int64_t
from fasttensor._core.parallel cimport range_fn
from fasttensor.cpu.generator cimport Generator

cdef extern from "random_fill.h":
    ctypedef struct ft_fill:
        const uint32_t *words
        char *out
        const char *in_ "in"
        unsigned char *mask
        double a, b
        uint64_t range
        int64_t base

cdef enum:
    SERIAL = 4096               # elements below which threads and the GIL's release cost more than they give

# Runs body over n indices of `elements` elements and `words` words each; steps in bytes.
cdef bint fill(Generator g, ft_fill *f, range_fn body, Py_ssize_t n, int words, Py_ssize_t out_step, Py_ssize_t in_step,
               Py_ssize_t elements, Py_ssize_t grain) except False
cdef int64_t threshold(double p) noexcept nogil     # 53 random bits lie below it with probability p
