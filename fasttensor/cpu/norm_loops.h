/* Row primitives of the normalisations: sums in double over lanes of T, and affine maps.
   Two passes over a row that is in the cache give mean and variance without cancellation. */
#ifndef FT_NORM_LOOPS_H
#define FT_NORM_LOOPS_H
#include <math.h>
#include <stddef.h>
#include "vecmath.h"
enum { NORM_COLS = 128 };

#define FT_NORM(N, T, L) \
static double N##_sum(const void *p, ptrdiff_t n) \
{ \
    const T *x = p; T v[L]; ptrdiff_t i = 0; double s = 0; \
    if (n < 8) { for (; i < n; i++) s += (double)x[i]; return s; } \
    for (int l = 0; l < L; l++) v[l] = 0; \
    for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += x[i + l]; \
    for (int l = 0; l < n - i; l++) v[l] += x[i + l]; \
    FT_FOLD(L, v, FT_PLUS) s += (double)v[0]; \
    return s; \
} \
/* sum (x - c)^2 */ \
static double N##_squares(const void *p, ptrdiff_t n, double center) \
{ \
    const T *x = p; const T c = (T)center; T v[L]; ptrdiff_t i = 0; double s = 0; \
    if (n < 8) { for (; i < n; i++) s += ((double)x[i] - center) * ((double)x[i] - center); return s; } \
    for (int l = 0; l < L; l++) v[l] = 0; \
    for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += (x[i + l] - c) * (x[i + l] - c); \
    for (int l = 0; l < n - i; l++) v[l] += (x[i + l] - c) * (x[i + l] - c); \
    FT_FOLD(L, v, FT_PLUS) s += (double)v[0]; \
    return s; \
} \
/* out[0] += sum g, out[1] += sum g (x - c) */ \
static void N##_dots(const void *pg, const void *px, ptrdiff_t n, double center, double *out) \
{ \
    const T *g = pg, *x = px; const T c = (T)center; T v[L], w[L]; ptrdiff_t i = 0; double s = 0, t = 0; \
    if (n < 8) { for (; i < n; i++) { s += (double)g[i]; t += (double)g[i] * ((double)x[i] - center); } } \
    else { \
        for (int l = 0; l < L; l++) v[l] = w[l] = 0; \
        for (; i + L <= n; i += L) \
            for (int l = 0; l < L; l++) { v[l] += g[i + l]; w[l] += g[i + l] * (x[i + l] - c); } \
        for (int l = 0; l < n - i; l++) { v[l] += g[i + l]; w[l] += g[i + l] * (x[i + l] - c); } \
        FT_FOLD(L, v, FT_PLUS) FT_FOLD(L, w, FT_PLUS) s += (double)v[0]; t += (double)w[0]; \
    } \
    out[0] += s; out[1] += t; \
} \
/* y = (x - c) a + b */ \
static void N##_affine(const void *px, void *py, ptrdiff_t n, double center, double a_, double b_) \
{ \
    const T *restrict x = px; T *restrict y = py; const T c = (T)center, a = (T)a_, b = (T)b_; \
    for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - c) * a + b; \
} \
/* d = g a + (x - c) b + e */ \
static void N##_affine2(const void *pg, const void *px, void *pd, ptrdiff_t n, double center, double a_, double b_, double e_) \
{ \
    const T *restrict g = pg; const T *restrict x = px; T *restrict d = pd; \
    const T c = (T)center, a = (T)a_, b = (T)b_, e = (T)e_; \
    for (ptrdiff_t i = 0; i < n; i++) d[i] = g[i] * a + (x[i] - c) * b + e; \
} \
/* y = (x - c) r w + b with a weight and a bias for each element; either may be absent */ \
static void N##_scale(const void *px, void *py, ptrdiff_t n, double center, double rstd, const void *pw, const void *pb) \
{ \
    const T *restrict x = px; T *restrict y = py; const T *restrict w = pw; const T *restrict b = pb; \
    const T c = (T)center, r = (T)rstd; \
    if (w && b) for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - c) * r * w[i] + b[i]; \
    else if (w) for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - c) * r * w[i]; \
    else if (b) for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - c) * r + b[i]; \
    else for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - c) * r; \
} \
/* Gradient of `scale`: d = r (g w - s/n - h t/n) with h = (x - c) r, s = sum g w (0 where not
   `centered`), t = sum g w h; gw += g h, gb += g. Any of d, gw, gb may be absent. */ \
