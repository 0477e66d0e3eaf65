/* Rows that read or write through an index, for every element type.
 *
 *   FT_ACC[op][code](d, ds, s, ss, n)                      d[j] op= s[j]
 *   FT_PUT[op][code](d, off, s, ss, n)                     d[off[j]] op= s[j]
 *   FT_SCAT[op][code](d, ds, dd, ix, is, size, s, ss, n)   d[j + ix[j]*dd] op= s[j]
 *   FT_GATH[log2 itemsize](d, ds, s, ss, sd, ix, is, size, n)   d[j] = s[j + ix[j]*sd]
 *
 * All steps are bytes. FT_SCAT and FT_GATH return the first j whose index lies outside [0, size), or -1;
 * rows before it have been done. op: 0 set, 1 add, 2 multiply, 3 minimum, 4 maximum.
 */
#ifndef FT_INDEX_LOOPS_H
#define FT_INDEX_LOOPS_H
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint64_t a, b; } ft_16;
typedef void (*ft_acc_fn)(char *, ptrdiff_t, const char *, ptrdiff_t, ptrdiff_t);
typedef void (*ft_put_fn)(char *, const ptrdiff_t *, const char *, ptrdiff_t, ptrdiff_t);
typedef ptrdiff_t (*ft_scat_fn)(char *, ptrdiff_t, ptrdiff_t, const char *, ptrdiff_t, ptrdiff_t,
                                const char *, ptrdiff_t, ptrdiff_t);
typedef ptrdiff_t (*ft_gath_fn)(char *, ptrdiff_t, const char *, ptrdiff_t, ptrdiff_t,
                                const char *, ptrdiff_t, ptrdiff_t, ptrdiff_t);

