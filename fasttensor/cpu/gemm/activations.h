/* Activations applied to rows of C that the product has just written and that are still in the cache. */
#ifndef FT_GEMM_ACTIVATIONS_H
#define FT_GEMM_ACTIVATIONS_H
#include <math.h>
#include <stddef.h>

#define FT_ACTIVATE(name, T, EXP, ERF, TANH)                                                               \
  static void name(int kind, T *x, ptrdiff_t n) {                                                          \
    switch (kind) {                                                                                        \
      case 1: for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i]; break;                       \
      case 2:                                                                                              \
        for (ptrdiff_t i = 0; i < n; i++) x[i] = (T)0.5 * x[i] * (1 + ERF(x[i] * (T)0.70710678118654752440)); \
        break;                                                                                             \
      case 3: /* Hendrycks and Gimpel, Gaussian Error Linear Units, 2016, section 2 */                     \
        for (ptrdiff_t i = 0; i < n; i++)                                                                  \
          x[i] = (T)0.5 * x[i] * (1 + TANH((T)0.79788456080286535588 * (x[i] + (T)0.044715 * x[i] * x[i] * x[i]))); \
        break;                                                                                             \
      case 4: for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] / (1 + EXP(-x[i])); break;                     \
      case 5: for (ptrdiff_t i = 0; i < n; i++) x[i] = TANH(x[i]); break;                                  \
      case 6: for (ptrdiff_t i = 0; i < n; i++) x[i] = 1 / (1 + EXP(-x[i])); break;                        \
      default: break;                                                                                      \
    }                                                                                                      \
  }
FT_ACTIVATE(ft_activate_f32, float, expf, erff, tanhf)
FT_ACTIVATE(ft_activate_f64, double, exp, erf, tanh)
#endif
