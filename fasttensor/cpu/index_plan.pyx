"""What an index addresses: the loops and offsets that reading and writing share.

A request splits the dimensions of x in those before the index, the indexed ones and those after it. The indexed ones
become one list of byte offsets (bounds checked once).
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport BOOL, UINT8, INT64, INT32, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_view, contiguous, cast, describe
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.index_loops cimport *
from fasttensor.cpu.mask cimport nonzero_columns


cdef void push(Py_ssize_t *sizes, Py_ssize_t *steps, int *rank, Py_ssize_t size, Py_ssize_t step) noexcept nogil:
    """Appends a dimension, merged with the one before where memory allows."""
    cdef int r = rank[0]
    if size == 1:
        return
    if r and steps[r - 1] == step * size:
        sizes[r - 1] *= size
        steps[r - 1] = step
        return
    sizes[r], steps[r] = size, step
    rank[0] = r + 1


cdef Tensor as_index(Tensor t, str op):
    if t.code == INT64:
        return t
    if t.code == INT32:
        return cast(t, INT64)
    raise IndexError(f"{op}: tensors used as indices must be long, int, byte or bool tensors, got {describe(t)}; "
                     "convert with .long()")


cdef list broadcast_indices(list found, str op):
    """The index tensors in one common shape."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t steps[64]
    cdef int rank = 0, d, k
    cdef Tensor t
    cdef bint same = True
    for t in found:
        rank = t.rank if t.rank > rank else rank
    for d in range(rank):
        shape[d] = 1
    for t in found:
        for d in range(t.rank):
            k = d + rank - t.rank
            if shape[k] == 1:
                shape[k] = t.sizes[d]
            elif t.sizes[d] != 1 and t.sizes[d] != shape[k]:
                raise IndexError(f"{op}: shape mismatch: indexing tensors could not be broadcast together with shapes "
                                 + ", ".join(str(list(other.shape)) for other in found))
    out = []
    for t in found:
        same = t.rank == rank
        for d in range(rank):
            k = d - (rank - t.rank)
            steps[d] = 0 if k < 0 or (t.sizes[k] == 1 and shape[d] != 1) else t.steps[k]
            same = same and k >= 0 and t.sizes[k] == shape[d]
        out.append(t if same else new_view(t, rank, shape, steps, t.offset))
    return out


cdef bint memory_order(Plan *p, Tensor x, list found, bint *indexed, int at, int rank, const Py_ssize_t *shape, int *order):
    """The dimensions of a result in memory, outermost first, where they are not in order: False if they are, or where the
    dimensions of the index do not stay together. `at`: the first of them in the result. Sets the loops of p."""
    cdef Py_ssize_t steps[64 * 64]
    cdef int source[64]             # the dimension of x, or -1
    cdef int within[64]             # dimensions of the index, in the order of the result
    cdef int operands = 1 + len(found), many = (<Tensor>found[0]).rank, d, e = 0, k
    cdef bint inside = False, past = False
    if rank > 64 or operands > 64:
        return False
    for d in range(rank):
        source[d] = -1
        steps[d] = 0
        if d < at or d >= at + many:
            while indexed[e]:
                e += 1
            source[d], steps[d] = e, x.steps[e]
            e += 1
        for k in range(1, operands):
            steps[k * rank + d] = (<Tensor>found[k - 1]).steps[d - at] if source[d] < 0 else 0
    if ft_memory_order(rank, shape, operands, steps, order):
        return False
    for d in range(rank):
        if source[order[d]] < 0:
            if past:
                return False
            inside = True
        elif inside:
            past = True
    p.rb = p.ra = 0
    p.nb = p.na = 1
    past = False
    e = 0
    for d in range(rank):
        k = source[order[d]]
        if k < 0:
            past = True
            within[e] = order[d] - at
            e += 1
        elif past:
            p.na *= x.sizes[k]
            push(p.asize, p.astep, &p.ra, x.sizes[k], x.steps[k] * p.item)
        else:
            p.nb *= x.sizes[k]
            push(p.bsize, p.bstep, &p.rb, x.sizes[k], x.steps[k] * p.item)
    for k in range(len(found)):
        found[k] = contiguous(permuted(found[k], within))
    return True