static inline float ft_ix_bf(uint16_t v) {
    uint32_t b = (uint32_t)v << 16;
    float f;
    memcpy(&f, &b, 4);
    return f;
}
static inline uint16_t ft_ix_fb(float f) {
    uint32_t b;
    memcpy(&b, &f, 4);
    /* Rounding would carry a NaN's payload into the exponent. */
    return f != f ? (uint16_t)(b >> 16 | 64) : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

#define FT_ID(v) (v)
#define FT_F16(v) ((_Float16)(v))
#define FT_F32(v) ((float)(v))
#define OP_SET(a, b) (b)
#define OP_ADD(a, b) ((a) + (b))
#define OP_MUL(a, b) ((a) * (b))
/* Unsigned arithmetic: signed overflow wraps, as in PyTorch, and is defined. */
#define OP_IADD(a, b) ((uint64_t)(a) + (uint64_t)(b))
#define OP_IMUL(a, b) ((uint64_t)(a) * (uint64_t)(b))
#define OP_OR(a, b) ((a) | (b))
#define OP_AND(a, b) ((a) & (b))
/* A NaN on either side wins: the first comparison is one instruction, the second a branch that is hardly ever taken. */
#define OP_MIN(a, b) __extension__({ __typeof__(a) m_ = (b) < (a) ? (b) : (a); (b) != (b) ? (b) : m_; })
#define OP_MAX(a, b) __extension__({ __typeof__(a) m_ = (b) > (a) ? (b) : (a); (b) != (b) ? (b) : m_; })

/* Whether all of n indices lie in [0, size): tested a piece at a time, so that the loops over it have no exit. */
#define FT_PIECE 512
static inline int ft_within(const int64_t *ix, ptrdiff_t n, ptrdiff_t size) {
    uint64_t most = 0;
    for (ptrdiff_t j = 0; j < n; j++) most = (uint64_t)ix[j] > most ? (uint64_t)ix[j] : most;
    return most < (uint64_t)size;
}

#define FT_ROWS(NAME, T, C, LD, ST, OP)                                                              \
    static void acc_##NAME(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, ptrdiff_t n) {        \
        if (ds == sizeof(T) && ss == sizeof(T)) {                                                    \
            T *restrict x = (T *)d;                                                                  \
            const T *restrict y = (const T *)s;                                                      \
            for (ptrdiff_t j = 0; j < n; j++) { C b = LD(y[j]), a = LD(x[j]); (void)a; x[j] = (T)ST(OP(a, b)); } \
            return;                                                                                  \
        }                                                                                            \
        for (ptrdiff_t j = 0; j < n; j++) {                                                          \
            T *x = (T *)(d + j * ds);                                                                \
            C b = LD(*(const T *)(s + j * ss)), a = LD(*x);                                          \
            (void)a;                                                                                 \
            *x = (T)ST(OP(a, b));                                                                    \
        }                                                                                            \
    }                                                                                                \
    static void put_##NAME(char *d, const ptrdiff_t *off, const char *s, ptrdiff_t ss, ptrdiff_t n) { \
        for (ptrdiff_t j = 0; j < n; j++) {                                                          \
            T *x = (T *)(d + off[j]);                                                                \
            C b = LD(*(const T *)(s + j * ss)), a = LD(*x);                                          \
            (void)a;                                                                                 \
            *x = (T)ST(OP(a, b));                                                                    \
        }                                                                                            \
    }                                                                                                \
    static ptrdiff_t scat_##NAME(char *d, ptrdiff_t ds, ptrdiff_t dd, const char *ix, ptrdiff_t is,  \
                                 ptrdiff_t size, const char *s, ptrdiff_t ss, ptrdiff_t n) {         \
        ptrdiff_t j = 0;                                                                             \
        const int64_t *at = (const int64_t *)ix;                                                     \
        while (is == 8 && ss == sizeof(T) && n - j >= 8) {                                           \
            ptrdiff_t end = n - j < FT_PIECE ? n : j + FT_PIECE;                                     \
            if (!ft_within(at + j, end - j, size)) break;                                            \
            const T *restrict y = (const T *)s;                                                      \
            if (ds == 0 && dd == sizeof(T)) {                                                        \
                T *restrict x = (T *)d;                                                              \
                for (; j < end; j++) { C b = LD(y[j]), a = LD(x[at[j]]); (void)a; x[at[j]] = (T)ST(OP(a, b)); } \
            } else for (; j < end; j++) {                                                            \
                T *x = (T *)(d + j * ds + at[j] * dd);                                               \
                C b = LD(y[j]), a = LD(*x);                                                          \
                (void)a;                                                                             \
                *x = (T)ST(OP(a, b));                                                                \
            }                                                                                        \
        }                                                                                            \
        for (; j < n; j++) {                                                                         \
            int64_t k = *(const int64_t *)(ix + j * is);                                             \
            if ((uint64_t)k >= (uint64_t)size) return j;                                             \
            T *x = (T *)(d + j * ds + k * dd);                                                       \
            C b = LD(*(const T *)(s + j * ss)), a = LD(*x);                                          \
            (void)a;                                                                                 \
            *x = (T)ST(OP(a, b));                                                                    \
        }                                                                                            \
        return -1;                                                                                   \
    }

/* Four loads before their stores: a vector gather costs more where the processor makes one of single loads. */
#define FT_GATHER(NAME, T)                                                                           \
    static ptrdiff_t gath_##NAME(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, ptrdiff_t sd,   \
                                 const char *ix, ptrdiff_t is, ptrdiff_t size, ptrdiff_t n) {        \
        ptrdiff_t j = 0;                                                                             \
        const int64_t *at = (const int64_t *)ix;                                                     \
        while (is == 8 && ds == sizeof(T) && n - j >= 8) {                                           \
            ptrdiff_t end = n - j < FT_PIECE ? n : j + FT_PIECE;                                     \
            if (!ft_within(at + j, end - j, size)) break;                                            \
            T *x = (T *)d;                                                                           \
            for (; j + 4 <= end; j += 4) {                                                           \
                const char *y = s + j * ss;                                                          \
                T v0 = *(const T *)(y + at[j] * sd), v1 = *(const T *)(y + ss + at[j + 1] * sd);     \
                T v2 = *(const T *)(y + 2 * ss + at[j + 2] * sd), v3 = *(const T *)(y + 3 * ss + at[j + 3] * sd); \
                x[j] = v0, x[j + 1] = v1, x[j + 2] = v2, x[j + 3] = v3;                              \
            }                                                                                        \
            for (; j < end; j++) x[j] = *(const T *)(s + j * ss + at[j] * sd);                       \
        }                                                                                            \
        for (; j < n; j++) {                                                                         \
            int64_t k = *(const int64_t *)(ix + j * is);                                             \
            if ((uint64_t)k >= (uint64_t)size) return j;                                             \
            *(T *)(d + j * ds) = *(const T *)(s + j * ss + k * sd);                                  \
        }                                                                                            \
        return -1;                                                                                   \
    }

