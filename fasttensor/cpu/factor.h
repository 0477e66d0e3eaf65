/* Kernels of factor.pyx: panels of LU, Cholesky and QR, triangular systems of up to FT_PANEL rows.

   Panels are columns of whole vectors (64 bytes; ldw a multiple, zeros below row m), so that loops have no remainders:

   ft_lu_f32(w, ldw, m, n, pivots);          // as LAPACK's getrf
   ft_solve_f32(n, columns, a, 1, lda, 0, 1, x, 1, ldx);   // unit lower triangle

   GCC's vector code: one source for AVX-512, AVX2 and NEON. */
#ifndef FT_FACTOR_H
#define FT_FACTOR_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FT_PANEL 32
#define FT_CAT2(a, b) a##_##b
#define FT_CAT(a, b) FT_CAT2(a, b)
#define NAME(x) FT_CAT(x, FT_SUFFIX)

/* libm's hypot costs as much as a short column */
static inline float ft_hypotf(float a, float b) { return (float)sqrt((double)a * a + (double)b * b); }
static inline double ft_hypot(double a, double b) {
  const double sum = a * a + b * b;
  return sum > 1e-270 && sum < 1e270 ? sqrt(sum) : hypot(a, b);
}

/* SAFE: sums of squares from here to its reciprocal have lost nothing. TINY: the least length of a reflection
   whose reciprocal and whose square roots of squares are safe, a power of two. */
#define FT_T float
#define FT_INT int32_t
#define FT_SUFFIX f32
#define FT_SQRT sqrtf
#define FT_HYPOT ft_hypotf
#define FT_PLACES {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#define FT_SAFE 1e-28f
#define FT_TINY 0x1p-100f
#include "factor_loops.h"
#define FT_T double
#define FT_INT int64_t
#define FT_SUFFIX f64
#define FT_SQRT sqrt
#define FT_HYPOT ft_hypot
#define FT_PLACES {0, 1, 2, 3, 4, 5, 6, 7}
#define FT_SAFE 1e-270
#define FT_TINY 0x1p-960
#include "factor_loops.h"
#undef NAME
#endif
