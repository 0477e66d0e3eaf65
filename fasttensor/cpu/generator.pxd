from libc.stdint cimport uint32_t, uint64_t, int32_t, int64_t
from fasttensor._core.tensor cimport Tensor

cdef extern from "mt19937.h":
    ctypedef struct ft_mt:
        uint32_t state[624]
        uint64_t seed
        int32_t left
        uint32_t next
    uint32_t ft_temper(uint32_t y) noexcept nogil
    void ft_mt_seed(ft_mt *m, uint64_t seed) noexcept nogil
    void ft_mt_fill(ft_mt *m, uint32_t *out, int64_t n) noexcept nogil
    uint32_t ft_mt_next(ft_mt *m) noexcept nogil
    uint64_t ft_mt_next64(ft_mt *m) noexcept nogil
    double ft_mt_uniform(ft_mt *m) noexcept nogil

cdef class Generator:
    cdef ft_mt engine
    cdef bint has_normal        # a second normal of the last pair waits
    cdef double next_normal
    cdef bint has_float
    cdef float next_float
    cdef double normal(self) noexcept

cdef Generator generator_of(object g)       # the default generator for None
