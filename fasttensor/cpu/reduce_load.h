/* Brings blocks of any dtype and stride to a compute type, and accumulators to any dtype.
   dtype codes are those of _core/dtype.pxd. */
#ifndef FT_REDUCE_LOAD_H
#define FT_REDUCE_LOAD_H
#include "reduce_narrow.h"

enum { P_NONE, P_DIVIDE, P_SQRT, P_SQRT_DIVIDE, P_ROOT, P_LOG, P_ANY, P_ALL };
static const signed char FT_SIZE[12] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
static const signed char FT_KIND_SIZE[N_KINDS] = {8, 4, 8, 8, 16}, FT_KIND_CODE[N_KINDS] = {5, 8, 9, 10, 11};

static inline int ft_kind_of(int code)
{ return code <= 5 ? K_INT : code <= 8 ? K_FLOAT : code == 9 ? K_DOUBLE : code == 10 ? K_C64 : K_C128; }

/* The loops that read elements of dtype `code`, one after the other, as they lie; NULL where they must go through ft_load. */
static inline const ft_reduction *ft_direct(int op, int code, int kind)
{ return code == FT_KIND_CODE[kind] ? FT_REDUCTIONS[op][kind] : code < 8 ? FT_NARROW[op][code] : 0; }

#define EACH(S, D, GET) { D *restrict d = dst; const char *q = p; \
    if (step == (ptrdiff_t)sizeof(S)) { for (ptrdiff_t i = 0; i < n; i++) { const S s = ((const S *)q)[i]; d[i] = GET; } } \
    else { for (ptrdiff_t i = 0; i < n; i++, q += step) { const S s = *(const S *)q; d[i] = GET; } } \
    return dst; }

/* n elements at p, `step` bytes apart, as compute type `kind`, converted into dst (p itself where it is
   plain memory of that type). A complex input for a real kind gives
   absolute values. */
static const void *ft_load(int code, int kind, const char *p, ptrdiff_t step, ptrdiff_t n, void *dst)
{
    switch (code) {
    case 0: case 1: EACH(uint8_t, int64_t, s)
    case 2: EACH(int8_t, int64_t, s)
    case 3: EACH(int16_t, int64_t, s)
    case 4: EACH(int32_t, int64_t, s)
    case 5: if (step == 8) return p;
            EACH(int64_t, int64_t, s)
    case 6: ft_f16_to_f32(dst, p, step, n); return dst;
    case 7: EACH(uint16_t, float, ft_bf16_value(s))
    case 8: if (step == 4) return p;
            EACH(float, float, s)
    case 9: if (step == 8) return p;
            EACH(double, double, s)
    case 10: if (kind == K_FLOAT) EACH(ft_c64, float, hypotf(crealf(s), cimagf(s)))
            if (step == 8) return p;
            EACH(ft_c64, ft_c64, s)
    default: if (kind == K_DOUBLE) EACH(ft_c128, double, hypot(creal(s), cimag(s)))
            if (step == 16) return p;
            EACH(ft_c128, ft_c128, s)
    }
}
#undef EACH

static inline double ft_post_real(double a, int post, double par, double center)
{
    switch (post) {
    case P_DIVIDE: return a / par;
    case P_SQRT: return sqrt(a);
    case P_SQRT_DIVIDE: return sqrt(a / par);
    case P_ROOT: return pow(a, 1.0 / par);
    case P_LOG: return log(a) + center;
    default: return a;
    }
}

static inline void ft_store_real(char *out, int code, double v)
{
    switch (code) {
    case 0: *(uint8_t *)out = v != 0; break;
    case 6: *(uint16_t *)out = ft_f16_bits((float)v); break;
    case 7: *(uint16_t *)out = ft_bf16_bits((float)v); break;
    case 8: *(float *)out = (float)v; break;
    case 10: *(ft_c64 *)out = (float)v; break;
    case 11: *(ft_c128 *)out = v; break;
    default: *(double *)out = v; break;
    }
}

