"""Matrix product of weights with windows of a lattice: convolution without an im2col matrix.

out[m, pixel] = bias[m] + sum_k w[m, k] * x[off[k] + place(pixel)]

Pixels are numbered through all images. A panel of a few vectors of pixels is packed for a block
of k just before it is used, so that it comes from L2, and every m multiplies it in register
tiles. Few channels do not repay the packing: then panels are read in place, either lines of the output (whole
rows, or equal parts of one, whose last vector may overlap the one before) or runs of the lattice, row ends
included, where what lies between two rows is computed and dropped. Each output is computed by one task in one order: results do not depend on threads.
"""
from libc.stdlib cimport malloc, free

from fasttensor._core.parallel cimport parallel_for, thread_index
from fasttensor.cpu.conv.lattice cimport real, volume

cdef extern from "micro.h" nogil:
    enum: FT_VECTOR_BYTES
    enum: FT_ROWS
    enum: FT_VECS
    void ft_tile_f32(int rows, int nv, Py_ssize_t k, const float **a, const Py_ssize_t *aoff, const float *b,
                     const Py_ssize_t *off, const float *init, float *c, Py_ssize_t ldc, int add)
    void ft_tile_f64(int rows, int nv, Py_ssize_t k, const double **a, const Py_ssize_t *aoff, const double *b,
                     const Py_ssize_t *off, const double *init, double *c, Py_ssize_t ldc, int add)
    void ft_line_f32(int rows, int nv, Py_ssize_t last, Py_ssize_t k, const float **a, const float *b, const Py_ssize_t *off,
                     const float *init, float *c, Py_ssize_t ldc)
    void ft_line_f64(int rows, int nv, Py_ssize_t last, Py_ssize_t k, const double **a, const double *b, const Py_ssize_t *off,
                     const double *init, double *c, Py_ssize_t ldc)
    void ft_copy_f32(float *dst, const float *src, Py_ssize_t n)
    void ft_copy_f64(double *dst, const double *src, Py_ssize_t n)
    ctypedef struct Run "ft_pixels":
        Py_ssize_t at, src, dst, n
    void ft_pack_f32(float *dst, Py_ssize_t width, const float *x, const Py_ssize_t *off, Py_ssize_t k, int runs, const Run *run, int exact)
    void ft_pack_f64(double *dst, Py_ssize_t width, const double *x, const Py_ssize_t *off, Py_ssize_t k, int runs, const Run *run, int exact)

cdef enum:
    GROUP = 6               # panels packed together, at most
    PACKED = 640 << 10      # bytes of packed panels: they stay in L2 while every row of the weights passes
    MAXPANEL = 64           # pixels of a panel, at most


cdef struct Panel:
    int nv                  # vectors
    int runs
    bint direct             # read in place, from `base` on
    bint exact              # runs may not be read past their ends
    Py_ssize_t n            # pixels
    Py_ssize_t base
    Run run[MAXPANEL]


cdef struct Plan:
    Product *p
    char *scratch
    Py_ssize_t pixels       # of all images, or of one where panels are runs of the lattice
    Py_ssize_t flat         # panels of one image then; 0 otherwise
    Py_ssize_t lines        # panels of one output row where panels are its parts; 0 otherwise
    bint level              # pixels are numbered line by line through all images, so that a panel's taps meet padding together
    Py_ssize_t panels
    Py_ssize_t span         # panels a task
    Py_ssize_t spans
    Py_ssize_t rows         # of m a task
    Py_ssize_t splits
    Py_ssize_t kblock       # terms packed at a time


cdef Py_ssize_t scratch_bytes() noexcept nogil:
    return PACKED + FT_ROWS * FT_VECS * FT_VECTOR_BYTES + GROUP * sizeof(Panel) + FT_VECTOR_BYTES


