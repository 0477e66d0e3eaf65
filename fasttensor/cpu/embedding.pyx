"""Gradients of a table whose rows were picked by an index (embedding, x[i], index_select).

Wide rows: positions are grouped by row with a counting sort; each row of the result is then written once, in the order of
the positions, whichever thread does it. Narrow rows cost less than their place in the groups: they are added where they
belong as they come."""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, calloc, free
from libc.string cimport memcpy, memset
from fasttensor._core.dtype cimport INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.index_loops cimport *

cdef extern from "bag_rows.h" nogil:
    void ft_add_times(char *d, const char *s, Py_ssize_t n, double v, int wide)

cdef enum:
    NARROW = 32                      # bytes of a row that is added without being grouped


cdef struct Rows:
    const char *g
    char *out
    Py_ssize_t width, item
    Py_ssize_t *start
    Py_ssize_t *order
    double *factor                   # in the order of `order`, or NULL
    ft_acc_fn add
    bint mean
    int code


cdef void rows_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Rows *k = <Rows *>context
    cdef Py_ssize_t row, j, i, block = k.width * k.item, n
    cdef char *d
    for row in range(begin, end):
        d = k.out + row * block
        j, n = k.start[row], k.start[row + 1] - k.start[row]
        if n == 0:
            memset(d, 0, block)
            continue
        if k.factor != NULL:
            memset(d, 0, block)
            for i in range(j, j + n):
                ft_add_times(d, k.g + k.order[i] * block, k.width, k.factor[i], k.code == FLOAT64)
        else:
            memcpy(d, k.g + k.order[j] * block, block)
            for i in range(j + 1, j + n):
                k.add(d, k.item, k.g + k.order[i] * block, k.item, k.width)
        if k.mean and n > 1:
            if k.code == FLOAT32:
                for i in range(k.width):
                    (<float *>d)[i] /= <float>n
            elif k.code == FLOAT64:
                for i in range(k.width):
                    (<double *>d)[i] /= <double>n


cdef void narrow_rows(Rows *k, const int64_t *p, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t padding) noexcept nogil:
    """Adds each of n rows of g where its index says."""
    cdef Py_ssize_t i, r, block = k.width * k.item
    for i in range(n):
        r = p[i] + rows if p[i] < 0 else p[i]
        if 0 <= r < rows and r != padding:
            k.add(k.out + r * block, k.item, k.g + i * block, k.item, k.width)


def embedding_backward(Tensor g, Tensor index, Py_ssize_t rows, Py_ssize_t padding_idx=-1, bint scale_by_freq=False,
                       Tensor bag=None, Tensor factor=None):
    """sum over positions i of g[i] into row index[i] of a result [rows, width]; rows equal to padding_idx get nothing.
    index: int64 in [-rows, rows), already checked; g: index.shape + [width...], or, for a 1-d index, [bags, width...] where `bag`
    (int64, contiguous) says which row of g counts for each of the first bag.count positions. factor: what g is multiplied by
    at each of them, for float g."""
    cdef Rows k
    cdef Tensor ix = contiguous(cast(index, INT64)), out, gc, f = None
    cdef Py_ssize_t n = ix.count if bag is None else bag.count, i, r
    cdef Py_ssize_t shape[64]
    cdef int64_t *source = NULL if bag is None else <int64_t *>bag.ptr
    cdef int lead = index.rank if bag is None else 1
    cdef bint failed
    cdef int d, code = g.code
    cdef int64_t *p = <int64_t *>ix.ptr
    # Rounding after every addition would lose what small gradients add.
    gc = contiguous(cast(g, FLOAT32 if code == FLOAT16 or code == BFLOAT16 else code))
    k.width, k.code = 1, gc.code
    shape[0] = rows
    for d in range(lead, g.rank):
        shape[1 + d - lead] = g.sizes[d]
        k.width *= g.sizes[d]
    out = new_tensor(1 + g.rank - lead, shape, gc.code, g.dev)
    if out.count == 0:
        return cast(out, code)
    if k.width * ITEMSIZE[gc.code] <= NARROW and source == NULL and factor is None and not scale_by_freq:
        k.g, k.out, k.item, k.add = gc.ptr, out.ptr, ITEMSIZE[gc.code], FT_ACC[OP_ADD][gc.code]
        with nogil:
            memset(out.ptr, 0, out.count * k.item)
            if k.width > 1 or padding_idx >= 0 or not ft_within(p, n, rows):
                narrow_rows(&k, p, n, rows, padding_idx)
            else:
                FT_SCAT[OP_ADD][gc.code](k.out, 0, k.item, <const char *>p, sizeof(int64_t), rows, k.g, k.item, n)
        return cast(out, code)
    if factor is not None:
        f = contiguous(cast(factor, FLOAT64))
    k.start = <Py_ssize_t *>calloc(rows + 2, sizeof(Py_ssize_t))
    k.order = <Py_ssize_t *>malloc((n + 1) * sizeof(Py_ssize_t))
    k.factor = NULL
    failed = k.start == NULL or k.order == NULL
    if factor is not None:
        k.factor = <double *>malloc((n + 1) * sizeof(double))
        failed = failed or k.factor == NULL
    if failed:
        free(k.start)
        free(k.order)
        free(k.factor)
        raise no_room(f"embedding: no memory to group the indices into {n} rows")
    k.g, k.out, k.item, k.add, k.mean = gc.ptr, out.ptr, ITEMSIZE[gc.code], FT_ACC[OP_ADD][gc.code], scale_by_freq
    with nogil:
        # Two slots ahead: placing the positions moves each start to its final value.
        for i in range(n):
            r = p[i] + rows if p[i] < 0 else p[i]
            if 0 <= r < rows and r != padding_idx:
                k.start[r + 2] += 1
        for r in range(rows + 1):
            k.start[r + 1] += k.start[r]
        for i in range(n):
            r = p[i] + rows if p[i] < 0 else p[i]
            if 0 <= r < rows and r != padding_idx:
                k.order[k.start[r + 1]] = i if source == NULL else source[i]
                if k.factor != NULL:
                    k.factor[k.start[r + 1]] = (<double *>f.ptr)[i]
                k.start[r + 1] += 1
        if out.count < BIG:
            rows_range(&k, 0, rows)
        else:
            parallel_for(rows, 1 + GRAIN // k.width, rows_range, &k)
    free(k.start)
    free(k.order)
    free(k.factor)
    return cast(out, code)
