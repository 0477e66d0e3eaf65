"""Strided iteration over several operands.

Dimensions are ordered by the result's strides and merged where every operand allows it, so that
most operations end as one plain loop. Where an operand runs across the inner dimension (a
transposed one), that dimension is cut into tiles, which keeps the operand's cache lines in use.
"""
from libc.string cimport memcpy
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.tensor cimport Tensor, describe
from fasttensor._core.parallel cimport parallel_for

cdef enum:
    TILE = 64
    SMALL = 8192        # elements below which dropping the GIL costs more than it gives

cdef struct Job:
    Iterator *it
    loop_fn loop
    const double *par


cdef int broadcast_sizes(str op, Tensor a, Tensor b, Tensor c, Py_ssize_t *sizes) except -1:
    cdef int rank = a.rank, d, k, i
    cdef Py_ssize_t n
    cdef Tensor t
    if b is not None and b.rank > rank:
        rank = b.rank
    if c is not None and c.rank > rank:
        rank = c.rank
    for d in range(rank):
        sizes[d] = 1
    for i in range(3):
        t = a if i == 0 else b if i == 1 else c
        if t is None:
            continue
        for d in range(t.rank):
            k = rank - t.rank + d
            n = t.sizes[d]
            if n != 1 and sizes[k] != n:
                if sizes[k] != 1:
                    raise RuntimeError(
                        f"{op}: shapes do not broadcast: " + ", ".join(describe(u) for u in (a, b, c) if u is not None) +
                        f"; at dimension {k} the sizes {sizes[k]} and {n} must be equal or one of them 1"
                        " (reshape or unsqueeze an operand)")
                sizes[k] = n
    return rank


cdef void start(Iterator *it, int rank, const Py_ssize_t *sizes) noexcept nogil:
    cdef int d
    it.nop, it.rank, it.count = 0, rank, 1
    for d in range(rank):
        it.sizes[d] = sizes[rank - 1 - d]
        it.count *= sizes[d]


cdef void add_operand(Iterator *it, Tensor t) noexcept:
    cdef int d, k, nop = it.nop
    cdef Py_ssize_t item = ITEMSIZE[t.code]
    it.ptr[nop] = t.ptr
    for d in range(it.rank):
        k = t.rank - 1 - d
        it.steps[nop][d] = t.steps[k] * item if k >= 0 and t.sizes[k] != 1 else 0
    it.nop = nop + 1


cdef void add_scalar(Iterator *it, void *value) noexcept nogil:
    cdef int d
    it.ptr[it.nop] = <char *>value
    for d in range(it.rank):
        it.steps[it.nop][d] = 0
    it.nop += 1


cdef void add_raw(Iterator *it, char *ptr, const Py_ssize_t *byte_steps) noexcept nogil:
    cdef int d
    it.ptr[it.nop] = ptr
    for d in range(it.rank):
        it.steps[it.nop][d] = byte_steps[it.rank - 1 - d]
    it.nop += 1


cdef inline bint goes_outside(Iterator *it, int a, int b) noexcept nogil:
    """Whether dimension `a`, now inside `b`, should lie outside it: the first operand that
    distinguishes them by stride decides."""
    cdef int k
    cdef Py_ssize_t x, y
    for k in range(it.nop):
        x, y = it.steps[k][a], it.steps[k][b]
        if x == 0 or y == 0 or x == y:
            continue
        return x > y
    return False


cdef void swap_dims(Iterator *it, int a, int b) noexcept nogil:
    cdef int k
    it.sizes[a], it.sizes[b] = it.sizes[b], it.sizes[a]
    for k in range(it.nop):
        it.steps[k][a], it.steps[k][b] = it.steps[k][b], it.steps[k][a]


