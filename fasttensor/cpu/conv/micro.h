/* Register tiles of convolution in GCC vector extensions, for float and double.
 *
 * ft_tile_f32(rows, nv, k, a, aoff, b, off, init, c, ldc, add): for r < rows, j < nv * LANES
 *     c[r][j] = (add ? c[r][j] : init[r]) + sum_i a[r][aoff ? aoff[i] : i] * B[i][j]
 * where B[i] is b + i * nv * LANES, or b + off[i] when off is given; aoff has FT_AHEAD entries more than k.
 * ft_rows_f32 adds, walking `planes` images, `step` apart, of `height` rows, `pitch` apart, of `width` pixels instead of one run of k.
 */
#ifndef FT_CONV_MICRO_H
#define FT_CONV_MICRO_H
#include <stddef.h>
#include <string.h>

/* Accumulators fill the register file: 24 of 32 (AVX-512), 12 of 16 (AVX2, SSE, NEON). */
enum { FT_AHEAD = 24 };
#if defined(__AVX512F__)
enum { FT_VECTOR_BYTES = 64, FT_ROWS = 8, FT_VECS = 3 };
#define FT_ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#if defined(__AVX2__)
enum { FT_VECTOR_BYTES = 32, FT_ROWS = 4, FT_VECS = 3 };
#else
enum { FT_VECTOR_BYTES = 16, FT_ROWS = 4, FT_VECS = 3 };
#endif
#define FT_ROW_CASES(X) X(1) X(2) X(3) X(4)
#endif

/* Neighbouring pixels of a panel: where they lie in it, in the lattice and in the output. */
typedef struct { ptrdiff_t at, src, dst, n; } ft_pixels;

#define FT_INLINE static inline __attribute__((always_inline))
#define T float
#define I int
#define NAME(x) ft_##x##_f32
#include "micro_body.h"
#undef T
#undef I
#undef NAME
#define T double
#define I long long
#define NAME(x) ft_##x##_f64
#include "micro_body.h"
#undef T
#undef I
#undef NAME
#endif
