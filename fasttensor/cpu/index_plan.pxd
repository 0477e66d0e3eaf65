# The loops over what an index addresses.
from fasttensor._core.tensor cimport Tensor
from fasttensor.cpu.index_loops cimport ft_acc_fn, ft_pick_fn, ft_put_fn

cdef struct Plan:
    Py_ssize_t nb, ni, na                        # positions before, at and after the index
    int rb, ra                                   # dimensions before and after, coalesced
    Py_ssize_t bsize[64]
    Py_ssize_t bstep[64]                         # bytes
    Py_ssize_t asize[64]
    Py_ssize_t astep[64]
    Py_ssize_t *offs
    Py_ssize_t item
    char *x
    char *other                                  # result of a read, values of a write: contiguous ...
    bint scalar                                  # ... or one element
    bint ordered                                 # the result's dimensions lie in another order than its shape's
    ft_acc_fn row
    ft_put_fn put
    ft_pick_fn pick


cdef inline char *before(Plan *p, Py_ssize_t b) noexcept nogil:
    cdef int d
    cdef char *at = p.x
    for d in range(p.rb - 1, -1, -1):
        at += (b % p.bsize[d]) * p.bstep[d]
        b //= p.bsize[d]
    return at


cdef inline Py_ssize_t after(Plan *p, Py_ssize_t r) noexcept nogil:
    """Byte offset of row r over all dimensions after the index but the last."""
    cdef int d
    cdef Py_ssize_t at = 0
    for d in range(p.ra - 2, -1, -1):
        at += (r % p.asize[d]) * p.astep[d]
        r //= p.asize[d]
    return at


# Fills p (p.offs is the caller's to free) and the shape of the addressed part; returns its rank.
cdef int make_plan(Plan *p, Tensor x, object indices, bint wrap, str op, Py_ssize_t *shape, int *order) except -1