static void N##_scale_back(const void *pg, const void *px, void *pd, ptrdiff_t n, double center, double rstd, const void *pw, \
                           void *pgw, void *pgb, int centered) \
{ \
    const T *restrict g = pg; const T *restrict x = px; T *restrict d = pd; const T *restrict w = pw; \
    T *restrict gw = pgw; T *restrict gb = pgb; const T c = (T)center, r = (T)rstd; \
    if (d) { \
        T v[L], u[L]; ptrdiff_t i = 0; double s = 0, t = 0; \
        for (int l = 0; l < L; l++) v[l] = u[l] = 0; \
        if (w) { \
            for (; i + L <= n; i += L) \
                for (int l = 0; l < L; l++) { const T q = g[i + l] * w[i + l]; v[l] += q; u[l] += q * (x[i + l] - c); } \
            for (int l = 0; l < n - i; l++) { const T q = g[i + l] * w[i + l]; v[l] += q; u[l] += q * (x[i + l] - c); } \
        } else { \
            for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { v[l] += g[i + l]; u[l] += g[i + l] * (x[i + l] - c); } \
            for (int l = 0; l < n - i; l++) { v[l] += g[i + l]; u[l] += g[i + l] * (x[i + l] - c); } \
        } \
        FT_FOLD(L, v, FT_PLUS) FT_FOLD(L, u, FT_PLUS) s += (double)v[0]; t += (double)u[0]; \
        const T k = centered ? (T)(s / n) * r : 0, h = (T)(t * rstd * rstd / n * rstd); \
        if (w) for (i = 0; i < n; i++) d[i] = g[i] * w[i] * r - k - (x[i] - c) * h; \
        else for (i = 0; i < n; i++) d[i] = g[i] * r - k - (x[i] - c) * h; \
    } \
    if (gw && gb) for (ptrdiff_t i = 0; i < n; i++) { gw[i] += g[i] * ((x[i] - c) * r); gb[i] += g[i]; } \
    else if (gw) for (ptrdiff_t i = 0; i < n; i++) gw[i] += g[i] * ((x[i] - c) * r); \
    else if (gb) for (ptrdiff_t i = 0; i < n; i++) gb[i] += g[i]; \
} \
/* out[j] = sum over k < groups of p[2 k n + j], in order, in double */ \
static void N##_add(const void *p, ptrdiff_t groups, ptrdiff_t n, void *out) \
{ \
    double s[256]; \
    for (ptrdiff_t j = 0; j < n; j += 256) { \
        const ptrdiff_t m = n - j < 256 ? n - j : 256; \
        for (ptrdiff_t i = 0; i < m; i++) s[i] = 0; \
        for (ptrdiff_t k = 0; k < groups; k++) { \
            const T *x = (const T *)p + 2 * k * n + j; \
            for (ptrdiff_t i = 0; i < m; i++) s[i] += (double)x[i]; } \
        for (ptrdiff_t i = 0; i < m; i++) ((T *)out)[j + i] = (T)s[i]; } \
} \
/* columns: m channels side by side, `rows` positions of each, `step` elements apart; four rows are added in T, their sums in double */ \
static void N##_col_sum(const void *px, ptrdiff_t rows, ptrdiff_t step, ptrdiff_t m, double *restrict s) \
{ \
    const T *x = px; ptrdiff_t b = 0; \
    for (; b + 4 <= rows; b += 4, x += 4 * step) \
        for (ptrdiff_t j = 0; j < m; j++) s[j] += (double)((x[j] + x[j + step]) + (x[j + 2 * step] + x[j + 3 * step])); \
    for (; b < rows; b++, x += step) for (ptrdiff_t j = 0; j < m; j++) s[j] += (double)x[j]; \
} \
/* The centre in T is off by c - (T)c, which the double accumulators and the shifts take into account. */ \
static void N##_col_squares(const void *px, ptrdiff_t rows, ptrdiff_t step, ptrdiff_t m, const double *center, double *restrict s) \
{ \
    const T *x = px; ptrdiff_t b = 0; T c[NORM_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) c[j] = (T)center[j]; \
    for (; b + 4 <= rows; b += 4, x += 4 * step) \
        for (ptrdiff_t j = 0; j < m; j++) { \
            const T p = x[j] - c[j], q = x[j + step] - c[j], u = x[j + 2 * step] - c[j], v = x[j + 3 * step] - c[j]; \
            s[j] += (double)((p * p + q * q) + (u * u + v * v)); } \
    for (; b < rows; b++, x += step) for (ptrdiff_t j = 0; j < m; j++) { const T v = x[j] - c[j]; s[j] += (double)(v * v); } \
    for (ptrdiff_t j = 0; j < m; j++) { \
        const double off = center[j] - (double)c[j], less = s[j] - (double)rows * off * off; \
        s[j] = less < 0 ? 0 : less; } \
} \
/* s and t start at 0 */ \
static void N##_col_dots(const void *pg, const void *px, ptrdiff_t rows, ptrdiff_t step, ptrdiff_t m, const double *center, \
                         double *restrict s, double *restrict t) \
{ \
    const T *g = pg, *x = px; ptrdiff_t b = 0; T c[NORM_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) c[j] = (T)center[j]; \
    for (; b + 4 <= rows; b += 4, x += 4 * step, g += 4 * step) \
        for (ptrdiff_t j = 0; j < m; j++) { \
            const T p = g[j], q = g[j + step], u = g[j + 2 * step], v = g[j + 3 * step]; \
            s[j] += (double)((p + q) + (u + v)); \
            t[j] += (double)((p * (x[j] - c[j]) + q * (x[j + step] - c[j])) + (u * (x[j + 2 * step] - c[j]) + v * (x[j + 3 * step] - c[j]))); } \
    for (; b < rows; b++, x += step, g += step) \
        for (ptrdiff_t j = 0; j < m; j++) { s[j] += (double)g[j]; t[j] += (double)(g[j] * (x[j] - c[j])); } \
    for (ptrdiff_t j = 0; j < m; j++) t[j] -= s[j] * (center[j] - (double)c[j]); \
} \
static void N##_col_affine(const void *px, void *py, ptrdiff_t rows, ptrdiff_t step, ptrdiff_t m, const double *center, const double *scale, \
                           const double *shift) \
{ \
    T c[NORM_COLS], a[NORM_COLS], e[NORM_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) { \
        c[j] = (T)center[j]; a[j] = (T)scale[j]; \
        const double off = center[j] - (double)c[j]; \
        e[j] = (T)(off == 0 ? shift[j] : shift[j] - off * scale[j]); } \
    for (ptrdiff_t b = 0; b < rows; b++) { \
        const T *restrict x = (const T *)px + b * step; T *restrict y = (T *)py + b * step; \
        for (ptrdiff_t j = 0; j < m; j++) y[j] = (x[j] - c[j]) * a[j] + e[j]; } \
} \
static void N##_col_affine2(const void *pg, const void *px, void *pd, ptrdiff_t rows, ptrdiff_t step, ptrdiff_t m, const double *center, \
                            const double *by_g, const double *by_x, const double *shift) \
{ \
    T c[NORM_COLS], a[NORM_COLS], h[NORM_COLS], e[NORM_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) { \
        c[j] = (T)center[j]; a[j] = (T)by_g[j]; h[j] = (T)by_x[j]; e[j] = (T)(shift[j] - (center[j] - (double)c[j]) * by_x[j]); } \
    for (ptrdiff_t b = 0; b < rows; b++) { \
        const T *restrict g = (const T *)pg + b * step; const T *restrict x = (const T *)px + b * step; T *restrict d = (T *)pd + b * step; \
        for (ptrdiff_t j = 0; j < m; j++) d[j] = g[j] * a[j] + (x[j] - c[j]) * h[j] + e[j]; } \
}

