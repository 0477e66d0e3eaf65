/* Sequences into lanes and back. Offsets and strides count FT_T. `swap` exchanges real and imaginary parts, which turns a
 * forward transform into an inverse one. Lanes that are not used
 * hold zeros or another's values. */

/* Rows of `count` adjacent FT_T into columns `step` apart. Whole tiles stay in registers. */
static void NAME(rows_in)(const FT_T *x, const ptrdiff_t *at, ptrdiff_t count, FT_T *to, ptrdiff_t step, int swap)
{
    ptrdiff_t c = 0;
    for (; c + FT_LANES <= count; c += FT_LANES) {
        NAME(vec) v[FT_LANES];
#pragma GCC unroll 16
        for (int l = 0; l < FT_LANES; l++) v[l] = *(const NAME(uvec) *)(x + at[l] + c);
        NAME(turn)(v);
#pragma GCC unroll 16
        for (int l = 0; l < FT_LANES; l++) *(NAME(vec) *)(to + ((c + l) ^ swap) * step) = v[l];
    }
    if (count - c == 2) {               /* one complex number of each row: the last of half a spectrum */
        FT_T pairs[2 * FT_LANES];
        for (int l = 0; l < FT_LANES; l++) memcpy(pairs + 2 * l, x + at[l] + c, 2 * sizeof(FT_T));
        const CV last = NAME(load)(pairs, FT_LANES, swap);
        *(NAME(vec) *)(to + c * step) = last.r;
        *(NAME(vec) *)(to + (c + 1) * step) = last.i;
    } else if (c < count) {
        NAME(vec) v[FT_LANES];
#pragma GCC unroll 16
        for (int l = 0; l < FT_LANES; l++) v[l] = NAME(part)(x + at[l] + c, (int)(count - c));
        NAME(turn)(v);
        for (int l = 0; l < count - c; l++) *(NAME(vec) *)(to + ((c + l) ^ swap) * step) = v[l];
    }
}

static void NAME(rows_out)(const FT_T *from, ptrdiff_t step, int swap, ptrdiff_t count, FT_T *y, const ptrdiff_t *at, int lanes, FT_T scale)
{
    ptrdiff_t c = 0;
    for (; lanes == FT_LANES && c + FT_LANES <= count; c += FT_LANES) {
        NAME(vec) v[FT_LANES];
#pragma GCC unroll 16
        for (int l = 0; l < FT_LANES; l++) v[l] = *(const NAME(vec) *)(from + ((c + l) ^ swap) * step) * scale;
        NAME(turn)(v);
#pragma GCC unroll 16
        for (int l = 0; l < FT_LANES; l++) *(NAME(uvec) *)(y + at[l] + c) = v[l];
    }
    if (count - c == 2) {
        FT_T pairs[2 * FT_LANES];
        const CV last = {*(const NAME(vec) *)(from + c * step) * scale, *(const NAME(vec) *)(from + (c + 1) * step) * scale};
        NAME(store)(pairs, last, FT_LANES, swap);
        for (int l = 0; l < lanes; l++) memcpy(y + at[l] + c, pairs + 2 * l, 2 * sizeof(FT_T));
        return;
    }
    for (; c < count; c += FT_LANES) {
        const int rest = count - c < FT_LANES ? (int)(count - c) : FT_LANES;
        NAME(vec) v[FT_LANES] = {{0}};
        for (int l = 0; l < rest; l++) v[l] = *(const NAME(vec) *)(from + ((c + l) ^ swap) * step) * scale;
        NAME(turn)(v);
        for (int l = 0; l < lanes; l++) NAME(put_part)(y + at[l] + c, v[l], rest);
    }
}

/* `count` complex elements, `stride` apart. */
static void NAME(complex_in)(const ft_block *g, const FT_T *x, ptrdiff_t stride, ptrdiff_t count, int swap, CV *a)
{
    if (g->x_adjacent) {
        const FT_T *p = x + g->xo[0];
        for (ptrdiff_t e = 0; e < count; e++) a[e] = NAME(load)(p + e * stride, g->lanes, swap);
    } else if (stride == 2 || count == 1)
        NAME(rows_in)(x, g->xo, 2 * count, (FT_T *)a, FT_LANES, swap);
    else
        for (int l = 0; l < FT_LANES; l++) {
            const FT_T *p = x + g->xo[l];
            for (ptrdiff_t e = 0; e < count; e++) {
                const FT_T re = p[e * stride], im = p[e * stride + 1];
                a[e].r[l] = swap ? im : re;
                a[e].i[l] = swap ? re : im;
            }
        }
}

/* `count` real elements, into vectors `step` apart. */
static void NAME(real_in)(const ft_block *g, const FT_T *x, ptrdiff_t stride, ptrdiff_t count, FT_T *to, ptrdiff_t step)
{
    if (g->x_adjacent) {
        const FT_T *p = x + g->xo[0];
        for (ptrdiff_t e = 0; e < count; e++) *(NAME(vec) *)(to + e * step) = NAME(part)(p + e * stride, g->lanes);
    } else if (stride == 1 || count == 1)
        NAME(rows_in)(x, g->xo, count, to, step, 0);
    else
        for (int l = 0; l < FT_LANES; l++)
            for (ptrdiff_t e = 0; e < count; e++) to[e * step + l] = x[g->xo[l] + e * stride];
}

static void NAME(complex_out)(const ft_block *g, const CV *a, int swap, ptrdiff_t count, FT_T *y, ptrdiff_t stride, FT_T scale)
{
    if (g->y_adjacent) {
        FT_T *p = y + g->yo[0];
        for (ptrdiff_t e = 0; e < count; e++) NAME(store)(p + e * stride, NAME(times)(a[e], scale), g->lanes, swap);
    } else if (stride == 2 || count == 1)
        NAME(rows_out)((const FT_T *)a, FT_LANES, swap, 2 * count, y, g->yo, g->lanes, scale);
    else
        for (int l = 0; l < g->lanes; l++)
            for (ptrdiff_t e = 0; e < count; e++) {
                FT_T *p = y + g->yo[l] + e * stride;
                p[0] = (swap ? a[e].i[l] : a[e].r[l]) * scale;
                p[1] = (swap ? a[e].r[l] : a[e].i[l]) * scale;
            }
}

static void NAME(real_out)(const ft_block *g, const FT_T *from, ptrdiff_t step, int swap, ptrdiff_t count, FT_T *y, ptrdiff_t stride, FT_T scale)
{
    if (g->y_adjacent)
        for (ptrdiff_t e = 0; e < count; e++) {
            const NAME(vec) t = *(const NAME(vec) *)(from + (e ^ swap) * step) * scale;
            NAME(put_part)(y + g->yo[0] + e * stride, t, g->lanes);
        }
    else if (stride == 1 || count == 1)
        NAME(rows_out)(from, step, swap, count, y, g->yo, g->lanes, scale);
    else
        for (int l = 0; l < g->lanes; l++)
            for (ptrdiff_t e = 0; e < count; e++) y[g->yo[l] + e * stride] = from[(e ^ swap) * step + l] * scale;
}