FT_GATHER(1, uint8_t)
FT_GATHER(2, uint16_t)
FT_GATHER(4, uint32_t)
FT_GATHER(8, uint64_t)
FT_GATHER(16, ft_16)
static const ft_gath_fn FT_GATH[5] = {gath_1, gath_2, gath_4, gath_8, gath_16};

FT_ROWS(set_1, uint8_t, uint8_t, FT_ID, FT_ID, OP_SET)
FT_ROWS(set_2, uint16_t, uint16_t, FT_ID, FT_ID, OP_SET)
FT_ROWS(set_4, uint32_t, uint32_t, FT_ID, FT_ID, OP_SET)
FT_ROWS(set_8, uint64_t, uint64_t, FT_ID, FT_ID, OP_SET)
FT_ROWS(set_16, double complex, double complex, FT_ID, FT_ID, OP_SET)

#define FT_ARITH(S, T, C, LD, ST, ADD, MUL)      \
    FT_ROWS(add_##S, T, C, LD, ST, ADD)          \
    FT_ROWS(mul_##S, T, C, LD, ST, MUL)
#define FT_ORDER(S, T, C, LD, ST)                \
    FT_ROWS(min_##S, T, C, LD, ST, OP_MIN)       \
    FT_ROWS(max_##S, T, C, LD, ST, OP_MAX)
#define FT_INT(S, T)                             \
    FT_ARITH(S, T, T, FT_ID, FT_ID, OP_IADD, OP_IMUL) \
    FT_ORDER(S, T, T, FT_ID, FT_ID)
#define FT_FLOAT(S, T, C, LD, ST)                \
    FT_ARITH(S, T, C, LD, ST, OP_ADD, OP_MUL)    \
    FT_ORDER(S, T, C, LD, ST)

FT_ARITH(b8, uint8_t, uint8_t, FT_ID, FT_ID, OP_OR, OP_AND)
FT_ORDER(b8, uint8_t, uint8_t, FT_ID, FT_ID)
FT_INT(u8, uint8_t)
FT_INT(i8, int8_t)
FT_INT(i16, int16_t)
FT_INT(i32, int32_t)
FT_INT(i64, int64_t)
FT_FLOAT(f16, _Float16, float, FT_F32, FT_F16)
FT_FLOAT(bf16, uint16_t, float, ft_ix_bf, ft_ix_fb)
FT_FLOAT(f32, float, float, FT_ID, FT_ID)
FT_FLOAT(f64, double, double, FT_ID, FT_ID)
FT_ARITH(c64, float complex, float complex, FT_ID, FT_ID, OP_ADD, OP_MUL)
FT_ARITH(c128, double complex, double complex, FT_ID, FT_ID, OP_ADD, OP_MUL)

#define FT_SETS(P) {P##set_1, P##set_1, P##set_1, P##set_2, P##set_4, P##set_8, P##set_2, P##set_2,  \
                    P##set_4, P##set_8, P##set_8, P##set_16}
#define FT_OPS12(P, O) {P##O##_b8, P##O##_u8, P##O##_i8, P##O##_i16, P##O##_i32, P##O##_i64,         \
                        P##O##_f16, P##O##_bf16, P##O##_f32, P##O##_f64, P##O##_c64, P##O##_c128}
#define FT_OPS10(P, O) {P##O##_b8, P##O##_u8, P##O##_i8, P##O##_i16, P##O##_i32, P##O##_i64,         \
                        P##O##_f16, P##O##_bf16, P##O##_f32, P##O##_f64, NULL, NULL}
static const ft_acc_fn FT_ACC[5][12] = {FT_SETS(acc_), FT_OPS12(acc_, add), FT_OPS12(acc_, mul),
                                        FT_OPS10(acc_, min), FT_OPS10(acc_, max)};
static const ft_put_fn FT_PUT[5][12] = {FT_SETS(put_), FT_OPS12(put_, add), FT_OPS12(put_, mul),
                                        FT_OPS10(put_, min), FT_OPS10(put_, max)};
static const ft_scat_fn FT_SCAT[5][12] = {FT_SETS(scat_), FT_OPS12(scat_, add), FT_OPS12(scat_, mul),
                                          FT_OPS10(scat_, min), FT_OPS10(scat_, max)};

/* Blocks of some hundred bytes to some kilobytes: calls of memcpy, and its `rep movsb` on some processors, cost more. */
typedef int64_t ft_vec __attribute__((vector_size(64), aligned(1), may_alias));
static inline void ft_copy(char *d, const char *s, ptrdiff_t n) {
    if (n < 64 || n > 16384) {
        memcpy(d, s, n);
        return;
    }
    ptrdiff_t i = 0;
    for (; i + 256 <= n; i += 256) {
        ft_vec a = *(const ft_vec *)(s + i), b = *(const ft_vec *)(s + i + 64);
        ft_vec c = *(const ft_vec *)(s + i + 128), e = *(const ft_vec *)(s + i + 192);
        *(ft_vec *)(d + i) = a;
        *(ft_vec *)(d + i + 64) = b;
        *(ft_vec *)(d + i + 128) = c;
        *(ft_vec *)(d + i + 192) = e;
    }
    for (; i + 64 <= n; i += 64) *(ft_vec *)(d + i) = *(const ft_vec *)(s + i);
    if (i < n) *(ft_vec *)(d + n - 64) = *(const ft_vec *)(s + n - 64);
}

/* d[j] = s[-j]; rows[p][row] interleaved; each element several times. */
#define FT_MOVES(NAME, T)                                                                            \
    static void reverse_##NAME(char *d, const char *s, ptrdiff_t n) {                                \
        for (ptrdiff_t j = 0; j < n; j++) ((T *restrict)d)[j] = ((const T *)s)[-j];                  \
    }                                                                                                \
    static void weave_##NAME(char *d, char **parts, ptrdiff_t count, ptrdiff_t begin, ptrdiff_t end) { \
        const T *a = (const T *)parts[0], *b = (const T *)parts[count - 1];                          \
        T *restrict x = (T *)d;                                                                      \
        if (count == 2) for (ptrdiff_t r = begin; r < end; r++) x[2 * r] = a[r], x[2 * r + 1] = b[r]; \
        else for (ptrdiff_t r = begin; r < end; r++)                                                 \
            for (ptrdiff_t p = 0; p < count; p++) x[r * count + p] = ((const T *)parts[p])[r]; \
    }                                                                                                \
    static void each_##NAME(char *d, const char *s, ptrdiff_t times, ptrdiff_t n) {                  \
        T *x = (T *)d;                                                                               \
        if (times == 2) for (ptrdiff_t j = 0; j < n; j++) x[2 * j] = x[2 * j + 1] = ((const T *)s)[j]; \
        else for (ptrdiff_t j = 0; j < n; j++)                                                       \
            for (ptrdiff_t t = 0; t < times; t++) *x++ = ((const T *)s)[j];                          \
    }
FT_MOVES(1, uint8_t)
FT_MOVES(2, uint16_t)
FT_MOVES(4, uint32_t)
FT_MOVES(8, uint64_t)
FT_MOVES(16, ft_16)
typedef void (*ft_reverse_fn)(char *, const char *, ptrdiff_t);
typedef void (*ft_weave_fn)(char *, char **, ptrdiff_t, ptrdiff_t, ptrdiff_t);
typedef void (*ft_each_fn)(char *, const char *, ptrdiff_t, ptrdiff_t);
static const ft_reverse_fn FT_REVERSE[5] = {reverse_1, reverse_2, reverse_4, reverse_8, reverse_16};
static const ft_weave_fn FT_WEAVE[5] = {weave_1, weave_2, weave_4, weave_8, weave_16};
static const ft_each_fn FT_EACH[5] = {each_1, each_2, each_4, each_8, each_16};

/* One element behind each offset: a row of d gets or gives s[off[i]]. */
#define FT_PICK(NAME, T)                                                                             \
    static void pick_##NAME(char *d, const char *s, const ptrdiff_t *off, ptrdiff_t n) {             \
        T *x = (T *)d;                                                                               \
        ptrdiff_t i = 0;                                                                             \
        for (; i + 4 <= n; i += 4) {                                                                 \
            T v0 = *(const T *)(s + off[i]), v1 = *(const T *)(s + off[i + 1]);                      \
            T v2 = *(const T *)(s + off[i + 2]), v3 = *(const T *)(s + off[i + 3]);                  \
            x[i] = v0, x[i + 1] = v1, x[i + 2] = v2, x[i + 3] = v3;                                  \
        }                                                                                            \
        for (; i < n; i++) x[i] = *(const T *)(s + off[i]);                                          \
    }
