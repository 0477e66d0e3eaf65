/* Blocks of lines, a lane each, and real transforms: n real values are n / 2 complex ones, whose transform Z gives
 * X[k] = E + exp(-2 pi i k / n) O with E = (Z[k] + conj Z[h-k]) / 2, O = (Z[k] - conj Z[h-k]) / 2i, h = n / 2 (W. H. Press and
 * others, "Numerical Recipes", 12.3). An odd n is transformed as complex values. */

/* Z[k], Z[h-k] to X[k], X[h-k]; f: half their weight, sign -1: conjugates */
ALWAYS void NAME(split_pair)(CV *low, CV *high, CV w, FT_T f, FT_T sign)
{
    const CV p = *low, q = *high, e = {(p.r + q.r) * f, (p.i - q.i) * f}, d = {(p.i + q.i) * f, (q.r - p.r) * f};
    const CV o = NAME(lanes_mul)(d, w);
    *low = (CV){e.r + o.r, (e.i + o.i) * sign};
    *high = (CV){e.r - o.r, (o.i - e.i) * sign};
}

/* X[k], X[h-k] to 2 Z[k], 2 Z[h-k] */
ALWAYS void NAME(join_pair)(CV *low, CV *high, CV w, FT_T f, FT_T sign)
{
    const CV p = {low->r * f, low->i * (sign * f)}, q = {high->r * f, high->i * (sign * f)};
    const CV e = {p.r + q.r, p.i - q.i}, d = {p.r - q.r, p.i + q.i}, o = NAME(lanes_mul)(d, (CV){w.r, -w.i});
    *low = (CV){e.r - o.i, e.i + o.r};
    *high = (CV){e.r + o.i, o.r - e.i};
}

ALWAYS CV NAME(spread)(const FT_T *w)
{
    const NAME(vec) zero = {0};
    return (CV){zero + w[0], zero + w[1]};
}

static void NAME(split)(CV *a, const FT_T *w, ptrdiff_t h, FT_T f, FT_T sign)
{
    const CV z = a[0];
    a[0] = (CV){z.r + z.i, {0}};
    a[h] = (CV){z.r - z.i, {0}};
    for (ptrdiff_t k = 1; k < h - k; k++) NAME(split_pair)(a + k, a + h - k, NAME(spread)(w + 2 * k), f, sign);
    if (h % 2 == 0) a[h / 2] = (CV){a[h / 2].r * (2 * f), a[h / 2].i * (-2 * f * sign)};
}

/* real and imaginary parts swapped: what the inverse transform begins with */
static void NAME(join)(CV *a, const FT_T *w, ptrdiff_t h, FT_T f, FT_T sign)
{
    a[0] = (CV){a[0].r - a[h].r, a[0].r + a[h].r};
    for (ptrdiff_t k = 1; k < h - k; k++) {
        CV p = a[k], q = a[h - k];
        NAME(join_pair)(&p, &q, NAME(spread)(w + 2 * k), f, sign);
        a[k] = (CV){p.i, p.r};
        a[h - k] = (CV){q.i, q.r};
    }
    if (h % 2 == 0) a[h / 2] = (CV){a[h / 2].i * (-2 * f * sign), a[h / 2].r * (2 * f)};
}

static void NAME(to_units)(ft_block *b, int x_unit, int y_unit)
{
    for (int l = 0; l < FT_LANES; l++) b->xo[l] *= x_unit, b->yo[l] *= y_unit;
}

static void NAME(real_block)(const ft_fft *g, const ft_block *at, CV *a, CV *b)
{
    const ptrdiff_t n = g->n, h = n / 2;
    const FT_T *w = g->plan->turns, sign = g->forward ? 1 : -1, weight = g->weighted ? 2 : 1;
    CV *y;
    if (n % 2 == 0) {
        NAME(real_in)(at, g->x, g->sx, n, (FT_T *)a, FT_LANES);
        y = NAME(lanes_run)(g->plan->lanes, a, b, NULL);
        NAME(split)(y, w, h, weight / 2, sign);
    } else {
        NAME(real_in)(at, g->x, g->sx, n, (FT_T *)a, 2 * FT_LANES);
        for (ptrdiff_t j = 0; j < n; j++) a[j].i = (NAME(vec)){0};
        y = NAME(lanes_run)(g->plan->lanes, a, b, NULL);
        for (ptrdiff_t k = 1; k <= h; k++) y[k] = (CV){y[k].r * weight, y[k].i * (sign * weight)};
    }
    if (g->kind == FT_R2C_FULL)
        for (ptrdiff_t k = 1; k < n - k; k++) y[n - k] = (CV){y[k].r, -y[k].i};
    NAME(complex_out)(at, y, 0, g->kind == FT_R2C_FULL ? n : h + 1, g->y, 2 * g->sy, (FT_T)g->scale);
}

static void NAME(back_block)(const ft_fft *g, const ft_block *at, CV *a, CV *b)
{
    const ptrdiff_t n = g->n, h = n / 2;
    const FT_T *w = g->plan->turns, sign = g->forward ? -1 : 1, weight = g->weighted ? 0.5 : 1;
    NAME(complex_in)(at, g->x, 2 * g->sx, h + 1, 0, a);
    if (n % 2 == 0) {
        NAME(join)(a, w, h, weight, sign);
        const CV *y = NAME(lanes_run)(g->plan->lanes, a, b, NULL);
        NAME(real_out)(at, (const FT_T *)y, FT_LANES, 1, n, g->y, g->sy, (FT_T)g->scale);
    } else {            /* of values whose transform is real, the inverse is the forward transform of the conjugates */
        a[0].i = (NAME(vec)){0};
        for (ptrdiff_t k = 1; k <= h; k++) {
            a[k] = (CV){a[k].r * weight, a[k].i * (-sign * weight)};
            a[n - k] = (CV){a[k].r, -a[k].i};
        }
        const CV *y = NAME(lanes_run)(g->plan->lanes, a, b, NULL);
        NAME(real_out)(at, (const FT_T *)y, 2 * FT_LANES, 0, n, g->y, g->sy, (FT_T)g->scale);
    }
}

static void NAME(blocks)(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    const ft_fft *g = context;
    CV *a = (CV *)(g->lane_room + g->thread() * g->lane_bytes), *b = a + g->buffer;
    ft_block at;
    for (ptrdiff_t i = begin; i < end; i++) {
        ft_fft_find(g, i, FT_LANES, &at);
        NAME(to_units)(&at, g->kind == FT_R2C || g->kind == FT_R2C_FULL ? 1 : 2, g->kind == FT_C2R ? 1 : 2);
        if (g->kind == FT_C2C) {
            const int back = !g->forward;
            NAME(ends) e = {.x_stride = 2 * g->sx, .y_stride = 2 * g->sy, .count = at.lanes, .x_swap = back, .y_swap = back,
                            .scale = (FT_T)g->scale};
            if (at.x_adjacent) e.x = (const FT_T *)g->x + at.xo[0];
            else NAME(complex_in)(&at, g->x, 2 * g->sx, g->n, back, a);
            if (at.y_adjacent) e.y = (FT_T *)g->y + at.yo[0];
            const CV *y = NAME(lanes_run)(g->plan->lanes, a, b, &e);
            if (y) NAME(complex_out)(&at, y, back, g->n, g->y, 2 * g->sy, (FT_T)g->scale);
        } else if (g->kind == FT_C2R) NAME(back_block)(g, &at, a, b);
        else NAME(real_block)(g, &at, a, b);
    }
}
