/* Vector transforms of Winograd's minimal filtering, for float: two outputs of a filter of one to three taps.
 *
 * Along an axis a filter of r taps takes r + 1 inputs d and makes, by the points 0, 1, -1 and infinity of the polynomials behind it,
 *     r = 3: (d0 - d2) g0,  (d1 + d2) (g0 + g1 + g2) / 2,  (d2 - d1) (g0 - g1 + g2) / 2,  (d1 - d3) g2
 *     r = 2: (d0 - d1) g0,  d1 (g0 + g1),                  -,                             (d1 - d2) g1
 *     r = 1: d0 g0,         -,                             -,                             -d1 g0
 * of which the outputs are m0 + m1 + m2 and m1 - m2 - m3: filters of different lengths meet in the same sums. An axis of height 1 makes
 * one output of one tap: d0 g0. Lanes are tiles.
 */
#ifndef FT_WINOGRAD_H
#define FT_WINOGRAD_H
#include "micro.h"

typedef float ft_wv __attribute__((vector_size(FT_VECTOR_BYTES), aligned(4), may_alias));
typedef int ft_wi __attribute__((vector_size(FT_VECTOR_BYTES)));
enum { FT_WLANES = FT_VECTOR_BYTES / 4 };

/* The number of points of r taps, and which of the four the i-th is. */
#define FT_POINTS(high, r) ((high) == 1 ? 1 : (r) + 1)
FT_INLINE int ft_point(const int r, const int i) { return i == r && r < 3 ? 3 : i; }

/* t[i], i < points: r + (high == 2) inputs transformed. */
FT_INLINE void ft_winograd_inputs(const int high, const int r, const ft_wv *d, ft_wv *t)
{
    if (high == 1) t[0] = d[0];
    else if (r == 1) { t[0] = d[0]; t[1] = -d[1]; }
    else if (r == 2) { t[0] = d[0] - d[1]; t[1] = d[1]; t[2] = d[1] - d[2]; }
    else { t[0] = d[0] - d[2]; t[1] = d[1] + d[2]; t[2] = d[2] - d[1]; t[3] = d[1] - d[3]; }
}

FT_INLINE void ft_winograd_in(const int high, const int ry, const int rx, const float *const *d, int nv, float *const *v)
{
    const int ny = FT_POINTS(high, ry), nx = FT_POINTS(2, rx), ey = ry + high - 1, ex = rx + 1;
    for (int l = 0; l < nv * FT_WLANES; l += FT_WLANES) {
        ft_wv t[4][4], column[4], made[4];
        for (int j = 0; j < ex; j++) {
            for (int i = 0; i < ey; i++) column[i] = *(const ft_wv *)(d[i * 4 + j] + l);
            ft_winograd_inputs(high, ry, column, made);
            for (int i = 0; i < ny; i++) t[i][j] = made[i];
        }
        for (int i = 0; i < ny; i++) {
            ft_winograd_inputs(2, rx, t[i], made);
            for (int j = 0; j < nx; j++) *(ft_wv *)(v[i * 4 + j] + l) = made[j];
        }
    }
}

/* The outputs of an axis whose longest filter has r taps. */
FT_INLINE void ft_winograd_outputs(const int high, const int r, const ft_wv *m, ft_wv *y)
{
    y[0] = m[0];
    if (high == 1) return;
    if (r == 1) y[1] = -m[1];
    else if (r == 2) { y[0] += m[1]; y[1] = m[1] - m[2]; }
    else { y[0] += m[1] + m[2]; y[1] = m[1] - m[2] - m[3]; }
}

FT_INLINE void ft_winograd_out(const int high, const int ry, const int rx, const float *m, ptrdiff_t step, int nv, float bias, float *rows,
                               ptrdiff_t pitch)
{
    const int ny = FT_POINTS(high, ry), nx = FT_POINTS(2, rx);
    ft_wi low, upper;
    for (int l = 0; l < FT_WLANES; l++) {
        low[l] = l / 2 + (l & 1) * FT_WLANES;
        upper[l] = low[l] + FT_WLANES / 2;
    }
    for (int l = 0; l < nv * FT_WLANES; l += FT_WLANES) {
        ft_wv s[2][4], column[4], made[2];
        for (int j = 0; j < nx; j++) {
            for (int i = 0; i < ny; i++) column[i] = *(const ft_wv *)(m + (ft_point(ry, i) * 4 + ft_point(rx, j)) * step + l);
            ft_winograd_outputs(high, ry, column, made);
            for (int i = 0; i < high; i++) s[i][j] = made[i];
        }
        for (int i = 0; i < high; i++) {
            ft_winograd_outputs(2, rx, s[i], made);
            const ft_wv even = made[0] + bias, odd = made[1] + bias;
            *(ft_wv *)(rows + i * pitch + 2 * l) = __builtin_shuffle(even, odd, low);
            *(ft_wv *)(rows + i * pitch + 2 * l + FT_WLANES) = __builtin_shuffle(even, odd, upper);
        }
    }
}

