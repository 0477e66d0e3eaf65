/* Vector transforms of Winograd's minimal filtering F(2x2, 3x3), for float.
 *
 * Lanes are tiles: `d[i * 4 + j]` points to element (i, j) of the 4 x 4 input tiles of a panel.
 */
#ifndef FT_WINOGRAD_H
#define FT_WINOGRAD_H
#include "micro.h"

typedef float ft_wv __attribute__((vector_size(FT_VECTOR_BYTES), aligned(4), may_alias));
typedef int ft_wi __attribute__((vector_size(FT_VECTOR_BYTES)));
enum { FT_WLANES = FT_VECTOR_BYTES / 4 };

/* v[k * step + lane], k = 0..15: the tiles of one channel transformed. */
static inline void ft_winograd_input(const float *const *d, int nv, float *v, ptrdiff_t step)
{
    for (int l = 0; l < nv * FT_WLANES; l += FT_WLANES) {
        ft_wv t[4][4];
        for (int j = 0; j < 4; j++) {
            const ft_wv d0 = *(const ft_wv *)(d[j] + l), d1 = *(const ft_wv *)(d[4 + j] + l);
            const ft_wv d2 = *(const ft_wv *)(d[8 + j] + l), d3 = *(const ft_wv *)(d[12 + j] + l);
            t[0][j] = d0 - d2;
            t[1][j] = d1 + d2;
            t[2][j] = d2 - d1;
            t[3][j] = d1 - d3;
        }
        for (int i = 0; i < 4; i++) {
            float *p = v + 4 * i * step + l;
            *(ft_wv *)p = t[i][0] - t[i][2];
            *(ft_wv *)(p + step) = t[i][1] + t[i][2];
            *(ft_wv *)(p + 2 * step) = t[i][2] - t[i][1];
            *(ft_wv *)(p + 3 * step) = t[i][1] - t[i][3];
        }
    }
}

/* rows[i * pitch + 2 * lane + j]: the 2 x 2 outputs of each tile, columns interleaved. */
static inline void ft_winograd_output(const float *m, ptrdiff_t step, int nv, float bias, float *rows, ptrdiff_t pitch)
{
    ft_wi low, high;
    for (int l = 0; l < FT_WLANES; l++) {
        low[l] = l / 2 + (l & 1) * FT_WLANES;
        high[l] = low[l] + FT_WLANES / 2;
    }
    for (int l = 0; l < nv * FT_WLANES; l += FT_WLANES) {
        ft_wv s[2][4];
        for (int j = 0; j < 4; j++) {
            const float *p = m + j * step + l;
            const ft_wv m0 = *(const ft_wv *)p, m1 = *(const ft_wv *)(p + 4 * step);
            const ft_wv m2 = *(const ft_wv *)(p + 8 * step), m3 = *(const ft_wv *)(p + 12 * step);
            s[0][j] = m0 + m1 + m2;
            s[1][j] = m1 - m2 - m3;
        }
        for (int i = 0; i < 2; i++) {
            const ft_wv even = s[i][0] + s[i][1] + s[i][2] + bias, odd = s[i][1] - s[i][2] - s[i][3] + bias;
            *(ft_wv *)(rows + i * pitch + 2 * l) = __builtin_shuffle(even, odd, low);
            *(ft_wv *)(rows + i * pitch + 2 * l + FT_WLANES) = __builtin_shuffle(even, odd, high);
        }
    }
}

/* u[k * step + c] for `n` kernels of 9 weights, kernel c at w + c * stride, its taps `turn` apart (1 or, turned round, -1).
 * Returns whether all are finite: 0 * inf and 0 * NaN are NaN. */
static inline int ft_winograd_weight(const float *w, ptrdiff_t stride, int turn, int n, float *u, ptrdiff_t step)
{
    float g[9][16] = {{0}}, out[16][16], zero[16] = {0}, total = 0;
    for (int c = 0; c < n; c++)
        for (int t = 0; t < 9; t++) g[t][c] = w[c * stride + (turn > 0 ? t : 8 - t)];
    for (int t = 0; t < 9; t++)
        for (int c = 0; c < 16; c++) zero[c] += 0.0f * g[t][c];
    for (int c = 0; c < 16; c++) total += zero[c];
    for (int c = 0; c < 16; c++) {
        float r[4][3];
        for (int j = 0; j < 3; j++) {
            const float a = g[j][c], b = g[3 + j][c], e = g[6 + j][c], half = 0.5f * (a + e);
            r[0][j] = a;
            r[1][j] = half + 0.5f * b;
            r[2][j] = half - 0.5f * b;
            r[3][j] = e;
        }
        for (int i = 0; i < 4; i++) {
            const float half = 0.5f * (r[i][0] + r[i][2]);
            out[4 * i][c] = r[i][0];
            out[4 * i + 1][c] = half + 0.5f * r[i][1];
            out[4 * i + 2][c] = half - 0.5f * r[i][1];
            out[4 * i + 3][c] = r[i][2];
        }
    }
    for (int k = 0; k < 16; k++)
        if (n == 16) memcpy(u + k * step, out[k], 16 * sizeof(float));
        else memcpy(u + k * step, out[k], (size_t)n * sizeof(float));
    return total == 0;
}

/* Whether all are finite. */
static __attribute__((noinline)) int ft_all_finite(const float *x, ptrdiff_t n)
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
