/* One long transform at a time, n = n1 n2 values as a matrix of n1 rows: transforms of its columns side by side, a factor for
 * each element, transforms of its rows side by side after a transposition (D. H. Bailey, "FFTs in external or hierarchical
 * memory", 1990). */
typedef struct NAME(single) {
    ptrdiff_t n, n1, n2;                /* n1 = 1: one lane alone */
    NAME(lanes) *one, *two;
    const CV *near;                     /* factors [blocks][n1] or, `far` times them, [n1] */
    const FT_T *far;
    struct NAME(single) *conv;
    const FT_T *chirp, *kernel;
    ptrdiff_t lane_room;
    size_t bytes;                       /* scratch */
} NAME(single);

typedef struct {
    const NAME(single) *f;
    const ft_fft *g;
    const FT_T *x;
    FT_T *y;
    CV *t;
    int swap;
    FT_T scale;
} NAME(steps);

static ptrdiff_t NAME(up)(ptrdiff_t n) { return (n + FT_LANES - 1) / FT_LANES; }

/* `rows` elements of y to `count` elements of t with a row in each lane. */
ALWAYS void NAME(turn_tile)(const CV *y, CV *t, int rows, int count)
{
    NAME(vec) r[FT_LANES], i[FT_LANES];
#pragma GCC unroll 16
    for (int l = 0; l < FT_LANES; l++) r[l] = l < rows ? y[l].r : (NAME(vec)){0};
    NAME(turn)(r);
#pragma GCC unroll 16
    for (int l = 0; l < FT_LANES; l++)
        if (l < count) t[l].r = r[l];
#pragma GCC unroll 16
    for (int l = 0; l < FT_LANES; l++) i[l] = l < rows ? y[l].i : (NAME(vec)){0};
    NAME(turn)(i);
#pragma GCC unroll 16
    for (int l = 0; l < FT_LANES; l++)
        if (l < count) t[l].i = i[l];
}

/* Blocks of columns: transforms, factors, and the transposed result as blocks [n2] of FT_LANES rows. */
static void NAME(columns)(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    const NAME(steps) *c = context;
    const NAME(single) *f = c->f;
    const ptrdiff_t n1 = f->n1, n2 = f->n2;
    CV *a = (CV *)(c->g->lane_room + c->g->thread() * c->g->lane_bytes), *b = a + c->g->buffer;
    for (ptrdiff_t j = begin; j < end; j++) {
        const int count = n2 - j * FT_LANES < FT_LANES ? (int)(n2 - j * FT_LANES) : FT_LANES;
        const CV *near = f->far ? f->near : f->near + j * n1;
        const NAME(ends) e = {.x = c->x + 2 * j * FT_LANES, .x_stride = 2 * n2, .count = count, .x_swap = c->swap, .near = f->far ? NULL : near};
        CV *y = NAME(lanes_run)(f->one, a, b, &e);
        if (f->far)
            for (ptrdiff_t k = 0; k < n1; k++) y[k] = NAME(lanes_mul)(y[k], NAME(mul)(near[k], f->far + 2 * (j * n1 + k)));
        for (ptrdiff_t k = 0; k < n1; k += FT_LANES) {
            CV *t = c->t + k / FT_LANES * n2 + j * FT_LANES;
            if (n1 - k >= FT_LANES && count == FT_LANES) NAME(turn_tile)(y + k, t, FT_LANES, FT_LANES);
            else NAME(turn_tile)(y + k, t, n1 - k < FT_LANES ? (int)(n1 - k) : FT_LANES, count);
        }
    }
}

/* Blocks of rows. */
static void NAME(rows)(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    const NAME(steps) *c = context;
    const NAME(single) *f = c->f;
    const ptrdiff_t n1 = f->n1, n2 = f->n2;
    CV *b = (CV *)(c->g->lane_room + c->g->thread() * c->g->lane_bytes);
    for (ptrdiff_t k = begin; k < end; k++) {
        const int count = n1 - k * FT_LANES < FT_LANES ? (int)(n1 - k * FT_LANES) : FT_LANES;
        const NAME(ends) e = {.y = c->y + 2 * k * FT_LANES, .y_stride = 2 * n1, .count = count, .y_swap = c->swap, .scale = c->scale};
        NAME(lanes_run)(f->two, c->t + k * n2, b, &e);
    }
}