#define FT_WINOGRAD_CASES(CALL)                                              \
    switch (high * 16 + ry * 4 + rx) {                                       \
        CALL(1, 1, 1) CALL(1, 1, 2) CALL(1, 1, 3) CALL(2, 1, 1) CALL(2, 1, 2) CALL(2, 1, 3) CALL(2, 2, 1) CALL(2, 2, 2) CALL(2, 2, 3) \
        CALL(2, 3, 1) CALL(2, 3, 2) CALL(2, 3, 3)                            \
    }

/* v[i * 4 + j][lane]: point (i, j) of the tiles of one channel, of which d[i * 4 + j] points to element (i, j). */
#define FT_IN(HIGH, RY, RX) case HIGH * 16 + RY * 4 + RX: ft_winograd_in(HIGH, RY, RX, d, nv, v); break;
static __attribute__((unused, noinline)) void ft_winograd_input(int high, int ry, int rx, const float *const *d, int nv, float *const *v)
{
    FT_WINOGRAD_CASES(FT_IN)
}
#undef FT_IN

/* rows[i * pitch + 2 * lane + j]: the outputs of each tile, columns interleaved, of the points m[(i * 4 + j) * step]. */
#define FT_OUT(HIGH, RY, RX) case HIGH * 16 + RY * 4 + RX: ft_winograd_out(HIGH, RY, RX, m, step, nv, bias, rows, pitch); break;
static __attribute__((unused, noinline)) void ft_winograd_output(int high, int ry, int rx, const float *m, ptrdiff_t step, int nv, float bias,
                                                                 float *rows, ptrdiff_t pitch)
{
    FT_WINOGRAD_CASES(FT_OUT)
}
#undef FT_OUT

enum { FT_KERNELS = 16 };      /* kernels transformed together */

FT_INLINE void ft_winograd_taps(const int high, const int r, const float *g, ptrdiff_t pitch, float *made, ptrdiff_t step)
{
    for (int c = 0; c < FT_KERNELS; c++) {
        const float a = g[c], b = r > 1 ? g[pitch + c] : 0, e = r > 2 ? g[2 * pitch + c] : 0, half = 0.5f * (a + e);
        if (high == 1) made[c] = a;
        else if (r == 1) { made[c] = a; made[step + c] = a; }
        else if (r == 2) { made[c] = a; made[step + c] = a + b; made[2 * step + c] = b; }
        else { made[c] = a; made[step + c] = half + 0.5f * b; made[2 * step + c] = half - 0.5f * b; made[3 * step + c] = e; }
    }
}

FT_INLINE void ft_winograd_kernels(const int high, const int ry, const int rx, const float *g, const int *taps, int n, float *const *u)
{
    const int ny = FT_POINTS(high, ry), nx = FT_POINTS(2, rx);
    float own[3 * 3 * FT_KERNELS], r[4 * 3 * FT_KERNELS], out[4 * FT_KERNELS];
    for (int i = 0; i < ry; i++)
        for (int j = 0; j < rx; j++) memcpy(own + (i * rx + j) * FT_KERNELS, g + taps[i * 3 + j] * FT_KERNELS, FT_KERNELS * sizeof(float));
    for (int j = 0; j < rx; j++) ft_winograd_taps(high, ry, own + j * FT_KERNELS, rx * FT_KERNELS, r + j * FT_KERNELS, 3 * FT_KERNELS);
    for (int i = 0; i < ny; i++) {
        ft_winograd_taps(2, rx, r + i * 3 * FT_KERNELS, FT_KERNELS, out, FT_KERNELS);
        for (int j = 0; j < nx; j++)
            if (n == FT_KERNELS) memcpy(u[i * 4 + j], out + j * FT_KERNELS, FT_KERNELS * sizeof(float));
            else memcpy(u[i * 4 + j], out + j * FT_KERNELS, (size_t)n * sizeof(float));
    }
}

/* u[i * 4 + j][c]: point (i, j) of `n` kernels, whose tap t is g[t * FT_KERNELS + c]; the filter's tap (i, j) is taps[i * 3 + j]. */
#define FT_KERNEL(HIGH, RY, RX) case HIGH * 16 + RY * 4 + RX: ft_winograd_kernels(HIGH, RY, RX, g, taps, n, u); break;
static __attribute__((unused, noinline)) void ft_winograd_weight(int high, int ry, int rx, const float *g, const int *taps, int n, float *const *u)
{
    FT_WINOGRAD_CASES(FT_KERNEL)
}
#undef FT_KERNEL

