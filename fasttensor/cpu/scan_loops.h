/* Running sums, products and extremes.
     rows: n adjacent elements; cols: m adjacent columns, n elements of each `stride` apart.
   Sums of float run in double, as PyTorch's do. In a row, blocks of eight are scanned by
   three shifted additions and joined by a carry, so that the chain of dependent additions has one
   link a block; a double sum is associated the same way at any thread count. */
#ifndef FT_SCAN_LOOPS_H
#define FT_SCAN_LOOPS_H
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
typedef float _Complex ft_c64;
typedef double _Complex ft_c128;
enum { SCAN_COLS = 128 };

typedef double ft_v8d __attribute__((vector_size(64)));
typedef int64_t ft_v8i __attribute__((vector_size(64)));
typedef float ft_v8f __attribute__((vector_size(32), aligned(4), may_alias));
typedef double ft_u8d __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t ft_u8i __attribute__((vector_size(64), aligned(8), may_alias));

/* lanes shifted up by one, two and four; 8 and above pick from the neutral vector */
#define FT_UP1 ((ft_v8i){8, 0, 1, 2, 3, 4, 5, 6})
#define FT_UP2 ((ft_v8i){8, 8, 0, 1, 2, 3, 4, 5})
#define FT_UP4 ((ft_v8i){8, 8, 8, 8, 0, 1, 2, 3})
#define FT_LAST ((ft_v8i){7, 7, 7, 7, 7, 7, 7, 7})

#define FT_SCAN_VECTOR(NAME, T, VT, A, VA, NEUTRAL, OP, WIDEN, NARROW) \
static void NAME##_row(const void *p, void *q, ptrdiff_t n) \
{ \
    const T *x = p; T *y = q; ptrdiff_t i = 0; \
    const VA neutral = {NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL, NEUTRAL}; \
    VA carry = neutral; \
    for (; i + 8 <= n; i += 8) { \
        VA v = WIDEN(*(const VT *)(x + i)); \
        v = v OP __builtin_shuffle(v, neutral, FT_UP1); \
        v = v OP __builtin_shuffle(v, neutral, FT_UP2); \
        v = v OP __builtin_shuffle(v, neutral, FT_UP4); \
        *(VT *)(y + i) = NARROW(v OP carry); \
        carry = carry OP __builtin_shuffle(v, FT_LAST); \
    } \
    A a = carry[0]; \
    for (; i < n; i++) { a = a OP x[i]; y[i] = (T)a; } \
}
#define FT_SCAN_SCALAR(NAME, T, A, NEUTRAL, OP) \
static void NAME##_row(const void *p, void *q, ptrdiff_t n) \
{ \
    const T *x = p; T *y = q; A a = NEUTRAL; \
    for (ptrdiff_t i = 0; i < n; i++) { a = a OP x[i]; y[i] = (T)a; } \
}
#define FT_SCAN_COLS(NAME, T, A, NEUTRAL, OP) \
static void NAME##_cols(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    A a[SCAN_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) a[j] = NEUTRAL; \
    for (ptrdiff_t k = 0; k < n; k++) { \
        const T *restrict x = (const T *)p + k * stride; T *restrict y = (T *)q + k * stride; \
        for (ptrdiff_t j = 0; j < m; j++) { a[j] = a[j] OP x[j]; y[j] = (T)a[j]; } \
    } \
}
#define SAME(v) (v)
#define TO_D(v) __builtin_convertvector(v, ft_v8d)
#define TO_F(v) __builtin_convertvector(v, ft_v8f)
FT_SCAN_VECTOR(cumsum_f, float, ft_v8f, double, ft_v8d, 0., +, TO_D, TO_F)
FT_SCAN_VECTOR(cumsum_d, double, ft_u8d, double, ft_v8d, 0., +, SAME, SAME)
FT_SCAN_VECTOR(cumsum_i, int64_t, ft_u8i, int64_t, ft_v8i, 0, +, SAME, SAME)
FT_SCAN_SCALAR(cumsum_c, ft_c64, ft_c128, 0, +)
FT_SCAN_SCALAR(cumsum_z, ft_c128, ft_c128, 0, +)
FT_SCAN_VECTOR(cumprod_f, float, ft_v8f, double, ft_v8d, 1., *, TO_D, TO_F)
FT_SCAN_VECTOR(cumprod_d, double, ft_u8d, double, ft_v8d, 1., *, SAME, SAME)
FT_SCAN_VECTOR(cumprod_i, int64_t, ft_u8i, int64_t, ft_v8i, 1, *, SAME, SAME)
FT_SCAN_SCALAR(cumprod_c, ft_c64, ft_c128, 1, *)
FT_SCAN_SCALAR(cumprod_z, ft_c128, ft_c128, 1, *)
FT_SCAN_COLS(cumsum_f, float, double, 0, +)
FT_SCAN_COLS(cumsum_d, double, double, 0, +)
FT_SCAN_COLS(cumsum_i, int64_t, int64_t, 0, +)
FT_SCAN_COLS(cumsum_c, ft_c64, ft_c128, 0, +)
FT_SCAN_COLS(cumsum_z, ft_c128, ft_c128, 0, +)
FT_SCAN_COLS(cumprod_f, float, double, 1, *)
FT_SCAN_COLS(cumprod_d, double, double, 1, *)
FT_SCAN_COLS(cumprod_i, int64_t, int64_t, 1, *)
FT_SCAN_COLS(cumprod_c, ft_c64, ft_c128, 1, *)
FT_SCAN_COLS(cumprod_z, ft_c128, ft_c128, 1, *)