FT_NORM(nf, float, 64)
FT_NORM(nd, double, 32)

typedef struct {
    double (*sum)(const void *, ptrdiff_t);
    double (*squares)(const void *, ptrdiff_t, double);
    void (*dots)(const void *, const void *, ptrdiff_t, double, double *);
    void (*affine)(const void *, void *, ptrdiff_t, double, double, double);
    void (*affine2)(const void *, const void *, void *, ptrdiff_t, double, double, double, double);
    void (*scale)(const void *, void *, ptrdiff_t, double, double, const void *, const void *);
    void (*scale_back)(const void *, const void *, void *, ptrdiff_t, double, double, const void *, void *, void *, int);
    void (*add)(const void *, ptrdiff_t, ptrdiff_t, void *);
    void (*col_sum)(const void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, double *);
    void (*col_squares)(const void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, double *);
    void (*col_dots)(const void *, const void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, double *, double *);
    void (*col_affine)(const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, const double *, const double *);
    void (*col_affine2)(const void *, const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, const double *, const double *,
                        const double *);
} ft_norm;
#define FT_NORM_TABLE(N) {N##_sum, N##_squares, N##_dots, N##_affine, N##_affine2, N##_scale, N##_scale_back, N##_add, N##_col_sum, \
                          N##_col_squares, N##_col_dots, N##_col_affine, N##_col_affine2}
static const ft_norm FT_NORM_OF[2] = {FT_NORM_TABLE(nf), FT_NORM_TABLE(nd)};
#endif
