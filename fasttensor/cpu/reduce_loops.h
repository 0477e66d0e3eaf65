/* Inner loops of the reductions, one set an operation and compute type.

   A compute type T is int64, float, double or a complex; narrower inputs arrive converted by
   reduce_load.h. Partial results live in lanes of type V, totals in an accumulator of type A
   (int64, double, complex double), so that float sums lose nothing across blocks.

     row(x, n, acc, center)    folds n adjacent elements into acc[0]
     cols(x, m, lanes, center) updates m lanes, element by element
     cols4(x, step, ...)       the same for four rows `step` bytes apart, with one visit of the lanes
     fold(acc, lanes, m)       acc[j] = acc[j] (+) lanes[j]
     merge(acc, other, m)      the same for two accumulators
*/
#ifndef FT_REDUCE_LOOPS_H
#define FT_REDUCE_LOOPS_H
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "vecmath.h"

typedef float _Complex ft_c64;
typedef double _Complex ft_c128;
enum { K_INT, K_FLOAT, K_DOUBLE, K_C64, K_C128, N_KINDS };
enum { R_SUM, R_PROD, R_MAX, R_MIN, R_NANSUM, R_COUNT, R_ABSSUM, R_SQSUM, R_ABSMAX, R_ABSMIN, R_ABSPOW, R_SSD,
       R_SUMEXP, R_SUM_WIDE, N_REDUCTIONS };

typedef struct {
    void (*start)(void *lanes, ptrdiff_t m);
    void (*start_acc)(void *acc, ptrdiff_t m);
    void (*row)(const void *x, ptrdiff_t n, void *acc, const void *center, double par);
    void (*cols)(const void *x, ptrdiff_t m, void *lanes, const void *center, double par);
    void (*cols4)(const void *x, ptrdiff_t step, ptrdiff_t m, void *lanes, const void *center, double par);
    void (*fold)(void *acc, const void *lanes, ptrdiff_t m);
    void (*merge)(void *acc, const void *other, ptrdiff_t m);
    int acc_size;
} ft_reduction;

