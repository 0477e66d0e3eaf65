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
#include <string.h>
#include "vecmath.h"
#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

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
    int acc_size, lane_size;
} ft_reduction;

/* S(a, x): the new lane. F(a, v): joins lane or accumulator v to accumulator a. Z, ZA: their starts.
   The row of an operation that vectors have no expression for, such as a power: L lanes, left to the compiler. */
#define FT_ROW_OF_LANES(NAME, T, V, A, L, Z, S, F) \
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
}
/* The same by four vectors of V, with VS and VF in place of S and F. An array of lanes ends a row in memory, element by
   element; these stay in registers, which is worth a fifth of the time of rows of 1,000. C, G, VG: what an element of
   memory is read as, one or a vector of them (reduce_narrow.h). N: an element that changes nothing, for the places past the
   end (compilers make that loop one masked load). */
#define FT_ROW_OF_VECTORS(NAME, T, C, G, VG, V, A, Z, N, S, F, VS, VF) \
typedef V NAME##_v __attribute__((vector_size(64))); \
typedef T NAME##_x __attribute__((vector_size(64 / sizeof(V) * sizeof(T)), aligned(sizeof(T)), may_alias)); \
typedef C NAME##_c __attribute__((vector_size(64 / sizeof(V) * sizeof(C)), aligned(sizeof(C)), may_alias)); \
static void NAME##_row(const void *p, ptrdiff_t n, void *acc, const void *center, double par) \
{ \
    enum { W = 64 / sizeof(V) }; \
    const T *restrict x = p; const C c = center ? *(const C *)center : 0; const A a = *(A *)acc; ptrdiff_t i = 0; \
    (void)c; (void)par; \
    if (n < 8) { V u = Z; for (; i < n; i++) u = S(u, G(x[i])); *(A *)acc = F(a, u); return; } \
    NAME##_v v0 = (NAME##_v){0} + (V)(Z), v1 = v0, v2 = v0, v3 = v0; \
    for (; i + 4 * W <= n; i += 4 * W) { \
        v0 = VS(NAME, v0, VG(NAME, x + i)); v1 = VS(NAME, v1, VG(NAME, x + i + W)); \
        v2 = VS(NAME, v2, VG(NAME, x + i + 2 * W)); v3 = VS(NAME, v3, VG(NAME, x + i + 3 * W)); \
    } \
    for (; i + W <= n; i += W) v0 = VS(NAME, v0, VG(NAME, x + i)); \
    if (i < n) { \
        const int r = (int)(n - i); C t[W]; \
        for (int l = 0; l < W; l++) t[l] = l < r ? G(x[i + l]) : N; \
        v1 = VS(NAME, v1, *(const NAME##_c *)t); \
    } \
    v0 = VF(NAME, v0, v2); v1 = VF(NAME, v1, v3); v0 = VF(NAME, v0, v1); \
    V v[W]; memcpy(v, &v0, sizeof(v)); \
    FT_FOLD(W, v, F) \
    *(A *)acc = F(a, v[0]); \
}
#define G_SAME(x) (x)
#define VG_SAME(N, p) (*(const N##_x *)(p))
#define FT_REDUCTION(NAME, T, V, A, L, Z, ZA, S, F) FT_ROW_OF_LANES(NAME, T, V, A, L, Z, S, F) FT_COLUMNS(NAME, T, V, A, Z, ZA, S, F)
#define FT_REDUCTION_V(NAME, T, V, A, Z, ZA, N, S, F, VS, VF) \
    FT_ROW_OF_VECTORS(NAME, T, T, G_SAME, VG_SAME, V, A, Z, N, S, F, VS, VF) FT_COLUMNS(NAME, T, V, A, Z, ZA, S, F)

#define FT_LANES(NAME, V, A, Z, ZA, F) \
static void NAME##_start(void *lanes, ptrdiff_t m) { V *v = lanes; for (ptrdiff_t j = 0; j < m; j++) v[j] = Z; } \
static void NAME##_start_acc(void *acc, ptrdiff_t m) { A *a = acc; for (ptrdiff_t j = 0; j < m; j++) a[j] = ZA; } \
static void NAME##_fold(void *acc, const void *lanes, ptrdiff_t m) \
{ A *a = acc; const V *v = lanes; for (ptrdiff_t j = 0; j < m; j++) a[j] = F(a[j], v[j]); } \
static void NAME##_merge(void *acc, const void *other, ptrdiff_t m) \
{ A *a = acc; const A *v = other; for (ptrdiff_t j = 0; j < m; j++) a[j] = F(a[j], v[j]); }
#define FT_ENTRY(NAME, V, A) static const ft_reduction NAME = \
    {NAME##_start, NAME##_start_acc, NAME##_row, NAME##_cols, NAME##_cols4, NAME##_fold, NAME##_merge, sizeof(A), sizeof(V)};
#define FT_COLUMNS(NAME, T, V, A, Z, ZA, S, F) FT_LANES(NAME, V, A, Z, ZA, F) \
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
FT_ENTRY(NAME, V, A)

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

/* The steps for vectors: comparisons give masks of all ones, which stand for -1 or select bits. */
#define V_ADD(N, a, x) ((a) + (x))
#define V_MUL(N, a, x) ((a) * (x))
/* gcc converts a vector of another width by halves or element by element */
#if defined(__AVX512BW__)
#define V_DOUBLES(N, x) ((N##_v)_mm512_cvtps_pd((__m256)(x)))
#else
#define V_DOUBLES(N, x) __builtin_convertvector(x, N##_v)
#endif
#define V_WIDE_ADD(N, a, x) ((a) + V_DOUBLES(N, x))
#define V_WIDE_MUL(N, a, x) ((a) * V_DOUBLES(N, x))
#define V_COUNT(N, a, x) ((N##_v)((a) - ((x) != 0)))
#define V_BITS(N, x) (__typeof__((N##_v){0} == (N##_v){0}))(x)
#define V_PICK(N, m, x, a) ((N##_v)(((m) & V_BITS(N, x)) | (~(m) & V_BITS(N, a))))
#if defined(__AVX512BW__)
/* The instruction gives its second operand where either is NaN: a NaN in `a` stays, one in `x` is put in beside the chain. */
#define V_MAX_ps(N, a, x) ((N##_v)_mm512_mask_mov_ps(_mm512_max_ps((__m512)(x), (__m512)(a)), _mm512_cmp_ps_mask((__m512)(x), (__m512)(x), _CMP_UNORD_Q), (__m512)(x)))
#define V_MIN_ps(N, a, x) ((N##_v)_mm512_mask_mov_ps(_mm512_min_ps((__m512)(x), (__m512)(a)), _mm512_cmp_ps_mask((__m512)(x), (__m512)(x), _CMP_UNORD_Q), (__m512)(x)))
#define V_MAX_pd(N, a, x) ((N##_v)_mm512_mask_mov_pd(_mm512_max_pd((__m512d)(x), (__m512d)(a)), _mm512_cmp_pd_mask((__m512d)(x), (__m512d)(x), _CMP_UNORD_Q), (__m512d)(x)))
#define V_MIN_pd(N, a, x) ((N##_v)_mm512_mask_mov_pd(_mm512_min_pd((__m512d)(x), (__m512d)(a)), _mm512_cmp_pd_mask((__m512d)(x), (__m512d)(x), _CMP_UNORD_Q), (__m512d)(x)))
#define V_EXTREME(N, WHICH, S, a, x) ((N##_v)_mm512_##WHICH##_##S((__m512i)(a), (__m512i)(x)))
#else
#define V_MAX_ANY(N, a, x) V_PICK(N, ((x) > (a)) | ((x) != (x)), x, a)
#define V_MIN_ANY(N, a, x) V_PICK(N, ((x) < (a)) | ((x) != (x)), x, a)
#define V_MAX_ps V_MAX_ANY
#define V_MIN_ps V_MIN_ANY
#define V_MAX_pd V_MAX_ANY
#define V_MIN_pd V_MIN_ANY
#define V_EXTREME(N, WHICH, S, a, x) V_EXTREME_##WHICH(N, a, x)
#define V_EXTREME_max V_MAX_ANY
#define V_EXTREME_min V_MIN_ANY
#endif
#define V_MAX_epi64(N, a, x) V_EXTREME(N, max, epi64, a, x)
#define V_MIN_epi64(N, a, x) V_EXTREME(N, min, epi64, a, x)
#define V_ABS(N, x) ((N##_v)(V_BITS(N, x) & ~V_BITS(N, -(N##_v){0})))
#define V_NANADD(N, a, x) ((a) + (N##_v)(V_BITS(N, x) & ((x) == (x))))
#define V_ABSADD(N, a, x) ((a) + V_ABS(N, x))
#define V_ABSMAX_ps(N, a, x) V_MAX_ps(N, a, V_ABS(N, x))
#define V_ABSMIN_ps(N, a, x) V_MIN_ps(N, a, V_ABS(N, x))
#define V_ABSMAX_pd(N, a, x) V_MAX_pd(N, a, V_ABS(N, x))
#define V_ABSMIN_pd(N, a, x) V_MIN_pd(N, a, V_ABS(N, x))
#define V_SQ(N, a, x) ((a) + (x) * (x))
#define V_SSD(N, a, x) ((a) + ((x) - c) * ((x) - c))

#define CENTER_OF(j)
FT_REDUCTION_V(sum_i, int64_t, int64_t, int64_t, 0, 0, 0, S_ADD, S_ADD, V_ADD, V_ADD)
FT_REDUCTION_V(sum_f, float, float, double, 0, 0, 0, S_ADD, S_ADD, V_ADD, V_ADD)
FT_REDUCTION_V(sum_d, double, double, double, 0, 0, 0, S_ADD, S_ADD, V_ADD, V_ADD)
FT_REDUCTION_V(sumwide_f, float, double, double, 0, 0, 0, S_ADD, S_ADD, V_WIDE_ADD, V_ADD)
FT_REDUCTION(sum_c, ft_c64, ft_c64, ft_c128, 16, 0, 0, S_ADD, S_ADD)
FT_REDUCTION(sum_z, ft_c128, ft_c128, ft_c128, 8, 0, 0, S_ADD, S_ADD)
FT_REDUCTION_V(prod_i, int64_t, int64_t, int64_t, 1, 1, 1, S_MUL, S_MUL, V_MUL, V_MUL)
FT_REDUCTION_V(prod_f, float, double, double, 1, 1, 1, S_MUL, S_MUL, V_WIDE_MUL, V_MUL)
FT_REDUCTION_V(prod_d, double, double, double, 1, 1, 1, S_MUL, S_MUL, V_MUL, V_MUL)
FT_REDUCTION(prod_c, ft_c64, ft_c128, ft_c128, 4, 1, 1, S_MUL, S_MUL)
FT_REDUCTION(prod_z, ft_c128, ft_c128, ft_c128, 4, 1, 1, S_MUL, S_MUL)
FT_REDUCTION_V(max_i, int64_t, int64_t, int64_t, INT64_MIN, INT64_MIN, INT64_MIN, S_MAX, S_MAX, V_MAX_epi64, V_MAX_epi64)
FT_REDUCTION_V(max_f, float, float, double, -INF, -INF, -INF, S_MAX, S_MAX, V_MAX_ps, V_MAX_ps)
FT_REDUCTION_V(max_d, double, double, double, -INF, -INF, -INF, S_MAX, S_MAX, V_MAX_pd, V_MAX_pd)
FT_REDUCTION_V(min_i, int64_t, int64_t, int64_t, INT64_MAX, INT64_MAX, INT64_MAX, S_MIN, S_MIN, V_MIN_epi64, V_MIN_epi64)
FT_REDUCTION_V(min_f, float, float, double, INF, INF, INF, S_MIN, S_MIN, V_MIN_ps, V_MIN_ps)
FT_REDUCTION_V(min_d, double, double, double, INF, INF, INF, S_MIN, S_MIN, V_MIN_pd, V_MIN_pd)
FT_REDUCTION_V(nansum_f, float, float, double, 0, 0, 0, S_NANADD, S_ADD, V_NANADD, V_ADD)
FT_REDUCTION_V(nansum_d, double, double, double, 0, 0, 0, S_NANADD, S_ADD, V_NANADD, V_ADD)
FT_REDUCTION_V(count_i, int64_t, int64_t, int64_t, 0, 0, 0, S_COUNT, S_ADD, V_COUNT, V_ADD)
FT_REDUCTION_V(count_f, float, int32_t, int64_t, 0, 0, 0, S_COUNT, S_ADD, V_COUNT, V_ADD)
FT_REDUCTION_V(count_d, double, int64_t, int64_t, 0, 0, 0, S_COUNT, S_ADD, V_COUNT, V_ADD)
FT_REDUCTION_V(abssum_f, float, float, double, 0, 0, 0, S_ABSF, S_ADD, V_ABSADD, V_ADD)
FT_REDUCTION_V(abssum_d, double, double, double, 0, 0, 0, S_ABSD, S_ADD, V_ABSADD, V_ADD)
FT_REDUCTION_V(sqsum_f, float, float, double, 0, 0, 0, S_SQ, S_ADD, V_SQ, V_ADD)
FT_REDUCTION_V(sqsum_d, double, double, double, 0, 0, 0, S_SQ, S_ADD, V_SQ, V_ADD)
FT_REDUCTION_V(absmax_f, float, float, double, 0, 0, 0, S_AMAXF, S_MAX, V_ABSMAX_ps, V_MAX_ps)
FT_REDUCTION_V(absmax_d, double, double, double, 0, 0, 0, S_AMAXD, S_MAX, V_ABSMAX_pd, V_MAX_pd)
FT_REDUCTION_V(absmin_f, float, float, double, INF, INF, INF, S_AMINF, S_MIN, V_ABSMIN_ps, V_MIN_ps)
FT_REDUCTION_V(absmin_d, double, double, double, INF, INF, INF, S_AMIND, S_MIN, V_ABSMIN_pd, V_MIN_pd)
FT_REDUCTION(abspow_f, float, float, double, 16, 0, 0, S_POWF, S_ADD)
FT_REDUCTION(abspow_d, double, double, double, 8, 0, 0, S_POWD, S_ADD)
#undef CENTER_OF
#define CENTER_OF(j) const __typeof__(*cs) c = cs[j];
FT_REDUCTION_V(ssd_f, float, float, double, 0, 0, c, S_SSD, S_ADD, V_SSD, V_ADD)
FT_REDUCTION_V(ssd_d, double, double, double, 0, 0, c, S_SSD, S_ADD, V_SSD, V_ADD)
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
