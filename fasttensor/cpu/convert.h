/* Loops that convert n strided elements of one dtype to another: FT_CONVERT[from][to].
   Usage: FT_CONVERT[FLOAT32][INT64](p, s, n, NULL) with p[0] the result and p[1] the source. */
#ifndef FT_CONVERT_H
#define FT_CONVERT_H
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "../_core/half.h"

typedef struct { uint16_t bits; } ft_b16;
static inline float ft_b16_load(ft_b16 h) { uint32_t b = (uint32_t)h.bits << 16; float f; memcpy(&f, &b, 4); return f; }
static inline ft_b16 ft_b16_store(float f) {
    uint32_t b; ft_b16 h; memcpy(&b, &f, 4);
    uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    h.bits = (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc0 : (uint16_t)rounded;
    return h;
}

/* How an element is read, and how a value of each kind is stored. Small integers go through
   int64, so that a value out of range wraps instead of being undefined. */
#define FT_TYPES(X, S) \
    X(S, b8, uint8_t) X(S, u8, uint8_t) X(S, i8, int8_t) X(S, i16, int16_t) X(S, i32, int32_t) X(S, i64, int64_t) \
    X(S, f16, _Float16) X(S, bf16, ft_b16) X(S, f32, float) X(S, f64, double) X(S, c64, float _Complex) X(S, c128, double _Complex)

#define GET_b8(v) (v)
#define GET_u8(v) (v)
#define GET_i8(v) (v)
#define GET_i16(v) (v)
#define GET_i32(v) (v)
#define GET_i64(v) (v)
#define GET_f16(v) ((float)(v))
#define GET_bf16(v) ft_b16_load(v)
#define GET_f32(v) (v)
#define GET_f64(v) (v)
#define GET_c64(v) (v)
#define GET_c128(v) (v)
#define RE_c64(v) crealf(v)
#define RE_c128(v) creal(v)
#define RE_b8(v) (v)
#define RE_u8(v) (v)
#define RE_i8(v) (v)
#define RE_i16(v) (v)
#define RE_i32(v) (v)
#define RE_i64(v) (v)
#define RE_f16(v) (v)
#define RE_bf16(v) (v)
#define RE_f32(v) (v)
#define RE_f64(v) (v)

#define PUT_b8(S, v) ((v) != 0)
#define PUT_u8(S, v) ((uint8_t)(int64_t)RE_##S(v))
#define PUT_i8(S, v) ((int8_t)(int64_t)RE_##S(v))
#define PUT_i16(S, v) ((int16_t)(int64_t)RE_##S(v))
#define PUT_i32(S, v) ((int32_t)RE_##S(v))
#define PUT_i64(S, v) ((int64_t)RE_##S(v))
#define PUT_f16(S, v) ((_Float16)RE_##S(v))
#define PUT_bf16(S, v) ft_b16_store((float)RE_##S(v))
#define PUT_f32(S, v) ((float)RE_##S(v))
#define PUT_f64(S, v) ((double)RE_##S(v))
#define PUT_c64(S, v) ((float _Complex)(v))
#define PUT_c128(S, v) ((double _Complex)(v))

#define FT_CONVERT_LOOP(S, ST, D, DT) \
    static void convert_##S##_##D(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) { \
        (void)par; \
        if (s[0] == (ptrdiff_t)sizeof(DT) && s[1] == (ptrdiff_t)sizeof(ST)) { \
            DT *restrict d = (DT *)p[0]; const ST *restrict x = (const ST *)p[1]; \
            for (ptrdiff_t i = 0; i < n; i++) d[i] = PUT_##D(S, GET_##S(x[i])); \
        } else { \
            char *d = p[0]; const char *x = p[1]; \
            for (ptrdiff_t i = 0; i < n; i++, d += s[0], x += s[1]) *(DT *)d = PUT_##D(S, GET_##S(*(const ST *)x)); \
        } \
    }
#define FT_FROM(S, ST) \
    FT_CONVERT_LOOP(S, ST, b8, uint8_t) FT_CONVERT_LOOP(S, ST, u8, uint8_t) FT_CONVERT_LOOP(S, ST, i8, int8_t) \
    FT_CONVERT_LOOP(S, ST, i16, int16_t) FT_CONVERT_LOOP(S, ST, i32, int32_t) FT_CONVERT_LOOP(S, ST, i64, int64_t) \
    FT_CONVERT_LOOP(S, ST, f16, _Float16) FT_CONVERT_LOOP(S, ST, bf16, ft_b16) FT_CONVERT_LOOP(S, ST, f32, float) \
    FT_CONVERT_LOOP(S, ST, f64, double) FT_CONVERT_LOOP(S, ST, c64, float _Complex) FT_CONVERT_LOOP(S, ST, c128, double _Complex)
