/* Lines one after the other: gathered where they are not adjacent, transformed, and for real values split or joined. */
typedef struct { FT_T *y; const FT_T *w; ptrdiff_t h; FT_T f, sign; int join; } NAME(halves);

/* bytes of a gathered line */
static size_t NAME(spare)(ptrdiff_t n) { return (2 * (n + 1) * sizeof(FT_T) + 63) / 64 * 64; }

ALWAYS CV NAME(ordered)(CV a, NAME(mask) order) { return (CV){__builtin_shuffle(a.r, order), __builtin_shuffle(a.i, order)}; }

/* Pairs k, h - k of a line, k < h - k, FT_LANES of them at a time; begin and end count such groups. */
static void NAME(pairs)(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    const NAME(halves) *c = context;
    for (ptrdiff_t group = begin; group < end; group++) {
        const ptrdiff_t k = group * FT_LANES, all = (c->h + 1) / 2;
        const int count = all - k < FT_LANES ? (int)(all - k) : FT_LANES;
        FT_T *low = c->y + 2 * k, *high = c->y + 2 * (c->h - k - count + 1);
        const NAME(mask) turned = (count - 1 - FT_IOTA) & (FT_LANES - 1);
        CV p = NAME(load)(low, count, 0), q = NAME(ordered)(NAME(load)(high, count, 0), turned);
        const CV w = NAME(load)(c->w + 2 * k, count, 0);
        if (c->join) NAME(join_pair)(&p, &q, w, c->f, c->sign);
        else NAME(split_pair)(&p, &q, w, c->f, c->sign);
        NAME(store)(low, p, count, 0);
        NAME(store)(high, NAME(ordered)(q, turned), count, 0);
    }
}

/* y[0] and y[h] are a pair like the others, of which Z has one element. */
static void NAME(split_line)(const ft_fft *g, FT_T *y, ptrdiff_t h, FT_T f, FT_T sign)
{
    NAME(halves) c = {y, g->plan->turns, h, f, sign, 0};
    const FT_T re = y[0], im = y[1];
    if (h % 2 == 0) y[h] *= 2 * f, y[h + 1] *= -2 * f * sign;
    g->parallel(NAME(up)((h + 1) / 2), 512, NAME(pairs), &c);
    y[0] = re + im;
    y[2 * h] = re - im;
    y[1] = y[2 * h + 1] = 0;
}

static void NAME(join_line)(const ft_fft *g, FT_T *y, ptrdiff_t h, FT_T f, FT_T sign)
{
    NAME(halves) c = {y, g->plan->turns, h, f, sign, 1};
    const FT_T first = y[0], last = y[2 * h];
    if (h % 2 == 0) y[h] *= 2 * f, y[h + 1] *= -2 * f * sign;
    g->parallel(NAME(up)((h + 1) / 2), 512, NAME(pairs), &c);
    y[0] = first + last;
    y[1] = first - last;
}

/* `count` elements of `unit` FT_T, `from` and `to` apart */
static void NAME(copy_line)(FT_T *y, ptrdiff_t to, const FT_T *x, ptrdiff_t from, ptrdiff_t count, int unit)
{
    for (ptrdiff_t k = 0; k < count; k++)
        for (int u = 0; u < unit; u++) y[k * to + u] = x[k * from + u];
}

static void NAME(real_line)(const ft_fft *g, const FT_T *x, FT_T *y, FT_T *p, FT_T *q, char *room)
{
    const ptrdiff_t n = g->n, h = n / 2, count = g->kind == FT_R2C ? h + 1 : n;
    const FT_T sign = g->forward ? 1 : -1, weight = g->weighted ? 2 : 1;
    FT_T *z = g->sy == 1 && n % 2 == 0 ? y : q;
    if (n % 2 == 0) {
        if (g->sx != 1) NAME(copy_line)(p, 1, x, g->sx, n, 1), x = p;
        NAME(single_run)(g->plan->line, g, x, z, 0, (FT_T)g->scale, room);
        NAME(split_line)(g, z, h, weight / 2, sign);
    } else {
        for (ptrdiff_t j = 0; j < n; j++) p[2 * j] = x[j * g->sx], p[2 * j + 1] = 0;
        NAME(single_run)(g->plan->line, g, p, z, 0, (FT_T)g->scale, room);
        for (ptrdiff_t k = 1; k <= h; k++) z[2 * k] *= weight, z[2 * k + 1] *= sign * weight;
    }
    if (g->kind == FT_R2C_FULL)
        for (ptrdiff_t k = 1; k < n - k; k++) z[2 * (n - k)] = z[2 * k], z[2 * (n - k) + 1] = -z[2 * k + 1];
    if (z == q) NAME(copy_line)(y, 2 * g->sy, z, 2, count, 2);
}