/* dst[t * FT_KERNELS + c] = src[c * stride + t] for 8 x 8 elements, in registers: row i changes places with row i + h by halves, h = 4, 2, 1. */
typedef float ft_eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int ft_eight_places __attribute__((vector_size(32)));
FT_INLINE void ft_turn_eight(float *dst, const float *src, ptrdiff_t stride)
{
    ft_eight r[8];
    for (int i = 0; i < 8; i++) r[i] = *(const ft_eight *)(src + i * stride);
#define FT_STAGE(H)                                                          \
    {                                                                        \
        ft_eight_places low, high;                                           \
        for (int l = 0; l < 8; l++) {                                        \
            low[l] = l & H ? 8 + (l ^ H) : l;                                \
            high[l] = l & H ? 8 + l : (l ^ H);                               \
        }                                                                    \
        for (int i = 0; i < 8; i++)                                          \
            if (!(i & H)) {                                                  \
                const ft_eight a = r[i], b = r[i + H];                       \
                r[i] = __builtin_shuffle(a, b, low);                         \
                r[i + H] = __builtin_shuffle(a, b, high);                    \
            }                                                                \
    }
    FT_STAGE(4) FT_STAGE(2) FT_STAGE(1)
#undef FT_STAGE
    for (int i = 0; i < 8; i++) *(ft_eight *)(dst + i * FT_KERNELS) = r[i];
}

/* g[t * FT_KERNELS + c] = w[c * stride + t] for c < n and zeros after; returns whether all are finite: 0 * inf and 0 * NaN are NaN. */
static __attribute__((unused, noinline)) int ft_kernels_by_tap(const float *w, ptrdiff_t stride, int taps, int n, float *g)
{
    float zero[FT_KERNELS] = {0}, total = 0;
    if (n == FT_KERNELS && taps >= 8)
        for (int t = 0; t < taps; t += 8) {         /* the last eight overlap those before */
            const int at = t + 8 <= taps ? t : taps - 8;
            ft_turn_eight(g + at * FT_KERNELS, w + at, stride);
            ft_turn_eight(g + at * FT_KERNELS + 8, w + 8 * stride + at, stride);
        }
    else {
        memset(g, 0, (size_t)taps * FT_KERNELS * sizeof(float));
        for (int c = 0; c < n; c++)
            for (int t = 0; t < taps; t++) g[t * FT_KERNELS + c] = w[c * stride + t];
    }
    for (int t = 0; t < taps; t++)
        for (int c = 0; c < FT_KERNELS; c++) zero[c] += 0.0f * g[t * FT_KERNELS + c];
    for (int c = 0; c < FT_KERNELS; c++) total += zero[c];
    return total == 0;
}

/* dst[phases * i + p] = lines[p * pitch + i] for i < n, and up to a vector's length more. */
static __attribute__((unused, noinline)) void ft_interleave(float *dst, const float *lines, ptrdiff_t pitch, int phases, ptrdiff_t n)
{
    if (phases == 2) {
        ft_wi low, upper;
        for (int l = 0; l < FT_WLANES; l++) {
            low[l] = l / 2 + (l & 1) * FT_WLANES;
            upper[l] = low[l] + FT_WLANES / 2;
        }
        for (ptrdiff_t i = 0; i < n; i += FT_WLANES) {
            const ft_wv a = *(const ft_wv *)(lines + i), b = *(const ft_wv *)(lines + pitch + i);
            *(ft_wv *)(dst + 2 * i) = __builtin_shuffle(a, b, low);
            *(ft_wv *)(dst + 2 * i + FT_WLANES) = __builtin_shuffle(a, b, upper);
        }
        return;
    }
    for (int p = 0; p < phases; p++)
        for (ptrdiff_t i = 0; i < n; i++) dst[phases * i + p] = lines[p * pitch + i];
}

/* Tiles at .. at + n of a panel, whose elements lie from `start` on. */
typedef struct { ptrdiff_t at, n, start, image, row, column; } ft_tiles;

/* packed[e * FT_PACKED + run.at + i] = x[off[e] + run.start + i] for every run of tiles, by whole vectors: what they write too much, the next
 * run overwrites. */
enum { FT_PACKED = FT_VECS * FT_WLANES + FT_WLANES };
static __attribute__((unused, noinline)) void ft_winograd_pack(float *packed, const float *x, const ptrdiff_t *off, int elements,
                                                               const ft_tiles *run, int runs)
{
    for (int r = 0; r < runs; r++)
        for (ptrdiff_t i = 0; i < run[r].n; i += FT_WLANES) {
            const float *src = x + run[r].start + i;
            float *dst = packed + run[r].at + i;
            for (int e = 0; e < elements; e++, dst += FT_PACKED) *(ft_wv *)dst = *(const ft_wv *)(src + off[e]);
        }
}

/* Whether all are finite. */
static __attribute__((unused, noinline)) int ft_all_finite(const float *x, ptrdiff_t n)
{
    float part[64] = {0}, total = 0;
    ptrdiff_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int j = 0; j < 64; j++) part[j] += 0.0f * x[i + j];
    for (; i < n; i++) total += 0.0f * x[i];
    for (int j = 0; j < 64; j++) total += part[j];
    return total == 0;
}
#endif
