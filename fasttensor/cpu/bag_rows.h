/* Rows of a table combined over one bag, and products of rows.
 *
 *   FT_BAG_SUM[code](table, step, ix, left, factors, n, skip, mean, out, width)
 *   FT_BAG_MAX[code](table, step, ix, n, skip, out, where, width)
 *   FT_BAG_DOT[code](x, y, n)
 *
 * ix: n rows of the table, `step` bytes apart; `left` says how many numbers may be read from ix, 0 for none, for the rows of the
 * next bags are fetched ahead. Rows equal to `skip` are left out; a bag without rows is 0. factors: one a position, in
 * the type of the sums, or NULL. where: the row that each maximum came from, -1 in a bag without rows, or NULL. Half
 * types add in float32. Up to 64 columns are summed at a time, so that the sums stay in registers.
 */
#ifndef FT_BAG_ROWS_H
#define FT_BAG_ROWS_H
#include "index_loops.h"

#define FT_AHEAD 8
typedef void (*ft_bag_sum_fn)(const char *, ptrdiff_t, const int64_t *, ptrdiff_t, const void *, ptrdiff_t, int64_t, int,
                              char *, ptrdiff_t);
typedef void (*ft_bag_max_fn)(const char *, ptrdiff_t, const int64_t *, ptrdiff_t, int64_t, char *, int64_t *, ptrdiff_t);
typedef double (*ft_bag_dot_fn)(const char *, const char *, ptrdiff_t);

