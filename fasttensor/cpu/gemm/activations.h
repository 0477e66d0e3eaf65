/* Activations applied to rows of C that the product has just written and that are still in the cache. */
#ifndef FT_GEMM_ACTIVATIONS_H
#define FT_GEMM_ACTIVATIONS_H
#include "../../_core/scalar.h"

#define FT_ACTIVATE(S)                                                                                     \
  static void ft_activate_##S(int kind, ft_##S *x, ptrdiff_t n) {                                          \
    switch (kind) {                                                                                        \
      case 1: for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i]; break;                         \
      case 2: for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] * _normal_cdf_##S(x[i]); break;                \
      case 3: /* Hendrycks and Gimpel, Gaussian Error Linear Units, 2016, section 2 */                     \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                \
          const ft_##S v = x[i], s = (ft_##S)0.79788456080286535588 * (v + (ft_##S)0.044715 * v * v * v);  \
          x[i] = (ft_##S)0.5 * v * (1 + tanh_##S(s));                                                      \
        }                                                                                                  \
        break;                                                                                             \
      case 4: for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] / (1 + exp_##S(-x[i])); break;                 \
      case 5: for (ptrdiff_t i = 0; i < n; i++) x[i] = tanh_##S(x[i]); break;                              \
      case 6: for (ptrdiff_t i = 0; i < n; i++) x[i] = 1 / (1 + exp_##S(-x[i])); break;                    \
      default: break;                                                                                      \
    }                                                                                                      \
  }
FT_ACTIVATE(f32)
FT_ACTIVATE(f64)
#endif