FT_FROM(b8, uint8_t)
FT_FROM(u8, uint8_t)
FT_FROM(i8, int8_t)
FT_FROM(i16, int16_t)
FT_FROM(i32, int32_t)
FT_FROM(i64, int64_t)
#define convert_f16_f32 convert_f16_f32_each
FT_FROM(f16, _Float16)
#undef convert_f16_f32
FT_FROM(bf16, ft_b16)
#define convert_f32_f16 convert_f32_f16_each
#define convert_f32_bf16 convert_f32_bf16_each
FT_FROM(f32, float)
#undef convert_f32_f16
#undef convert_f32_bf16
FT_FROM(f64, double)
FT_FROM(c64, float _Complex)
FT_FROM(c128, double _Complex)

/* gcc does not vectorise the first two by itself, nor does it know of an instruction for the third */
static void convert_f16_f32(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) {
    if (s[0] == 4 && s[1] == 2) ft_f16_to_f32((float *)p[0], p[1], 2, n);
    else convert_f16_f32_each(p, s, n, par);
}
static void convert_f32_f16(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) {
    if (s[0] == 2 && s[1] == 4) ft_f32_to_f16(p[0], 2, (const float *)p[1], n);
    else convert_f32_f16_each(p, s, n, par);
}
static void convert_f32_bf16(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) {
    if (s[0] == 2 && s[1] == 4) ft_f32_to_bf16(p[0], 2, (const float *)p[1], n);
    else convert_f32_bf16_each(p, s, n, par);
}

typedef void (*ft_convert_fn)(char **, const ptrdiff_t *, ptrdiff_t, const double *);
#define FT_ROW(S) { convert_##S##_b8, convert_##S##_u8, convert_##S##_i8, convert_##S##_i16, convert_##S##_i32, convert_##S##_i64, \
    convert_##S##_f16, convert_##S##_bf16, convert_##S##_f32, convert_##S##_f64, convert_##S##_c64, convert_##S##_c128 }
static const ft_convert_fn FT_CONVERT[12][12] = {
    FT_ROW(b8), FT_ROW(u8), FT_ROW(i8), FT_ROW(i16), FT_ROW(i32), FT_ROW(i64),
    FT_ROW(f16), FT_ROW(bf16), FT_ROW(f32), FT_ROW(f64), FT_ROW(c64), FT_ROW(c128) };

/* Copies of elements by their size; a scalar source fills. */
#define FT_COPY_LOOP(NAME, T) \
    static void NAME(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) { \
        (void)par; \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == (ptrdiff_t)sizeof(T)) { memcpy(p[0], p[1], (size_t)n * sizeof(T)); return; } \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == 0) { \
            T v = *(const T *)p[1]; T *d = (T *)p[0]; \
            for (ptrdiff_t i = 0; i < n; i++) d[i] = v; \
            return; \
        } \
        char *d = p[0]; const char *x = p[1]; \
        for (ptrdiff_t i = 0; i < n; i++, d += s[0], x += s[1]) *(T *)d = *(const T *)x; \
    }
typedef struct { double a, b; } ft_16;
FT_COPY_LOOP(copy_1, uint8_t)
FT_COPY_LOOP(copy_2, uint16_t)
FT_COPY_LOOP(copy_4, float)
FT_COPY_LOOP(copy_8, double)
FT_COPY_LOOP(copy_16, ft_16)

/* n rows of par[0] bytes each; a row that ends between two lines is finished by a line that overlaps the one before. */
static void copy_rows(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) {
    const ptrdiff_t bytes = (ptrdiff_t)par[0];
    char *d = p[0];
    const char *x = p[1];
    for (ptrdiff_t i = 0; i < n; i++, d += s[0], x += s[1]) {
        if (bytes < 64) { memcpy(d, x, (size_t)bytes); continue; }
        for (ptrdiff_t b = 0; b + 64 <= bytes; b += 64) memcpy(d + b, x + b, 64);
        memcpy(d + bytes - 64, x + bytes - 64, 64);
    }
}
#endif
