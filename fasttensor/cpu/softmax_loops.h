/* softmax and cross entropy over rows (n adjacent elements) and over columns (m of them side by
   side, n elements each, `stride` apart). The largest element is subtracted first; it is found
   without regard to NaN, which then comes through exp and spoils its own row, as it should. */
#ifndef FT_SOFTMAX_LOOPS_H
#define FT_SOFTMAX_LOOPS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "scalar.h"
#include "vecmath.h"
enum { SOFTMAX_COLS = 256 };

#define FT_LANES(T, L, v, z) T v[L]; for (int l = 0; l < L; l++) v[l] = z
#define FT_FOLD_SUM(v, L, s) do { FT_FOLD(L, v, FT_PLUS) s = v[0]; } while (0)

#define FT_SOFTMAX(N, T, L, EXP, VLOG) \
static T N##_rowmax(const T *x, ptrdiff_t n) \
{ \
    ptrdiff_t i = 0; T best = (T)-INFINITY; \
    if (n >= L) { \
        FT_LANES(T, L, v, (T)-INFINITY); \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] = x[i + l] > v[l] ? x[i + l] : v[l]; \
        FT_FOLD(L, v, FT_GREATER) \
        best = v[0]; \
    } \
    for (; i < n; i++) best = x[i] > best ? x[i] : best; \
    return best; \
} \
static double N##_rowsumexp(const T *x, ptrdiff_t n, T c) \
{ \
    FT_LANES(T, L, v, 0); ptrdiff_t i = 0; double s = 0; \
    for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += EXP(x[i + l] - c); \
    for (int l = 0; l < n - i; l++) v[l] += EXP(x[i + l] - c); \
    FT_FOLD_SUM(v, L, s); \
    return s; \
} \
static void N##_softmax_row(const void *p, void *q, ptrdiff_t n) \
{ \
    const T *restrict x = p; T *restrict y = q; const T c = N##_rowmax(x, n); \
    FT_LANES(T, L, v, 0); ptrdiff_t i = 0; double s = 0; \
    for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { const T e = EXP(x[i + l] - c); y[i + l] = e; v[l] += e; } \
    for (int l = 0; l < n - i; l++) { const T e = EXP(x[i + l] - c); y[i + l] = e; v[l] += e; } \
    FT_FOLD_SUM(v, L, s); \
    const T r = (T)(1 / s); \
    for (i = 0; i < n; i++) y[i] *= r; \
} \
static void N##_logsoftmax_row(const void *p, void *q, ptrdiff_t n) \
{ \
    const T *restrict x = p; T *restrict y = q; const T c = N##_rowmax(x, n); \
    const T d = (T)log(N##_rowsumexp(x, n, c)); \
    for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] - c - d; \
} \
static void N##_softmax_cols(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    const T *x = p; T *y = q; T c[SOFTMAX_COLS], s[SOFTMAX_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) c[j] = (T)-INFINITY, s[j] = 0; \
    for (ptrdiff_t k = 0; k < n; k++) \
        for (ptrdiff_t j = 0; j < m; j++) { const T v = x[k * stride + j]; c[j] = v > c[j] ? v : c[j]; } \
    for (ptrdiff_t k = 0; k < n; k++) { \
        const T *restrict a = x + k * stride; T *restrict b = y + k * stride; \
        for (ptrdiff_t j = 0; j < m; j++) { const T e = EXP(a[j] - c[j]); b[j] = e; s[j] += e; } } \
    for (ptrdiff_t j = 0; j < m; j++) s[j] = 1 / s[j]; \
    for (ptrdiff_t k = 0; k < n; k++) for (ptrdiff_t j = 0; j < m; j++) y[k * stride + j] *= s[j]; \
} \
static void N##_logsoftmax_cols(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    const T *x = p; T *y = q; T c[SOFTMAX_COLS], s[SOFTMAX_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) c[j] = (T)-INFINITY, s[j] = 0; \
    for (ptrdiff_t k = 0; k < n; k++) \
        for (ptrdiff_t j = 0; j < m; j++) { const T v = x[k * stride + j]; c[j] = v > c[j] ? v : c[j]; } \
    for (ptrdiff_t k = 0; k < n; k++) for (ptrdiff_t j = 0; j < m; j++) s[j] += EXP(x[k * stride + j] - c[j]); \
    for (ptrdiff_t j = 0; j < m; j++) s[j] = VLOG(s[j]); \
    for (ptrdiff_t k = 0; k < n; k++) { \
        const T *restrict a = x + k * stride; T *restrict b = y + k * stride; \
        for (ptrdiff_t j = 0; j < m; j++) b[j] = a[j] - c[j] - s[j]; } \
} \
/* gx = y (g - sum(g y)), and for log_softmax gx = g - exp(y) sum(g) */ \
static void N##_back_row(const void *pg, const void *py, void *q, ptrdiff_t n, int log) \
{ \
    const T *restrict g = pg; const T *restrict y = py; T *restrict d = q; \
    FT_LANES(T, L, v, 0); ptrdiff_t i = 0; double s = 0; \
    if (log) { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += g[i + l]; \
        for (int l = 0; l < n - i; l++) v[l] += g[i + l]; \
        FT_FOLD_SUM(v, L, s); \
        const T t = (T)s; \
        for (i = 0; i < n; i++) d[i] = g[i] - EXP(y[i]) * t; \
    } else { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += g[i + l] * y[i + l]; \
        for (int l = 0; l < n - i; l++) v[l] += g[i + l] * y[i + l]; \
        FT_FOLD_SUM(v, L, s); \
        const T t = (T)s; \
        for (i = 0; i < n; i++) d[i] = y[i] * (g[i] - t); \
    } \
} \
static void N##_back_cols(const void *pg, const void *py, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m, int log) \
{ \
    const T *g = pg, *y = py; T *d = q; T s[SOFTMAX_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) s[j] = 0; \
    if (log) for (ptrdiff_t k = 0; k < n; k++) for (ptrdiff_t j = 0; j < m; j++) s[j] += g[k * stride + j]; \
    else for (ptrdiff_t k = 0; k < n; k++) for (ptrdiff_t j = 0; j < m; j++) s[j] += g[k * stride + j] * y[k * stride + j]; \
    for (ptrdiff_t k = 0; k < n; k++) { \
        const T *restrict a = g + k * stride; const T *restrict b = y + k * stride; T *restrict e = d + k * stride; \
        if (log) for (ptrdiff_t j = 0; j < m; j++) e[j] = a[j] - EXP(b[j]) * s[j]; \
        else for (ptrdiff_t j = 0; j < m; j++) e[j] = b[j] * (a[j] - s[j]); } \
} \
/* Loss of one row of logits against class t: own (lse - x[t]) + rest sum_c w[c] (lse - x[c]); the
   weights w may be absent. `out` gets the loss and log(sum(exp(x))). */ \
