# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How a reduction of any strides is cut into rows, columns and groups, and run.

Dimensions are split into kept and reduced ones, each sorted by stride and merged where they are
one run of memory. Where the reduced ones lie closer in memory each result folds whole rows
("rows"); else a block of results is updated side by side ("columns"). Few results of many
elements are computed in groups whose bounds depend on sizes alone, then merged in order.
"""
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport FLOAT32, FLOAT64, ITEMSIZE
from fasttensor._core.tensor cimport Tensor, new_tensor
from fasttensor._core.parallel cimport parallel_for

cdef extern from "reduce_load.h" nogil:
    enum:
        K_INT, K_FLOAT, K_DOUBLE, K_C64, K_C128
    ctypedef struct ft_reduction:
        void (*start)(void *lanes, Py_ssize_t m) noexcept nogil
        void (*start_acc)(void *acc, Py_ssize_t m) noexcept nogil
        void (*row)(const void *x, Py_ssize_t n, void *acc, const void *center, double par) noexcept nogil
        void (*cols)(const void *x, Py_ssize_t m, void *lanes, const void *center, double par) noexcept nogil
        void (*cols4)(const void *x, Py_ssize_t step, Py_ssize_t m, void *lanes, const void *center, double par) noexcept nogil
        void (*fold)(void *acc, const void *lanes, Py_ssize_t m) noexcept nogil
        void (*merge)(void *acc, const void *other, Py_ssize_t m) noexcept nogil
        int acc_size
    const ft_reduction *FT_REDUCTIONS[14][5]
    const signed char FT_SIZE[12]
    const signed char FT_KIND_SIZE[5]
    int ft_kind_of(int code)
    const void *ft_load(int code, int kind, const char *p, Py_ssize_t step, Py_ssize_t n, void *dst)
    void ft_finish(const void *acc, int op, int kind, int post, double par, const void *center, Py_ssize_t m,
                   char *out, int code, Py_ssize_t step, Py_ssize_t whole)
    void ft_centers(const void *acc, int op, int kind, double count, Py_ssize_t m, void *center, double *rest)
    void ft_recenter(void *acc, double count, Py_ssize_t m, const double *rest)

cdef enum:
    MAXD = 64
    UNIT = 4096         # elements of a row folded before the total moves to the accumulator
    LOAD = 512          # elements converted at a time
    WIDTH = 1024        # columns side by side; fewer where two stages read them twice
    FOLD = 64           # rows added to the lanes of a block before they move to the accumulator

cdef struct Plan:
    int nk, nr, code, kind, op, first, post, out_code, out2_code
    bint rows
    Py_ssize_t ksize[MAXD]
    Py_ssize_t kstep[MAXD]
    Py_ssize_t kout[MAXD]
    Py_ssize_t rsize[MAXD]
    Py_ssize_t rstep[MAXD]
    Py_ssize_t n_out, n_red
    Py_ssize_t width, blocks        # columns of a block, blocks in the innermost kept dimension
    Py_ssize_t pieces, units        # of a row; of the whole reduced space
    Py_ssize_t groups, group        # number of groups of units, units in one
    Py_ssize_t n_tasks
    const char *x
    char *out
    char *out2                      # the first stage's result (mean), or NULL
    char *acc                       # [groups][n_out] accumulators where groups > 1
    char *center                    # [n_out] centers where groups > 1
    double *rest                    # [n_out] what rounding took from them
    int stage
    double par


cdef inline void add_dim(Py_ssize_t *size, Py_ssize_t *step, Py_ssize_t *out, int *n,
                         Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    # Insertion keeps the list sorted by stride, innermost first.
    cdef int i = n[0]
    while i > 0 and step[i - 1] > b:
        size[i], step[i] = size[i - 1], step[i - 1]
        if out != NULL:
            out[i] = out[i - 1]
        i -= 1
    size[i], step[i] = a, b
    if out != NULL:
        out[i] = c
    n[0] += 1


cdef inline void merge_dims(Py_ssize_t *size, Py_ssize_t *step, Py_ssize_t *out, int *n) noexcept nogil:
    cdef int i, last = 0
    for i in range(1, n[0]):
        if step[i] == step[last] * size[last] and (out == NULL or out[i] == out[last] * size[last]):
            size[last] *= size[i]
        else:
            last += 1
            size[last], step[last] = size[i], step[i]
            if out != NULL:
                out[last] = out[i]
    if n[0]:
        n[0] = last + 1


cdef void make_plan(Plan *p, Tensor x, const bint *reduced, Tensor out) noexcept:
    """Sorts x's dimensions into kept and reduced ones and fixes how the work is cut."""
    cdef int i
    cdef Py_ssize_t item = ITEMSIZE[x.code], run = 1, want, n_units
    p.nk = p.nr = 0
    p.n_red = 1
    p.n_out = out.count
    p.x, p.code, p.out, p.out_code = x.ptr, x.code, out.ptr, out.code
    for i in range(x.rank - 1, -1, -1):
        if reduced[i]:
            p.n_red *= x.sizes[i]
            if x.sizes[i] != 1:
                add_dim(p.rsize, p.rstep, NULL, &p.nr, x.sizes[i], x.steps[i] * item, 0)
        else:
            if x.sizes[i] != 1:
                add_dim(p.ksize, p.kstep, p.kout, &p.nk, x.sizes[i], x.steps[i] * item, run)
            run *= x.sizes[i]
    merge_dims(p.rsize, p.rstep, NULL, &p.nr)
    merge_dims(p.ksize, p.kstep, p.kout, &p.nk)
    if p.nr == 0:
        p.nr, p.rsize[0], p.rstep[0] = 1, 1, 0
    if p.nk == 0:
        p.nk, p.ksize[0], p.kstep[0], p.kout[0] = 1, 1, 0, 1
    if p.rstep[0] <= p.kstep[0]:
        p.rows = p.rsize[0] >= 16 or p.ksize[0] < 8
    else:
        p.rows = p.ksize[0] < 8 and p.rsize[0] >= 64
    if p.nk == 1 and p.ksize[0] == 1:
        p.rows = True
    if p.rows:
        p.pieces = (p.rsize[0] + UNIT - 1) // UNIT
        p.units = p.pieces * (p.n_red // p.rsize[0]) if p.n_red else 0
        n_units = p.n_out
    else:
        p.width = 128 if p.first >= 0 else WIDTH
        p.blocks = (p.ksize[0] + p.width - 1) // p.width
        p.units = p.n_red
        n_units = p.n_out // p.ksize[0] * p.blocks
    want = p.n_out * p.n_red // 65536
    want = 64 if want > 64 else want
    p.groups = 1
    if want > n_units and n_units < 16 and p.units > 1:
        p.groups = (want + n_units - 1) // n_units
        if p.groups > p.units:
            p.groups = p.units
    p.group = (p.units + p.groups - 1) // p.groups
    if p.group:
        p.groups = (p.units + p.group - 1) // p.group
    p.n_tasks = n_units * p.groups


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


cdef void fold_rows(const Plan *p, const ft_reduction *f, const char *base, Py_ssize_t u, Py_ssize_t end, void *acc,
                    const void *center) noexcept nogil:
    cdef Py_ssize_t index[MAXD]
    cdef double complex buf[LOAD]
    cdef bint plain = p.rstep[0] == FT_SIZE[p.code] and ft_load(p.code, p.kind, base, p.rstep[0], 0, buf) == base
    cdef Py_ssize_t piece = u % p.pieces, n, b, m
    cdef Py_ssize_t off = place(p.rsize, p.rstep, p.nr, 1, u // p.pieces, index)
    cdef const char *q
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


cdef void fold_columns(const Plan *p, const ft_reduction *f, const char *base, Py_ssize_t m, Py_ssize_t u,
                       Py_ssize_t end, void *acc, const void *center) noexcept nogil:
    cdef Py_ssize_t index[MAXD]
    cdef double complex buf[WIDTH]
    cdef double complex lanes[WIDTH]
    if u >= end:                    # nothing to reduce: an empty dimension has no place either
        return
    cdef Py_ssize_t off = place(p.rsize, p.rstep, p.nr, 0, u, index)
    cdef bint plain = ft_load(p.code, p.kind, base, p.kstep[0], 0, buf) == base
    cdef int k = 0
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
        f.cols(ft_load(p.code, p.kind, base + off, p.kstep[0], m, buf), m, lanes, center, p.par)
        k += 1
        if k == FOLD:
            f.fold(acc, lanes, m)
            f.start(lanes, m)
            k = 0
        u += 1
        off = advance(p.rsize, p.rstep, p.nr, 0, off, index)
    if k:
        f.fold(acc, lanes, m)


cdef inline void fold(const Plan *p, int op, const char *base, Py_ssize_t m, Py_ssize_t u, Py_ssize_t end, void *acc,
                      const void *center) noexcept nogil:
    cdef const ft_reduction *f = FT_REDUCTIONS[op][p.kind]
    f.start_acc(acc, m)
    if u >= end:            # nothing to reduce: the neutral value
        return
    if p.rows:
        fold_rows(p, f, base, u, end, acc, center)
    else:
        fold_columns(p, f, base, m, u, end, acc, center)


cdef void plain_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The common case, evenly spaced results of one plain row each."""
    cdef Plan *p = <Plan *>context
    cdef const ft_reduction *f = FT_REDUCTIONS[p.op][p.kind]
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
        u = g * p.group
        e = u + p.group
        e = p.units if e > p.units else e
        if p.groups > 1:
            op = p.first if p.stage == 0 and p.first >= 0 else p.op
            c = p.center + slot * FT_KIND_SIZE[p.kind] if p.stage else NULL
            fold(p, op, p.x + off, m, u, e, p.acc + (g * p.n_out + slot) * FT_REDUCTIONS[op][p.kind].acc_size, c)
            continue
        c = NULL
        if p.first >= 0:
            fold(p, p.first, p.x + off, m, u, e, acc, NULL)
            ft_centers(acc, p.first, p.kind, <double>p.n_red, m, center, rest)
            if p.out2 != NULL:
                ft_finish(acc, p.first, p.kind, P_DIVIDE, <double>p.n_red, NULL, m,
                          p.out2 + where * FT_SIZE[p.out2_code], p.out2_code, p.kout[0] * FT_SIZE[p.out2_code], p.n_red)
            c = center
        fold(p, p.op, p.x + off, m, u, e, acc, c)
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


cdef void execute(Plan *p) noexcept nogil:
    cdef bint plain
    cdef Py_ssize_t grain = 32768 // (p.group * (UNIT if p.rows and p.rsize[0] > UNIT else p.rsize[0] if p.rows else p.width) + 1) + 1
    if p.groups == 1:
        plain = (p.rows and p.units == 1 and p.nk == 1 and p.first < 0 and p.rstep[0] == FT_SIZE[p.code]
                 and ft_load(p.code, p.kind, p.x, p.rstep[0], 0, &plain) == p.x)
        parallel_for(p.n_tasks, grain, plain_rows if plain else tasks, p)
        return
    p.acc = <char *>malloc(p.groups * p.n_out * 16 + p.n_out * 16)
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


cdef int mark(Tensor x, object dims, bint *reduced) except -1:
    cdef int i
    for i in range(x.rank):
        reduced[i] = dims is None
    if dims is not None:
        for i in dims:
            reduced[i] = True
    return 0


cdef Tensor result(Tensor x, const bint *reduced, bint keepdim, int code):
    cdef Py_ssize_t sizes[MAXD]
    cdef int i, rank = 0
    for i in range(x.rank):
        if not reduced[i]:
            sizes[rank] = x.sizes[i]
            rank += 1
        elif keepdim:
            sizes[rank] = 1
            rank += 1
    return new_tensor(rank, sizes, code, x.dev)


cdef Tensor reduce(Tensor x, int op, int first, int post, double par, object dims, bint keepdim, int code,
                   Tensor mean=None):
    cdef Plan p
    cdef bint reduced[MAXD]
    cdef Tensor out
    mark(x, dims, reduced)
    out = result(x, reduced, keepdim, code)
    if out.count == 0:
        return out
    p.op, p.first, p.post, p.par = op, first, post, par
    p.kind = ft_kind_of(x.code)
    if p.kind > K_DOUBLE and op != R_SUM and op != R_PROD:
        p.kind = K_FLOAT if p.kind == K_C64 else K_DOUBLE       # absolute values
    p.out2 = NULL
    if mean is not None:
        p.out2, p.out2_code = mean.ptr, mean.code
    make_plan(&p, x, reduced, out)
    if post == P_DIVIDE and op != R_SSD:
        p.par = <double>p.n_red
    elif op == R_SSD:
        p.par = <double>p.n_red - par
        p.par = 0 if p.par < 0 else p.par
    if x.count > 4096:
        with nogil:
            execute(&p)
    else:
        execute(&p)
    return out


cdef Tensor total(Tensor x, object dims, bint keepdim, int code, bint mean):
    cdef double acc = 0
    cdef Tensor out
    if dims is None and not keepdim and x.contig and 0 < x.count <= 8192 and x.code == code and (code == FLOAT32 or code == FLOAT64):
        # small and plain: no plan is needed
        out = new_tensor(0, NULL, code, x.dev)
        FT_REDUCTIONS[R_SUM][K_FLOAT if code == FLOAT32 else K_DOUBLE].row(x.ptr, x.count, &acc, NULL, 0)
        acc = acc / x.count if mean else acc
        if code == FLOAT32:
            (<float *>out.ptr)[0] = <float>acc
        else:
            (<double *>out.ptr)[0] = acc
        return out
    return reduce(x, R_SUM, -1, P_DIVIDE if mean else P_NONE, 0, dims, keepdim, code)
