"""Reading and writing through index tensors: x[i, :, mask], index_select, index_add, index_copy.

A request splits the dimensions of x in those before the index, the indexed ones and those after it.
The indexed ones become one list of byte offsets (bounds checked once); rows of the dimensions after
it are then copied or accumulated.
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport BOOL, UINT8, INT64, INT32, ITEMSIZE
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.tensor cimport Tensor, new_tensor, new_like, new_view, contiguous, cast, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.copy cimport touches
from fasttensor.cpu.index_loops cimport *
from fasttensor.cpu.mask cimport nonzero_columns

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


cdef void read_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Plan *p = <Plan *>context
    cdef Py_ssize_t b = begin // p.ni, i = begin % p.ni, n, at = begin, r, rows, length, step
    cdef Py_ssize_t block = p.na * p.item
    cdef char *src = before(p, b)
    cdef char *dst = p.other + begin * block
    if p.ra == 0:
        while at < end:
            n = p.ni - i if p.ni - i < end - at else end - at
            p.pick(dst, src, p.offs + i, n)
            dst += n * p.item
            at += n
            i = 0
            b += 1
            src = before(p, b) if at < end else src
        return
    length, step = p.asize[p.ra - 1], p.astep[p.ra - 1]
    rows = p.na // length
    while at < end:
        if p.ra == 1 and step == p.item:
            ft_copy(dst, src + p.offs[i], block)
        else:
            for r in range(rows):
                p.row(dst + r * length * p.item, p.item, src + p.offs[i] + after(p, r), step, length)
        dst += block
        at += 1
        i += 1
        if i == p.ni:
            i = 0
            b += 1
            src = before(p, b) if at < end else src


cdef void write_part(Plan *p, Py_ssize_t b0, Py_ssize_t b1, Py_ssize_t c0, Py_ssize_t c1) noexcept nogil:
    """Writes rows of b0 <= before < b1, columns c0 <= c < c1 of the last dimension."""
    cdef Py_ssize_t b, i, r, length = 1, step = 0, rows, move = 0 if p.scalar else p.item
    cdef char *dst
    cdef char *val
    if p.ra:
        length, step = p.asize[p.ra - 1], p.astep[p.ra - 1]
    rows = p.na // length
    if p.ra == 0 and p.rb <= 1 and p.ni < b1 - b0:
        step = p.bstep[0] if p.rb else 0
        for i in range(p.ni):
            p.row(p.x + b0 * step + p.offs[i], step, p.other + (b0 * p.ni + i) * move, p.ni * move, b1 - b0)
        return
    for b in range(b0, b1):
        dst = before(p, b)
        if p.ra == 0:
            p.put(dst, p.offs, p.other + b * p.ni * move, move, p.ni)
            continue
        for i in range(p.ni):
            val = p.other + (b * p.ni + i) * p.na * move
            if c1 - c0 < length:
                ft_fetch(val + (AHEAD * p.na + c0) * move, (c1 - c0) * move)
            for r in range(rows):
                p.row(dst + p.offs[i] + after(p, r) + c0 * step, step, val + (r * length + c0) * move, move, c1 - c0)


cdef void write_before(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Plan *p = <Plan *>context
    write_part(p, begin, end, 0, p.asize[p.ra - 1] if p.ra else 1)


cdef void write_columns(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    write_part(<Plan *>context, 0, (<Plan *>context).nb, begin, end)


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
    # The shape is that of the values, in whatever order they lie.
    p.offs = <Py_ssize_t *>malloc((p.ni + 1) * sizeof(Py_ssize_t))
    if p.offs == NULL:
        raise MemoryError(f"{op}: no memory for {p.ni} offsets")
    for k in range(len(found)):
        d, t = where[k], contiguous(found[k])
        bad = ft_add_offsets(p.offs, <int64_t *>t.ptr, p.ni, x.sizes[d], x.steps[d] * p.item, wrap, k == 0)
        if bad >= 0:
            value = (<int64_t *>t.ptr)[bad]
            free(p.offs)
            p.offs = NULL
            # PyTorch's types
            raise (RuntimeError if op.startswith("index_add") else IndexError)(f"{op}: index {value} is out of bounds for dimension {d} with size {x.sizes[d]}")
    return rank


def index_get(Tensor x, indices, bint wrap=True, str op="index"):
    """x[indices]: `indices` holds, by dimension, None (keep), an integer tensor, or a mask (bool or uint8).

    Integer tensors broadcast together; their dimensions stand where they were when adjacent, else first. The result's order
    in memory is x's, and that of the indices, as in PyTorch."""
    return read(x, indices, wrap, op, True)