/* S(a, x): the new lane. F(a, v): joins lane or accumulator v to accumulator a. Z, ZA: their starts. */
#define FT_REDUCTION(NAME, T, V, A, L, Z, ZA, S, F) \
static void NAME##_start(void *lanes, ptrdiff_t m) { V *v = lanes; for (ptrdiff_t j = 0; j < m; j++) v[j] = Z; } \
static void NAME##_start_acc(void *acc, ptrdiff_t m) { A *a = acc; for (ptrdiff_t j = 0; j < m; j++) a[j] = ZA; } \
static void NAME##_row(const void *p, ptrdiff_t n, void *acc, const void *center, double par) \
{ \
    const T *x = p; const T c = center ? *(const T *)center : 0; A a = *(A *)acc; V v[L]; ptrdiff_t i = 0; \
    (void)c; (void)par; \
    if (n < 8) { V u = Z; for (; i < n; i++) u = S(u, x[i]); *(A *)acc = F(a, u); return; } \
    for (int l = 0; l < L; l++) v[l] = Z; \
    for (; i + L <= n; i += L) for (int l = 0; l < L; l++) v[l] = S(v[l], x[i + l]); \
    for (int l = 0; l < n - i; l++) v[l] = S(v[l], x[i + l]); \
    FT_FOLD(L, v, F) \
    *(A *)acc = F(a, v[0]); \
} \
static void NAME##_cols(const void *p, ptrdiff_t m, void *lanes, const void *center, double par) \
{ \
    const T *restrict x = p; V *restrict v = lanes; const T *restrict cs = center; (void)cs; (void)par; \
    for (ptrdiff_t j = 0; j < m; j++) { CENTER_OF(j) v[j] = S(v[j], x[j]); } \
} \
static void NAME##_cols4(const void *p, ptrdiff_t step, ptrdiff_t m, void *lanes, const void *center, double par) \
{ \
    const T *restrict x = p; const T *restrict y = (const T *)((const char *)p + step); V *restrict v = lanes; \
    const T *restrict z = (const T *)((const char *)p + 2 * step); const T *restrict w = (const T *)((const char *)p + 3 * step); \
    const T *restrict cs = center; (void)cs; (void)par; \
    for (ptrdiff_t j = 0; j < m; j++) { CENTER_OF(j) V a = S(v[j], x[j]); a = S(a, y[j]); a = S(a, z[j]); v[j] = S(a, w[j]); } \
} \
static void NAME##_fold(void *acc, const void *lanes, ptrdiff_t m) \
{ A *a = acc; const V *v = lanes; for (ptrdiff_t j = 0; j < m; j++) a[j] = F(a[j], v[j]); } \
static void NAME##_merge(void *acc, const void *other, ptrdiff_t m) \
{ A *a = acc; const A *v = other; for (ptrdiff_t j = 0; j < m; j++) a[j] = F(a[j], v[j]); } \
static const ft_reduction NAME = {NAME##_start, NAME##_start_acc, NAME##_row, NAME##_cols, NAME##_cols4, NAME##_fold, NAME##_merge, sizeof(A)};

#define S_ADD(a, x) ((a) + (x))
#define S_MUL(a, x) ((a) * (x))
/* NaN wins: once in `a` no comparison removes it. */
#define S_MAX(a, x) (((x) > (a)) | ((x) != (x)) ? (x) : (a))
#define S_MIN(a, x) (((x) < (a)) | ((x) != (x)) ? (x) : (a))
#define S_NANADD(a, x) ((a) + ((x) == (x) ? (x) : 0))
#define S_COUNT(a, x) ((a) + ((x) != 0))
#define S_ABSF(a, x) ((a) + fabsf(x))
#define S_ABSD(a, x) ((a) + fabs(x))
#define S_SQ(a, x) ((a) + (x) * (x))
#define S_AMAXF(a, x) S_MAX(a, fabsf(x))
#define S_AMAXD(a, x) S_MAX(a, fabs(x))
#define S_AMINF(a, x) S_MIN(a, fabsf(x))
#define S_AMIND(a, x) S_MIN(a, fabs(x))
#define S_POWF(a, x) ((a) + powf(fabsf(x), (float)par))
#define S_POWD(a, x) ((a) + pow(fabs(x), par))
#define S_SSD(a, x) ((a) + ((x) - c) * ((x) - c))
#define S_EXPF(a, x) ((a) + vm_expf((x) - c))
#define S_EXPD(a, x) ((a) + vm_exp((x) - c))
#define INF (__builtin_inf())

#define CENTER_OF(j)
FT_REDUCTION(sum_i, int64_t, int64_t, int64_t, 32, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sum_f, float, float, double, 64, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sum_d, double, double, double, 32, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sumwide_f, float, double, double, 32, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sum_c, ft_c64, ft_c64, ft_c128, 16, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sum_z, ft_c128, ft_c128, ft_c128, 8, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(prod_i, int64_t, int64_t, int64_t, 32, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(prod_f, float, double, double, 32, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(prod_d, double, double, double, 32, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(prod_c, ft_c64, ft_c128, ft_c128, 4, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(prod_z, ft_c128, ft_c128, ft_c128, 4, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(max_i, int64_t, int64_t, int64_t, 32, INT64_MIN, INT64_MIN, S_MAX, S_MAX)
FT_REDUCTION(max_f, float, float, double, 64, -INF, -INF, S_MAX, S_MAX)
FT_REDUCTION(max_d, double, double, double, 32, -INF, -INF, S_MAX, S_MAX)
FT_REDUCTION(min_i, int64_t, int64_t, int64_t, 32, INT64_MAX, INT64_MAX, S_MIN, S_MIN)
FT_REDUCTION(min_f, float, float, double, 64, INF, INF, S_MIN, S_MIN)
FT_REDUCTION(min_d, double, double, double, 32, INF, INF, S_MIN, S_MIN)
FT_REDUCTION(nansum_f, float, float, double, 64, 0, 0, S_NANADD, S_ADD)
FT_REDUCTION(nansum_d, double, double, double, 32, 0, 0, S_NANADD, S_ADD)
FT_REDUCTION(count_i, int64_t, int64_t, int64_t, 32, 0, 0, S_COUNT, S_ADD)
FT_REDUCTION(count_f, float, int32_t, int64_t, 64, 0, 0, S_COUNT, S_ADD)
FT_REDUCTION(count_d, double, int64_t, int64_t, 32, 0, 0, S_COUNT, S_ADD)
FT_REDUCTION(abssum_f, float, float, double, 64, 0, 0, S_ABSF, S_ADD)
FT_REDUCTION(abssum_d, double, double, double, 32, 0, 0, S_ABSD, S_ADD)
FT_REDUCTION(sqsum_f, float, float, double, 64, 0, 0, S_SQ, S_ADD)
FT_REDUCTION(sqsum_d, double, double, double, 32, 0, 0, S_SQ, S_ADD)
FT_REDUCTION(absmax_f, float, float, double, 64, 0, 0, S_AMAXF, S_MAX)
FT_REDUCTION(absmax_d, double, double, double, 32, 0, 0, S_AMAXD, S_MAX)
FT_REDUCTION(absmin_f, float, float, double, 64, INF, INF, S_AMINF, S_MIN)
FT_REDUCTION(absmin_d, double, double, double, 32, INF, INF, S_AMIND, S_MIN)
FT_REDUCTION(abspow_f, float, float, double, 16, 0, 0, S_POWF, S_ADD)
FT_REDUCTION(abspow_d, double, double, double, 8, 0, 0, S_POWD, S_ADD)
#undef CENTER_OF
#define CENTER_OF(j) const __typeof__(*cs) c = cs[j];
FT_REDUCTION(ssd_f, float, float, double, 64, 0, 0, S_SSD, S_ADD)
FT_REDUCTION(ssd_d, double, double, double, 32, 0, 0, S_SSD, S_ADD)
FT_REDUCTION(sumexp_f, float, float, double, 64, 0, 0, S_EXPF, S_ADD)
FT_REDUCTION(sumexp_d, double, double, double, 32, 0, 0, S_EXPD, S_ADD)
#undef CENTER_OF

static const ft_reduction *const FT_REDUCTIONS[N_REDUCTIONS][N_KINDS] = {
    [R_SUM] = {&sum_i, &sum_f, &sum_d, &sum_c, &sum_z},
    [R_PROD] = {&prod_i, &prod_f, &prod_d, &prod_c, &prod_z},
    [R_MAX] = {&max_i, &max_f, &max_d},
    [R_MIN] = {&min_i, &min_f, &min_d},
    [R_NANSUM] = {&sum_i, &nansum_f, &nansum_d},
    [R_COUNT] = {&count_i, &count_f, &count_d},
    [R_ABSSUM] = {0, &abssum_f, &abssum_d},
    [R_SQSUM] = {0, &sqsum_f, &sqsum_d},
    [R_ABSMAX] = {0, &absmax_f, &absmax_d},
    [R_ABSMIN] = {0, &absmin_f, &absmin_d},
    [R_ABSPOW] = {0, &abspow_f, &abspow_d},
    [R_SSD] = {0, &ssd_f, &ssd_d},
    [R_SUMEXP] = {0, &sumexp_f, &sumexp_d},
    [R_SUM_WIDE] = {0, &sumwide_f, &sum_d},
};
#endif