static inline void ft_store_int(char *out, int code, int64_t v)
{
    switch (code) {
    case 0: *(uint8_t *)out = v != 0; break;
    case 1: *(uint8_t *)out = (uint8_t)v; break;
    case 2: *(int8_t *)out = (int8_t)v; break;
    case 3: *(int16_t *)out = (int16_t)v; break;
    case 4: *(int32_t *)out = (int32_t)v; break;
    case 5: *(int64_t *)out = v; break;
    default: ft_store_real(out, code, (double)v); break;
    }
}

/* m accumulators of a reduction with compute type `kind` to `out`, `step` bytes apart. `whole` is
   the number of elements behind each; counts take int64 accumulators whatever the kind. */
static void ft_finish(const void *acc, int op, int kind, int post, double par, const void *center, ptrdiff_t m,
                      char *out, int code, ptrdiff_t step, ptrdiff_t whole)
{
    if (op == R_COUNT || kind == K_INT) {
        const int64_t *a = acc;
        for (ptrdiff_t j = 0; j < m; j++, out += step) {
            if (post == P_DIVIDE) ft_store_real(out, code, (double)a[j] / par);
            else ft_store_int(out, code, post == P_ANY ? a[j] > 0 : post == P_ALL ? a[j] == whole : a[j]);
        }
    } else if (kind <= K_DOUBLE && code == 8 && step == 4 && (post == P_NONE || post == P_DIVIDE)) {
        const double *a = acc, scale = post == P_DIVIDE ? par : 1;
        for (ptrdiff_t j = 0; j < m; j++) ((float *)out)[j] = (float)(a[j] / scale);
    } else if (kind <= K_DOUBLE) {
        const double *a = acc;
        for (ptrdiff_t j = 0; j < m; j++, out += step) {
            double c = !center ? 0 : kind == K_FLOAT ? ((const float *)center)[j] : ((const double *)center)[j];
            ft_store_real(out, code, ft_post_real(a[j], post, par, c));
        }
    } else {
        const ft_c128 *a = acc;
        for (ptrdiff_t j = 0; j < m; j++, out += step) {
            ft_c128 v = post == P_DIVIDE ? a[j] / par : a[j];
            if (code == 10) *(ft_c64 *)out = (ft_c64)v; else *(ft_c128 *)out = v;
        }
    }
}

/* The quotients of m results of a compute type, which lie where they were added up. */
static inline void ft_divide(void *out, int kind, ptrdiff_t m, double par)
{
    if (kind == K_FLOAT) { float *v = out, q = (float)par; for (ptrdiff_t j = 0; j < m; j++) v[j] /= q; }
    else if (kind == K_DOUBLE) { double *v = out; for (ptrdiff_t j = 0; j < m; j++) v[j] /= par; }
    else if (kind == K_C64) { float *v = out, q = (float)par; for (ptrdiff_t j = 0; j < 2 * m; j++) v[j] /= q; }
    else { double *v = out; for (ptrdiff_t j = 0; j < 2 * m; j++) v[j] /= par; }
}

/* The point that the second stage of a two-stage reduction subtracts: the mean, or the largest
   value (0 where that is infinite, so that inf - inf does not arise). `rest`: what rounding took from it. */
static void ft_centers(const void *acc, int op, int kind, double count, ptrdiff_t m, void *center, double *rest)
{
    const double *a = acc;
    for (ptrdiff_t j = 0; j < m; j++) {
        double c = op == R_SUM_WIDE ? a[j] / count : isinf(a[j]) ? 0 : a[j];
        if (kind == K_FLOAT) ((float *)center)[j] = (float)c; else ((double *)center)[j] = c;
        rest[j] = kind == K_FLOAT ? c - (float)c : 0;
    }
}

/* Sums of squared distances from a rounded mean, made those from the mean: a large mean's last place is much to a small variance. */
static void ft_recenter(void *acc, double count, ptrdiff_t m, const double *rest)
{
    double *a = acc;
    for (ptrdiff_t j = 0; j < m; j++) {
        double v = a[j] - count * rest[j] * rest[j];
        a[j] = v < 0 ? 0 : v;
    }
}
#endif
