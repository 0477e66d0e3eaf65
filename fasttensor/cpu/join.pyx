"""Putting pieces together: cat, stack, roll."""
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.dispatch cimport copy_into, internal_overlap
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, new_view, contiguous, describe, wrote
from fasttensor._core.layout cimport channels_behind
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.copy cimport touches
from fasttensor.cpu.index_loops cimport *

cdef struct Piece:
    char *src
    Py_ssize_t block             # bytes of a row of the result that come from here
    Py_ssize_t step              # bytes to what the next row takes

cdef struct Joint:
    char *dst
    Piece *pieces
    int count
    Py_ssize_t width             # bytes of a row of the result


cdef void join_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Joint *j = <Joint *>context
    cdef Py_ssize_t row
    cdef int p
    cdef char *d
    for row in range(begin, end):
        d = j.dst + row * j.width
        for p in range(j.count):
            ft_copy(d, j.pieces[p].src + row * j.pieces[p].step, j.pieces[p].block)
            d += j.pieces[p].block


cdef void join_bytes(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """A single row, cut by bytes."""
    cdef Joint *j = <Joint *>context
    cdef Py_ssize_t at = 0, a, b
    cdef int p
    for p in range(j.count):
        a, b = max(begin, at), min(end, at + j.pieces[p].block)
        if a < b:
            memcpy(j.dst + a, j.pieces[p].src + (a - at), b - a)
        at += j.pieces[p].block


cdef struct Weave:
    char *dst
    char **parts
    Py_ssize_t count
    ft_weave_fn run


cdef void weave_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Weave *w = <Weave *>context
    w.run(w.dst, w.parts, w.count, begin, end)


cdef int weave(Joint *j, Py_ssize_t rows, Py_ssize_t item) except -1:
    """Rows that take one element of each piece."""
    cdef Weave w
    cdef int p
    w.parts = <char **>malloc(j.count * sizeof(char *))
    if w.parts == NULL:
        free(j.pieces)
        raise no_room("cat: no memory for the list of tensors")
    for p in range(j.count):
        w.parts[p] = j.pieces[p].src
    w.dst, w.count, w.run = j.dst, j.count, FT_WEAVE[ft_log2(item)]
    if rows * j.count < BIG:
        weave_range(&w, 0, rows)
    else:
        with nogil:
            parallel_for(rows, 1 + GRAIN // w.count, weave_range, &w)
    free(w.parts)
    return 0


cdef Tensor join(list parts, int dim, Tensor out):
    """Fills out with parts along dim; their shapes fit."""
    cdef Joint j
    cdef Tensor t, view
    cdef Py_ssize_t outer = 1, inner = ITEMSIZE[out.code], offset
    cdef int d
    cdef bint plain = out.contig, single = True
    if out.count == 0:
        return out
    for t in parts:
        plain = plain and t.contig and t.code == out.code
    if not plain:
        offset = out.offset
        for t in parts:
            view = new_view(out, out.rank, t.sizes, out.steps, offset)
            if t.count:
                copy_into(view, t)
            offset += t.sizes[dim] * out.steps[dim]
        return out
    for d in range(out.rank):
        if d < dim:
            outer *= out.sizes[d]
        elif d > dim:
            inner *= out.sizes[d]
    j.dst, j.count, j.width = out.ptr, <int>len(parts), out.sizes[dim] * inner
    j.pieces = <Piece *>malloc((j.count + 1) * sizeof(Piece))
    if j.pieces == NULL:
        raise no_room("cat: no memory for the list of tensors")
    for d in range(j.count):
        t = parts[d]
        j.pieces[d].src, j.pieces[d].block, j.pieces[d].step = t.ptr, t.sizes[dim] * inner, t.sizes[dim] * inner
        single = single and t.sizes[dim] * inner == ITEMSIZE[out.code]
    if single and j.count > 1:
        weave(&j, outer, ITEMSIZE[out.code])
    elif out.count < BIG:
        join_rows(&j, 0, outer)
    else:
        with nogil:
            if outer == 1:
                parallel_for(j.width, 1 << 18, join_bytes, &j)
            else:
                parallel_for(outer, 1 + (1 << 18) // j.width, join_rows, &j)
    free(j.pieces)
    return out


cdef Tensor joined_in(Tensor out, list parts, int dim, int rank, Py_ssize_t *shape, int code, int dev):
    """The parts in `out`, where it is memory of the result's shape and dtype apart from theirs, else in new memory."""
    cdef int d
    if out is None or out.rank != rank or out.code != code or out.dev != dev or internal_overlap(out) or out.store is None or out.store.read_only:
        return join(parts, dim, new_tensor(rank, shape, code, dev))
    for d in range(rank):
        if out.sizes[d] != shape[d]:
            return join(parts, dim, new_tensor(rank, shape, code, dev))
    for t in parts:
        if touches(out, <Tensor>t):
            return join(parts, dim, new_tensor(rank, shape, code, dev))
    join(parts, dim, out)
    wrote(out)
    return out


cdef bint channels_last(Tensor t) noexcept:
    """Images whose channels lie innermost in memory, without gaps."""
    cdef Py_ssize_t run = 1
    cdef int k, d
    if t.contig or (t.rank != 4 and t.rank != 5):
        return False
    for k in range(t.rank):
        d = 1 if k == 0 else 0 if k == t.rank - 1 else t.rank - k
        if t.steps[d] != run:
            return False
        run *= t.sizes[d]
    return True


cdef bint all_channels_last(list tensors) noexcept:
    for t in tensors:
        if not channels_last(<Tensor>t):
            return False
    return True


cdef inline int moved_dim(int dim, int rank) noexcept:
    return 0 if dim == 0 else rank - 1 if dim == 1 else dim - 1


def cat(list tensors, int dim, int code, Tensor out=None):
    """Tensors of fitting shapes joined along dim, as dtype code. An empty 1-d tensor fits everything. `out` is the result where it can be."""
    cdef Py_ssize_t shape[64]
    cdef Tensor t, first = None
    cdef list parts = []
    cdef int d
    cdef Py_ssize_t total = 0
    for t in tensors:
        if t.rank == 1 and t.sizes[0] == 0:
            continue
        if first is None:
            first = t
        if t.rank != first.rank:
            raise RuntimeError(f"cat: Tensors must have same number of dimensions: got {first.rank} and {t.rank} "
                               f"({describe(first)} and {describe(t)})")
        for d in range(t.rank):
            if d != dim and t.sizes[d] != first.sizes[d]:
                raise RuntimeError(f"cat: Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[d]} "
                                   f"but got size {t.sizes[d]} for tensor number {len(parts)} in the list "
                                   f"({describe(first)} and {describe(t)})")
        if t.rank == 0:
            raise RuntimeError("cat: zero-dimensional tensor cannot be concatenated; use stack")
        total += t.sizes[dim]
        parts.append(t)
    if first is None:
        shape[0] = 0
        t = tensors[0]
        return new_tensor(1, shape, code, t.dev)
    for d in range(first.rank):
        shape[d] = first.sizes[d]
    shape[dim] = total
    if out is None and all_channels_last(parts):
        # images of channels that lie innermost stay that
        return channels_behind(cat([channels_behind(t, False) for t in parts], moved_dim(dim, first.rank), code), True)
    return joined_in(out, parts, dim, first.rank, shape, code, first.dev)


def stack(list tensors, int dim, int code, Tensor out=None):
    """Tensors of one shape joined along a new dim, as dtype code. `out` is the result where it can be."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t one[64]
    cdef Py_ssize_t steps[64]
    cdef Tensor t, first = tensors[0]
    cdef list parts = []
    cdef int d, rank = first.rank + 1, k
    for d in range(rank):
        shape[d] = len(tensors) if d == dim else first.sizes[d - (d > dim)]
        one[d] = 1 if d == dim else shape[d]
    for t in tensors:
        if t.rank != first.rank:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {describe(first)} and {describe(t)}")
        for d in range(rank):
            k = d - (d > dim)
            if d != dim and t.sizes[k] != shape[d]:
                raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 "
                                   f"and {list(t.shape)} at entry {len(parts)}")
            steps[d] = 1 if d == dim else t.steps[k]
        parts.append(new_view(t, rank, one, steps, t.offset))
    if out is None and dim < first.rank and all_channels_last(tensors):
        t = cat(tensors, dim, code)
        for d in range(rank):
            steps[d] = t.steps[d - (d > dim)]
        steps[dim] *= first.sizes[dim]
        return new_view(t, rank, shape, steps, t.offset)
    return joined_in(out, parts, dim, rank, shape, code, first.dev)


def roll(Tensor x, Py_ssize_t shift, int dim):
    """x with its elements moved by shift along dim, those pushed over the end coming in at the start."""
    cdef Tensor src, out
    if channels_last(x):
        return channels_behind(roll(channels_behind(x, False), shift, moved_dim(dim, x.rank)), True)
    src, out = contiguous(x), new_like(x, x.code)
    cdef Py_ssize_t n = x.sizes[dim], a, outer = 1, inner = ITEMSIZE[x.code]
    cdef Piece pieces[2]
    cdef Joint j
    cdef int d
    if x.count == 0:
        return out
    a = shift % n
    a = a + n if a < 0 else a
    for d in range(x.rank):
        if d < dim:
            outer *= x.sizes[d]
        elif d > dim:
            inner *= x.sizes[d]
    j.dst, j.pieces, j.count, j.width = out.ptr, pieces, 2, n * inner
    pieces[0].step = pieces[1].step = j.width
    pieces[0].src, pieces[0].block = src.ptr + (n - a) * inner, a * inner
    pieces[1].src, pieces[1].block = src.ptr, (n - a) * inner
    if out.count < BIG:
        join_rows(&j, 0, outer)
    else:
        with nogil:
            if outer == 1:
                parallel_for(j.width, 1 << 18, join_bytes, &j)
            else:
                parallel_for(outer, 1 + (1 << 18) // j.width, join_rows, &j)
    return out
