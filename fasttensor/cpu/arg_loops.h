/* Largest or smallest element with its index, along one dimension of plain memory.
   NaN counts as beyond every number, and of equal elements the first is taken.

     row(x, n, value, index)          one row of n adjacent elements
     cols(x, n, stride, m, v, idx)    m adjacent columns of n elements, `stride` elements apart */
#ifndef FT_ARG_LOOPS_H
#define FT_ARG_LOOPS_H
#include <stddef.h>
#include <stdint.h>
enum { ARG_COLS = 128 };

#define FT_ARG(NAME, T, I, L, CMP) \
static void NAME##_row(const void *p, ptrdiff_t n, void *value, int64_t *index) \
{ \
    const T *x = p; T v[L], best; ptrdiff_t i = 0; \
    best = x[0]; \
    if (n >= L) { \
        for (int l = 0; l < L; l++) v[l] = x[l]; \
        for (i = L; i + L <= n; i += L) \
            for (int l = 0; l < L; l++) v[l] = (x[i + l] CMP v[l]) | (x[i + l] != x[i + l]) ? x[i + l] : v[l]; \
        for (int l = 0; l < L; l++) best = (v[l] CMP best) | (v[l] != v[l]) ? v[l] : best; \
    } \
    for (; i < n; i++) best = (x[i] CMP best) | (x[i] != x[i]) ? x[i] : best; \
    if (value) *(T *)value = best; \
    const int nan = best != best; \
    for (i = 0; i + L <= n; i += L) { \
        int hit = 0; \
        for (int l = 0; l < L; l++) hit |= (x[i + l] == best) | (x[i + l] != x[i + l]); \
        if (hit) break; \
    } \
    for (; i < n; i++) if (nan ? x[i] != x[i] : x[i] == best) break; \
    *index = i; \
} \
static void NAME##_cols(const void *p, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m, void *value, int64_t *index) \
{ \
    T v[ARG_COLS]; I at[ARG_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) v[j] = ((const T *)p)[j], at[j] = 0; \
    for (ptrdiff_t k = 1; k < n; k++) { \
        const T *x = (const T *)p + k * stride; \
        for (ptrdiff_t j = 0; j < m; j++) { \
            const int better = (x[j] CMP v[j]) | ((x[j] != x[j]) & (v[j] == v[j])); \
            v[j] = better ? x[j] : v[j]; \
            at[j] = better ? (I)k : at[j]; \
        } \
    } \
    for (ptrdiff_t j = 0; j < m; j++) { if (value) ((T *)value)[j] = v[j]; index[j] = at[j]; } \
}
FT_ARG(argmax_i, int64_t, int64_t, 32, >)
FT_ARG(argmax_f, float, int32_t, 64, >)
FT_ARG(argmax_d, double, int64_t, 32, >)
FT_ARG(argmin_i, int64_t, int64_t, 32, <)
FT_ARG(argmin_f, float, int32_t, 64, <)
FT_ARG(argmin_d, double, int64_t, 32, <)

typedef void (*ft_arg_row)(const void *, ptrdiff_t, void *, int64_t *);
typedef void (*ft_arg_cols)(const void *, ptrdiff_t, ptrdiff_t, ptrdiff_t, void *, int64_t *);
static const ft_arg_row FT_ARG_ROW[2][3] = {{argmax_i_row, argmax_f_row, argmax_d_row},
                                            {argmin_i_row, argmin_f_row, argmin_d_row}};
static const ft_arg_cols FT_ARG_COLS[2][3] = {{argmax_i_cols, argmax_f_cols, argmax_d_cols},
                                              {argmin_i_cols, argmin_f_cols, argmin_d_cols}};
#endif
