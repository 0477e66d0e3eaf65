# The operation table's compiled rows, and the one way to run their loops on the CPU.
from fasttensor._core.tensor cimport Tensor
from fasttensor._core.iterator cimport plane_fn

cdef extern from "elementwise.h" nogil:
    ctypedef void (*ft_loop)(char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept nogil
    ctypedef struct ft_op:
        const char *name
        unsigned char nin, nparam, promote, zero_check, traits, mask
        unsigned char saves[3]
        ft_loop loop[12]
        unsigned char out[12]
        ft_loop dx[3][12]
        const char *label[3]
        unsigned char identity, same_out
        int bool_form
        const char *refuses[2]
        const char *bools[2]
        unsigned char fits
    enum:
        FT_ONE_DTYPE, FT_WIDE_NUMBER, FT_NO_BOOLS, FT_BOOL_FORM, FT_NO_COMPLEX, FT_REVERSED, FT_FITS_DTYPE, FT_FITS_COMPUTING, FT_FITS_NARROW
    plane_fn ft_plane_of(ft_loop loop)
    int FT_NOPS

cdef const ft_op *table() noexcept nogil
# n contiguous elements; byte strides `s` are the item sizes, or 0 for a scalar operand
cdef void run_flat(ft_loop loop, int nop, char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept
# any strides: `out` has the broadcast shape; operands given as Tensors or raw scalars (item NULL: tensor)
cdef bint run_strided(ft_loop loop, Tensor out, Tensor a, void *sa, Tensor b, void *sb, Tensor c, void *sc,
                      Tensor d, int nin, const double *par) except False
