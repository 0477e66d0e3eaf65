/* Reductions of dtypes narrower than the type that they are computed in, straight from memory: with a converted copy between,
   a sum of bfloat16 takes twice the time and the largest of bytes twelve times. Accumulators are those of the compute type,
   so that these loops and converting ones can work at one result. */
#ifndef FT_REDUCE_NARROW_H
#define FT_REDUCE_NARROW_H
#include "half.h"
#include "reduce_loops.h"

/* Rows of at most 4096 and 64 rows of columns (UNIT and FOLD in reduce_run.pxd) stay far inside a lane of 32 bits. */
#define V_MAX_epu8(N, a, x) V_EXTREME(N, max, epu8, a, x)
#define V_MIN_epu8(N, a, x) V_EXTREME(N, min, epu8, a, x)
#define V_MAX_epi8(N, a, x) V_EXTREME(N, max, epi8, a, x)
#define V_MIN_epi8(N, a, x) V_EXTREME(N, min, epi8, a, x)
#define V_MAX_epi16(N, a, x) V_EXTREME(N, max, epi16, a, x)
#define V_MIN_epi16(N, a, x) V_EXTREME(N, min, epi16, a, x)
#define V_MAX_epi32(N, a, x) V_EXTREME(N, max, epi32, a, x)
#define V_MIN_epi32(N, a, x) V_EXTREME(N, min, epi32, a, x)
#if defined(__AVX512BW__)
#define V_LONG_u8(N, x) ((N##_v)_mm512_cvtepu8_epi32((__m128i)(x)))
#define V_LONG_i8(N, x) ((N##_v)_mm512_cvtepi8_epi32((__m128i)(x)))
#define V_LONG_i16(N, x) ((N##_v)_mm512_cvtepi16_epi32((__m256i)(x)))
#define V_LONG_i32(N, x) ((N##_v)_mm512_cvtepi32_epi64((__m256i)(x)))
#else
#define V_LONG_u8(N, x) __builtin_convertvector(x, N##_v)
#define V_LONG_i8 V_LONG_u8
#define V_LONG_i16 V_LONG_u8
#define V_LONG_i32 V_LONG_u8
#endif
#define V_ADD_u8(N, a, x) ((a) + V_LONG_u8(N, x))
#define V_ADD_i8(N, a, x) ((a) + V_LONG_i8(N, x))
#define V_ADD_i16(N, a, x) ((a) + V_LONG_i16(N, x))
#define V_ADD_i32(N, a, x) ((a) + V_LONG_i32(N, x))
#define V_COUNT_u8(N, a, x) ((a) - V_LONG_i8(N, (x) != 0))
#define V_COUNT_i8 V_COUNT_u8
#define V_COUNT_i16(N, a, x) ((a) - V_LONG_i16(N, (x) != 0))
#define V_COUNT_i32 V_COUNT
#define CENTER_OF(j)
#define FT_NARROW_INT(SUFFIX, T, V, LEAST, LARGEST, INSTRUCTION) \
    FT_REDUCTION_V(sum_##SUFFIX, T, V, int64_t, 0, 0, 0, S_ADD, S_ADD, V_ADD_##SUFFIX, V_ADD) \
    FT_REDUCTION_V(count_##SUFFIX, T, int32_t, int64_t, 0, 0, 0, S_COUNT, S_ADD, V_COUNT_##SUFFIX, V_ADD) \
    FT_REDUCTION_V(max_##SUFFIX, T, T, int64_t, LEAST, INT64_MIN, LEAST, S_MAX, S_MAX, V_MAX_##INSTRUCTION, V_MAX_##INSTRUCTION) \
    FT_REDUCTION_V(min_##SUFFIX, T, T, int64_t, LARGEST, INT64_MAX, LARGEST, S_MIN, S_MIN, V_MIN_##INSTRUCTION, V_MIN_##INSTRUCTION)
FT_NARROW_INT(u8, uint8_t, uint32_t, 0, UINT8_MAX, epu8)
FT_NARROW_INT(i8, int8_t, int32_t, INT8_MIN, INT8_MAX, epi8)
FT_NARROW_INT(i16, int16_t, int32_t, INT16_MIN, INT16_MAX, epi16)
FT_NARROW_INT(i32, int32_t, int64_t, INT32_MIN, INT32_MAX, epi32)
#undef CENTER_OF

/* Half types: floats are made in registers, columns by vectors too, since compilers do not vectorise float16's conversion. */
typedef uint16_t ft_16_halves __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint32_t ft_16_words __attribute__((vector_size(64)));
typedef float ft_16_floats __attribute__((vector_size(64), aligned(4), may_alias));
static inline ft_16_floats ft_bf16_vector(const uint16_t *p)
{
#if defined(__AVX512BW__)
    return (ft_16_floats)ft_bf16_16(p);
#else
    return (ft_16_floats)(__builtin_convertvector(*(const ft_16_halves *)p, ft_16_words) << 16);
#endif
}
static inline ft_16_floats ft_f16_vector(const uint16_t *p)
{
#if defined(__AVX512F__)
    return (ft_16_floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#else
    float t[16];
    ft_f16_to_f32(t, (const char *)p, 2, 16);
    return *(const ft_16_floats *)t;
#endif
}
#define VG_bf16(N, p) ft_bf16_vector(p)
#define VG_f16(N, p) ft_f16_vector(p)
#define FT_HALF_COLUMNS(NAME, G, VG, V, A, Z, ZA, S, F, VS) FT_LANES(NAME, V, A, Z, ZA, F) \
typedef V NAME##_u __attribute__((vector_size(64), aligned(sizeof(V)), may_alias)); \
static void NAME##_cols(const void *p, ptrdiff_t m, void *lanes, const void *center, double par) \
{ \
    enum { W = 64 / sizeof(V) }; \
    const uint16_t *restrict x = p; V *restrict v = lanes; const float *restrict cs = center; (void)cs; (void)par; ptrdiff_t j = 0; \
    for (; j + W <= m; j += W) { CENTERS_OF(NAME, j) *(NAME##_u *)(v + j) = VS(NAME, *(NAME##_u *)(v + j), VG(NAME, x + j)); } \
    for (; j < m; j++) { CENTER_OF(j) v[j] = S(v[j], G(x[j])); } \
} \
static void NAME##_cols4(const void *p, ptrdiff_t step, ptrdiff_t m, void *lanes, const void *center, double par) \
{ \
    enum { W = 64 / sizeof(V) }; \
    const uint16_t *restrict x = p, *restrict y = (const uint16_t *)((const char *)p + step); V *restrict v = lanes; \
    const uint16_t *restrict z = (const uint16_t *)((const char *)p + 2 * step), *restrict w = (const uint16_t *)((const char *)p + 3 * step); \
    const float *restrict cs = center; (void)cs; (void)par; ptrdiff_t j = 0; \
    for (; j + W <= m; j += W) { \
        CENTERS_OF(NAME, j) \
        NAME##_v a = VS(NAME, *(NAME##_u *)(v + j), VG(NAME, x + j)); \
        a = VS(NAME, a, VG(NAME, y + j)); a = VS(NAME, a, VG(NAME, z + j)); a = VS(NAME, a, VG(NAME, w + j)); \
        *(NAME##_u *)(v + j) = a; \
    } \
    for (; j < m; j++) { CENTER_OF(j) V a = S(v[j], G(x[j])); a = S(a, G(y[j])); a = S(a, G(z[j])); v[j] = S(a, G(w[j])); } \
} \
FT_ENTRY(NAME, V, A)
#define FT_HALF_REDUCTION(NAME, SUFFIX, V, A, Z, ZA, N, S, F, VS, VF) \
    FT_ROW_OF_VECTORS(NAME##_##SUFFIX, uint16_t, float, ft_##SUFFIX##_value, VG_##SUFFIX, V, A, Z, N, S, F, VS, VF) \
    FT_HALF_COLUMNS(NAME##_##SUFFIX, ft_##SUFFIX##_value, VG_##SUFFIX, V, A, Z, ZA, S, F, VS)
#define FT_BOTH_HALVES(NAME, ...) FT_HALF_REDUCTION(NAME, f16, __VA_ARGS__) FT_HALF_REDUCTION(NAME, bf16, __VA_ARGS__)
#define CENTER_OF(j)
#define CENTERS_OF(N, j)
FT_BOTH_HALVES(sum, float, double, 0, 0, 0, S_ADD, S_ADD, V_ADD, V_ADD)
FT_BOTH_HALVES(nansum, float, double, 0, 0, 0, S_NANADD, S_ADD, V_NANADD, V_ADD)
FT_BOTH_HALVES(max, float, double, -INF, -INF, -INF, S_MAX, S_MAX, V_MAX_ps, V_MAX_ps)
FT_BOTH_HALVES(min, float, double, INF, INF, INF, S_MIN, S_MIN, V_MIN_ps, V_MIN_ps)
FT_BOTH_HALVES(count, int32_t, int64_t, 0, 0, 0, S_COUNT, S_ADD, V_COUNT, V_ADD)
FT_BOTH_HALVES(abssum, float, double, 0, 0, 0, S_ABSF, S_ADD, V_ABSADD, V_ADD)
FT_BOTH_HALVES(sqsum, float, double, 0, 0, 0, S_SQ, S_ADD, V_SQ, V_ADD)
#undef CENTER_OF
#undef CENTERS_OF
#define CENTER_OF(j) const float c = cs[j];
#define CENTERS_OF(N, j) const ft_16_floats c = *(const ft_16_floats *)(cs + j);
FT_BOTH_HALVES(ssd, float, double, 0, 0, c, S_SSD, S_ADD, V_SSD, V_ADD)
#undef CENTER_OF
#undef CENTERS_OF

#define FT_NARROW_ALL(NAME) {&NAME##_u8, &NAME##_u8, &NAME##_i8, &NAME##_i16, &NAME##_i32, 0, &NAME##_f16, &NAME##_bf16}
/* by the dtype's code */
static const ft_reduction *const FT_NARROW[N_REDUCTIONS][8] = {
    [R_SUM] = FT_NARROW_ALL(sum),
    [R_MAX] = FT_NARROW_ALL(max),
    [R_MIN] = FT_NARROW_ALL(min),
    [R_COUNT] = FT_NARROW_ALL(count),
    [R_NANSUM] = {&sum_u8, &sum_u8, &sum_i8, &sum_i16, &sum_i32, 0, &nansum_f16, &nansum_bf16},
    [R_ABSSUM] = {[6] = &abssum_f16, &abssum_bf16},
    [R_SQSUM] = {[6] = &sqsum_f16, &sqsum_bf16},
    [R_SSD] = {[6] = &ssd_f16, &ssd_bf16},
};
#endif