cdef void place_line(Plan *plan, Panel *panel, Py_ssize_t index, Py_ssize_t lanes) noexcept nogil:
    """A panel that is a part of one output row: the parts are equal, and the last begins where it ends with the row."""
    cdef Product *p = plan.p
    cdef Py_ssize_t part = index % plan.lines, row = index // plan.lines, d, h, w
    cdef Py_ssize_t n = (p.cnt[2] + plan.lines - 1) // plan.lines
    h, d = row % p.cnt[1], row // p.cnt[1] % p.cnt[0]
    row = row // p.cnt[1] // p.cnt[0]
    w = min(part * n, p.cnt[2] - n)
    panel.n, panel.runs, panel.nv, panel.direct = n, 1, <int>((n + lanes - 1) // lanes), True
    panel.base = row * p.ximage + (d * p.q[1] + h) * p.q[2] + w
    panel.run[0].at, panel.run[0].n, panel.run[0].src = 0, n, panel.base
    panel.run[0].dst = row * p.oimage + d * p.ostep[0] + h * p.ostep[1] + w


cdef void place(Plan *plan, Panel *panel, Py_ssize_t index, Py_ssize_t lanes) noexcept nogil:
    """Finds the runs of pixels of a panel."""
    cdef Product *p = plan.p
    cdef Py_ssize_t wide = FT_VECS * lanes, image = index // plan.flat if plan.flat else 0
    cdef Py_ssize_t first = (index % plan.flat if plan.flat else index) * wide
    cdef Py_ssize_t pitch = p.q[2] if plan.flat else p.cnt[2], n = min(wide, plan.pixels - first)
    cdef Py_ssize_t w = first % pitch, rest = first // pitch, h = rest % p.cnt[1], d, src, dst, m, at = 0
    cdef Run *run = panel.run - 1
    if plan.level:
        image, h, d = rest % p.images, rest // p.images, 0
    else:
        rest //= p.cnt[1]
        d = rest % p.cnt[0]
        image += rest // p.cnt[0]
    panel.n, panel.runs, panel.nv = n, 0, <int>((n + lanes - 1) // lanes)
    panel.base = image * p.ximage + first
    while at < n:
        src = image * p.ximage + (d * p.q[1] + h) * p.q[2] + w
        dst = image * p.oimage + d * p.ostep[0] + h * p.ostep[1] + w * p.ostep[2]
        m = min(n - at, p.cnt[2] - w)
        if m > 0:
            if panel.runs and run.at + run.n == at and run.src + run.n == src and run.dst + run.n * p.ostep[2] == dst:
                run.n += m
            else:
                run += 1
                run.at, run.src, run.dst, run.n = at, src, dst, m
                panel.runs += 1
        at += min(n - at, pitch - w)
        w = 0
        if plan.level:
            image += 1
            if image == p.images:
                image = 0
                h += 1
            continue
        h += 1
        if h == p.cnt[1]:
            h = 0
            d += 1
            if d == p.cnt[0]:
                d = 0
                image += 1
    panel.exact = p.exact and run.src + run.n + wide > (p.images - 1) * p.ximage
    panel.direct = plan.flat > 0 and not panel.exact


cdef void pack(const real *x, const Py_ssize_t *off, Py_ssize_t k, Panel *panel, real *dst) noexcept nogil:
    cdef Py_ssize_t width = panel.nv * (FT_VECTOR_BYTES // <Py_ssize_t>sizeof(real))
    if real is float:
        ft_pack_f32(dst, width, x, off, k, panel.runs, panel.run, panel.exact)
    else:
        ft_pack_f64(dst, width, x, off, k, panel.runs, panel.run, panel.exact)


cdef void scatter(Product *p, Panel *panel, const real *tile, int rows, real *out, bint add) noexcept nogil:
    """Writes a tile that is no plain block of the output."""
    cdef Py_ssize_t j, width = panel.nv * (FT_VECTOR_BYTES // <Py_ssize_t>sizeof(real)), step = p.ostep[2]
    cdef int r, i
    cdef real *dst
    cdef const real *src
    for i in range(rows):
        for r in range(panel.runs):
            src = tile + i * width + panel.run[r].at
            dst = out + i * p.orow + panel.run[r].dst
            if step == 1 and not add:
                if real is float:
                    ft_copy_f32(dst, src, panel.run[r].n)
                else:
                    ft_copy_f64(dst, src, panel.run[r].n)
            elif step == 1:
                for j in range(panel.run[r].n):
                    dst[j] += src[j]
            elif add:
                for j in range(panel.run[r].n):
                    dst[j * step] += src[j]
            else:
                for j in range(panel.run[r].n):
                    dst[j * step] = src[j]


cdef void tiles(Product *p, bint lines, Py_ssize_t group, Py_ssize_t m0, Py_ssize_t m1, Py_ssize_t k0, Py_ssize_t kn,
                const Py_ssize_t *woff, Panel *panels, int count, const real *packed, real *scratch) noexcept nogil:
    """Rows m0 .. m1 of a block of terms, for panels packed or read in place."""
    cdef Py_ssize_t m, lanes = FT_VECTOR_BYTES // sizeof(real), ldc
    cdef const real *w = <const real *>p.w + group * p.wgroup
    cdef const real *x = <const real *>p.x + group * p.xgroup
    cdef const real *a[16]
    cdef const real *b
    cdef const real *src
    cdef const real *init
    cdef const Py_ssize_t *off
    cdef const Py_ssize_t *aoff = NULL
    cdef real *out = <real *>p.out + group * p.ogroup
    cdef real *c
    cdef int i, rows, r
    cdef bint plain
    if woff != NULL:
        aoff = woff + k0
    m = m0
    while m < m1:
        rows = <int>min(FT_ROWS, m1 - m)
        for r in range(rows):
            a[r] = w + (m + r) * p.wrow + (k0 if woff == NULL else 0)
        init = NULL
        if p.bias != NULL and k0 == 0:
            init = <const real *>p.bias + group * p.m + m
        b = packed
        for i in range(count):
            src, off = b, NULL
            if panels[i].direct:
                src, off = x + panels[i].base, p.off + k0
            if lines:
                c = out + m * p.orow + panels[i].run[0].dst
                if real is float:
                    ft_line_f32(rows, panels[i].nv, panels[i].n - lanes, kn, a, src, off, init, c, p.orow)
                else:
                    ft_line_f64(rows, panels[i].nv, panels[i].n - lanes, kn, a, src, off, init, c, p.orow)
                continue
            plain = panels[i].run[0].n == panels[i].nv * lanes and p.ostep[2] == 1
            c, ldc = (out + m * p.orow + panels[i].run[0].dst, p.orow) if plain else (scratch, panels[i].nv * lanes)
            if real is float:
                ft_tile_f32(rows, panels[i].nv, kn, a, aoff, src, off, init, c, ldc, k0 > 0 and plain)
            else:
                ft_tile_f64(rows, panels[i].nv, kn, a, aoff, src, off, init, c, ldc, k0 > 0 and plain)
            if not plain:
                scatter(p, &panels[i], scratch, rows, out + m * p.orow, k0 > 0)
            b += kn * panels[i].nv * lanes
        m += rows


cdef Py_ssize_t drop_padding(Plan *plan, Py_ssize_t first, Py_ssize_t last, Py_ssize_t **off, Py_ssize_t **woff) noexcept nogil:
    """The terms of pixels first .. last - 1 that are not all padding, in memory of `off`; returns k where that are all."""
    cdef Product *p = plan.p
    cdef Py_ssize_t line = p.images * p.cnt[2], h0 = first // line, h1 = (last - 1) // line, taps = p.k // p.channels, t, c, n = 0
    off[0] = NULL
    for t in range(taps):
        n += p.taps[t].low <= h1 and p.taps[t].high > h0
    if n < taps:
        off[0] = <Py_ssize_t *>malloc((2 * n * p.channels + AHEAD) * sizeof(Py_ssize_t))
    if off[0] == NULL:
        return p.k
    woff[0] = off[0] + n * p.channels
    n = 0
    for c in range(p.channels):
        for t in range(taps):
            if p.taps[t].low <= h1 and p.taps[t].high > h0:
                off[0][n] = p.off[c * taps + t]
                woff[0][n] = c * taps + t if p.woff == NULL else p.woff[c * taps + t]
                n += 1
    for t in range(AHEAD):
        woff[0][n + t] = 0
    return n


cdef bint meets_padding(const Product *p) noexcept nogil:
    """Whether a fiftieth of the terms or more lies above or below the image."""
    cdef Py_ssize_t t, taps = p.k // p.channels if p.channels else 0, missed = 0
    for t in range(taps):
        missed += min(p.cnt[1], max(0, p.taps[t].low)) + min(p.cnt[1], max(0, p.cnt[1] - p.taps[t].high))
    return missed * 50 >= taps * p.cnt[1] and missed > 0


cdef void task(Plan *plan, Py_ssize_t index, const real *kind) noexcept nogil:
    cdef Product *p = plan.p
    cdef const Py_ssize_t *off = p.off
    cdef const Py_ssize_t *woff = p.woff
    cdef Py_ssize_t *fewer = NULL
    cdef Py_ssize_t *fewer_w = NULL
    cdef Py_ssize_t k = p.k
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real), wide = FT_VECS * lanes
    cdef Py_ssize_t split = index % plan.splits, rest = index // plan.splits
    cdef Py_ssize_t first = rest % plan.spans * plan.span, group = rest // plan.spans
    cdef Py_ssize_t k0 = 0, kn
    cdef Panel *panels = <Panel *>(plan.scratch + thread_index() * scratch_bytes())
    cdef real *tile = <real *>(panels + GROUP)
    cdef real *packed = tile + FT_ROWS * wide
    cdef real *b
    cdef int count = <int>(min(plan.panels, first + plan.span) - first), i
    for i in range(count):
        if plan.lines:
            place_line(plan, &panels[i], first + i, lanes)
        else:
            place(plan, &panels[i], first + i, lanes)
    if plan.level:
        k = drop_padding(plan, first * wide, min(plan.pixels, (first + count) * wide), &fewer, &fewer_w)
        if fewer != NULL:
            off, woff = fewer, fewer_w
    while k0 < k or k0 == 0:
        kn = min(plan.kblock, k - k0)
        b = packed
        for i in range(count):
            if not panels[i].direct:
                pack(<const real *>p.x + group * p.xgroup, off + k0, kn, &panels[i], b)
            b += kn * panels[i].nv * lanes
        tiles(p, plan.lines > 0, group, split * plan.rows, min(p.m, (split + 1) * plan.rows), k0, kn, woff, panels, count, packed, tile)
        k0 += max(kn, 1)
    free(fewer)


cdef void task_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        task(<Plan *>context, begin, <float *>NULL)


cdef void task_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        task(<Plan *>context, begin, <double *>NULL)


cdef void multiply(Product *p, void *scratch, const real *kind) noexcept nogil:
    """Computes the product. `scratch` holds scratch_bytes() for each thread; `kind` only names the type."""
    cdef Plan plan
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real), wide = FT_VECS * lanes, tasks, blocks, flops, parts, part
    cdef Py_ssize_t group = GROUP
    plan.p, plan.scratch = p, <char *>scratch
    plan.pixels = p.images * volume(p.cnt)
    if plan.pixels == 0 or p.m == 0 or p.groups == 0:
        return
    plan.panels, plan.flat, plan.lines = (plan.pixels + wide - 1) // wide, 0, 0
    # Lines lose what their last vector computes again, runs what lies between rows and a copy of every output.
    parts = (p.cnt[2] + wide - 1) // wide
    part = (p.cnt[2] + parts - 1) // parts if parts else 0
    if (p.channels <= 16 or p.m <= 2 * FT_ROWS) and p.woff == NULL and p.ostep[2] == 1 and part >= lanes and \
            p.k * wide * sizeof(real) <= PACKED and (part + lanes - 1) // lanes * lanes * parts * 4 <= p.cnt[2] * 5:
        plan.lines = parts
        plan.panels = p.images * p.cnt[0] * p.cnt[1] * parts
    # Packing costs about a quarter of one row tile's work; the gaps between rows cost their share of the pixels.
    elif p.cnt[0] == 1 and (p.channels <= 16 or p.m <= 2 * FT_ROWS) and (p.q[2] - p.cnt[2]) * p.m <= 6 * p.cnt[2]:
        plan.pixels = (p.cnt[1] - 1) * p.q[2] + p.cnt[2]
        plan.flat = (plan.pixels + wide - 1) // wide
        plan.panels = p.images * plan.flat
    plan.level = not plan.lines and not plan.flat and p.cnt[0] == 1 and meets_padding(p)
    blocks = max(1, (p.k * FT_VECS * FT_VECTOR_BYTES + PACKED - 1) // PACKED)
    plan.kblock = (p.k + blocks - 1) // blocks
    group = min(GROUP, PACKED // (max(1, plan.kblock) * FT_VECS * FT_VECTOR_BYTES))
    # At least 16 tasks of fewer panels, or 6 of fewer rows that pack the same panels again.
    blocks = (p.m + FT_ROWS - 1) // FT_ROWS
    while group > 1 and plan.panels * p.groups < 16 * group:
        group -= 1
    plan.span = group
    plan.spans = (plan.panels + group - 1) // group
    plan.splits = max(1, min((6 + plan.spans * p.groups - 1) // (plan.spans * p.groups), blocks // 4))
    plan.rows = (blocks + plan.splits - 1) // plan.splits * FT_ROWS
    plan.splits = (p.m + plan.rows - 1) // plan.rows
    tasks = plan.spans * plan.splits * p.groups
    flops = 2 * plan.span * wide * plan.rows * p.k + 1
    parallel_for(tasks, max(1, 1000000 // flops), task_f32 if real is float else task_f64, &plan)
