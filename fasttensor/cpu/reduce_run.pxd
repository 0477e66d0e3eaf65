# A planned reduction, and the loops that run it.
cdef extern from "reduce_load.h" nogil:
    enum:
        K_INT, K_FLOAT, K_DOUBLE, K_C64, K_C128
    ctypedef struct ft_reduction:
        void (*start)(void *lanes, Py_ssize_t m) noexcept nogil
        void (*start_acc)(void *acc, Py_ssize_t m) noexcept nogil
        void (*row)(const void *x, Py_ssize_t n, void *acc, const void *center, double par) noexcept nogil
        void (*cols)(const void *x, Py_ssize_t m, void *lanes, const void *center, double par) noexcept nogil
        void (*cols4)(const void *x, Py_ssize_t step, Py_ssize_t m, void *lanes, const void *center, double par) noexcept nogil
        void (*fold)(void *acc, const void *lanes, Py_ssize_t m) noexcept nogil
        void (*merge)(void *acc, const void *other, Py_ssize_t m) noexcept nogil
        int acc_size, lane_size
    const signed char FT_SIZE[12]
    const signed char FT_KIND_SIZE[5]
    const signed char FT_KIND_CODE[5]
    int ft_kind_of(int code)
    const void *ft_load(int code, int kind, const char *p, Py_ssize_t step, Py_ssize_t n, void *dst)
    void ft_finish(const void *acc, int op, int kind, int post, double par, const void *center, Py_ssize_t m,
                   char *out, int code, Py_ssize_t step, Py_ssize_t whole)
    void ft_centers(const void *acc, int op, int kind, double count, Py_ssize_t m, void *center, double *rest)
    void ft_recenter(void *acc, double count, Py_ssize_t m, const double *rest)

cdef enum:
    MAXD = 64
    UNIT = 4096         # elements of a row folded before the total moves to the accumulator
    LOAD = 512          # elements converted at a time
    WIDTH = 1024        # columns side by side; fewer where two stages read them twice
    FOLD = 64           # rows added to the lanes of a block before they move to the accumulator

cdef struct Plan:
    int nk, nr, code, kind, op, first, post, out_code, out2_code
    bint rows
    Py_ssize_t ksize[MAXD]
    Py_ssize_t kstep[MAXD]
    Py_ssize_t kout[MAXD]
    Py_ssize_t rsize[MAXD]
    Py_ssize_t rstep[MAXD]
    Py_ssize_t n_out, n_red
    Py_ssize_t width, blocks        # columns of a block, blocks in the innermost kept dimension
    Py_ssize_t pieces, units        # of a row; of the whole reduced space
    Py_ssize_t groups, group        # number of groups of units, units in one
    Py_ssize_t n_tasks
    const char *x
    char *out
    char *out2                      # the first stage's result (mean), or NULL
    char *acc                       # [groups][n_out] accumulators where groups > 1
    char *center                    # [n_out] centers where groups > 1
    double *rest                    # [n_out] what rounding took from them
    int stage
    double par


cdef int execute(Plan *p) except -1 nogil
# The loops themselves, for what needs no plan.
cdef const ft_reduction *loops_of(int op, int kind) noexcept nogil