/* n complex values, adjacent in x and in y, which may be x; room: f->bytes of scratch. */
static void NAME(single_run)(const NAME(single) *f, const ft_fft *g, const FT_T *x, FT_T *y, int swap, FT_T scale, char *room)
{
    const ptrdiff_t n = f->n;
    if (f->conv) {
        const ptrdiff_t m = f->conv->n;
        FT_T *p = (FT_T *)room;
        room += (2 * m * sizeof(FT_T) + 63) / 64 * 64;
        for (ptrdiff_t j = 0; j < n; j++) {
            const FT_T re = x[2 * j + swap], im = x[2 * j + !swap], *w = f->chirp + 2 * j;
            p[2 * j] = re * w[0] - im * w[1];
            p[2 * j + 1] = re * w[1] + im * w[0];
        }
        memset(p + 2 * n, 0, 2 * (m - n) * sizeof(FT_T));
        NAME(single_run)(f->conv, g, p, p, 0, 1, room);
        for (ptrdiff_t k = 0; k < m; k++) {
            const FT_T re = p[2 * k], im = p[2 * k + 1], *w = f->kernel + 2 * k;
            p[2 * k] = re * w[0] - im * w[1];
            p[2 * k + 1] = re * w[1] + im * w[0];
        }
        NAME(single_run)(f->conv, g, p, p, 1, 1, room);
        for (ptrdiff_t j = 0; j < n; j++) {
            const FT_T re = p[2 * j], im = p[2 * j + 1], *w = f->chirp + 2 * j;
            y[2 * j + swap] = (re * w[0] - im * w[1]) * scale;
            y[2 * j + !swap] = (re * w[1] + im * w[0]) * scale;
        }
    } else if (f->n1 == 1) {
        CV *a = (CV *)(g->lane_room + g->thread() * g->lane_bytes), *b = a + g->buffer;
        const NAME(vec) zero = {0};
        for (ptrdiff_t j = 0; j < n; j++) a[j] = (CV){zero + x[2 * j + swap], zero + x[2 * j + !swap]};
        a = NAME(lanes_run)(f->two, a, b, NULL);
        for (ptrdiff_t j = 0; j < n; j++) y[2 * j + swap] = a[j].r[0] * scale, y[2 * j + !swap] = a[j].i[0] * scale;
    } else {
        NAME(steps) c = {f, g, x, y, (CV *)room, swap, scale};
        g->parallel(NAME(up)(f->n2), 2048 / f->n1 + 1, NAME(columns), &c);
        g->parallel(NAME(up)(f->n1), 2048 / f->n2 + 1, NAME(rows), &c);
    }
}

static NAME(single) *NAME(plan_single)(ft_arena *arena, ptrdiff_t n)
{
    NAME(single) *f = ft_take(arena, sizeof *f);
    ptrdiff_t m;
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->n = n;
    f->n1 = 1;
    if (ft_convolves(n, &m)) {
        FT_T *chirp, *kernel;
        f->conv = NAME(plan_single)(arena, m);
        if (!f->conv || !NAME(chirps)(arena, n, m, &chirp, &kernel)) return NULL;
        f->chirp = chirp;
        f->kernel = kernel;
        f->lane_room = f->conv->lane_room;
        const size_t lanes = 2 * f->lane_room * sizeof(CV);
        char *room = aligned_alloc(64, (lanes + f->conv->bytes + 63) / 64 * 64);
        if (!room) return NULL;
        const ft_fft g = {.buffer = f->lane_room, .lane_room = room, .parallel = ft_serial, .thread = ft_first_thread};
        NAME(single_run)(f->conv, &g, kernel, kernel, 0, 1, room + lanes);
        free(room);
        f->bytes = (2 * m * sizeof(FT_T) + 63) / 64 * 64 + f->conv->bytes;
        return f;
    }
    double cost;
    f->n1 = ft_best_rows(n, FT_LANES, &cost);
    f->n2 = n / f->n1;
    f->two = NAME(plan_lanes)(arena, f->n2);
    if (!f->two) return NULL;
    f->lane_room = f->two->room;
    if (f->n1 == 1) return f;
    f->one = NAME(plan_lanes)(arena, f->n1);
    if (!f->one) return NULL;
    if (f->one->room > f->lane_room) f->lane_room = f->one->room;
    const ptrdiff_t n1 = f->n1, blocks = NAME(up)(f->n2), near_blocks = n <= 16384 ? blocks : 1;
    f->bytes = NAME(up)(n1) * f->n2 * sizeof(CV);
    CV *near = ft_take(arena, near_blocks * n1 * sizeof(CV));
    FT_T *far = near_blocks == blocks ? NULL : ft_take(arena, sizeof(FT_T) * 2 * blocks * n1);
    ft_roots roots;
    if (!near || (near_blocks != blocks && !far) || !ft_open_roots(&roots, n)) return NULL;
    f->near = near;
    f->far = far;
    for (ptrdiff_t j = 0; j < blocks; j++)
        for (ptrdiff_t k = 0; k < n1; k++) {
            if (far) NAME(put)(far + 2 * (j * n1 + k), ft_root(&roots, j * FT_LANES * k % n));
            if (j < near_blocks)
                for (int l = 0; l < FT_LANES; l++) {
                    const ft_turn t = ft_root(&roots, (j * FT_LANES + l) * k % n);
                    near[j * n1 + k].r[l] = (FT_T)t.c;
                    near[j * n1 + k].i[l] = (FT_T)t.s;
                }
        }
    ft_close_roots(&roots);
    return f;
}
