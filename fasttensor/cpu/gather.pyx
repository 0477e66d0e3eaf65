"""gather and scatter: one index an element, along one dimension.

Both walk the index tensor; the strides of the addressed tensor have a step of 0 along `dim`, and the index adds its own.
Chunks of a scatter split a dimension other than `dim`, so that no two can meet the same element and equal
indices keep their order. An index that is expanded over the last dimensions, index[:, None].expand(-1, width), is read once a
row: whole rows are then copied or added.
"""
from libc.stdint cimport int64_t
from fasttensor._core.dtype cimport INT64, INT32, ITEMSIZE
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, cast, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.copy cimport touches
from fasttensor.cpu.index_loops cimport *

cdef struct Walk:
    int rank, split              # split: the dimension cut into chunks
    Py_ssize_t sizes[64]
    Py_ssize_t dstep[64]         # bytes: result of a gather, addressed tensor of a scatter
    Py_ssize_t sstep[64]
    Py_ssize_t istep[64]
    char *d
    char *s
    char *ix
    Py_ssize_t item              # bytes of an element
    Py_ssize_t size, along       # of the addressed dimension, step in bytes
    ft_gath_fn gath
    ft_scat_fn scat
    ft_acc_fn acc                # of whole rows, where the index is expanded over the last dimension
    Py_ssize_t bad               # lowest position in the index that is out of bounds, or -1


cdef int64_t ZERO = 0


