/* Pooling of pixels whose channels lie side by side: every step is a loop over channels that gcc vectorises. */
#ifndef FT_POOL_INSIDE_H
#define FT_POOL_INSIDE_H
#include <stddef.h>
#include <stdint.h>

#define FT_PIXEL_LOOPS(T, S)                                                                                     \
    static void ft_larger_##S(const T *x, T *best, int32_t *index, int32_t at, ptrdiff_t n) {                    \
        for (ptrdiff_t c = 0; c < n; c++) {                                                                      \
            int wins = (x[c] > best[c]) | (x[c] != x[c]); /* a NaN wins, and the first of equals stays */        \
            best[c] = wins ? x[c] : best[c];                                                                     \
            index[c] = wins ? at : index[c];                                                                     \
        }                                                                                                        \
    }                                                                                                            \
    static void ft_add_pixel_##S(const T *x, T *sums, ptrdiff_t n) {                                             \
        for (ptrdiff_t c = 0; c < n; c++) sums[c] += x[c];                                                       \
    }                                                                                                            \
    static void ft_divide_pixel_##S(const T *x, T *out, T by, ptrdiff_t n) {                                     \
        for (ptrdiff_t c = 0; c < n; c++) out[c] = by ? x[c] / by : 0;                                           \
    }

FT_PIXEL_LOOPS(float, f32)
FT_PIXEL_LOOPS(double, f64)
#endif
