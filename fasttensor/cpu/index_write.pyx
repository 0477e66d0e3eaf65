"""Writing through index tensors: x[i, :, mask] = values, index_add, index_copy, index_put.

Rows of the dimensions after the index are written or accumulated at the offsets that `index_plan` found, in the order of the
index, whatever the number of threads.
"""
from libc.stdlib cimport free
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.tensor cimport Tensor, new_like, new_view, contiguous, describe
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.copy cimport touches
from fasttensor.cpu.index_loops cimport *
from fasttensor.cpu.index_plan cimport Plan, after, before, make_plan


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


def index_put(Tensor x, indices, Tensor values, int how=OP_SET, bint wrap=True, str op="index_put_"):
    """x[indices] = values, in place. `how`: 0 set (the last of equal indices wins), 1 add, 2 multiply,
    3 minimum, 4 maximum. `values` has x's dtype and broadcasts to the shape of x[indices]."""
    cdef Plan p
    cdef Py_ssize_t shape[128]
    cdef Py_ssize_t steps[128]
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
