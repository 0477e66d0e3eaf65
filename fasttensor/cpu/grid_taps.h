/* Sampling at arbitrary points: the pixels around a point and their weights, and the sums over them.
 *
 * A point has up to 4 taps in each dimension (1 nearest, 2 linear, 4 cubic) and their products in all. The taps of a strip
 * of points are found once and used for every channel: offsets lie side by side, so that the sums are vector gathers.
 * A tap outside of the image has the offset -1. An image is a volume of depth 1. Cubic weights: R. Keys, "Cubic convolution
 * interpolation for digital image processing" (1981), a = -0.75. */
#ifndef FT_GRID_TAPS_H
#define FT_GRID_TAPS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_GRID_STRIP = 64, FT_GRID_TAPS = 16 };

typedef struct {
    ptrdiff_t size[3], channels, points, volume;
    int dims, mode, padding, align;       /* mode 0 linear, 1 nearest, 2 cubic; padding 0 zeros, 1 border, 2 reflection */
    int axis_taps[3], taps;
} ft_grid;

/* rounding in the type of the argument */
#define FT_FLOOR(x) _Generic((x), float: floorf(x), default: floor(x))
#define FT_RINT(x) _Generic((x), float: rintf(x), default: rint(x))
#define FT_GRID_CASE(S, MODE, PADDING) \
    case MODE * 3 + PADDING: ft_axis_points_##S(grid, j->dims, n, size, j->align, MODE, PADDING, a); break;