cdef void finish(Iterator *it) noexcept nogil:
    cdef int d, k, j, rank = 0
    cdef bint merge
    for d in range(it.rank):                # drop dimensions of size 1
        if it.sizes[d] != 1:
            if rank != d:
                it.sizes[rank] = it.sizes[d]
                for k in range(it.nop):
                    it.steps[k][rank] = it.steps[k][d]
            rank += 1
    it.rank = rank
    for d in range(1, rank):                # insertion sort: nearly always in order already
        j = d
        while j > 0 and goes_outside(it, j - 1, j):
            swap_dims(it, j - 1, j)
            j -= 1
    if rank == 0:
        it.rank, it.sizes[0] = 1, 1
        for k in range(it.nop):
            it.steps[k][0] = 0
        return
    j = 0
    for d in range(1, rank):
        merge = True
        for k in range(it.nop):
            if it.steps[k][d] != it.steps[k][j] * it.sizes[j]:
                merge = False
                break
        if merge:
            it.sizes[j] *= it.sizes[d]
        else:
            j += 1
            if j != d:
                it.sizes[j] = it.sizes[d]
                for k in range(it.nop):
                    it.steps[k][j] = it.steps[k][d]
    it.rank = j + 1


cdef void walk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The elements [begin, end) in the iterator's order."""
    cdef Job *job = <Job *>context
    cdef Iterator *it = job.it
    cdef char *p[8]
    cdef Py_ssize_t inner[8]
    cdef Py_ssize_t at[64]
    cdef Py_ssize_t rest = begin, n, left = end - begin
    cdef int d, k, nop = it.nop, rank = it.rank
    for k in range(nop):
        p[k] = it.ptr[k]
        inner[k] = it.steps[k][0]
    for d in range(rank):
        at[d] = rest % it.sizes[d]
        rest //= it.sizes[d]
        for k in range(nop):
            p[k] += at[d] * it.steps[k][d]
    while True:
        n = it.sizes[0] - at[0]
        if n > left:
            n = left
        job.loop(p, inner, n, job.par)
        left -= n
        if left <= 0:
            return
        for k in range(nop):                # back to the start of the row, then to the next
            p[k] -= at[0] * inner[k]
        at[0] = 0
        for d in range(1, rank):
            at[d] += 1
            if at[d] < it.sizes[d]:
                for k in range(nop):
                    p[k] += it.steps[k][d]
                break
            for k in range(nop):
                p[k] -= (it.sizes[d] - 1) * it.steps[k][d]
            at[d] = 0


cdef bint crosses(Iterator *it) noexcept nogil:
    """Whether an operand's memory runs along dimension 1 and not along dimension 0."""
    cdef int k
    for k in range(it.nop):
        if it.steps[k][1] != 0 and it.steps[k][1] < it.steps[k][0]:
            return True
    return False


cdef void run_tiled(Iterator *it, loop_fn loop, const double *par, Py_ssize_t grain) noexcept nogil:
    """Dimension 0 cut into tiles, whose index becomes the third dimension."""
    cdef Iterator part
    cdef Job job
    cdef int k, d
    cdef Py_ssize_t tiles = it.sizes[0] // TILE, rest = it.sizes[0] % TILE
    job.it, job.loop, job.par = &part, loop, par
    if tiles:
        part.nop, part.rank, part.count = it.nop, it.rank + 1, it.count // it.sizes[0] * tiles * TILE
        part.sizes[0], part.sizes[1], part.sizes[2] = TILE, it.sizes[1], tiles
        for d in range(2, it.rank):
            part.sizes[d + 1] = it.sizes[d]
        for k in range(it.nop):
            part.ptr[k] = it.ptr[k]
            part.steps[k][0], part.steps[k][1] = it.steps[k][0], it.steps[k][1]
            part.steps[k][2] = it.steps[k][0] * TILE
            for d in range(2, it.rank):
                part.steps[k][d + 1] = it.steps[k][d]
        parallel_for(part.count, grain, walk, &job)
    if rest:
        memcpy(&part, it, sizeof(Iterator))
        part.sizes[0], part.count = rest, it.count // it.sizes[0] * rest
        for k in range(it.nop):
            part.ptr[k] += tiles * TILE * it.steps[k][0]
        parallel_for(part.count, grain, walk, &job)


cdef void run(Iterator *it, loop_fn loop, const double *par, Py_ssize_t grain) noexcept:
    cdef Job job
    if it.count == 0:
        return
    job.it, job.loop, job.par = it, loop, par
    if it.count < SMALL:
        walk(&job, 0, it.count)
        return
    with nogil:
        if 2 <= it.rank < 60 and it.sizes[0] > TILE and it.sizes[1] > 8 and crosses(it):
            run_tiled(it, loop, par, grain)
        else:
            parallel_for(it.count, grain, walk, &job)
