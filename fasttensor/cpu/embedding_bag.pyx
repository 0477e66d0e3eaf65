"""Rows of a table combined over bags: sums, means and maxima without the rows in between.

A bag is a run of positions in an index, from offsets[b] to the start of the next one; a two-dimensional index has a bag a
row. Backward numbers the bags of all positions once and adds up by row of the table (`embedding_backward`).
"""
from libc.stdint cimport int64_t
from fasttensor._core.dtype cimport INT64, FLOAT16, FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.index_loops cimport *

cdef extern from "bag_rows.h" nogil:
    ctypedef void (*ft_bag_sum_fn)(const char *, Py_ssize_t, const int64_t *, Py_ssize_t, const void *, Py_ssize_t, int64_t, int,
                                   char *, Py_ssize_t) noexcept nogil
    ctypedef void (*ft_bag_max_fn)(const char *, Py_ssize_t, const int64_t *, Py_ssize_t, int64_t, char *, int64_t *,
                                   Py_ssize_t) noexcept nogil
    ctypedef double (*ft_bag_dot_fn)(const char *, const char *, Py_ssize_t) noexcept nogil
    const ft_bag_sum_fn FT_BAG_SUM[4]
    const ft_bag_max_fn FT_BAG_MAX[4]
    const ft_bag_dot_fn FT_BAG_DOT[4]

cdef enum:
    SUM = 0
    MEAN = 1
    MAX = 2
    NEAR = 1 << 18                   # bytes


cdef struct Bags:
    const int64_t *ix
    const int64_t *offsets           # NULL: every bag has `size` positions
    Py_ssize_t n, bags, used, size   # positions; bags; positions that are in a bag
    Py_ssize_t skip
    bint ahead                       # rows are fetched before their turn: the table is larger than a cache near by
    bint closed                      # offsets has the end of the last bag
    const char *table
    Py_ssize_t step, width, item
    const char *factors
    Py_ssize_t factor_item
    int mode, code
    char *out
    int64_t *where


cdef inline void bounds(const Bags *k, Py_ssize_t b, Py_ssize_t *begin, Py_ssize_t *end) noexcept nogil:
    if k.offsets == NULL:
        begin[0], end[0] = b * k.size, (b + 1) * k.size
    else:
        begin[0] = k.offsets[b]
        end[0] = k.offsets[b + 1] if b + 1 < k.bags or k.closed else k.n