#define FT_BAG(S, T, C, P, LD, ST)                                                                   \
    static inline __attribute__((always_inline)) void sums_##S(                                      \
            const char *table, ptrdiff_t step, const int64_t *ix, ptrdiff_t left, const C *f, ptrdiff_t n, int64_t skip, \
            C scale, T *out, const ptrdiff_t m) {                                                    \
        C acc[64];                                                                                   \
        for (ptrdiff_t j = 0; j < m; j++) acc[j] = 0;                                                \
        for (ptrdiff_t i = 0; i < n; i++) {                                                          \
            if (i + FT_AHEAD < left)                                                                 \
                for (ptrdiff_t j = 0; j < m * (ptrdiff_t)sizeof(T); j += 64)                         \
                    __builtin_prefetch(table + ix[i + FT_AHEAD] * step + j);                         \
            if (ix[i] == skip) continue;                                                             \
            const T *x = (const T *)(table + ix[i] * step);                                          \
            if (f) {                                                                                 \
                C v = f[i];                                                                          \
                for (ptrdiff_t j = 0; j < m; j++) acc[j] += v * LD(x[j]);                            \
            } else                                                                                   \
                for (ptrdiff_t j = 0; j < m; j++) acc[j] += LD(x[j]);                                \
        }                                                                                            \
        if (scale != 1) for (ptrdiff_t j = 0; j < m; j++) acc[j] /= scale;                           \
        for (ptrdiff_t j = 0; j < m; j++) out[j] = (T)ST(acc[j]);                                    \
    }                                                                                                \
    static void bag_sum_##S(const char *table, ptrdiff_t step, const int64_t *ix, ptrdiff_t left, const void *factors, \
                            ptrdiff_t n, int64_t skip, int mean, char *out, ptrdiff_t width) {       \
        const C *f = (const C *)factors;                                                             \
        T *d = (T *)out;                                                                             \
        ptrdiff_t kept = 0, c = 0;                                                                   \
        if (mean) for (ptrdiff_t i = 0; i < n; i++) kept += ix[i] != skip;                           \
        C scale = kept > 1 ? (C)kept : 1;                                                            \
        for (; c + 64 <= width; c += 64)                                                             \
            sums_##S(table + c * sizeof(T), step, ix, left, f, n, skip, scale, d + c, 64);           \
        if (c + 32 <= width) {                                                                       \
            sums_##S(table + c * sizeof(T), step, ix, left, f, n, skip, scale, d + c, 32);           \
            c += 32;                                                                                 \
        }                                                                                            \
        if (c + 16 <= width) {                                                                       \
            sums_##S(table + c * sizeof(T), step, ix, left, f, n, skip, scale, d + c, 16);           \
            c += 16;                                                                                 \
        }                                                                                            \
        if (c < width) sums_##S(table + c * sizeof(T), step, ix, left, f, n, skip, scale, d + c, width - c); \
    }                                                                                                \
    /* A NaN wins, and the first of equals stays; P is an integer as wide as C. */                   \
    static void bag_max_##S(const char *table, ptrdiff_t step, const int64_t *ix, ptrdiff_t n, int64_t skip, char *out, \
                            int64_t *where, ptrdiff_t width) {                                       \
        for (ptrdiff_t c = 0; c < width; c += 64) {                                                  \
            C best[64];                                                                              \
            P at[64];                                                                                \
            ptrdiff_t m = width - c < 64 ? width - c : 64;                                           \
            int first = 1;                                                                           \
            for (ptrdiff_t j = 0; j < m; j++) best[j] = 0, at[j] = -1;                               \
            for (ptrdiff_t i = 0; i < n; i++) {                                                      \
                if (ix[i] == skip) continue;                                                         \
                const T *x = (const T *)(table + ix[i] * step) + c;                                  \
                if (first) for (ptrdiff_t j = 0; j < m; j++) best[j] = LD(x[j]), at[j] = (P)i;       \
                else                                                                                 \
                    for (ptrdiff_t j = 0; j < m; j++) {                                              \
                        C v = LD(x[j]), b = best[j];                                                 \
                        int wins = (v > b) | ((v != v) & (b == b));                                  \
                        best[j] = wins ? v : b;                                                      \
                        at[j] = wins ? (P)i : at[j];                                                 \
                    }                                                                                \
                first = 0;                                                                           \
            }                                                                                        \
            for (ptrdiff_t j = 0; j < m; j++) ((T *)out)[c + j] = (T)ST(best[j]);                    \
            if (where) for (ptrdiff_t j = 0; j < m; j++) where[c + j] = at[j] < 0 ? -1 : ix[at[j]];  \
        }                                                                                            \
    }                                                                                                \
    static double bag_dot_##S(const char *x, const char *y, ptrdiff_t n) {                           \
        C part[16] = {0}, total = 0;                                                                 \
        ptrdiff_t j = 0;                                                                             \
        for (; j + 16 <= n; j += 16)                                                                 \
            for (ptrdiff_t k = 0; k < 16; k++) part[k] += LD(((const T *)x)[j + k]) * LD(((const T *)y)[j + k]); \
        for (; j < n; j++) total += LD(((const T *)x)[j]) * LD(((const T *)y)[j]);                   \
        for (ptrdiff_t k = 0; k < 16; k++) total += part[k];                                         \
        return total;                                                                                \
    }

FT_BAG(f16, _Float16, float, int32_t, FT_F32, FT_F16)
FT_BAG(bf16, uint16_t, float, int32_t, ft_ix_bf, ft_ix_fb)
FT_BAG(f32, float, float, int32_t, FT_ID, FT_ID)
FT_BAG(f64, double, double, int64_t, FT_ID, FT_ID)

/* By dtype code, from float16 on. */
static const ft_bag_sum_fn FT_BAG_SUM[4] = {bag_sum_f16, bag_sum_bf16, bag_sum_f32, bag_sum_f64};
static const ft_bag_max_fn FT_BAG_MAX[4] = {bag_max_f16, bag_max_bf16, bag_max_f32, bag_max_f64};
static const ft_bag_dot_fn FT_BAG_DOT[4] = {bag_dot_f16, bag_dot_bf16, bag_dot_f32, bag_dot_f64};

/* d += v * s */
static inline void ft_add_times(char *d, const char *s, ptrdiff_t n, double v, int wide) {
    if (wide) for (ptrdiff_t j = 0; j < n; j++) ((double *restrict)d)[j] += v * ((const double *)s)[j];
    else for (ptrdiff_t j = 0; j < n; j++) ((float *restrict)d)[j] += (float)v * ((const float *)s)[j];
}
#endif
