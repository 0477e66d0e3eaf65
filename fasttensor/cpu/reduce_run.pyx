# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Runs a planned reduction: rows, or columns side by side, in chunks; groups of a large result are merged in order."""
from libc.stdlib cimport malloc, free
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.storage cimport no_room

cdef extern from "reduce_load.h" nogil:
    enum: R_SSD, R_COUNT, P_NONE, P_DIVIDE
    void ft_divide(void *out, int kind, Py_ssize_t m, double par)
    const ft_reduction *FT_REDUCTIONS[14][5]
    const ft_reduction *ft_direct(int op, int code, int kind)


cdef inline Py_ssize_t place(const Py_ssize_t *size, const Py_ssize_t *step, int n, int start, Py_ssize_t flat,
                             Py_ssize_t *index) noexcept nogil:
    """Splits a flat number into indices of dimensions start..n; returns their byte offset."""
    cdef int d
    cdef Py_ssize_t off = 0
    for d in range(start, n):
        index[d] = flat % size[d]
        flat //= size[d]
        off += index[d] * step[d]
    return off


cdef inline Py_ssize_t advance(const Py_ssize_t *size, const Py_ssize_t *step, int n, int start, Py_ssize_t off,
                               Py_ssize_t *index) noexcept nogil:
    cdef int d
    for d in range(start, n):
        index[d] += 1
        off += step[d]
        if index[d] < size[d]:
            break
        off -= step[d] * size[d]
        index[d] = 0
    return off