FT_PICK(1, uint8_t)
FT_PICK(2, uint16_t)
FT_PICK(4, uint32_t)
FT_PICK(8, uint64_t)
FT_PICK(16, ft_16)
typedef void (*ft_pick_fn)(char *, const char *, const ptrdiff_t *, ptrdiff_t);
static const ft_pick_fn FT_PICKS[5] = {pick_1, pick_2, pick_4, pick_8, pick_16};

/* off[i] = (first) or += wrapped index * step, or the first bad i. `wrap` allows -size <= index < 0. */
static inline ptrdiff_t ft_add_offsets(ptrdiff_t *off, const int64_t *ix, ptrdiff_t n, ptrdiff_t size,
                                       ptrdiff_t step, int wrap, int first) {
    int64_t bad = 0, low = wrap ? -size : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        int64_t k = ix[i];
        bad |= (k < low) | (k >= size);
        k += k < 0 ? size : 0;
        off[i] = (first ? 0 : off[i]) + k * step;
    }
    if (!bad) return -1;
    for (ptrdiff_t i = 0;; i++)
        if (ix[i] < low || ix[i] >= size) return i;
}

/* The order of the dimensions, outermost first, of a result that takes its operands' order in memory: smaller steps
 * inside, the first operand with an opinion decides, and a step of 0 has none. Whether it is that of the shape. */