cdef void walk_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Walk *w = <Walk *>context
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t counter[64]
    cdef Py_ssize_t rows = 1, _, n, j, ds, ss, istep
    cdef int k, last = w.rank - 1
    cdef bint fetch = last > 0 and w.split == last and end - begin < w.sizes[last]
    cdef char *d = w.d + begin * w.dstep[w.split]
    cdef char *s = w.s + begin * w.sstep[w.split]
    cdef char *ix = w.ix + begin * w.istep[w.split]
    for k in range(w.rank):
        sizes[k] = end - begin if k == w.split else w.sizes[k]
        counter[k] = 0
        if k < last:
            rows *= sizes[k]
    n = end - begin if w.split == last else w.sizes[last]
    ds, ss, istep = w.dstep[last], w.sstep[last], w.istep[last]
    for _ in range(rows):
        if fetch:
            ft_fetch(ix + AHEAD * w.istep[last - 1], n * istep)
            ft_fetch(s + AHEAD * w.sstep[last - 1], n * ss)
        if istep == 0 and n > 1:
            j = (<int64_t *>ix)[0]
            if j < 0 or j >= w.size:
                j = 0
            else:
                if w.acc != NULL:
                    w.acc(d + j * w.along, ds, s, ss, n)
                elif ds == w.item and ss == w.item:
                    ft_copy(d, s + j * w.along, n * w.item)
                else:
                    w.gath(d, ds, s + j * w.along, ss, 0, <const char *>&ZERO, 0, 1, n)
                j = -1
        elif w.gath != NULL:
            j = w.gath(d, ds, s, ss, w.along, ix, istep, w.size, n)
        else:
            j = w.scat(d, ds, w.along, ix, istep, w.size, s, ss, n)
        if j >= 0:
            ft_lower(&w.bad, (ix + j * istep - w.ix) // <Py_ssize_t>sizeof(int64_t))
            return
        for k in range(last - 1, -1, -1):
            counter[k] += 1
            d += w.dstep[k]
            s += w.sstep[k]
            ix += w.istep[k]
            if counter[k] < sizes[k]:
                break
            d -= sizes[k] * w.dstep[k]
            s -= sizes[k] * w.sstep[k]
            ix -= sizes[k] * w.istep[k]
            counter[k] = 0


cdef Tensor long_index(Tensor index, str op):
    if index.code == INT32:
        index = cast(index, INT64)
    if index.code != INT64:
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index, got {describe(index)}; convert with .long()")
    return index


cdef int run_walk(Walk *w, Tensor index, int dim, Py_ssize_t size, bint any_split, str op) except -1:
    """Finishes w (steps are set) and runs it."""
    cdef int k, at = dim
    cdef Py_ssize_t work = 1 + index.count, grain
    w.ix, w.size, w.bad = index.ptr, size, -1
    w.rank = 0
    # Dimensions of size 1 take no part: rows of one element would be a call each.
    for k in range(index.rank):
        if k == dim:
            at = w.rank
        if index.sizes[k] == 1 and index.rank > 1:
            at = -1 if k == dim else at
            continue
        w.sizes[w.rank], w.istep[w.rank] = index.sizes[k], index.steps[k] * sizeof(int64_t)
        w.dstep[w.rank], w.sstep[w.rank] = w.dstep[k], w.sstep[k]
        w.rank += 1
    if w.rank == 0:
        w.rank, w.sizes[0], w.istep[0], w.dstep[0], w.sstep[0] = 1, 1, 0, 0, 0
    # Dimensions over which the index is expanded become one where the memory of both sides allows.
    while (w.rank - 2 > at and w.istep[w.rank - 1] == 0 and w.istep[w.rank - 2] == 0
           and w.dstep[w.rank - 2] == w.dstep[w.rank - 1] * w.sizes[w.rank - 1]
           and w.sstep[w.rank - 2] == w.sstep[w.rank - 1] * w.sizes[w.rank - 1]):
        w.rank -= 1
        w.sizes[w.rank - 1] *= w.sizes[w.rank]
        w.dstep[w.rank - 1], w.sstep[w.rank - 1] = w.dstep[w.rank], w.sstep[w.rank]
    w.split = 0
    if not any_split and w.rank > 1:
        w.split = 1 if at == 0 else 0
        for k in range(w.rank):
            if k != at and w.sizes[k] > w.sizes[w.split]:
                w.split = k
    grain = 1 + GRAIN // (1 + work // w.sizes[w.split]) if index.count else 1
    if w.split == w.rank - 1 and grain < 64:
        grain = 64 if w.sizes[w.split] > 64 else 32                  # pieces of rows that are worth a call and use whole lines of memory
    if index.count < BIG or (not any_split and w.split == at):
        walk_range(w, 0, w.sizes[w.split])
    else:
        with nogil:
            parallel_for(w.sizes[w.split], grain, walk_range, w)
    if w.bad >= 0:
        raise RuntimeError(f"{op}(): index {(<int64_t *>index.ptr)[w.bad]} is out of bounds for dimension {dim} with size {size} (index {describe(index)})")
    return 0


def gather(Tensor x, int dim, Tensor index):
    """out[i][j][k] = x[index[i][j][k]][j][k] (for dim 0). index has x's rank and fits x but along dim."""
    cdef Walk w
    cdef Tensor ix = long_index(index, "gather"), out
    cdef int k
    cdef Py_ssize_t item = ITEMSIZE[x.code]
    if ix.count and (ix.rank or 1) != (x.rank or 1):
        raise RuntimeError(f"gather(): index must have the same number of dimensions as input, got {describe(index)} for {describe(x)}")
    for k in range(ix.rank if x.rank and ix.count else 0):
        if k != dim and ix.sizes[k] > x.sizes[k]:
            raise RuntimeError(f"gather(): Size does not match at dimension {k}: expected index {list(index.shape)} to be "
                               f"no larger than self {list(x.shape)} apart from dimension {dim}")
    out = new_tensor(ix.rank, ix.sizes, x.code, x.dev)
    if out.count == 0:
        return out
    w.gath, w.scat, w.acc, w.item = FT_GATH[ft_log2(item)], NULL, NULL, item
    w.d, w.s = out.ptr, x.ptr
    w.dstep[0] = w.sstep[0] = w.along = 0
    for k in range(ix.rank):
        w.dstep[k] = out.steps[k] * item
        w.sstep[k] = 0 if k == dim or x.rank == 0 else x.steps[k] * item
    if x.rank:
        w.along = x.steps[dim] * item
    run_walk(&w, ix, dim, x.sizes[dim] if x.rank else 1, True, "gather")
    return out


def scatter(Tensor x, int dim, Tensor index, Tensor src, int how=OP_SET, str op="scatter"):
    """x[index[i][j][k]][j][k] = src[i][j][k] (for dim 0), in place. `how`: 0 set (the last of equal indices wins), 1 add,
    2 multiply, 3 minimum, 4 maximum. A src without dimensions is one value for all. Dtypes must agree."""
    cdef Walk w
    cdef Tensor ix = long_index(index, op), values = src
    cdef int k
    cdef bint scalar = src.rank == 0
    cdef Py_ssize_t item = ITEMSIZE[x.code]
    if src.code != x.code:
        raise RuntimeError(f"{op}(): Expected self.dtype to be equal to src.dtype, got {describe(x)} and {describe(src)}")
    if FT_SCAT[how][x.code] == NULL:
        raise NotImplementedError(f"{op}(): not implemented for {x.dtype}")
    if ix.count == 0:
        return x
    if (ix.rank or 1) != (x.rank or 1) or (not scalar and (ix.rank or 1) != (src.rank or 1)):
        raise RuntimeError(f"{op}(): Index tensor must have the same number of dimensions as self tensor and src, "
                           f"got index {describe(index)}, self {describe(x)}, src {describe(src)}")
    for k in range(ix.rank):
        if x.rank and k != dim and ix.sizes[k] > x.sizes[k] or not scalar and ix.sizes[k] > src.sizes[k]:
            raise RuntimeError(f"{op}(): Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart "
                               f"from dimension {dim} and to be no larger size than src {list(src.shape)}")
    if touches(values, x):
        values = new_like(src, src.code)
        copy_into(values, src)
    if touches(ix, x):             # read before it is written
        ix = new_like(ix, INT64)
        copy_into(ix, index)
    w.gath, w.scat, w.acc, w.item = NULL, FT_SCAT[how][x.code], FT_ACC[how][x.code], item
    w.d, w.s = x.ptr, values.ptr
    w.dstep[0] = w.sstep[0] = w.along = 0
    for k in range(ix.rank):
        w.sstep[k] = 0 if scalar else values.steps[k] * item
        w.dstep[k] = 0 if k == dim or x.rank == 0 else x.steps[k] * item
    if x.rank:
        w.along = x.steps[dim] * item
    run_walk(&w, ix, dim, x.sizes[dim] if x.rank else 1, False, op)
    return x