/* Running extremes: an equal element later takes over the index, as in PyTorch, and NaN stays. */
#define FT_CUMEXTREME(NAME, T, CMP) \
static void NAME(const void *p, void *q, int64_t *index, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    const T *x = p; T *y = q; \
    if (m == 1) { \
        T best = x[0]; int64_t at = 0; \
        for (ptrdiff_t k = 0; k < n; k++) { \
            const T v = x[k * stride]; \
            if ((v != v) | (v CMP best)) { best = v; at = k; } \
            y[k * stride] = best; index[k * stride] = at; \
        } \
        return; \
    } \
    for (ptrdiff_t j = 0; j < m; j++) y[j] = x[j], index[j] = 0; \
    for (ptrdiff_t k = 1; k < n; k++) { \
        const ptrdiff_t b = k * stride, a = b - stride; \
        for (ptrdiff_t j = 0; j < m; j++) { \
            const T v = x[b + j], old = y[a + j]; \
            const int take = (v != v) | (v CMP old); \
            y[b + j] = take ? v : old; \
            index[b + j] = take ? k : index[a + j]; \
        } \
    } \
}
FT_CUMEXTREME(cummax_i, int64_t, >=)
FT_CUMEXTREME(cummax_f, float, >=)
FT_CUMEXTREME(cummax_d, double, >=)
FT_CUMEXTREME(cummin_i, int64_t, <=)
FT_CUMEXTREME(cummin_f, float, <=)
FT_CUMEXTREME(cummin_d, double, <=)

/* log(e^a + e^b) by the larger one, which keeps infinities of one sign apart from NaN. */
static inline double ft_logadd(double a, double b)
{
    double hi = a > b || a != a ? a : b, lo = a > b || a != a ? b : a;
    if (hi != hi || (isinf(hi) && hi == lo)) return hi;
    return lo != lo ? lo : hi + log1p(exp(lo - hi));
}
#define FT_LOGCUMSUMEXP(NAME, T) \
static void NAME(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    const T *x = p; T *y = q; double a[SCAN_COLS]; \
    for (ptrdiff_t j = 0; j < m; j++) a[j] = -INFINITY; \
    for (ptrdiff_t k = 0; k < n; k++) \
        for (ptrdiff_t j = 0; j < m; j++) { a[j] = ft_logadd(a[j], x[k * stride + j]); y[k * stride + j] = (T)a[j]; } \
}
FT_LOGCUMSUMEXP(logcumsumexp_f, float)
FT_LOGCUMSUMEXP(logcumsumexp_d, double)

/* as ft_logadd, ordered by real parts; the imaginary part is not brought back into (-pi, pi] */
static inline ft_c128 ft_logadd_complex(ft_c128 a, ft_c128 b)
{
    const ft_c128 hi = creal(a) > creal(b) ? a : b, lo = creal(a) > creal(b) ? b : a;
    if (isnan(creal(a)) || isnan(cimag(a)) || isnan(creal(b)) || isnan(cimag(b))) return CMPLX(NAN, NAN);
    if (creal(hi) == -INFINITY) return a;           /* two zeros, of any angle */
    if (creal(lo) == INFINITY) return clog(cexp(a) + cexp(b));
    if (creal(lo) == -INFINITY) return hi;
    return hi + clog(1 + cexp(lo - hi));
}
#define FT_LOGCUMSUMEXP_COMPLEX(NAME, T) \
static void NAME(const void *p, void *q, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t m) \
{ \
    const T *x = p; T *y = q; \
    for (ptrdiff_t j = 0; j < m; j++) { \
        ft_c128 a = -INFINITY; \
        for (ptrdiff_t k = 0; k < n; k++) { a = ft_logadd_complex(a, x[k * stride + j]); y[k * stride + j] = (T)a; } \
    } \
}
FT_LOGCUMSUMEXP_COMPLEX(logcumsumexp_c, ft_c64)
FT_LOGCUMSUMEXP_COMPLEX(logcumsumexp_z, ft_c128)

typedef void (*ft_scan_row)(const void *, void *, ptrdiff_t);
typedef void (*ft_scan_cols)(const void *, void *, ptrdiff_t, ptrdiff_t, ptrdiff_t);
typedef void (*ft_scan_arg)(const void *, void *, int64_t *, ptrdiff_t, ptrdiff_t, ptrdiff_t);
/* by compute type: int64, float, double, complex float, complex double */
static const ft_scan_row FT_SCAN_ROW[2][5] = {{cumsum_i_row, cumsum_f_row, cumsum_d_row, cumsum_c_row, cumsum_z_row},
                                              {cumprod_i_row, cumprod_f_row, cumprod_d_row, cumprod_c_row, cumprod_z_row}};
static const ft_scan_cols FT_SCAN_COLS_OF[3][5] = {
    {cumsum_i_cols, cumsum_f_cols, cumsum_d_cols, cumsum_c_cols, cumsum_z_cols},
    {cumprod_i_cols, cumprod_f_cols, cumprod_d_cols, cumprod_c_cols, cumprod_z_cols},
    {0, logcumsumexp_f, logcumsumexp_d, logcumsumexp_c, logcumsumexp_z}};
static const ft_scan_arg FT_SCAN_ARG[2][3] = {{cummax_i, cummax_f, cummax_d}, {cummin_i, cummin_f, cummin_d}};
#endif