static inline int ft_memory_order(int rank, const ptrdiff_t *shape, int operands, const ptrdiff_t *steps, int *order) {
    int plain = 1;
    for (int d = 0; d < rank; d++) order[d] = d;
    for (int d = rank - 2; d >= 0; d--)
        for (int at = d, e = d + 1; e < rank; e++) {
            int a = order[e], b = order[at], turn = 0;          /* a lies inside b so far */
            for (int k = 0; k < operands && !turn; k++) {
                ptrdiff_t inner = steps[k * rank + a], outer = steps[k * rank + b];
                if (inner && outer) turn = inner < outer ? -1 : inner > outer || shape[a] > shape[b];
            }
            if (turn < 0) break;
            if (turn) {
                order[e] = b;
                order[at] = a;
                at = e;
                plain = 0;
            }
        }
    return plain;
}

/* mask[i] = x[i] != 0 */
#define FT_NZ(S, T) \
    static void nz_##S(const char *x, uint8_t *m, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) m[i] = ((const T *)x)[i] != 0; }
#define FT_NZ_HALF(S) \
    static void nz_##S(const char *x, uint8_t *m, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) m[i] = (((const uint16_t *)x)[i] & 0x7fff) != 0; }
FT_NZ(1, uint8_t)
FT_NZ(2, uint16_t)
FT_NZ(4, uint32_t)
FT_NZ(8, uint64_t)
FT_NZ_HALF(h)
FT_NZ(f32, float)
FT_NZ(f64, double)
FT_NZ(c64, float complex)
FT_NZ(c128, double complex)
typedef void (*ft_nz_fn)(const char *, uint8_t *, ptrdiff_t);
static const ft_nz_fn FT_NZS[12] = {nz_1, nz_1, nz_1, nz_2, nz_4, nz_8, nz_h, nz_h, nz_f32, nz_f64, nz_c64, nz_c128};

