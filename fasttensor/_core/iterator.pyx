"""Strided iteration over several operands.

Dimensions are ordered by the result's strides and merged where every operand allows it, so that
most operations end as one plain loop. Where an operand runs across the inner dimension (a
transposed one), the work goes by square tiles of which that operand is turned first (transpose.h).
"""
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.tensor cimport Tensor, describe
from fasttensor._core.parallel cimport parallel_for

cdef extern from "transpose.h" nogil:
    enum: FT_TILE
    void ft_transpose(char *dst, Py_ssize_t ds, const char *src, Py_ssize_t ss, Py_ssize_t n, Py_ssize_t m, int size)
    void ft_visit_tile(loop_fn loop, int nop, char **p, const Py_ssize_t *s0, const Py_ssize_t *s1, const unsigned char *size,
                       Py_ssize_t n, Py_ssize_t m, const double *par)

cdef extern from "short_rows.h" nogil:
    enum: FT_SHORT_ROW      # elements of a row up to which a block pays
    bint ft_short_rows(loop_fn loop, bint planes, int nop, char **p, const Py_ssize_t *s, const Py_ssize_t *across,
                       const unsigned char *item, Py_ssize_t n, Py_ssize_t rows, const double *par)

cdef enum:
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
    it.nop, it.rank, it.count, it.move, it.plane = 0, rank, 1, False, NULL
    for d in range(rank):
        it.sizes[d] = sizes[rank - 1 - d]
        it.count *= sizes[d]


cdef void add_operand(Iterator *it, Tensor t) noexcept:
    cdef int d, k, nop = it.nop
    cdef Py_ssize_t item = ITEMSIZE[t.code]
    it.ptr[nop], it.item[nop] = t.ptr, item
    for d in range(it.rank):
        k = t.rank - 1 - d
        it.steps[nop][d] = t.steps[k] * item if k >= 0 and t.sizes[k] != 1 else 0
    it.nop = nop + 1


cdef void add_scalar(Iterator *it, void *value) noexcept nogil:
    cdef int d
    it.ptr[it.nop], it.item[it.nop] = <char *>value, 0
    for d in range(it.rank):
        it.steps[it.nop][d] = 0
    it.nop += 1


cdef void add_raw(Iterator *it, char *ptr, const Py_ssize_t *byte_steps) noexcept nogil:
    cdef int d
    it.ptr[it.nop], it.item[it.nop] = ptr, 0
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


cdef void walk_rows(Job *job, char **p, const Py_ssize_t *inner, Py_ssize_t rows) noexcept nogil:
    """The next `rows` rows of a plane, which leave `p` at the last of them."""
    cdef Iterator *it = job.it
    cdef Py_ssize_t across[8]
    cdef Py_ssize_t n = it.sizes[0], _row
    cdef int k, nop = it.nop
    if rows <= 0:
        return
    for k in range(nop):
        across[k] = it.steps[k][1]
        p[k] += across[k]
    if not (n <= FT_SHORT_ROW and not it.move and
            ft_short_rows(job.loop, it.plane != NULL, nop, p, inner, across, it.item, n, rows, job.par)):
        if it.plane == NULL:
            job.loop(p, inner, n, job.par)
            for _row in range(rows - 1):
                for k in range(nop):
                    p[k] += across[k]
                job.loop(p, inner, n, job.par)
            return
        it.plane(p, inner, across, n, rows, job.par)
    for k in range(nop):
        p[k] += (rows - 1) * across[k]


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
        n = min(it.sizes[0] - at[0], left)
        job.loop(p, inner, n, job.par)
        left -= n
        if left <= 0:
            return
        for k in range(nop):                # back to the start of the row
            p[k] -= at[0] * inner[k]
        at[0] = 0
        if rank > 1:                        # whole rows of the plane follow each other: short ones live by this loop
            n = min(it.sizes[1] - 1 - at[1], left // it.sizes[0])
            walk_rows(job, p, inner, n)
            at[1] += n
            left -= n * it.sizes[0]
            if left <= 0:
                return
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


cdef void walk_tiles(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The tiles [begin, end); those along dimension 0 follow each other."""
    cdef Job *job = <Job *>context
    cdef Iterator *it = job.it
    cdef char *p[8]
    cdef Py_ssize_t s0[8]
    cdef Py_ssize_t s1[8]
    cdef unsigned char turned[8]
    cdef Py_ssize_t tile, rest, at, n, m, wide = (it.sizes[0] + FT_TILE - 1) // FT_TILE, high = (it.sizes[1] + FT_TILE - 1) // FT_TILE
    cdef int d, k, nop = it.nop
    for k in range(nop):
        s0[k], s1[k] = it.steps[k][0], it.steps[k][1]
        turned[k] = it.item[k] if k > 0 and s1[k] == it.item[k] and s0[k] != s1[k] and s0[k] != 0 else 0
    for tile in range(begin, end):
        for k in range(nop):
            p[k] = it.ptr[k] + (tile % wide) * FT_TILE * s0[k] + (tile // wide % high) * FT_TILE * s1[k]
        n = min(<Py_ssize_t>FT_TILE, it.sizes[0] - (tile % wide) * FT_TILE)
        m = min(<Py_ssize_t>FT_TILE, it.sizes[1] - (tile // wide % high) * FT_TILE)
        rest = tile // wide // high
        for d in range(2, it.rank):
            at = rest % it.sizes[d]
            rest //= it.sizes[d]
            for k in range(nop):
                p[k] += at * it.steps[k][d]
        if it.move and turned[1] and s0[0] == it.item[0]:
            ft_transpose(p[0], s1[0], p[1], s0[1], n, m, it.item[0])
        else:
            ft_visit_tile(job.loop, nop, p, s0, s1, turned, n, m, job.par)


cdef void run_tiled(Iterator *it, Job *job, Py_ssize_t grain) noexcept nogil:
    cdef Py_ssize_t tiles = ((it.sizes[0] + FT_TILE - 1) // FT_TILE) * ((it.sizes[1] + FT_TILE - 1) // FT_TILE)
    tiles *= it.count // (it.sizes[0] * it.sizes[1])
    parallel_for(tiles, max(<Py_ssize_t>1, grain // (FT_TILE * FT_TILE)), walk_tiles, job)


cdef void run(Iterator *it, loop_fn loop, const double *par, Py_ssize_t grain) noexcept:
    cdef Job job
    if it.count == 0:
        return
    job.it, job.loop, job.par = it, loop, par
    if it.count < SMALL and it.count <= grain:
        walk(&job, 0, it.count)
        return
    with nogil:
        if it.rank >= 2 and it.sizes[0] > 8 and it.sizes[1] > 8 and crosses(it):
            run_tiled(it, &job, grain)
        else:
            if it.rank >= 2 and it.sizes[0] < grain:    # whole rows: two halves of one cost a call more
                grain += it.sizes[0] - 1 - (grain - 1) % it.sizes[0]
            parallel_for(it.count, grain, walk, &job)
