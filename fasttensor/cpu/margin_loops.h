/* Margin losses of one row of n scores: what every class adds to the loss, max(0, margin - x[target] + x[i])^p, and its gradient.
   Sums run in L lanes, so that the loops vectorise. A NaN stays one: max(0, NaN) is NaN here, as in clamp. */
#ifndef FT_MARGIN_LOOPS_H
#define FT_MARGIN_LOOPS_H
#include <stddef.h>
#include <stdint.h>
#include "vecmath.h"

#define FT_MARGIN(N, T, L) \
/* sum of max(0, c + x[i])^p */ \
static double N##_over(const T *restrict x, ptrdiff_t n, T c, int square) \
{ \
    T v[L]; ptrdiff_t i = 0; \
    for (int l = 0; l < L; l++) v[l] = 0; \
    if (square) { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { const T z = c + x[i + l]; v[l] += z <= 0 ? 0 : z * z; } \
        for (int l = 0; l < n - i; l++) { const T z = c + x[i + l]; v[l] += z <= 0 ? 0 : z * z; } \
    } else { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { const T z = c + x[i + l]; v[l] += z <= 0 ? 0 : z; } \
        for (int l = 0; l < n - i; l++) { const T z = c + x[i + l]; v[l] += z <= 0 ? 0 : z; } \
    } \
    FT_FOLD(L, v, FT_PLUS) \
    return v[0]; \
} \
/* d[i] += k times the derivative of that by x[i]; returns the sum of what was added. At the bound it is 0. */ \
static double N##_over_back(const T *restrict x, T *restrict d, ptrdiff_t n, T c, int square, T k) \
{ \
    T v[L]; ptrdiff_t i = 0; \
    for (int l = 0; l < L; l++) v[l] = 0; \
    if (square) { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { const T z = c + x[i + l], e = z <= 0 ? 0 : 2 * k * z; d[i + l] += e; v[l] += e; } \
        for (int l = 0; l < n - i; l++) { const T z = c + x[i + l], e = z <= 0 ? 0 : 2 * k * z; d[i + l] += e; v[l] += e; } \
    } else { \
        for (; i + L <= n; i += L) for (int l = 0; l < L; l++) { const T e = c + x[i + l] > 0 ? k : 0; d[i + l] += e; v[l] += e; } \
        for (int l = 0; l < n - i; l++) { const T e = c + x[i + l] > 0 ? k : 0; d[i + l] += e; v[l] += e; } \
    } \
    FT_FOLD(L, v, FT_PLUS) \
    return v[0]; \
} \
static double N##_margin_row(const void *p, ptrdiff_t n, ptrdiff_t t, double margin, int square) \
{ \
    const T *x = p; const T c = (T)margin - x[t]; \
    return N##_over(x, t, c, square) + N##_over(x + t + 1, n - t - 1, c, square); \
} \
static void N##_margin_back(const void *p, void *q, ptrdiff_t n, ptrdiff_t t, double margin, int square, double k) \
{ \
    const T *x = p; T *d = q; const T c = (T)margin - x[t]; \
    for (ptrdiff_t i = 0; i < n; i++) d[i] = 0; \
    const double s = N##_over_back(x, d, t, c, square, (T)k) + N##_over_back(x + t + 1, d + t + 1, n - t - 1, c, square, (T)k); \
    d[t] = (T)-s; \
} \
/* The scores that no target of the row names, one after the other, in `others`; `is` [n] marks the others. Returns their number. */ \
static ptrdiff_t N##_others(const T *x, ptrdiff_t n, const int64_t *t, ptrdiff_t listed, char *is, T *others) \
{ \
    ptrdiff_t m = 0; \
    for (ptrdiff_t i = 0; i < n; i++) is[i] = 1; \
    for (ptrdiff_t j = 0; j < listed; j++) is[t[j]] = 0; \
    for (ptrdiff_t i = 0; i < n; i++) { others[m] = x[i]; m += is[i]; } \
    return m; \
} \
/* `room` holds 2 n + 2 elements and n bytes */ \
static double N##_labels_row(const void *p, ptrdiff_t n, const int64_t *t, ptrdiff_t listed, void *room) \
{ \
    const T *x = p; T *others = room; double s = 0; \
    const ptrdiff_t m = N##_others(x, n, t, listed, (char *)(others + 2 * n + 2), others); \
    for (ptrdiff_t j = 0; j < listed; j++) s += N##_over(others, m, 1 - x[t[j]], 0); \
    return s; \
} \
static void N##_labels_back(const void *p, void *q, ptrdiff_t n, const int64_t *t, ptrdiff_t listed, double k, void *room) \
{ \
    const T *x = p; T *d = q, *others = room, *sums = others + n + 1; char *is = (char *)(others + 2 * n + 2); \
    const ptrdiff_t m = N##_others(x, n, t, listed, is, others); \
    for (ptrdiff_t i = 0; i < n; i++) d[i] = 0; \
    for (ptrdiff_t i = 0; i < m; i++) sums[i] = 0; \
    for (ptrdiff_t j = 0; j < listed; j++) d[t[j]] -= (T)N##_over_back(others, sums, m, 1 - x[t[j]], 0, (T)k); \
    for (ptrdiff_t i = 0, at = 0; i < n; i++) if (is[i]) d[i] = sums[at++]; \
}
FT_MARGIN(mg_f, float, 32)
FT_MARGIN(mg_d, double, 16)

typedef struct {
    double (*row)(const void *, ptrdiff_t, ptrdiff_t, double, int);
    void (*back)(const void *, void *, ptrdiff_t, ptrdiff_t, double, int, double);
    double (*labels_row)(const void *, ptrdiff_t, const int64_t *, ptrdiff_t, void *);
    void (*labels_back)(const void *, void *, ptrdiff_t, const int64_t *, ptrdiff_t, double, void *);
} ft_margin;
#define FT_MARGIN_TABLE(N) {N##_margin_row, N##_margin_back, N##_labels_row, N##_labels_back}
static const ft_margin FT_MARGIN_OF[2] = {FT_MARGIN_TABLE(mg_f), FT_MARGIN_TABLE(mg_d)};
#endif