/* The elements of s where m is set: exactly `count` of them are written. */
#define FT_COMPRESS(NAME, T)                                                                         \
    static void squeeze_##NAME(char *d, const char *s, const uint8_t *m, ptrdiff_t count) {          \
        for (ptrdiff_t i = 0, k = 0; k < count; i++) { ((T *)d)[k] = ((const T *)s)[i]; k += m[i]; } \
    }                                                                                                \
    static void spread_##NAME(char *d, const char *s, const uint8_t *m, ptrdiff_t count) {           \
        for (ptrdiff_t i = 0, k = 0; k < count; i++) if (m[i]) ((T *)d)[i] = ((const T *)s)[k++];     \
    }
FT_COMPRESS(1, uint8_t)
FT_COMPRESS(2, uint16_t)
FT_COMPRESS(4, uint32_t)
FT_COMPRESS(8, uint64_t)
FT_COMPRESS(16, ft_16)
typedef void (*ft_squeeze_fn)(char *, const char *, const uint8_t *, ptrdiff_t);
static const ft_squeeze_fn FT_SQUEEZE[5] = {squeeze_1, squeeze_2, squeeze_4, squeeze_8, squeeze_16};
static const ft_squeeze_fn FT_SPREAD[5] = {spread_1, spread_2, spread_4, spread_8, spread_16};

/* p: result, operand, mask; par: the bytes of the value put where the mask is set. */
#define FT_FILL(NAME, T)                                                                             \
    static void fill_##NAME(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par) {          \
        T v;                                                                                         \
        memcpy(&v, par, sizeof(T));                                                                  \
        if (s[0] == sizeof(T) && s[1] == sizeof(T) && s[2] == 1) {                                   \
            T *d = (T *)p[0];                                                                        \
            const T *x = (const T *)p[1];                                                            \
            const uint8_t *m = (const uint8_t *)p[2];                                                \
            _Pragma("GCC ivdep")                                                                     \
            for (ptrdiff_t i = 0; i < n; i++) d[i] = m[i] ? v : x[i];                                \
            return;                                                                                  \
        }                                                                                            \
        for (ptrdiff_t i = 0; i < n; i++)                                                            \
            *(T *)(p[0] + i * s[0]) = p[2][i * s[2]] ? v : *(const T *)(p[1] + i * s[1]);            \
    }
FT_FILL(1, uint8_t)
FT_FILL(2, uint16_t)
FT_FILL(4, uint32_t)
FT_FILL(8, uint64_t)
FT_FILL(16, double complex)
typedef void (*ft_fill_fn)(char **, const ptrdiff_t *, ptrdiff_t, const double *);
static const ft_fill_fn FT_FILLS[5] = {fill_1, fill_2, fill_4, fill_8, fill_16};

static inline ptrdiff_t ft_count_mask(const uint8_t *m, ptrdiff_t n) {
    ptrdiff_t total = 0;
    for (ptrdiff_t i = 0; i < n; i++) total += m[i];
    return total;
}
/* Pieces of rows lie too far apart for the processor to fetch the next ones by itself. */
static inline void ft_fetch(const char *p, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += 64) __builtin_prefetch(p + i);
}
static inline int ft_log2(ptrdiff_t itemsize) { return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4; }
/* The lowest failing position over all chunks, so that the message does not depend on threads. */
static inline void ft_lower(ptrdiff_t *slot, ptrdiff_t v) {
    ptrdiff_t now = __atomic_load_n(slot, __ATOMIC_RELAXED);
    while ((now < 0 || v < now) && !__atomic_compare_exchange_n(slot, &now, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
#endif