cdef Tensor read(Tensor x, indices, bint wrap, str op, bint keep):
    """`index_get`, contiguous unless `keep`."""
    cdef Plan p
    cdef Py_ssize_t shape[128]
    cdef Py_ssize_t steps[128]
    cdef int order[128]
    cdef int rank = make_plan(&p, x, indices, wrap, op, shape, order if keep else NULL), d
    cdef Tensor out
    cdef Py_ssize_t total = p.nb * p.ni, grain, step = 1
    try:
        if rank > 64:
            raise RuntimeError(f"{op}: the result would have {rank} dimensions, at most 64 are possible")
        out = new_tensor(rank, shape, x.code, x.dev)
        if p.ordered:
            for d in range(rank - 1, -1, -1):
                steps[order[d]] = step
                step *= shape[order[d]] if shape[order[d]] > 1 else 1
            out = new_view(out, rank, shape, steps, 0)
        if out.count:
            p.other = out.ptr
            p.row = FT_ACC[OP_SET][x.code]
            p.pick = FT_PICKS[ft_log2(p.item)]
            grain = 1 + GRAIN // p.na
            if out.count < BIG:
                read_range(&p, 0, total)
            else:
                with nogil:
                    parallel_for(total, grain, read_range, &p)
    finally:
        free(p.offs)
    return out


def index_put(Tensor x, indices, Tensor values, int how=OP_SET, bint wrap=True, str op="index_put_"):
    """x[indices] = values, in place. `how`: 0 set (the last of equal indices wins), 1 add, 2 multiply,
    3 minimum, 4 maximum. `values` has x's dtype and broadcasts to the shape of x[indices]."""
    cdef Plan p
    cdef Py_ssize_t shape[128]
    cdef Py_ssize_t steps[64]
    cdef int rank, d, k
    cdef Tensor v = values, held
    cdef Py_ssize_t columns
    if v.code != x.code:
        raise RuntimeError(f"{op}: expected values of dtype {x.dtype}, got {describe(values)}")
    if FT_ACC[how][x.code] == NULL:
        raise NotImplementedError(f"{op}: not implemented for {x.dtype}")
    rank = make_plan(&p, x, indices, wrap, op, shape, NULL)
    try:
        p.scalar = v.count == 1
        if not p.scalar or v.rank > rank:
            # Leading dimensions of size 1 may exceed the target's, as in an assignment.
            while v.rank > rank and v.sizes[0] == 1:
                v = new_view(v, v.rank - 1, v.sizes + 1, v.steps + 1, v.offset)
            for d in range(rank):
                k = d - (rank - v.rank)
                if v.rank > rank or (k >= 0 and v.sizes[k] != 1 and v.sizes[k] != shape[d]):
                    raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast "
                                       f"to indexing result of shape {[shape[d] for d in range(rank)]}")
                steps[d] = 0 if k < 0 or v.sizes[k] == 1 else v.steps[k]
            if v.rank > rank:
                raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast "
                                   f"to indexing result of shape []")
            if not p.scalar:
                v = contiguous(new_view(v, rank, shape, steps, v.offset))
        if p.nb * p.ni * p.na == 0:
            return x
        if touches(v, x):
            # Reading what is being written would depend on the order.
            held = new_like(v, v.code)
            copy_into(held, v)
            v = held
        p.other = v.ptr
        p.row, p.put = FT_ACC[how][x.code], FT_PUT[how][x.code]
        columns = p.asize[p.ra - 1] if p.ra else 1
        if p.nb * p.ni * p.na < BIG:
            write_part(&p, 0, p.nb, 0, columns)
        else:
            with nogil:
                # Only splits under which no two chunks can meet the same element.
                if p.nb >= columns:
                    parallel_for(p.nb, 1 + GRAIN // (p.ni * p.na), write_before, &p)
                else:
                    parallel_for(columns, 64 + GRAIN // (p.nb * p.ni * (p.na // columns)), write_columns, &p)
    finally:
        free(p.offs)
    return x


def index_select(Tensor x, int dim, Tensor index):
    """Slices of x along dim at index (0-d or 1-d, no negative values)."""
    cdef tuple at
    cdef Py_ssize_t one = 1
    if x.rank == 0:
        x = new_view(x, 1, &one, &one, x.offset)
        return index_get(x, (index,), False, "index_select").reshape(())
    if index.rank == 0:
        index = new_view(index, 1, &one, &one, index.offset)
    at = (None,) * dim + (index,)
    return read(x, at, False, "index_select", False)
