/* Transposed copies of small blocks. Memory is touched a cache line at a time: a block's rows often lie a power of two
 * apart, where they fall into the same few cache sets and a line must be used whole while it is there.
 * Usage: ft_transpose(dst, ds, src, ss, n, m, size): dst row j, element i = src row i, element j, for i < n and j < m;
 * rows of dst are ds bytes apart, those of src ss bytes, and elements within a row are adjacent. */
#ifndef FT_TRANSPOSE_H
#define FT_TRANSPOSE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
#define FT_LINE 64
#else
#define FT_LINE 32
#endif

typedef uint32_t ft_v4 __attribute__((vector_size(FT_LINE), aligned(4)));
typedef uint64_t ft_v8 __attribute__((vector_size(FT_LINE), aligned(8)));

/* One stage of a transposition in registers: rows i and i+h exchange the lanes whose index has the bit h. */
#define FT_LANE(l, h, N) ((l) & (h) ? (N) + (l) - (h) : (l))
#define FT_LANE_H(l, h, N) ((l) & (h) ? (N) + (l) : (l) + (h))
#define FT_MASK4(f, h) f(0, h, 4), f(1, h, 4), f(2, h, 4), f(3, h, 4)
#define FT_MASK8(f, h) f(0, h, 8), f(1, h, 8), f(2, h, 8), f(3, h, 8), f(4, h, 8), f(5, h, 8), f(6, h, 8), f(7, h, 8)
#define FT_MASK16(f, h) f(0, h, 16), f(1, h, 16), f(2, h, 16), f(3, h, 16), f(4, h, 16), f(5, h, 16), f(6, h, 16), \
    f(7, h, 16), f(8, h, 16), f(9, h, 16), f(10, h, 16), f(11, h, 16), f(12, h, 16), f(13, h, 16), f(14, h, 16), f(15, h, 16)
#define FT_STAGE(V, N, h) { \
        const V low = {FT_MASK##N(FT_LANE, h)}, high = {FT_MASK##N(FT_LANE_H, h)}; \
        _Pragma("GCC unroll 16") \
        for (int i = 0; i < N; i++) \
            if (!(i & (h))) { \
                const V a = r[i], b = r[i + (h)]; \
                r[i] = __builtin_shuffle(a, b, low); \
                r[i + (h)] = __builtin_shuffle(a, b, high); \
            } \
    }
#define FT_SQUARE(name, V, N, STAGES) \
    static inline void name(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss) { \
        V r[N]; \
        _Pragma("GCC unroll 16") \
        for (int i = 0; i < N; i++) r[i] = *(const V *)(src + i * ss); \
        STAGES \
        _Pragma("GCC unroll 16") \
        for (int i = 0; i < N; i++) *(V *)(dst + i * ds) = r[i]; \
    }
#if FT_LINE == 64
FT_SQUARE(ft_square_4, ft_v4, 16, FT_STAGE(ft_v4, 16, 8) FT_STAGE(ft_v4, 16, 4) FT_STAGE(ft_v4, 16, 2) FT_STAGE(ft_v4, 16, 1))
FT_SQUARE(ft_square_8, ft_v8, 8, FT_STAGE(ft_v8, 8, 4) FT_STAGE(ft_v8, 8, 2) FT_STAGE(ft_v8, 8, 1))
#else
FT_SQUARE(ft_square_4, ft_v4, 8, FT_STAGE(ft_v4, 8, 4) FT_STAGE(ft_v4, 8, 2) FT_STAGE(ft_v4, 8, 1))
FT_SQUARE(ft_square_8, ft_v8, 4, FT_STAGE(ft_v8, 4, 2) FT_STAGE(ft_v8, 4, 1))
#endif

/* Elements that no vector form takes: the lines of 16 rows are read whole first, then written across. */
#define FT_SCATTERED(name, T) \
    static void name(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, ptrdiff_t n, ptrdiff_t m) { \
        enum { W = 64 / sizeof(T) }; \
        T block[16][W]; \
        for (ptrdiff_t i = 0; i < n; i += 16) \
            for (ptrdiff_t j = 0; j < m; j += W) { \
                const ptrdiff_t rows = n - i < 16 ? n - i : 16, wide = m - j < W ? m - j : W; \
                for (ptrdiff_t a = 0; a < rows; a++) \
                    memcpy(block[a], src + (i + a) * ss + j * (ptrdiff_t)sizeof(T), (size_t)wide * sizeof(T)); \
                for (ptrdiff_t b = 0; b < wide; b++) \
                    for (ptrdiff_t a = 0; a < rows; a++) ((T *)(dst + (j + b) * ds))[i + a] = block[a][b]; \
            } \
    }
typedef struct { uint64_t low, high; } ft_v16;
FT_SCATTERED(ft_scattered_1, uint8_t)
FT_SCATTERED(ft_scattered_2, uint16_t)
FT_SCATTERED(ft_scattered_4, uint32_t)
FT_SCATTERED(ft_scattered_8, uint64_t)
FT_SCATTERED(ft_scattered_16, ft_v16)

#define FT_BY_SQUARES(S) { \
        enum { N = FT_LINE / S }; \
        const ptrdiff_t whole_n = n / N * N, whole_m = m / N * N; \
        for (ptrdiff_t i = 0; i < whole_n; i += N) \
            for (ptrdiff_t j = 0; j < whole_m; j += N) ft_square_##S(dst + j * ds + i * S, ds, src + i * ss + j * S, ss); \
        if (whole_n < n) ft_scattered_##S(dst + whole_n * S, ds, src + whole_n * ss, ss, n - whole_n, m); \
        if (whole_m < m) ft_scattered_##S(dst + whole_m * ds, ds, src + whole_m * S, ss, whole_n, m - whole_m); \
    }
static void ft_transpose(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, ptrdiff_t n, ptrdiff_t m, int size) {
    switch (size) {
        case 1: ft_scattered_1(dst, ds, src, ss, n, m); break;
        case 2: ft_scattered_2(dst, ds, src, ss, n, m); break;
        case 4: FT_BY_SQUARES(4) break;
        case 8: FT_BY_SQUARES(8) break;
        default: ft_scattered_16(dst, ds, src, ss, n, m);
    }
}

/* One tile of n x m elements (dimension 0 by dimension 1) of an elementwise loop. Operands that run along dimension 1
 * (size[k] is not 0) are turned into rows of `buffer` first, which the loop then reads like any contiguous operand. */
#define FT_TILE 64
typedef void (*ft_row_loop)(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par);
static void ft_visit_tile(ft_row_loop loop, int nop, char *const *p, const ptrdiff_t *s0, const ptrdiff_t *s1, const unsigned char *size,
                    ptrdiff_t n, ptrdiff_t m, const double *par) {
    _Alignas(64) char buffer[2][FT_TILE * FT_TILE * 8];      /* two crossing operands of 8 bytes; the others go as they are */
    char *q[8];
    ptrdiff_t step[8], across[8];
    int used = 0;
    for (int k = 0; k < nop; k++) {
        q[k] = p[k];
        step[k] = s0[k];
        across[k] = s1[k];
        if (!size[k] || size[k] > 8 || used == 2) continue;
        step[k] = size[k];
        across[k] = FT_TILE * size[k];
        q[k] = buffer[used++];
        ft_transpose(q[k], across[k], p[k], s0[k], n, m, size[k]);
    }
    for (ptrdiff_t j = 0; j < m; j++) {
        loop(q, step, n, par);
        for (int k = 0; k < nop; k++) q[k] += across[k];
    }
}
#endif
