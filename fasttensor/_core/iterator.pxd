# Walks up to MAX_OPERANDS strided operands together and hands loops plain inner rows.
from fasttensor._core.tensor cimport Tensor

cdef enum:
    MAX_OPERANDS = 8
    MAX_DIMS_IT = 64

ctypedef void (*loop_fn)(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept nogil

ctypedef void (*plane_fn)(char **p, const Py_ssize_t *s, const Py_ssize_t *across, Py_ssize_t n, Py_ssize_t rows, const double *par) noexcept nogil

cdef struct Iterator:
    int nop
    int rank                              # after coalescing; dimension 0 is the innermost
    Py_ssize_t count
    Py_ssize_t sizes[64]
    Py_ssize_t steps[8][64]               # bytes
    unsigned char item[8]                 # bytes of an operand's element, 0 where it stands for all of them or is not known
    bint move                             # the loop copies operand 1 to operand 0 bit by bit
    plane_fn plane                        # the loop's form that takes many rows at a call, or NULL
    char *ptr[8]

# Broadcast of the operands' shapes into `sizes` (returns the rank); raises RuntimeError
# naming `op` when they do not fit. `out` may be NULL-able: pass None where not given.
cdef int broadcast_sizes(str op, Tensor a, Tensor b, Tensor c, Py_ssize_t *sizes) except -1

cdef void start(Iterator *it, int rank, const Py_ssize_t *sizes) noexcept nogil
cdef void add_operand(Iterator *it, Tensor t) noexcept               # broadcasts t against the iterator's shape
cdef void add_scalar(Iterator *it, void *value) noexcept nogil       # stride 0 everywhere
cdef void add_raw(Iterator *it, char *ptr, const Py_ssize_t *byte_steps) noexcept nogil
cdef void finish(Iterator *it) noexcept nogil                        # reorders and coalesces dimensions
cdef void run(Iterator *it, loop_fn loop, const double *par, Py_ssize_t grain) noexcept   # grain: elements a chunk; takes care of GIL and threads