static void NAME(back_line)(const ft_fft *g, const FT_T *x, FT_T *y, FT_T *p, FT_T *q, char *room)
{
    const ptrdiff_t n = g->n, h = n / 2;
    const FT_T sign = g->forward ? -1 : 1, weight = g->weighted ? 0.5 : 1;
    NAME(copy_line)(p, 2, x, 2 * g->sx, h + 1, 2);
    if (n % 2 == 0) {
        FT_T *z = g->sy == 1 ? y : q;
        NAME(join_line)(g, p, h, weight, sign);
        NAME(single_run)(g->plan->line, g, p, z, 1, (FT_T)g->scale, room);
        if (z == q) NAME(copy_line)(y, g->sy, z, 1, n, 1);
    } else {
        p[1] = 0;
        for (ptrdiff_t k = 1; k <= h; k++) {
            p[2 * k] *= weight;
            p[2 * k + 1] *= -sign * weight;
            p[2 * (n - k)] = p[2 * k];
            p[2 * (n - k) + 1] = -p[2 * k + 1];
        }
        NAME(single_run)(g->plan->line, g, p, q, 0, (FT_T)g->scale, room);
        NAME(copy_line)(y, g->sy, q, 2, n, 1);
    }
}

static void NAME(lines)(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    const ft_fft *g = context;
    char *room = g->line_room + g->thread() * g->line_bytes;
    FT_T *p = (FT_T *)room, *q = (FT_T *)(room + NAME(spare)(g->n));
    room += 2 * NAME(spare)(g->n);
    for (ptrdiff_t i = begin; i < end; i++) {
        ptrdiff_t xo, yo;
        ft_fft_offsets(g, i, g->rank, &xo, &yo);
        const FT_T *x = (const FT_T *)g->x + xo * (g->kind == FT_R2C || g->kind == FT_R2C_FULL ? 1 : 2);
        FT_T *y = (FT_T *)g->y + yo * (g->kind == FT_C2R ? 1 : 2);
        if (g->kind == FT_C2C) {
            FT_T *z = g->sy == 1 ? y : q;
            if (g->sx != 1) NAME(copy_line)(p, 2, x, 2 * g->sx, g->n, 2), x = p;
            NAME(single_run)(g->plan->line, g, x, z, !g->forward, (FT_T)g->scale, room);
            if (z == q) NAME(copy_line)(y, 2 * g->sy, z, 2, g->n, 2);
        } else if (g->kind == FT_C2R) NAME(back_line)(g, x, y, p, q, room);
        else NAME(real_line)(g, x, y, p, q, room);
    }
}

static int NAME(prepare)(ft_fft_plan *f)
{
    const ptrdiff_t n = f->n;
    ft_compare_ways(f->points, FT_LANES, &f->block_cost, &f->line_cost);
    if (f->points < n) {
        ft_roots roots;
        FT_T *w = ft_take(&f->arena, sizeof(FT_T) * 2 * (n / 4 + 1));
        if (!w || !ft_open_roots(&roots, n)) return 0;
        for (ptrdiff_t k = 0; k <= n / 4; k++) NAME(put)(w + 2 * k, ft_root(&roots, k));
        ft_close_roots(&roots);
        f->turns = w;
        f->block_cost += 10 * f->points;
        f->line_cost += 2 * f->points;
    }
    return 1;
}

static int NAME(complete)(ft_fft_plan *f, int line_by_line)
{
    if (line_by_line && !f->line) {
        NAME(single) *line = NAME(plan_single)(&f->arena, f->points);
        if (!line) return 0;
        f->line_bytes = 2 * NAME(spare)(f->n) + line->bytes;
        if (line->lane_room > f->lane_room) f->lane_room = line->lane_room;
        f->line = line;
    }
    if (!line_by_line && !f->lanes) {
        NAME(lanes) *lanes = NAME(plan_lanes)(&f->arena, f->points);
        if (!lanes) return 0;
        const ptrdiff_t room = lanes->room > f->n ? lanes->room : f->n + 1;
        if (room > f->lane_room) f->lane_room = room;
        f->lanes = lanes;
    }
    return 1;
}
