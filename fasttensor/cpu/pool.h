/* Rows of pooling outputs, one input of each window at a time, so that they vectorise:
 * best[i] = max(best[i], x[i * step]) with the index of the first largest; sums[i] += x[i * step];
 * x[i * step] += parts[i]. */
#ifndef FT_POOL_H
#define FT_POOL_H
#include <stddef.h>
#include <stdint.h>

#define FT_MAX_LOOP(STEP)                                          \
    if (first)                                                     \
        for (ptrdiff_t i = 0; i < n; i++) {                        \
            best[i] = x[i * (STEP)];                               \
            index[i] = at + (int32_t)(i * (STEP));                 \
        }                                                          \
    else                                                           \
        for (ptrdiff_t i = 0; i < n; i++) {                        \
            const int wins = x[i * (STEP)] > best[i] || x[i * (STEP)] != x[i * (STEP)]; \
            best[i] = wins ? x[i * (STEP)] : best[i];              \
            index[i] = wins ? at + (int32_t)(i * (STEP)) : index[i]; \
        }

#define FT_POOL_ROWS(T, SUFFIX)                                                                                     \
    static inline void ft_max_row_##SUFFIX(const T *restrict x, ptrdiff_t step, T *restrict best,                   \
                                           int32_t *restrict index, int32_t at, ptrdiff_t n, int first)             \
    {                                                                                                               \
        if (step == 1) { FT_MAX_LOOP(1) } else if (step == 2) { FT_MAX_LOOP(2) } else { FT_MAX_LOOP(step) }         \
    }                                                                                                               \
    static inline void ft_sum_row_##SUFFIX(const T *restrict x, ptrdiff_t step, T *restrict sums, ptrdiff_t n)      \
    {                                                                                                               \
        if (step == 1)                                                                                              \
            for (ptrdiff_t i = 0; i < n; i++) sums[i] += x[i];                                                      \
        else if (step == 2)                                                                                         \
            for (ptrdiff_t i = 0; i < n; i++) sums[i] += x[2 * i];                                                  \
        else                                                                                                        \
            for (ptrdiff_t i = 0; i < n; i++) sums[i] += x[i * step];                                               \
    }                                                                                                               \
    static inline void ft_spread_row_##SUFFIX(const T *restrict parts, ptrdiff_t step, T *restrict x, ptrdiff_t n)  \
    {                                                                                                               \
        if (step == 1)                                                                                              \
            for (ptrdiff_t i = 0; i < n; i++) x[i] += parts[i];                                                     \
        else                                                                                                        \
            for (ptrdiff_t i = 0; i < n; i++) x[i * step] += parts[i];                                              \
    }                                                                                                               \
    static inline T ft_row_total_##SUFFIX(const T *x, ptrdiff_t n)                                                  \
    {                                                                                                               \
        T part[16] = {0}, total = 0;                                                                                \
        ptrdiff_t i = 0;                                                                                            \
        for (; i + 16 <= n; i += 16)                                                                                \
            for (int j = 0; j < 16; j++) part[j] += x[i + j];                                                       \
        for (int j = 0; i < n; i++, j++) part[j] += x[i];                                                           \
        if (n < 16) {                                                                                               \
            for (int j = 0; j < (int)n; j++) total += part[j];                                                      \
            return total;                                                                                           \
        }                                                                                                           \
        for (int j = 0; j < 8; j++) part[j] += part[j + 8];                                                         \
        for (int j = 0; j < 4; j++) part[j] += part[j + 4];                                                         \
        return (part[0] + part[2]) + (part[1] + part[3]);                                                           \
    }
FT_POOL_ROWS(float, f32)
FT_POOL_ROWS(double, f64)
FT_POOL_ROWS(int64_t, i64)
#endif
