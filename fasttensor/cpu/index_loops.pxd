# Typed rows of index_loops.h, shared by the indexing kernels.
from libc.stdint cimport int64_t, uint8_t

cdef extern from "index_loops.h" nogil:
    ctypedef void (*ft_acc_fn)(char *, Py_ssize_t, const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_put_fn)(char *, const Py_ssize_t *, const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef Py_ssize_t (*ft_scat_fn)(char *, Py_ssize_t, Py_ssize_t, const char *, Py_ssize_t, Py_ssize_t,
                                      const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef Py_ssize_t (*ft_gath_fn)(char *, Py_ssize_t, const char *, Py_ssize_t, Py_ssize_t,
                                      const char *, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_pick_fn)(char *, const char *, const Py_ssize_t *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_nz_fn)(const char *, uint8_t *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_squeeze_fn)(char *, const char *, const uint8_t *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_fill_fn)(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept nogil
    const ft_fill_fn FT_FILLS[5]
    const ft_acc_fn FT_ACC[5][12]
    const ft_put_fn FT_PUT[5][12]
    const ft_scat_fn FT_SCAT[5][12]
    const ft_gath_fn FT_GATH[5]
    const ft_pick_fn FT_PICKS[5]
    const ft_nz_fn FT_NZS[12]
    const ft_squeeze_fn FT_SQUEEZE[5]
    const ft_squeeze_fn FT_SPREAD[5]
    Py_ssize_t ft_add_offsets(Py_ssize_t *off, const int64_t *ix, Py_ssize_t n, Py_ssize_t size, Py_ssize_t step, int wrap, int first)
    bint ft_memory_order(int rank, const Py_ssize_t *shape, int operands, const Py_ssize_t *steps, int *order)
    bint ft_within(const int64_t *ix, Py_ssize_t n, Py_ssize_t size)
    Py_ssize_t ft_count_mask(const uint8_t *m, Py_ssize_t n)
    ctypedef void (*ft_reverse_fn)(char *, const char *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_weave_fn)(char *, char **, Py_ssize_t, Py_ssize_t, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_each_fn)(char *, const char *, Py_ssize_t, Py_ssize_t) noexcept nogil
    const ft_reverse_fn FT_REVERSE[5]
    const ft_weave_fn FT_WEAVE[5]
    const ft_each_fn FT_EACH[5]
    void ft_copy(char *d, const char *s, Py_ssize_t n)
    void ft_fetch(const char *p, Py_ssize_t n)
    int ft_log2(Py_ssize_t itemsize)
    void ft_lower(Py_ssize_t *slot, Py_ssize_t v)

cdef enum:
    OP_SET = 0
    OP_ADD = 1
    OP_MUL = 2
    OP_MIN = 3
    OP_MAX = 4
    AHEAD = 8           # rows that are fetched before their turn
    BIG = 4096          # elements from which the GIL is released
    GRAIN = 32768       # elements a chunk
