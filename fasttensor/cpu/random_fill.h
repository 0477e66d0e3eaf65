/* Loops that turn words of the Mersenne Twister into numbers: one per distribution and element type.
 *
 *     ft_fill f = {.words = w, .out = memory, .a = 0, .b = 1};
 *     ft_uniform[FLOAT32](&f, 0, n);
 *
 * Each is a body for parallel_for: element i uses words of index i (or 2i and 2i + 1) alone, so
 * that chunks are independent. The tables are indexed by dtype code, NULL where a type has none. */
#ifndef FT_RANDOM_FILL_H
#define FT_RANDOM_FILL_H
#include <Python.h>
#include "mt19937.h"
#include "box_muller.h"

typedef struct {
    const uint32_t *words;      /* of the element with index 0 */
    char *out;
    const char *in;
    unsigned char *mask;
    double a, b;
    uint64_t range;
    int64_t base;
} ft_fill;

typedef void (*ft_body)(void *, Py_ssize_t, Py_ssize_t);
typedef struct { uint16_t bits; } ft_bf16;

static inline ft_bf16 ft_to_bf16(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    /* round to nearest even; a NaN must not round up to infinity */
    uint32_t r = (u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (ft_bf16){(uint16_t)r};
}

static inline float ft_from_bf16(ft_bf16 h) {
    uint32_t u = (uint32_t)h.bits << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* Conversions as PyTorch makes them: a half type is reached through float. */
#define FT_CONVERT(S, T, EXPR) \
    static inline T ft_##S##_of_f64(double v) { return EXPR; }
FT_CONVERT(u8, uint8_t, (uint8_t)(int64_t)v)
FT_CONVERT(i8, int8_t, (int8_t)(int64_t)v)
FT_CONVERT(i16, int16_t, (int16_t)(int64_t)v)
FT_CONVERT(i32, int32_t, (int32_t)v)
FT_CONVERT(i64, int64_t, (int64_t)v)
FT_CONVERT(f16, _Float16, (_Float16)(float)v)
FT_CONVERT(bf16, ft_bf16, ft_to_bf16((float)v))
FT_CONVERT(f32, float, (float)v)
FT_CONVERT(f64, double, v)
#undef FT_CONVERT
#define FT_CONVERT(S, T, EXPR) \
    static inline T ft_##S##_of_i64(int64_t v) { return EXPR; }
FT_CONVERT(b8, uint8_t, v != 0)
FT_CONVERT(u8, uint8_t, (uint8_t)v)
FT_CONVERT(i8, int8_t, (int8_t)v)
FT_CONVERT(i16, int16_t, (int16_t)v)
FT_CONVERT(i32, int32_t, (int32_t)v)
FT_CONVERT(i64, int64_t, v)
FT_CONVERT(f16, _Float16, (_Float16)(float)v)
FT_CONVERT(bf16, ft_bf16, ft_to_bf16((float)v))
FT_CONVERT(f32, float, (float)v)
FT_CONVERT(f64, double, (double)v)
#undef FT_CONVERT

#define FT_EACH_FLOAT(X) X(f16, _Float16) X(bf16, ft_bf16) X(f32, float) X(f64, double)
#define FT_EACH_NUMBER(X) X(u8, uint8_t) X(i8, int8_t) X(i16, int16_t) X(i32, int32_t) X(i64, int64_t) FT_EACH_FLOAT(X)
#define FT_EACH_REAL(X) X(b8, uint8_t) FT_EACH_NUMBER(X)
#define FT_FLOAT_TABLE(N) \
    static ft_body N[12] = {0, 0, 0, 0, 0, 0, N##_f16, N##_bf16, N##_f32, N##_f64, 0, 0};
#define FT_NUMBER_TABLE(N) \
    static ft_body N[12] = {0, N##_u8, N##_i8, N##_i16, N##_i32, N##_i64, N##_f16, N##_bf16, N##_f32, N##_f64, 0, 0};
#define FT_REAL_TABLE(N) \
    static ft_body N[12] = {N##_b8, N##_u8, N##_i8, N##_i16, N##_i32, N##_i64, N##_f16, N##_bf16, N##_f32, N##_f64, 0, 0};
/* restrict does not hold: words may lie in the output's own memory, element for element */
#define FT_BODY(NAME, T) \
    static void NAME(void *context, Py_ssize_t begin, Py_ssize_t end) { \
        const ft_fill f = *(const ft_fill *)context; \
        T *out = (T *)f.out; \
        _Pragma("GCC ivdep") for (Py_ssize_t i = begin; i < end; i++)

#define FT_U24(w) ((float)(int32_t)(ft_temper(w) & 0xffffffu) * 0x1p-24f)
#define FT_K53(w) (int64_t)(ft_temper64(w) & 0x1fffffffffffffull)
#define FT_U53(w) ((double)FT_K53(w) * 0x1p-53)

/* Uniform in [a, b). A half type may round up to b, which is outside: a takes its place. */
FT_BODY(ft_uniform_f32, float) out[i] = __builtin_fmaf(FT_U24(f.words[i]), (float)f.b - (float)f.a, (float)f.a); }
FT_BODY(ft_uniform_f64, double) out[i] = __builtin_fma(FT_U53(f.words + 2 * i), f.b - f.a, f.a); }
FT_BODY(ft_uniform_f16, _Float16) {
    _Float16 v = (_Float16)__builtin_fmaf(FT_U24(f.words[i]), (float)f.b - (float)f.a, (float)f.a);
    out[i] = v == (_Float16)(float)f.b ? (_Float16)(float)f.a : v;
} }
FT_BODY(ft_uniform_bf16, ft_bf16) {
    ft_bf16 v = ft_to_bf16(__builtin_fmaf(FT_U24(f.words[i]), (float)f.b - (float)f.a, (float)f.a));
    out[i] = ft_from_bf16(v) == ft_from_bf16(ft_to_bf16((float)f.b)) ? ft_to_bf16((float)f.a) : v;
} }
FT_FLOAT_TABLE(ft_uniform)

/* Normal, in blocks of 16: here an index counts blocks. */
static void ft_normal_f32(void *context, Py_ssize_t begin, Py_ssize_t end) {
    const ft_fill *f = context;
    ft_bm_blocks(f->words + 16 * begin, (float *)f->out + 16 * begin, end - begin, (float)f->a, (float)f->b);
}
static void ft_normal_f64(void *context, Py_ssize_t begin, Py_ssize_t end) {
    const ft_fill *f = context;
    for (Py_ssize_t b = begin; b < end; b++)
        ft_bm_block_f64(f->words + 32 * b, (double *)f->out + 16 * b, f->a, f->b);
}
#define FT_NORMAL_HALF(S, T) \
    static void ft_normal_##S(void *context, Py_ssize_t begin, Py_ssize_t end) { \
        const ft_fill *f = context; \
        float row[32]; \
        for (Py_ssize_t b = begin; b < end; b += 2) { \
            int64_t two = end - b < 2 ? 1 : 2; \
            T *out = (T *)f->out + 16 * b; \
            ft_bm_blocks(f->words + 16 * b, row, two, (float)f->a, (float)f->b); \
            for (int l = 0; l < 16 * two; l++) \
                out[l] = ft_##S##_of_f64(row[l]); \
        } \
    }
FT_NORMAL_HALF(f16, _Float16)
FT_NORMAL_HALF(bf16, ft_bf16)
FT_FLOAT_TABLE(ft_normal)

/* Integers base + word % range. The 32-bit remainder goes through double, which vectorises: its
 * quotient is off by one at most. */
static inline int64_t ft_mod32(uint32_t w, uint32_t range, double inverse) {
    int64_t r = (int64_t)w - (int64_t)(double)(int64_t)((double)w * inverse) * range;
    return r < 0 ? r + range : r >= range ? r - range : r;
}
#define FT_FROM_TO(S, T) \
    FT_BODY(ft_from_to32_##S, T) out[i] = ft_##S##_of_i64(f.base + ft_mod32(ft_temper(f.words[i]), (uint32_t)f.range, f.a)); } \
    FT_BODY(ft_from_to64_##S, T) out[i] = ft_##S##_of_i64((int64_t)(ft_temper64(f.words + 2 * i) % f.range + (uint64_t)f.base)); } \
    FT_BODY(ft_full64_##S, T) out[i] = ft_##S##_of_i64((int64_t)ft_temper64(f.words + 2 * i)); }
FT_EACH_REAL(FT_FROM_TO)
FT_REAL_TABLE(ft_from_to32)
FT_REAL_TABLE(ft_from_to64)
FT_REAL_TABLE(ft_full64)

/* Success with probability a, as an integer comparison: u53 < a exactly when its 53 bits lie
 * below `base` = ceil(a 2^53). */
#define FT_BERNOULLI(S, T) \
    FT_BODY(ft_bernoulli_##S, T) out[i] = ft_##S##_of_i64(FT_K53(f.words + 2 * i) < f.base); }
FT_EACH_REAL(FT_BERNOULLI)
FT_REAL_TABLE(ft_bernoulli)

/* The same with one probability an element, float32 or float64, in `in`; 0 or 1 as a byte. */
FT_BODY(ft_bernoulli_p32, unsigned char) out[i] = FT_U24(f.words[i]) < ((const float *)f.in)[i]; }
FT_BODY(ft_bernoulli_p64, unsigned char) out[i] = FT_U53(f.words + 2 * i) < ((const double *)f.in)[i]; }

/* y = x * (kept ? b : 0), with `mask` the kept ones. A product, so that NaN and signs stay. */
FT_BODY(ft_dropout_f32, float) {
    int keep = FT_K53(f.words + 2 * i) < f.base;
    f.mask[i] = (unsigned char)keep;
    out[i] = ((const float *)f.in)[i] * (keep ? (float)f.b : 0.0f);
} }
FT_BODY(ft_dropout_f64, double) {
    int keep = FT_K53(f.words + 2 * i) < f.base;
    f.mask[i] = (unsigned char)keep;
    out[i] = ((const double *)f.in)[i] * (keep ? f.b : 0.0);
} }
FT_BODY(ft_dropout_f16, _Float16) {
    int keep = FT_K53(f.words + 2 * i) < f.base;
    f.mask[i] = (unsigned char)keep;
    out[i] = (_Float16)((float)((const _Float16 *)f.in)[i] * (keep ? (float)f.b : 0.0f));
} }
FT_BODY(ft_dropout_bf16, ft_bf16) {
    int keep = FT_K53(f.words + 2 * i) < f.base;
    f.mask[i] = (unsigned char)keep;
    out[i] = ft_to_bf16(ft_from_bf16(((const ft_bf16 *)f.in)[i]) * (keep ? (float)f.b : 0.0f));
} }
FT_FLOAT_TABLE(ft_dropout)