cdef void bags_range(void *context, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Bags *k = <Bags *>context
    cdef Py_ssize_t b, begin, end, line = k.width * k.item
    cdef const char *factors = NULL
    for b in range(first, last):
        bounds(k, b, &begin, &end)
        if k.mode == MAX:
            FT_BAG_MAX[k.code - FLOAT16](k.table, k.step, k.ix + begin, end - begin, k.skip, k.out + b * line,
                                         NULL if k.where == NULL else k.where + b * k.width, k.width)
        else:
            if k.factors != NULL:
                factors = k.factors + begin * k.factor_item
            FT_BAG_SUM[k.code - FLOAT16](k.table, k.step, k.ix + begin, k.used - begin if k.ahead else 0, factors,
                                         end - begin, k.skip, k.mode == MEAN, k.out + b * line, k.width)


cdef int read(Bags *k, Tensor ix, Tensor offsets, bint closed, Py_ssize_t rows) except -1:
    """The bags of an index; both tensors are int64 and contiguous. Checks the offsets and every number."""
    cdef Py_ssize_t b, begin, end, bad = -1
    k.ix, k.n, k.closed, k.offsets = <const int64_t *>ix.ptr, ix.count, closed, NULL
    if offsets is None:
        k.bags, k.size, k.used = ix.sizes[0], ix.sizes[1], ix.count
    else:
        k.offsets, k.bags = <const int64_t *>offsets.ptr, offsets.count - closed
        k.used = k.n if not closed else k.offsets[k.bags]
        if k.used > k.n:
            raise RuntimeError(f"embedding_bag(): offsets[-1] can not be greater than input's length ({k.n}) but got {k.used}")
        if k.bags and k.offsets[0] != 0:
            raise RuntimeError(f"embedding_bag(): offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
                               f"start from position 0. However, got {k.offsets[0]}")
        for b in range(k.bags):
            bounds(k, b, &begin, &end)
            if not 0 <= begin <= end <= k.n:
                raise RuntimeError(f"embedding_bag(): offsets must not decrease nor exceed the input's length {k.n}, "
                                   f"got {offsets.tolist()}")
        if k.bags == 0:
            k.used = 0
    if not ft_within(k.ix, k.used, rows):
        bad = 0
        while 0 <= k.ix[bad] < rows:
            bad += 1
    if bad >= 0:
        raise RuntimeError(f"embedding_bag(): index {bad} of input takes value {k.ix[bad]} which is not in the valid range [0, {rows})")
    return 0


cdef Tensor plain(Tensor t):
    return None if t is None else contiguous(cast(t, INT64))


def embedding_bag(Tensor weight, Tensor index, Tensor offsets, Tensor factors, int mode, Py_ssize_t padding_idx, bint closed,
                  bint positions):
    """(result [bags, width], for maxima with `positions` the rows they came from, int64, -1 in empty bags, or None).

    weight: floating, [rows, width]; index: [bags, size], or [n] with offsets [bags], [bags + 1] where `closed`; factors: one a
    position, or None; mode: 0 sum, 1 mean, 2 maximum. Positions of row padding_idx are left out."""
    cdef Bags k
    cdef Tensor ix = plain(index), starts = plain(offsets), table = weight, f = None, out, where = None
    cdef Py_ssize_t shape[2]
    if not FLOAT16 <= weight.code <= FLOAT64:
        raise RuntimeError(f"embedding_bag(): Expected weight to be float16, bfloat16, float32 or float64, got {describe(weight)}; "
                           "convert with .float()")
    read(&k, ix, starts, closed, weight.sizes[0])
    if table.steps[1] != 1:
        table = contiguous(weight)
    k.code, k.item, k.width, k.mode, k.skip = weight.code, ITEMSIZE[weight.code], weight.sizes[1], mode, padding_idx
    k.table, k.step = table.ptr, table.steps[0] * k.item
    k.ahead = table.sizes[0] * k.step > NEAR
    k.factors, k.where, k.factor_item = NULL, NULL, 8 if k.code == FLOAT64 else 4
    if factors is not None:
        f = contiguous(cast(factors, FLOAT64 if k.code == FLOAT64 else FLOAT32))
        k.factors = f.ptr
    shape[0], shape[1] = k.bags, k.width
    out = new_tensor(2, shape, weight.code, weight.dev)
    k.out = out.ptr
    if mode == MAX and positions:
        where = new_tensor(2, shape, INT64, weight.dev)
        k.where = <int64_t *>where.ptr
    if out.count == 0:
        return out, where
    if k.used * k.width < BIG:
        bags_range(&k, 0, k.bags)
    else:
        with nogil:
            parallel_for(k.bags, 1 + GRAIN // (1 + k.used * k.width // k.bags), bags_range, &k)
    return out, where


def bag_numbers(Tensor weight, Tensor index, Tensor offsets, bint mean, Py_ssize_t padding_idx, bint closed):
    """(the bag of every position that is in one, int64; where `mean`, one over the number of rows in that bag, else None).

    The numbers of a mean are in the type that weight's gradients are added in."""
    cdef Bags k
    cdef Tensor ix = plain(index), starts = plain(offsets), bag, share = None
    cdef Py_ssize_t b, i, begin, end, kept
    cdef int64_t *p
    read(&k, ix, starts, closed, weight.sizes[0])
    bag = new_tensor(1, &k.used, INT64, weight.dev)
    p = <int64_t *>bag.ptr
    if mean:
        share = new_tensor(1, &k.used, FLOAT64 if weight.code == FLOAT64 else FLOAT32, weight.dev)
    for b in range(k.bags):
        bounds(&k, b, &begin, &end)
        kept = 0
        for i in range(begin, end):
            p[i] = b
            kept += k.ix[i] != padding_idx
        if mean and share.code == FLOAT64:
            for i in range(begin, end):
                (<double *>share.ptr)[i] = 1.0 / kept if kept else 0.0
        elif mean:
            for i in range(begin, end):
                (<float *>share.ptr)[i] = <float>1 / kept if kept else <float>0
    return bag, share


def bag_dots(Tensor g, Tensor weight, Tensor index, Tensor bag, Py_ssize_t padding_idx):
    """The product of g[bag[i]] and weight[index[i]] for every position i of index, which has n positions: weight's dtype [n].

    Positions of row padding_idx and those without a bag get 0. What bag_numbers checked is not checked again."""
    cdef int code = FLOAT64 if weight.code == FLOAT64 else FLOAT32
    cdef Tensor ix = plain(index), gc = contiguous(cast(g, weight.code)), table = contiguous(weight), out
    cdef Py_ssize_t i, line = weight.sizes[1] * ITEMSIZE[weight.code], n = ix.count
    cdef const int64_t *p = <const int64_t *>ix.ptr
    cdef const int64_t *q = <const int64_t *>bag.ptr
    cdef double v
    out = new_tensor(1, &n, code, weight.dev)
    with nogil:
        for i in range(n):
            v = 0
            if i < bag.count and p[i] != padding_idx:
                v = FT_BAG_DOT[weight.code - FLOAT16](gc.ptr + q[i] * line, table.ptr + p[i] * line, weight.sizes[1])
            if code == FLOAT64:
                (<double *>out.ptr)[i] = v
            else:
                (<float *>out.ptr)[i] = <float>v
    return cast(out, weight.code)
