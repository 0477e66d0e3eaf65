/* One time step of connectionist temporal classification, forward and backward, over all states of one sequence (Graves et al.
   2006, equations 6 to 16, in logarithms). The rows of states have two places of -inf where a step may look past their end. */
#ifndef FT_CTC_STEPS_H
#define FT_CTC_STEPS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "scalar.h"
#include "vecmath.h"

/* log(e^a + e^b + e^c), -inf of nothing at all */
static inline double ctc_add(double a, double b, double c)
{
    double m = a > b ? a : b;
    m = c > m ? c : m;
    m = m == -INFINITY ? 0 : m;
    return m + log_f64(vm_exp(a - m) + vm_exp(b - m) + vm_exp(c - m));
}

/* now[s] from before[s], before[s - 1] and, where skip[s] is 0 and not -inf, before[s - 2] */
static void ctc_forward_step(const double *restrict before, const double *restrict skip, const double *restrict x,
                             const int64_t *restrict label, double *restrict now, ptrdiff_t n)
{
    for (ptrdiff_t s = 0; s < n; s++)
        now[s] = ctc_add(before[s], before[s - 1], before[s - 2] + skip[s]) + x[label[s]];
}

/* now[s] from after[s], after[s + 1] and after[s + 2] + skip[s + 2]; part[s] is the probability, given the labels, of being there */
static void ctc_backward_step(const double *restrict after, const double *restrict skip, const double *restrict x,
                              const int64_t *restrict label, const double *restrict alpha, double *restrict now, double *restrict part,
                              ptrdiff_t n, double loss)
{
    for (ptrdiff_t s = 0; s < n; s++) {
        const double at = x[label[s]], b = ctc_add(after[s], after[s + 1], after[s + 2] + skip[s + 2]) + at, both = alpha[s] + b;
        now[s] = b;
        part[s] = both == -INFINITY ? 0 : vm_exp(both + loss - at);
    }
}

static void ctc_exps(const double *restrict x, double *restrict y, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) y[i] = vm_exp(x[i]);
}
#endif
