"""Blocking of matrix products: cuts C in tasks, packs panels of A and B, calls register tiles.

A task is one block of C of one item of the batch, over all of k, so that threads share nothing. Within
it k is cut in pieces of `kc`; a piece of A (`mc` rows) stays in the L2 cache while panels of B, packed
just before their first use, pass by. The sum of one element of C runs over k in one fixed order whatever
the block it falls in: results do not depend on how C was cut.
"""
from libc.stdlib cimport malloc, free
from fasttensor._core.parallel cimport parallel_for, thread_count, thread_index

cdef extern from "kernels.h":
    const ft_kernel FT_KERNELS[10]

cdef extern from "scratch.h":
    void *ft_scratch(size_t bytes) noexcept nogil

cdef extern from *:
    void __builtin_prefetch(const void *p) noexcept nogil

cdef extern from "activations.h":
    void ft_activate_f32(int kind, float *x, Py_ssize_t n) noexcept nogil
    void ft_activate_f64(int kind, double *x, Py_ssize_t n) noexcept nogil

cdef enum:
    K_PIECE = 384           # of 4-byte elements
    M_PIECE = 240
    N_PIECE = 3072
    ROW_PASS = 8            # panels of B that one panel of A meets before the next panel of A
    FEW_ROWS = 16           # panels of A
    TURN_ROWS = 128         # rows of A up to which B^T is read in place
    PACKING_ROWS = 8        # to pack B takes as long as multiplying it by so many rows
    IN_CACHE = 1 << 20      # bytes of B beyond which it comes from afar, where packing would send it back to
    SERIAL = 1 << 19        # multiply-adds below which threads do not pay
    TASK = 1 << 23          # multiply-adds worth a task of their own
    K_SPLIT = 1 << 15       # length of k from which a small C is summed in pieces


cdef struct Plan:
    Product *g
    const ft_kernel *kern
    Py_ssize_t kc, mc, nc
    Py_ssize_t mb, nb, tasks_m, tasks_n     # cut of C
    bint dots, direct_b, pack_a
    bint turned                             # C^T = B^T A^T is computed: columns of C are contiguous
    bint shared                             # threads pack B together and share the rows
    int failed


cdef inline Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return a if a < b else b