cdef void fold_rows(const Plan *p, int op, const char *base, Py_ssize_t u, Py_ssize_t end, void *acc,
                    const void *center) noexcept nogil:
    cdef Py_ssize_t index[MAXD]
    cdef double complex buf[LOAD]
    cdef const ft_reduction *f = ft_direct(op, p.code, p.kind) if p.rstep[0] == FT_SIZE[p.code] else NULL
    cdef bint plain = f != NULL
    cdef Py_ssize_t piece = u % p.pieces, n, b, m
    cdef Py_ssize_t off = place(p.rsize, p.rstep, p.nr, 1, u // p.pieces, index)
    cdef const char *q
    if not plain:
        f = FT_REDUCTIONS[op][p.kind]
    while u < end:
        n = p.rsize[0] - piece * UNIT
        n = UNIT if n > UNIT else n
        q = base + off + piece * UNIT * p.rstep[0]
        if plain:
            f.row(q, n, acc, center, p.par)
        else:
            b = 0
            while b < n:
                m = n - b if n - b < LOAD else LOAD
                f.row(ft_load(p.code, p.kind, q + b * p.rstep[0], p.rstep[0], m, buf), m, acc, center, p.par)
                b += m
        u += 1
        piece += 1
        if piece == p.pieces:
            piece = 0
            off = advance(p.rsize, p.rstep, p.nr, 1, off, index)


cdef inline bint lanes_are_results(const Plan *p) noexcept nogil:
    """Few rows of whole columns whose sums are of the result's own type: the lanes can lie in the result."""
    cdef const ft_reduction *f = FT_REDUCTIONS[p.op][p.kind]
    return (not p.rows and p.groups == 1 and p.first < 0 and 0 < p.units <= FOLD and p.kout[0] == 1 and p.out_code == FT_KIND_CODE[p.kind]
            and (p.code == p.out_code or p.kstep[0] != FT_SIZE[p.code] or ft_direct(p.op, p.code, p.kind) == NULL)
            and f.lane_size == FT_KIND_SIZE[p.kind] and p.op != R_COUNT and (p.post == P_NONE or (p.post == P_DIVIDE and p.kind != K_INT)))


cdef void fold_in_place(const Plan *p, const ft_reduction *f, const char *base, Py_ssize_t m, char *out) noexcept nogil:
    """One block of columns, added up in the result."""
    cdef Py_ssize_t index[MAXD]
    cdef double complex buf[WIDTH]
    cdef Py_ssize_t off = place(p.rsize, p.rstep, p.nr, 0, 0, index), u = 0
    cdef bint plain = p.code == p.out_code and p.kstep[0] == FT_SIZE[p.code]
    f.start(out, m)
    while u < p.units:
        if plain and index[0] + 4 <= p.rsize[0] and u + 4 <= p.units:
            f.cols4(base + off, p.rstep[0], m, out, NULL, p.par)
            u += 4
            index[0] += 3
            off = advance(p.rsize, p.rstep, p.nr, 0, off + 3 * p.rstep[0], index)
        else:
            f.cols(ft_load(p.code, p.kind, base + off, p.kstep[0], m, buf), m, out, NULL, p.par)
            u += 1
            off = advance(p.rsize, p.rstep, p.nr, 0, off, index)
    if p.post == P_DIVIDE:
        ft_divide(out, p.kind, m, p.par)


cdef void fold_columns(const Plan *p, int op, const char *base, Py_ssize_t m, Py_ssize_t u,
                       Py_ssize_t end, void *acc, const void *center) noexcept nogil:
    cdef Py_ssize_t index[MAXD]
    cdef double complex buf[WIDTH]
    cdef double complex lanes[WIDTH]
    if u >= end:                    # nothing to reduce: an empty dimension has no place either
        return
    cdef Py_ssize_t off = place(p.rsize, p.rstep, p.nr, 0, u, index)
    cdef const ft_reduction *f = ft_direct(op, p.code, p.kind) if p.kstep[0] == FT_SIZE[p.code] else NULL
    cdef bint plain = f != NULL
    cdef int k = 0
    if not plain:
        f = FT_REDUCTIONS[op][p.kind]
    f.start(lanes, m)
    while u < end:
        if plain and k <= FOLD - 4 and index[0] + 4 <= p.rsize[0] and u + 4 <= end:
            f.cols4(base + off, p.rstep[0], m, lanes, center, p.par)
            k += 4
            u += 4
            index[0] += 3
            off = advance(p.rsize, p.rstep, p.nr, 0, off + 3 * p.rstep[0], index)
            if k == FOLD:
                f.fold(acc, lanes, m)
                f.start(lanes, m)
                k = 0
            continue
        f.cols(base + off if plain else <const char *>ft_load(p.code, p.kind, base + off, p.kstep[0], m, buf), m, lanes, center, p.par)
        k += 1
        if k == FOLD:
            f.fold(acc, lanes, m)
            f.start(lanes, m)
            k = 0
        u += 1
        off = advance(p.rsize, p.rstep, p.nr, 0, off, index)
    if k:
        f.fold(acc, lanes, m)


cdef inline void fold_units(const Plan *p, int op, const char *base, Py_ssize_t m, Py_ssize_t u, Py_ssize_t end, void *acc,
                            const void *center) noexcept nogil:
    FT_REDUCTIONS[op][p.kind].start_acc(acc, m)
    if u >= end:            # nothing to reduce: the neutral value
        return
    if p.rows:
        fold_rows(p, op, base, u, end, acc, center)
    else:
        fold_columns(p, op, base, m, u, end, acc, center)


cdef void plain_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The common case, evenly spaced results of one plain row each."""
    cdef Plan *p = <Plan *>context
    cdef const ft_reduction *f = ft_direct(p.op, p.code, p.kind)
    cdef double complex acc[64]
    cdef Py_ssize_t k, m, step = p.kout[0] * FT_SIZE[p.out_code]
    while begin < end:
        m = 64 if end - begin > 64 else end - begin
        f.start_acc(acc, m)
        for k in range(m):
            f.row(p.x + (begin + k) * p.kstep[0], p.rsize[0], <char *>acc + k * f.acc_size, NULL, p.par)
        ft_finish(acc, p.op, p.kind, p.post, p.par, NULL, m, p.out + begin * step, p.out_code, step, p.n_red)
        begin += m


cdef void tasks(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Plan *p = <Plan *>context
    cdef Py_ssize_t index[MAXD]
    cdef double complex acc[WIDTH]
    cdef double center[WIDTH]
    cdef double rest[WIDTH]
    cdef Py_ssize_t t, o, g, c0, m = 1, off, slot, where, u, e, item = FT_SIZE[p.out_code]
    cdef int d, op
    cdef const void *c
    cdef bint direct = lanes_are_results(p)
    for t in range(begin, end):
        o, g = t // p.groups, t % p.groups
        if p.rows:
            slot, c0, m = o, 0, 1
            off = place(p.ksize, p.kstep, p.nk, 0, o, index)
            where = index[0] * p.kout[0]
        else:
            c0 = o % p.blocks * p.width
            m = p.ksize[0] - c0
            m = p.width if m > p.width else m
            slot = o // p.blocks * p.ksize[0] + c0
            off = place(p.ksize, p.kstep, p.nk, 1, o // p.blocks, index) + c0 * p.kstep[0]
            where = c0 * p.kout[0]
        for d in range(1, p.nk):
            where += index[d] * p.kout[d]
        if direct:
            fold_in_place(p, FT_REDUCTIONS[p.op][p.kind], p.x + off, m, p.out + where * item)
            continue
        u = g * p.group
        e = u + p.group
        e = p.units if e > p.units else e
        if p.groups > 1:
            op = p.first if p.stage == 0 and p.first >= 0 else p.op
            c = p.center + slot * FT_KIND_SIZE[p.kind] if p.stage else NULL
            fold_units(p, op, p.x + off, m, u, e, p.acc + (g * p.n_out + slot) * FT_REDUCTIONS[op][p.kind].acc_size, c)
            continue
        c = NULL
        if p.first >= 0:
            fold_units(p, p.first, p.x + off, m, u, e, acc, NULL)
            ft_centers(acc, p.first, p.kind, <double>p.n_red, m, center, rest)
            if p.out2 != NULL:
                ft_finish(acc, p.first, p.kind, P_DIVIDE, <double>p.n_red, NULL, m,
                          p.out2 + where * FT_SIZE[p.out2_code], p.out2_code, p.kout[0] * FT_SIZE[p.out2_code], p.n_red)
            c = center
        fold_units(p, p.op, p.x + off, m, u, e, acc, c)
        if p.op == R_SSD:
            ft_recenter(acc, <double>p.n_red, m, rest)
        ft_finish(acc, p.op, p.kind, p.post, p.par, c, m, p.out + where * item, p.out_code, p.kout[0] * item, p.n_red)


cdef void gather_groups(Plan *p) noexcept nogil:
    """Merges the groups' accumulators in order; stores results or the centers of the second stage."""
    cdef int op = p.first if p.stage == 0 and p.first >= 0 else p.op
    cdef const ft_reduction *f = FT_REDUCTIONS[op][p.kind]
    cdef Py_ssize_t g, slot, where
    cdef Py_ssize_t index[MAXD]
    cdef Py_ssize_t item = FT_SIZE[p.out_code]
    for g in range(1, p.groups):
        f.merge(p.acc, p.acc + g * p.n_out * f.acc_size, p.n_out)
    if op != p.op:
        ft_centers(p.acc, op, p.kind, <double>p.n_red, p.n_out, p.center, p.rest)
    elif op == R_SSD:
        ft_recenter(p.acc, <double>p.n_red, p.n_out, p.rest)
    slot = 0
    while slot < p.n_out:           # runs along the innermost kept dimension
        where = place(p.ksize, p.kout, p.nk, 0, slot, index)
        if op == p.op:
            ft_finish(p.acc + slot * f.acc_size, op, p.kind, p.post, p.par,
                      p.center + slot * FT_KIND_SIZE[p.kind] if p.stage else NULL, p.ksize[0], p.out + where * item, p.out_code,
                      p.kout[0] * item, p.n_red)
        elif p.out2 != NULL:
            ft_finish(p.acc + slot * f.acc_size, op, p.kind, P_DIVIDE, <double>p.n_red, NULL, p.ksize[0],
                      p.out2 + where * FT_SIZE[p.out2_code], p.out2_code, p.kout[0] * FT_SIZE[p.out2_code], p.n_red)
        slot += p.ksize[0]


cdef int execute(Plan *p) except -1 nogil:
    cdef bint plain
    cdef Py_ssize_t grain = 32768 // (p.group * (UNIT if p.rows and p.rsize[0] > UNIT else p.rsize[0] if p.rows else p.width) + 1) + 1
    if p.groups == 1:
        plain = (p.rows and p.units == 1 and p.nk == 1 and p.first < 0 and p.rstep[0] == FT_SIZE[p.code]
                 and ft_direct(p.op, p.code, p.kind) != NULL)
        parallel_for(p.n_tasks, grain, plain_rows if plain else tasks, p)
        return 0
    p.acc = <char *>malloc(p.groups * p.n_out * 16 + p.n_out * 16)
    if p.acc == NULL:
        with gil:
            raise no_room(f"reduction: no memory for {p.groups} partial results of each of {p.n_out}")
    p.rest = <double *>(p.acc + p.groups * p.n_out * 16)
    p.center = <char *>(p.rest + p.n_out)
    p.stage = 0
    parallel_for(p.n_tasks, 1, tasks, p)
    gather_groups(p)
    if p.first >= 0:
        p.stage = 1
        parallel_for(p.n_tasks, 1, tasks, p)
        gather_groups(p)
    free(p.acc)
    return 0


cdef const ft_reduction *loops_of(int op, int kind) noexcept nogil:
    return FT_REDUCTIONS[op][kind]