cdef Tensor permuted(Tensor t, const int *order):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(t.rank):
        sizes[d], steps[d] = t.sizes[order[d]], t.steps[order[d]]
    return new_view(t, t.rank, sizes, steps, t.offset)


cdef int make_plan(Plan *p, Tensor x, object indices, bint wrap, str op, Py_ssize_t *shape, int *order) except -1:
    """Fills p (p.offs is the caller's to free) and the shape of the addressed part; returns its rank. With `order`, p walks
    in the order in memory that PyTorch gives x[indices], where p.ordered says that it is another one than that of the shape."""
    cdef list found = [], where = []
    cdef Tensor t, first
    cdef int d = 0, k, rank = 0, start
    cdef Py_ssize_t bad
    cdef bint indexed[64]
    cdef bint adjacent, plain = x.contig
    for entry in indices:
        if entry is None:
            d += 1
            continue
        t = entry
        if t.code == BOOL or t.code == UINT8:
            if d + t.rank > x.rank:
                raise IndexError(f"too many indices for tensor of dimension {x.rank}")
            for k in range(t.rank):
                if t.sizes[k] != x.sizes[d + k]:
                    raise IndexError(f"The shape of the mask {list(t.shape)} at index {k} does not match the shape of "
                                     f"the indexed tensor {list(x.shape)} at index {d + k}")
            found.extend(nonzero_columns(t))
            where.extend(range(d, d + t.rank))
            d += t.rank
        else:
            found.append(as_index(t, op))
            where.append(d)
            d += 1
    if d > x.rank or not found:
        raise IndexError(f"too many indices for tensor of dimension {x.rank}")
    if len(found) > 1:
        found = broadcast_indices(found, op)
    first = found[0]
    p.item = ITEMSIZE[x.code]
    p.x = x.ptr
    p.ni = first.count
    p.offs = NULL
    p.ordered = False
    for d in range(x.rank):
        indexed[d] = False
    for k in range(len(found)):
        indexed[<int>where[k]] = True
        plain = plain and (<Tensor>found[k]).contig
    start = where[0]
    adjacent = where[len(where) - 1] - start == len(where) - 1
    p.rb = p.ra = 0
    p.nb = p.na = 1
    if adjacent:
        for d in range(start):
            shape[rank] = x.sizes[d]
            rank += 1
            p.nb *= x.sizes[d]
            push(p.bsize, p.bstep, &p.rb, x.sizes[d], x.steps[d] * p.item)
    for d in range(first.rank):
        shape[rank] = first.sizes[d]
        rank += 1
    for d in range(start if adjacent else 0, x.rank):
        if not indexed[d]:
            shape[rank] = x.sizes[d]
            rank += 1
            p.na *= x.sizes[d]
            push(p.asize, p.astep, &p.ra, x.sizes[d], x.steps[d] * p.item)
    if order != NULL and not plain:
        p.ordered = memory_order(p, x, found, indexed, start if adjacent else 0, rank, shape, order)
    found = [contiguous(<Tensor>t) for t in found]      # before there is memory to free
    # The shape is that of the values, in whatever order they lie.
    p.offs = <Py_ssize_t *>malloc((p.ni + 1) * sizeof(Py_ssize_t))
    if p.offs == NULL:
        raise no_room(f"{op}: no memory for {p.ni} offsets")
    for k in range(len(found)):
        d, t = where[k], found[k]
        bad = ft_add_offsets(p.offs, <int64_t *>t.ptr, p.ni, x.sizes[d], x.steps[d] * p.item, wrap, k == 0)
        if bad >= 0:
            value = (<int64_t *>t.ptr)[bad]
            free(p.offs)
            p.offs = NULL
            # PyTorch's types
            raise (RuntimeError if op.startswith("index_add") else IndexError)(f"{op}: index {value} is out of bounds for dimension {d} with size {x.sizes[d]}")
    return rank