static void N##_ce_row(const void *p, ptrdiff_t n, ptrdiff_t t, double own, double rest, const void *pw, double *out) \
{ \
    const T *x = p, *w = pw; const T c = N##_rowmax(x, n); \
    const double lse = (double)c + log(N##_rowsumexp(x, n, c)); \
    double loss = own * (lse - (double)x[t]); \
    if (rest != 0) { \
        /* the differences themselves are summed: each is exact to a rounding of x, however large lse is */ \
        FT_LANES(T, L, v, 0); ptrdiff_t i = 0; double s = 0; const T a = (T)lse; \
        if (w) { \
            for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += w[i + l] * (a - x[i + l]); \
            for (int l = 0; l < n - i; l++) v[l] += w[i + l] * (a - x[i + l]); \
        } else { \
            for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] += a - x[i + l]; \
            for (int l = 0; l < n - i; l++) v[l] += a - x[i + l]; \
        } \
        FT_FOLD_SUM(v, L, s); \
        loss += rest * s; \
    } \
    out[0] = loss; out[1] = lse; \
} \
static void N##_ce_back(const void *p, void *q, ptrdiff_t n, ptrdiff_t t, double lse, double own, double rest, const void *pw, double sum_w) \
{ \
    const T *restrict x = p; const T *restrict w = pw; T *restrict d = q; \
    const T a = (T)lse, f = (T)(own + rest * sum_w), r = (T)rest; \
    if (rest == 0) for (ptrdiff_t i = 0; i < n; i++) d[i] = EXP(x[i] - a) * f; \
    else if (w) for (ptrdiff_t i = 0; i < n; i++) d[i] = EXP(x[i] - a) * f - r * w[i]; \
    else for (ptrdiff_t i = 0; i < n; i++) d[i] = EXP(x[i] - a) * f - r; \
    d[t] -= (T)own; \
} \
/* The same of m columns, each with its class in t. Columns of class `ignore` give zeros. */ \
static void N##_ce_cols(const void *p, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m, const int64_t *t, int64_t ignore, \
                        double own, double rest, const void *pw, double *out) \
{ \
    const T *restrict x = p; const T *w = pw; T c[SOFTMAX_COLS], s[SOFTMAX_COLS], u[SOFTMAX_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) c[j] = (T)-INFINITY, s[j] = u[j] = 0; \
    for (ptrdiff_t k = 0; k < n; k++) \
        for (ptrdiff_t j = 0; j < m; j++) { const T v = x[k * stride + j]; c[j] = v > c[j] ? v : c[j]; } \
    for (ptrdiff_t k = 0; k < n; k++) for (ptrdiff_t j = 0; j < m; j++) s[j] += EXP(x[k * stride + j] - c[j]); \
    for (ptrdiff_t j = 0; j < m; j++) s[j] = c[j] + VLOG(s[j]); \
    if (rest != 0) for (ptrdiff_t k = 0; k < n; k++) { \
        const T f = w ? w[k] : 1; \
        for (ptrdiff_t j = 0; j < m; j++) u[j] += f * (s[j] - x[k * stride + j]); } \
    for (ptrdiff_t j = 0; j < m; j++) { \
        const int counts = t[j] != ignore; \
        out[2 * j + 1] = counts ? (double)s[j] : 0; \
        out[2 * j] = counts ? own * (w ? (double)w[t[j]] : 1) * ((double)s[j] - (double)x[t[j] * stride + j]) + rest * (double)u[j] : 0; } \
} \
/* `rows` is what ce_cols wrote, `scales` the incoming gradient of each column, or NULL for ones. */ \
static void N##_ce_cols_back(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m, const int64_t *t, int64_t ignore, \
                             const double *rows, double own, double rest, const void *pw, double sum_w, double scale, const double *scales) \
{ \
    const T *x = p, *w = pw; T *d = q; T a[SOFTMAX_COLS], f[SOFTMAX_COLS], o[SOFTMAX_COLS], r[SOFTMAX_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) { \
        const double k = t[j] == ignore ? 0 : scales ? scale * scales[j] : scale; \
        const double mine = t[j] == ignore ? 0 : k * own * (w ? (double)w[t[j]] : 1); \
        a[j] = (T)rows[2 * j + 1]; o[j] = (T)mine; r[j] = (T)(k * rest); f[j] = (T)(mine + k * rest * sum_w); } \
    for (ptrdiff_t k = 0; k < n; k++) { \
        const T *restrict b = x + k * stride; T *restrict e = d + k * stride; const T v = w ? w[k] : 1; \
        if (rest == 0) for (ptrdiff_t j = 0; j < m; j++) e[j] = EXP(b[j] - a[j]) * f[j]; \
        else for (ptrdiff_t j = 0; j < m; j++) e[j] = EXP(b[j] - a[j]) * f[j] - r[j] * v; } \
    for (ptrdiff_t j = 0; j < m; j++) { \
        if (t[j] != ignore) d[t[j] * stride + j] -= o[j]; \
        else for (ptrdiff_t k = 0; k < n; k++) d[k * stride + j] = 0; } \
}
FT_SOFTMAX(sm_f, float, 64, vm_expf, log_f32)
FT_SOFTMAX(sm_d, double, 32, vm_exp, log_f64)

typedef struct {
    void (*row[2])(const void *, void *, ptrdiff_t);
    void (*cols[2])(const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t);
    void (*back_row)(const void *, const void *, void *, ptrdiff_t, int);
    void (*back_cols)(const void *, const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, int);
    void (*ce_row)(const void *, ptrdiff_t, ptrdiff_t, double, double, const void *, double *);
    void (*ce_back)(const void *, void *, ptrdiff_t, ptrdiff_t, double, double, double, const void *, double);
    void (*ce_cols)(const void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const int64_t *, int64_t, double, double, const void *, double *);
    void (*ce_cols_back)(const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const int64_t *, int64_t, const double *, double, double,
                         const void *, double, double, const double *);
} ft_softmax;
#define FT_SOFTMAX_TABLE(N) {{N##_softmax_row, N##_logsoftmax_row}, {N##_softmax_cols, N##_logsoftmax_cols}, \
                             N##_back_row, N##_back_cols, N##_ce_row, N##_ce_back, N##_ce_cols, N##_ce_cols_back}
static const ft_softmax FT_SOFTMAX_OF[2] = {FT_SOFTMAX_TABLE(sm_f), FT_SOFTMAX_TABLE(sm_d)};
#endif