#define FT_GRID(T, S) \
/* the taps of a strip in one dimension, side by side over the points; d: the weights' derivatives by the grid's coordinate */ \
typedef struct { \
    int32_t place[4][FT_GRID_STRIP]; \
    T w[4][FT_GRID_STRIP], d[4][FT_GRID_STRIP]; \
} ft_axis_##S; \
typedef struct { \
    int32_t at[FT_GRID_TAPS][FT_GRID_STRIP]; \
    T w[FT_GRID_TAPS][FT_GRID_STRIP], d[3][FT_GRID_TAPS][FT_GRID_STRIP]; \
} ft_strip_##S; \
/* a position moved into the image, and the derivative of the move */ \
static inline __attribute__((always_inline)) T ft_inside_##S(T x, ptrdiff_t size, const int padding, int align, T *slope) { \
    if (padding == 0) return x; \
    const T last = (T)(size - 1); \
    if (padding == 2) { \
        const T low = align ? 0 : (T)-0.5, span = align ? last : (T)size; \
        if (span == 0) { *slope = 0; return x != x ? 0 : x * 0; } \
        const T t = x - low, far = t < 0 ? -t : t; \
        const T flips = FT_FLOOR(far / span), extra = far - flips * span; \
        const int back = flips - 2 * FT_FLOOR(flips / 2) != 0;      /* an odd number of them */ \
        *slope = (t < 0) != back ? -*slope : *slope; \
        x = back ? span - extra + low : extra + low; \
    } \
    /* NaN goes to 0 */ \
    *slope = x > 0 && x < last ? *slope : 0; \
    x = x > 0 ? x : 0; \
    return x < last ? x : last; \
} \
static inline T ft_cubic_near_##S(T x) { return ((T)1.25 * x - (T)2.25) * x * x + 1; } \
static inline T ft_cubic_far_##S(T x) { return (((T)-0.75 * x + (T)3.75) * x - 6) * x + 3; } \
static inline T ft_cubic_near_slope_##S(T x) { return ((T)3.75 * x - (T)4.5) * x; } \
static inline T ft_cubic_far_slope_##S(T x) { return ((T)-2.25 * x + (T)7.5) * x - 6; } \
/* one loop for each mode and padding, without branches inside, so that it is done in vectors */ \
static inline __attribute__((always_inline)) void ft_axis_points_##S(const T *grid, ptrdiff_t step, ptrdiff_t n, ptrdiff_t size, int align, \
                                                                     const int mode, const int padding, ft_axis_##S *a) { \
    const int taps = mode == 2 ? 4 : mode == 1 ? 1 : 2; \
    for (ptrdiff_t p = 0; p < n; p++) { \
        const T g = grid[p * step]; \
        T first[4], w[4], d[4], slope = (T)(align ? size - 1 : size) / 2; \
        T x = align ? (g + 1) * slope : ((g + 1) * (T)size - 1) / 2; \
        if (mode == 2) { \
            const T base = FT_FLOOR(x), t = x - base; \
            w[0] = ft_cubic_far_##S(t + 1); w[1] = ft_cubic_near_##S(t); w[2] = ft_cubic_near_##S(1 - t); w[3] = ft_cubic_far_##S(2 - t); \
            d[0] = ft_cubic_far_slope_##S(t + 1) * slope; d[1] = ft_cubic_near_slope_##S(t) * slope; \
            d[2] = -ft_cubic_near_slope_##S(1 - t) * slope; d[3] = -ft_cubic_far_slope_##S(2 - t) * slope; \
            for (int k = 0; k < 4; k++) { \
                T unused = 1; \
                first[k] = FT_RINT(ft_inside_##S(base + (T)(k - 1), size, padding, align, &unused)); \
            } \
        } else { \
            x = ft_inside_##S(x, size, padding, align, &slope); \
            if (mode == 1) { first[0] = FT_RINT(x); w[0] = 1; d[0] = 0; } \
            else { \
                const T base = FT_FLOOR(x), t = x - base; \
                first[0] = base; first[1] = base + 1; \
                w[0] = 1 - t; w[1] = t; d[0] = -slope; d[1] = slope; \
            } \
        } \
        for (int k = 0; k < taps; k++) { \
            /* a weight that is NaN has to reach the result, so it takes some pixel */ \
            const int there = first[k] >= 0 && first[k] < (T)size, none = w[k] != w[k] ? 0 : -1; \
            a->place[k][p] = there ? (int32_t)(there ? first[k] : 0) : none; \
            a->w[k][p] = w[k]; a->d[k][p] = d[k]; \
        } \
    } \
} \
static void ft_axis_taps_##S(const ft_grid *j, const T *grid, ptrdiff_t n, ptrdiff_t size, ft_axis_##S *a) { \
    switch (j->mode * 3 + j->padding) { \
        FT_GRID_CASE(S, 0, 0) FT_GRID_CASE(S, 0, 1) FT_GRID_CASE(S, 0, 2) FT_GRID_CASE(S, 1, 0) FT_GRID_CASE(S, 1, 1) \
        FT_GRID_CASE(S, 1, 2) FT_GRID_CASE(S, 2, 0) FT_GRID_CASE(S, 2, 1) FT_GRID_CASE(S, 2, 2) \
    } \
} \
/* the taps of n points; `slopes`: also the derivatives of the weights by the coordinates of the grid (x first) */ \
static void ft_strip_taps_##S(const ft_grid *j, const T *grid, ptrdiff_t n, int slopes, ft_strip_##S *s) { \
    ft_axis_##S a[3]; \
    int k = 0; \
    for (int c = 0; c < j->dims; c++) ft_axis_taps_##S(j, grid + c, n, j->size[2 - c], &a[2 - c]); \
    for (ptrdiff_t p = 0; j->dims == 2 && p < n; p++) { a[0].place[0][p] = 0; a[0].w[0][p] = 1; a[0].d[0][p] = 0; } \
    const int32_t height = (int32_t)j->size[1], width = (int32_t)j->size[2]; \
    for (int z = 0; z < j->axis_taps[0]; z++) \
        for (int y = 0; y < j->axis_taps[1]; y++) \
            for (int x = 0; x < j->axis_taps[2]; x++, k++) { \
                for (ptrdiff_t p = 0; p < n; p++) { \
                    const int32_t pz = a[0].place[z][p], py = a[1].place[y][p], px = a[2].place[x][p]; \
                    s->at[k][p] = (pz | py | px) < 0 ? -1 : (pz * height + py) * width + px; \
                    s->w[k][p] = a[0].w[z][p] * a[1].w[y][p] * a[2].w[x][p]; \
                } \
                for (ptrdiff_t p = 0; slopes && p < n; p++) { \
                    const T wz = a[0].w[z][p], wy = a[1].w[y][p], wx = a[2].w[x][p]; \
                    s->d[0][k][p] = wz * wy * a[2].d[x][p]; \
                    s->d[1][k][p] = wz * a[1].d[y][p] * wx; \
                    s->d[2][k][p] = a[0].d[z][p] * wy * wx; \
                } \
            } \
} \
static void ft_grid_forward_##S(const ft_grid *j, const T *x, const T *grid, T *out, ptrdiff_t from, ptrdiff_t to) { \
    ft_strip_##S s; \
    for (; from < to; from += FT_GRID_STRIP) { \
        const ptrdiff_t n = to - from < FT_GRID_STRIP ? to - from : FT_GRID_STRIP; \
        ft_strip_taps_##S(j, grid + from * j->dims, n, 0, &s); \
        for (ptrdiff_t c = 0; c < j->channels; c++) { \
            const T *src = x + c * j->volume; \
            T sum[FT_GRID_STRIP]; \
            for (ptrdiff_t p = 0; p < n; p++) { \
                const int32_t at = s.at[0][p]; \
                const T v = src[at < 0 ? 0 : at]; \
                sum[p] = at < 0 ? 0 : s.w[0][p] * v; \
            } \
            for (int k = 1; k < j->taps; k++) \
                for (ptrdiff_t p = 0; p < n; p++) { \
                    const int32_t at = s.at[k][p]; \
                    const T v = src[at < 0 ? 0 : at]; \
                    sum[p] += at < 0 ? 0 : s.w[k][p] * v; \
                } \
            for (ptrdiff_t p = 0; p < n; p++) out[c * j->points + from + p] = sum[p]; \
        } \
    } \
} \
/* channels first .. last - 1 of the image's gradient, which is zero before */ \
static void ft_grid_image_##S(const ft_grid *j, const T *g, const T *grid, T *dx, ptrdiff_t first, ptrdiff_t last) { \
    ft_strip_##S s; \
    for (ptrdiff_t from = 0; from < j->points; from += FT_GRID_STRIP) { \
        const ptrdiff_t n = j->points - from < FT_GRID_STRIP ? j->points - from : FT_GRID_STRIP; \
        ft_strip_taps_##S(j, grid + from * j->dims, n, 0, &s); \
        for (ptrdiff_t c = first; c < last; c++) { \
            T *to = dx + c * j->volume; \
            const T *part = g + c * j->points + from; \
            for (int k = 0; k < j->taps; k++) \
                for (ptrdiff_t p = 0; p < n; p++) \
                    if (s.at[k][p] >= 0) to[s.at[k][p]] += s.w[k][p] * part[p]; \
        } \
    } \
} \
static void ft_grid_points_##S(const ft_grid *j, const T *g, const T *x, const T *grid, T *dgrid, ptrdiff_t from, ptrdiff_t to) { \
    ft_strip_##S s; \
    for (; from < to; from += FT_GRID_STRIP) { \
        const ptrdiff_t n = to - from < FT_GRID_STRIP ? to - from : FT_GRID_STRIP; \
        T sum[3][FT_GRID_STRIP]; \
        ft_strip_taps_##S(j, grid + from * j->dims, n, 1, &s); \
        for (int e = 0; e < 3; e++) for (ptrdiff_t p = 0; p < n; p++) sum[e][p] = 0; \
        for (int k = 0; k < j->taps; k++) { \
            T dot[FT_GRID_STRIP]; \
            for (ptrdiff_t p = 0; p < n; p++) dot[p] = 0; \
            for (ptrdiff_t c = 0; c < j->channels; c++) { \
                const T *src = x + c * j->volume, *part = g + c * j->points + from; \
                for (ptrdiff_t p = 0; p < n; p++) { \
                    const int32_t at = s.at[k][p]; \
                    const T v = src[at < 0 ? 0 : at]; \
                    dot[p] += at < 0 ? 0 : part[p] * v; \
                } \
            } \
            for (int e = 0; e < j->dims; e++) \
                for (ptrdiff_t p = 0; p < n; p++) sum[e][p] += dot[p] * s.d[e][k][p]; \
        } \
        for (ptrdiff_t p = 0; p < n; p++) \
            for (int e = 0; e < j->dims; e++) dgrid[(from + p) * j->dims + e] = sum[e][p]; \
    } \
}
FT_GRID(float, f32)
FT_GRID(double, f64)
#endif
