# Matrix products on raw memory, any strides (in elements), any real dtype, batched, in parallel.

cdef enum:
    MAX_BATCH_DIMS = 64

cdef extern from "gemm/kernel_types.h":
    ctypedef union ft_num:
        float f
        double d
        unsigned long long u
    ctypedef struct ft_tile:
        const void *a
        const void *b
        const void *d
        void *c
        Py_ssize_t ars, acs, ldb, crs, ccs, drs, dcs
        ft_num alpha, beta
        int relu, plain, turned
    ctypedef struct ft_kernel:
        int mr, nr, lanes, partial, stored, computed, turns
        void (*pack)(void *dst, Py_ssize_t width, const void *src, Py_ssize_t ws, Py_ssize_t ks, Py_ssize_t w,
                     Py_ssize_t k) noexcept nogil
        void (*run)(const ft_tile *t, Py_ssize_t k, Py_ssize_t m, Py_ssize_t n) noexcept nogil
        void (*dot)(const ft_tile *t, Py_ssize_t k, Py_ssize_t m, Py_ssize_t n) noexcept nogil

ctypedef enum Activation:
    ACT_NONE = 0
    ACT_RELU = 1
    ACT_GELU = 2            # exact, with erf
    ACT_GELU_TANH = 3
    ACT_SILU = 4
    ACT_TANH = 5
    ACT_SIGMOID = 6

# C = activation(alpha * A B + beta * D) for every item of the batch.
cdef struct Product:
    int code                                # dtype of A and B; C and D: the same, float32 for half types
    Py_ssize_t m, n, k
    const char *a
    const char *b
    char *c
    const char *d                           # NULL: no addend (and NaN in it would not count)
    Py_ssize_t ars, acs, brs, bcs, crs, ccs, drs, dcs
    ft_num alpha, beta
    int activation
    int batch_rank                          # 0: one product
    Py_ssize_t batch                        # number of products
    const Py_ssize_t *batch_sizes           # outermost first
    const Py_ssize_t *batch_a               # steps in elements
    const Py_ssize_t *batch_b
    const Py_ssize_t *batch_c
    const Py_ssize_t *batch_d

# Fills the defaults: alpha 1, no addend, no batch, C row-major.
cdef void start_product(Product *g, int code, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k) noexcept nogil
cdef void set_scalars(Product *g, double alpha, double beta) noexcept nogil
# Runs it on the threads of parallel_for; serial when small or called inside a parallel body. Returns -1
# when scratch memory could not be had, 0 otherwise.
cdef int multiply(Product *g) noexcept nogil

# The most common case for other kernels: C[m, n] (row-major) = A B + beta * C in float32, serial.
cdef int sgemm(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const float *a, Py_ssize_t ars, Py_ssize_t acs,
               const float *b, Py_ssize_t brs, Py_ssize_t bcs, float beta, float *c, Py_ssize_t crs) noexcept nogil

# The register tiles of a dtype, for kernels that walk over blocks themselves.
cdef const ft_kernel *kernel_of(int code) noexcept nogil