#define FT_SCALE_MASK(S, T, LOAD, STORE, C) \
    FT_BODY(ft_scale_mask_##S, T) out[i] = STORE(LOAD(((const T *)f.in)[i]) * (f.mask[i] ? (C)f.b : (C)0)); }
FT_SCALE_MASK(f32, float, , , float)
FT_SCALE_MASK(f64, double, , , double)
FT_SCALE_MASK(f16, _Float16, (float), (_Float16), float)
FT_SCALE_MASK(bf16, ft_bf16, ft_from_bf16, ft_to_bf16, float)
FT_FLOAT_TABLE(ft_scale_mask)

/* Inversions of a uniform in double precision; parameters in a and b. */
#define FT_INVERSE(NAME, S, T, EXPR) \
    FT_BODY(NAME##_##S, T) { double u = FT_U53(f.words + 2 * i); out[i] = ft_##S##_of_f64(EXPR); } }
#define FT_EXPONENTIAL(S, T) FT_INVERSE(ft_exponential, S, T, f.a * log1p(-u))
#define FT_GEOMETRIC(S, T) FT_INVERSE(ft_geometric, S, T, ceil(log(u) / f.a))
#define FT_CAUCHY(S, T) FT_INVERSE(ft_cauchy, S, T, __builtin_fma(f.b, tan(3.14159265358979323846 * (u - 0.5)), f.a))
FT_EACH_FLOAT(FT_EXPONENTIAL)
FT_FLOAT_TABLE(ft_exponential)
FT_EACH_NUMBER(FT_GEOMETRIC)
FT_NUMBER_TABLE(ft_geometric)
FT_EACH_FLOAT(FT_CAUCHY)
FT_FLOAT_TABLE(ft_cauchy)

/* The argument-less random_: all values that a type counts exactly. */
#define FT_ANY32(S, T, MASK_OR_MOD) FT_BODY(ft_any_##S, T) out[i] = ft_##S##_of_i64((int64_t)(ft_temper(f.words[i]) MASK_OR_MOD)); }
FT_ANY32(b8, uint8_t, & 1u)
FT_ANY32(u8, uint8_t, & 0xffu)
FT_ANY32(i8, int8_t, & 0x7fu)
FT_ANY32(i16, int16_t, & 0x7fffu)
FT_ANY32(i32, int32_t, & 0x7fffffffu)
FT_ANY32(f16, _Float16, % 2049u)
FT_ANY32(bf16, ft_bf16, % 257u)
FT_ANY32(f32, float, % 16777217u)
FT_BODY(ft_any_i64, int64_t) out[i] = (int64_t)(ft_temper64(f.words + 2 * i) & 0x7fffffffffffffffull); }
FT_BODY(ft_any_f64, double) out[i] = (double)(ft_temper64(f.words + 2 * i) % 9007199254740993ull); }
FT_REAL_TABLE(ft_any)
#endif
