# One block of C by pieces of k: packing, register tiles, activation; alone, or with the threads sharing a large product.

cdef void activate_rows(Plan *p, char *c, Py_ssize_t m, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef Product *g = p.g
    cdef int size = p.kern.computed
    if p.turned:                # columns are contiguous
        for j in range(n):
            if size == 4:
                ft_activate_f32(g.activation, <float *>(c + j * g.ccs * 4), m)
            else:
                ft_activate_f64(g.activation, <double *>(c + j * g.ccs * 8), m)
        return
    for i in range(m):
        if g.ccs == 1:
            if size == 4:
                ft_activate_f32(g.activation, <float *>(c + i * g.crs * 4), n)
            else:
                ft_activate_f64(g.activation, <double *>(c + i * g.crs * 8), n)
        else:
            for j in range(n):
                if size == 4:
                    ft_activate_f32(g.activation, <float *>(c + (i * g.crs + j * g.ccs) * 4), 1)
                else:
                    ft_activate_f64(g.activation, <double *>(c + (i * g.crs + j * g.ccs) * 8), 1)


# One piece of k, of all columns jc .. jc + nc of a block of C; pointers are at the block's first row and column.
cdef struct Piece:
    Plan *p
    const char *a
    const char *b
    char *c
    const char *d
    char *pb                # packed panels of B
    Py_ssize_t jc, nc, pc, kc, m
    bint first, last        # of the pieces of k


cdef void pack_panels(Piece *at, Py_ssize_t j0, Py_ssize_t j1) noexcept nogil:
    """Packs the panels of B that begin in columns j0 .. j1 of the piece, unless they are read in place."""
    cdef Plan *p = at.p
    cdef const ft_kernel *kern = p.kern
    cdef Product *g = p.g
    cdef Py_ssize_t nr = kern.nr, j = j0, nj
    while j < j1:
        nj = least(nr, at.nc - j)
        if not (p.direct_b and (nj == nr or kern.partial)):
            kern.pack(at.pb + j * at.kc * kern.computed, least(nr, round_up(nj, kern.lanes)),
                      at.b + (at.pc * g.brs + (at.jc + j) * g.bcs) * kern.stored, g.bcs, g.brs, nj, at.kc)
        j += nr


cdef void fetch_panel(Piece *at, Py_ssize_t j, Py_ssize_t part, Py_ssize_t parts) noexcept nogil:
    """Asks for a part of the panel of B that begins in column j, so that it comes from afar while tiles are computed."""
    cdef Product *g = at.p.g
    cdef Py_ssize_t size = at.p.kern.stored, nj = least(at.p.kern.nr, at.nc - j), line, reach
    cdef const char *b = at.b + (at.pc * g.brs + (at.jc + j) * g.bcs) * size
    cdef Py_ssize_t lines = nj if g.brs == 1 else at.kc, step = (g.bcs if g.brs == 1 else g.brs) * size, place
    if g.brs != 1 and g.bcs != 1:
        return
    reach = (at.kc if g.brs == 1 else nj) * size
    for line in range(lines * part // parts, lines * (part + 1) // parts):
        place = 0
        while place < reach:
            __builtin_prefetch(b + line * step + place)
            place += 64


cdef void fetch_rows(Piece *at, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Asks for rows of A that are read in place next, contiguous along k."""
    cdef Product *g = at.p.g
    cdef Py_ssize_t i, place, size = at.p.kern.stored
    cdef const char *row
    for i in range(begin, least(end, at.m)):
        row = at.a + (i * g.ars + at.pc) * size
        place = 0
        while place < at.kc * size:
            __builtin_prefetch(row + place)
            place += 64


cdef void multiply_rows(Piece *at, Py_ssize_t ic, Py_ssize_t mc, char *pa, bint pack_b) noexcept nogil:
    """Rows ic .. ic + mc of the block by the piece of B, which is packed on the way if `pack_b`."""
    cdef Plan *p = at.p
    cdef Product *g = p.g
    cdef const ft_kernel *kern = p.kern
    cdef ft_tile t
    cdef Py_ssize_t stored = kern.stored, computed = kern.computed, mr = kern.mr, nr = kern.nr, kc = at.kc, jc = at.jc
    # few rows use a panel: take one panel at a time, which stays in L1, and ask for the next meanwhile
    cdef bint few = pack_b and not p.turned and mc <= FEW_ROWS * mr and packs_b(p, at.nc)
    cdef Py_ssize_t q, qg, r, i, j, jg, ng, mi, nj, group = nr if few else ROW_PASS * nr
    cdef const char *a = at.a + (ic * g.ars + at.pc * g.acs) * stored
    cdef char *cell
    t.ccs, t.crs, t.alpha = g.ccs, g.crs, g.alpha
    if at.first:
        t.beta, t.drs, t.dcs = g.beta, g.drs, g.dcs
    else:
        # later pieces of k add to what the earlier ones left in C
        set_one(&t.beta, g.code)
        t.drs, t.dcs = g.crs, g.ccs
    t.relu = at.last and g.activation == ACT_RELU
    t.plain = g.ccs == 1 and ((at.first and at.d == NULL) or t.dcs == 1)
    t.turned = p.turned and ((at.first and at.d == NULL) or t.drs == 1)
    t.ars, t.acs = g.ars, g.acs
    if p.pack_a:
        for q in range(ceil_div(mc, mr)):
            i = q * mr
            kern.pack(pa + i * kc * computed, mr, a + i * g.ars * stored, g.ars, g.acs, least(mr, mc - i), kc)
        t.ars, t.acs = 1, mr
    for qg in range(ceil_div(at.nc, group)):
        jg = qg * group
        ng = least(group, at.nc - jg)
        if pack_b:
            pack_panels(at, jg, jg + ng)
        for q in range(ceil_div(mc, mr)):
            i = q * mr
            mi = least(mr, mc - i)
            if p.turned and jg == 0:
                fetch_rows(at, ic + i + mr, ic + i + 2 * mr)
            if few and jg + nr < at.nc:
                fetch_panel(at, jg + nr, q, ceil_div(mc, mr))
            if p.pack_a:
                t.a = pa + i * kc * computed
            else:
                t.a = a + i * g.ars * stored
            for r in range(ceil_div(ng, nr)):
                j = jg + r * nr
                nj = least(nr, at.nc - j)
                if p.direct_b and (nj == nr or kern.partial):
                    t.b, t.ldb = at.b + (at.pc * g.brs + jc + j) * stored, g.brs
                else:
                    t.b, t.ldb = at.pb + j * kc * computed, least(nr, round_up(nj, kern.lanes))
                cell = at.c + ((ic + i) * g.crs + (jc + j) * g.ccs) * computed
                t.c = cell
                if not at.first:
                    t.d = cell
                elif at.d == NULL:
                    t.d = NULL
                else:
                    t.d = at.d + ((ic + i) * g.drs + (jc + j) * g.dcs) * computed
                kern.run(&t, kc, mi, nj)
            if at.last and g.activation > ACT_RELU:
                activate_rows(p, at.c + ((ic + i) * g.crs + (jc + jg) * g.ccs) * computed, mi, ng)


cdef bint packs_b(Plan *p, Py_ssize_t n) noexcept nogil:
    return not p.direct_b or (n % p.kern.nr and not p.kern.partial)


cdef int block(Plan *p, const char *a, const char *b, char *c, const char *d, Py_ssize_t m,
               Py_ssize_t n) noexcept nogil:
    """One block of C over the whole of k; the pointers are at the block's first row and column."""
    cdef Product *g = p.g
    cdef const ft_kernel *kern = p.kern
    cdef ft_tile t
    cdef Piece at
    cdef Py_ssize_t computed = kern.computed, pieces, qc, qi
    cdef char *pa = NULL
    if p.dots:
        t.ccs, t.crs, t.alpha = g.ccs, g.crs, g.alpha
        t.a, t.ars, t.acs, t.b, t.ldb = a, g.ars, 1, b, g.bcs
        t.c, t.d, t.drs, t.dcs, t.beta = c, d, g.drs, g.dcs, g.beta
        t.relu = g.activation == ACT_RELU
        t.plain = g.ccs == 1 and (d == NULL or g.dcs == 1)
        t.turned = 0
        kern.dot(&t, g.k, m, n)
        if g.activation > ACT_RELU:
            activate_rows(p, c, m, n)
        return 0
    at.p, at.a, at.b, at.c, at.d, at.m, at.pb = p, a, b, c, d, m, NULL
    pieces = (least(p.mc, round_up(m, kern.mr)) * p.kc if p.pack_a else 0)
    if pieces or packs_b(p, n):
        pa = <char *>ft_scratch((pieces + least(p.nc, round_up(n, p.kern.nr)) * p.kc) * computed + 64)
        if pa == NULL:
            return -1
        at.pb = pa + round_up(pieces * computed, 64)
    for qc in range(ceil_div(n, p.nc)):
        at.jc = qc * p.nc
        at.nc = least(p.nc, n - at.jc)
        at.pc = 0
        while True:
            at.kc = least(p.kc, g.k - at.pc)
            at.first, at.last = at.pc == 0, at.pc + at.kc >= g.k
            for qi in range(ceil_div(m, p.mc)):
                multiply_rows(&at, qi * p.mc, least(p.mc, m - qi * p.mc), pa, qi == 0)
            at.pc += at.kc
            if at.last:
                break
    return 0


cdef struct Shared:
    Piece at
    char *own               # room for a piece of A of the calling thread, behind the panels of B


cdef void share_packing(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Shared *s = <Shared *>context
    cdef Py_ssize_t nr = s.at.p.kern.nr
    pack_panels(&s.at, begin * nr, least(end * nr, s.at.nc))


cdef void share_rows(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Shared *s = <Shared *>context
    cdef Plan *p = s.at.p
    cdef char *pa = s.own
    cdef Py_ssize_t q
    if p.pack_a and thread_index() > 0:
        pa = <char *>ft_scratch(p.mb * p.kc * p.kern.computed + 64)
        if pa == NULL:
            p.failed = 1
            return
    for q in range(begin, end):
        multiply_rows(&s.at, q * p.mb, least(p.mb, s.at.m - q * p.mb), pa, False)


cdef int multiply_shared(Plan *p) noexcept nogil:
    """A large product whose threads pack each piece of B together and then share the rows of A, so that nothing is
    packed twice. The pieces of k are those of block(), and so are the sums."""
    cdef Product *g = p.g
    cdef Shared s
    cdef Py_ssize_t nr = p.kern.nr, panels, qc
    cdef Py_ssize_t size = round_up(least(p.nc, round_up(g.n, nr)) * p.kc * p.kern.computed, 64)
    s.at.p, s.at.a, s.at.b, s.at.c, s.at.d, s.at.m = p, g.a, g.b, g.c, g.d, g.m
    s.at.pb = <char *>ft_scratch(size + p.mb * p.kc * p.kern.computed + 64)
    if s.at.pb == NULL:
        return -1
    s.own = s.at.pb + size
    for qc in range(ceil_div(g.n, p.nc)):
        s.at.jc = qc * p.nc
        s.at.nc = least(p.nc, g.n - s.at.jc)
        s.at.pc = 0
        while True:
            s.at.kc = least(p.kc, g.k - s.at.pc)
            s.at.first, s.at.last = s.at.pc == 0, s.at.pc + s.at.kc >= g.k
            panels = ceil_div(s.at.nc, nr)
            if packs_b(p, s.at.nc):
                parallel_for(panels, least(panels, 4), share_packing, &s)
            parallel_for(ceil_div(g.m, p.mb), 1, share_rows, &s)
            s.at.pc += s.at.kc
            if s.at.last:
                break
    return -1 if p.failed else 0