cdef inline Py_ssize_t ceil_div(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return (a + b - 1) // b


cdef inline Py_ssize_t round_up(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return ceil_div(a, b) * b


include "pieces.pxi"


cdef inline void set_one(ft_num *x, int code) noexcept nogil:
    x.u = 0
    if code == 9:
        x.d = 1
    elif code >= 6:
        x.f = 1
    else:
        x.u = 1


cdef void tasks(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Plan *p = <Plan *>context
    cdef Product *g = p.g
    cdef Py_ssize_t task, item, rest, i, j, place, oa, ob, oc, od, per_item = p.tasks_m * p.tasks_n
    cdef const char *d
    cdef int dim
    for task in range(begin, end):
        item, rest = task, 0
        if per_item > 1:
            item, rest = task // per_item, task % per_item
        oa = ob = oc = od = 0
        for dim in range(g.batch_rank - 1, -1, -1):
            place = item
            if dim:                     # the outermost place needs no division
                place = item % g.batch_sizes[dim]
                item //= g.batch_sizes[dim]
            oa += place * g.batch_a[dim]
            ob += place * g.batch_b[dim]
            oc += place * g.batch_c[dim]
            if g.d != NULL:
                od += place * g.batch_d[dim]
        i = j = 0
        if per_item > 1:
            i, j = rest // p.tasks_n * p.mb, rest % p.tasks_n * p.nb
        d = g.d
        if d != NULL:
            d += (od + i * g.drs + j * g.dcs) * p.kern.computed
        if block(p, g.a + (oa + i * g.ars) * p.kern.stored, g.b + (ob + j * g.bcs) * p.kern.stored,
                 g.c + (oc + i * g.crs + j * g.ccs) * p.kern.computed, d, least(p.mb, g.m - i), least(p.nb, g.n - j)):
            p.failed = 1


cdef void transpose_product(Product *g) noexcept nogil:
    """C^T = B^T A^T."""
    g.m, g.n = g.n, g.m
    g.a, g.b = g.b, g.a
    g.ars, g.acs, g.brs, g.bcs = g.bcs, g.brs, g.acs, g.ars
    g.crs, g.ccs = g.ccs, g.crs
    g.drs, g.dcs = g.dcs, g.drs
    g.batch_a, g.batch_b = g.batch_b, g.batch_a


cdef bint dot_pays(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """Whether dot products of rows beat packing; measured on Zen 4 with 16 lanes."""
    if m <= 2 or n <= 2:
        return k >= 32
    if m <= 4 or n <= 8:
        return k >= 128
    return m <= 8 and k >= 512


cdef bint turning_pays(const Product *g, const ft_kernel *kern) noexcept nogil:
    """Whether to read B^T in place, by broadcast, as the rows of C^T = B^T A^T, and to pack the few rows of A instead: B^T is a
    matrix of contiguous rows, such as the weight of a linear layer."""
    cdef double rows
    if (not kern.turns or g.m > TURN_ROWS or g.n < 2 * kern.mr or g.n <= g.m or g.k < 16 or g.brs != 1 or g.bcs == 1
            or g.ccs != 1 or (g.d != NULL and g.dcs != 1)):
        return False
    if g.n * g.k * kern.stored > IN_CACHE:
        return True
    # The rows fill whole vectors; to transpose their sums takes as long as 26 steps of k. Measured on Zen 4.
    rows = round_up(g.m, kern.lanes) * (1 + 26. / g.k)
    return rows - 0.96 * g.m < PACKING_ROWS


cdef void plan_blocks(Plan *p) noexcept nogil:
    cdef Product *g = p.g
    cdef const ft_kernel *kern = p.kern
    cdef Py_ssize_t mr = kern.mr, nr = kern.nr, scale = 4 if kern.computed <= 4 else 8
    cdef Py_ssize_t pieces
    cdef double work
    p.dots = kern.dot != NULL and g.acs == 1 and g.brs == 1 and dot_pays(g.m, g.n, g.k)
    p.turned = not p.dots and turning_pays(g, kern)
    if p.turned:
        transpose_product(g)
    # B is read in place while its rows are near each other or few rows of A use them.
    p.direct_b = g.bcs == 1 and kern.stored == kern.computed and (g.m <= 32 or g.brs * kern.stored * g.m <= 1 << 20)
    p.kc = K_PIECE * 4 // scale
    if p.direct_b and g.m <= 8 and g.n >= 1024 and (g.m <= 4 or g.n * g.k * kern.stored > 1 << 20):
        p.kc = 16               # memory sets the pace: few rows of B at a time keep its streams long
    pieces = ceil_div(g.k, p.kc)
    p.kc = ceil_div(g.k, pieces) if pieces > 0 else 0
    p.mc = M_PIECE // mr * mr
    p.nc = N_PIECE // nr * nr
    p.pack_a = kern.stored != kern.computed or g.n > 16 * nr
    # Cut C in tasks by size alone.
    p.mb, p.nb = g.m, g.n
    work = <double>g.m * g.n * g.k
    if g.batch * work > SERIAL and thread_count() > 1:
        if work >= 2 * TASK or g.batch < 8:
            while p.mb * <double>p.nb * g.k > TASK // 8 and (p.mb > 2 * mr or p.nb > 2 * nr):
                if work > 64. * TASK and p.mb <= 256 and p.nb <= 512:
                    break                   # of a batch
                if p.nb > p.mb and p.nb > 2 * nr:
                    p.nb = round_up(ceil_div(p.nb, 2), nr)
                elif p.mb > 2 * mr:
                    p.mb = round_up(ceil_div(p.mb, 2), mr)
                else:
                    p.nb = round_up(ceil_div(p.nb, 2), nr)
        if p.turned:            # each task packs the few rows
            p.mb, p.nb = max(p.mb, round_up(ceil_div(g.m, 4 * thread_count()), mr)), g.n
    p.shared = not p.dots and g.batch == 1 and thread_count() > 1 and work > 64. * TASK and g.m >= 16 * mr
    if p.shared:
        # a multiple of 4 blocks of about half of what stays in L2
        p.mb = round_up(ceil_div(g.m, round_up(ceil_div(g.m, p.mc // 2), 4)), mr)
    p.tasks_m, p.tasks_n = ceil_div(g.m, p.mb), ceil_div(g.n, p.nb)


ctypedef fused real:
    float
    double


cdef void add_pieces(Product *g, real *part, Py_ssize_t pieces, real alpha, real beta) noexcept nogil:
    """C = alpha * (sum of the parts, in order) + beta * D."""
    cdef Py_ssize_t i, j, piece, size = g.m * g.n
    cdef real value
    cdef real *c = <real *>g.c
    cdef const real *d = <const real *>g.d
    for piece in range(1, pieces):
        for i in range(size):
            part[i] += part[piece * size + i]
    for i in range(g.m):
        for j in range(g.n):
            value = alpha * part[i * g.n + j]
            if d != NULL:
                value += beta * d[i * g.drs + j * g.dcs]        # D may be C
            c[i * g.crs + j * g.ccs] = value


cdef int multiply_pieces(Product *g) noexcept nogil:
    """A small C of a long k: pieces of k are a batch, summed at the end, which gives the threads their share."""
    cdef Product part = g[0]
    cdef Py_ssize_t size = FT_KERNELS[g.code].computed, stored = FT_KERNELS[g.code].stored
    cdef Py_ssize_t step = round_up(ceil_div(g.k, least(64, g.k // (K_SPLIT // 2))), 64), whole = g.k // step
    cdef Py_ssize_t a = step * g.acs, b = step * g.brs, c = g.m * g.n
    cdef char *parts = <char *>malloc((whole + 1) * c * size)
    cdef int failed
    cdef Plan p
    if parts == NULL:
        return -1
    part.k, part.batch, part.batch_rank, part.batch_sizes = step, whole, 1, &whole
    part.batch_a, part.batch_b, part.batch_c, part.batch_d = &a, &b, &c, &c
    part.c, part.crs, part.ccs, part.d, part.activation = parts, g.n, 1, NULL, ACT_NONE
    set_one(&part.alpha, g.code)
    failed = multiply(&part)
    if whole * step < g.k:
        part = g[0]
        part.k = g.k - whole * step
        part.a, part.b = g.a + whole * a * stored, g.b + whole * b * stored
        part.c, part.crs, part.ccs, part.d, part.activation = parts + whole * c * size, g.n, 1, NULL, ACT_NONE
        set_one(&part.alpha, g.code)
        failed |= multiply(&part)
        whole += 1
    if size == 4:
        add_pieces[float](g, <float *>parts, whole, g.alpha.f, g.beta.f)
    else:
        add_pieces[double](g, <double *>parts, whole, g.alpha.d, g.beta.d)
    free(parts)
    if g.activation != ACT_NONE:
        p.g, p.kern, p.turned = g, &FT_KERNELS[g.code], False
        activate_rows(&p, g.c, g.m, g.n)
    return failed


cdef int multiply(Product *g) noexcept nogil:
    cdef Plan p
    cdef Py_ssize_t count, grain
    cdef double work
    if g.batch == 0 or g.m == 0 or g.n == 0:
        return 0
    if g.batch == 1 and g.code >= 6 and g.k >= K_SPLIT and g.m * g.n <= 4096:
        return multiply_pieces(g)
    # Rows of C are written with vectors; a product with one column is one with one row, transposed.
    if g.n == 1 or (g.ccs != 1 and g.crs == 1 and g.m > 1):
        if g.m > 1:
            transpose_product(g)
            if g.m == 1:
                g.crs = 0
    p.g, p.kern, p.failed = g, &FT_KERNELS[g.code], 0
    plan_blocks(&p)
    if p.shared:
        return multiply_shared(&p)
    count = g.batch * p.tasks_m * p.tasks_n
    work = <double>p.mb * p.nb * g.k
    if g.batch * <double>g.m * g.n * g.k <= SERIAL:
        tasks(&p, 0, count)
    else:
        grain = <Py_ssize_t>(SERIAL / 2 / work) if work > 0 else count
        parallel_for(count, 1 if grain < 1 else grain, tasks, &p)
    return -1 if p.failed else 0


cdef const ft_kernel *kernel_of(int code) noexcept nogil:
    return &FT_KERNELS[code]


cdef void start_product(Product *g, int code, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    g.code, g.m, g.n, g.k = code, m, n, k
    g.d = NULL
    g.drs = g.dcs = 0
    g.crs, g.ccs = n, 1
    g.activation, g.batch_rank, g.batch = ACT_NONE, 0, 1
    g.batch_sizes = g.batch_a = g.batch_b = g.batch_c = g.batch_d = NULL
    set_one(&g.alpha, code)
    g.beta = g.alpha


cdef void set_scalars(Product *g, double alpha, double beta) noexcept nogil:
    if g.code == 9:
        g.alpha.d, g.beta.d = alpha, beta
    elif g.code >= 6:
        g.alpha.f, g.beta.f = <float>alpha, <float>beta
    else:
        g.alpha.u, g.beta.u = <unsigned long long><long long>alpha, <unsigned long long><long long>beta


cdef int sgemm(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const float *a, Py_ssize_t ars, Py_ssize_t acs,
               const float *b, Py_ssize_t brs, Py_ssize_t bcs, float beta, float *c, Py_ssize_t crs) noexcept nogil:
    cdef Product g
    cdef Plan p
    start_product(&g, 8, m, n, k)
    g.a, g.b, g.c = <const char *>a, <const char *>b, <char *>c
    g.ars, g.acs, g.brs, g.bcs, g.crs = ars, acs, brs, bcs, crs
    if beta != 0:
        g.d, g.drs, g.dcs, g.beta.f = <const char *>c, crs, 1, beta
    if m == 0 or n == 0:
        return 0
    p.g, p.kern, p.failed = &g, &FT_KERNELS[8], 0
    plan_blocks(&p)
    return block(&p, g.a, g.b, g.c, g.d, g.m, g.n)
