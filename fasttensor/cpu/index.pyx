"""Reading through index tensors: x[i, :, mask], index_select.

Rows of the dimensions after the index are copied from the offsets that `index_plan` found.
"""
from libc.stdlib cimport free
from fasttensor._core.tensor cimport Tensor, new_tensor, new_view
from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.index_loops cimport *
from fasttensor.cpu.index_plan cimport Plan, after, before, make_plan


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
