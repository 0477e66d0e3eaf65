/* One input of each window of a row of pooling outputs whose windows start at places of their own: best[i] becomes the larger of
   itself and x[low[i]], with the position at + low[i] of the first largest. A NaN wins. */
#ifndef FT_POOL_FRACTIONAL_H
#define FT_POOL_FRACTIONAL_H
#include <stddef.h>
#include <stdint.h>

#define FT_PICK(T, S) \
static inline void ft_pick_row_##S(const T *x, const int64_t *restrict low, T *restrict best, int64_t *restrict index, int64_t at, \
                                   ptrdiff_t n, int first) \
{ \
    if (first) \
        for (ptrdiff_t i = 0; i < n; i++) { best[i] = x[low[i]]; index[i] = at + low[i]; } \
    else \
        for (ptrdiff_t i = 0; i < n; i++) { \
            const T v = x[low[i]]; \
            const int wins = v > best[i] || v != v; \
            best[i] = wins ? v : best[i]; \
            index[i] = wins ? at + low[i] : index[i]; } \
} \
/* where n windows of k inputs start in `size`, for one random number u: Graham, "Fractional Max-Pooling", 2014 */ \
static inline void ft_starts_##S(T u, int64_t size, int64_t n, int64_t k, int64_t *low) \
{ \
    const T alpha = n > 1 ? (T)(size - k) / (T)(n - 1) : 0; \
    for (int64_t i = 0; i < n - 1; i++) low[i] = (int64_t)((i + u) * alpha) - (int64_t)(u * alpha); \
    low[n - 1] = size - k; \
}
FT_PICK(float, f32)
FT_PICK(double, f64)
#endif
