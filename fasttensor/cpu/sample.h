/* Samplers by rejection: each draws from the generator as often as it must, so they run serially.
 *
 *     ft_mt m; ft_mt_seed(&m, 0);
 *     double k = ft_poisson(&m, 3.5);
 *
 * The functions forbid fused multiply-adds: PyTorch's versions are built without them, and one
 * differently rounded comparison would shift every later draw. */
#ifndef FT_SAMPLE_H
#define FT_SAMPLE_H
#include "mt19937.h"
#include <math.h>

#ifdef __clang__
#define FT_PLAIN static
#else
#define FT_PLAIN __attribute__((noinline, optimize("fp-contract=off"))) static
#endif

/* Transformed rejection, PTRS (Hoermann, 1993), above a rate of 10; products of uniforms below. The counts are doubles, since
 * rates may be beyond 64 bits. */
FT_PLAIN double ft_poisson(ft_mt *m, double rate) {
    if (isinf(rate))
        return rate;
    if (rate < 10) {
        if (rate == 0)
            return 0;
        double limit = exp(-rate), product = 1.0;
        for (double k = 0;; k++) {
            product *= ft_mt_uniform(m);
            if (!(product > limit))
                return k;
        }
    }
    double root = sqrt(rate), log_rate = log(rate);
    double b = 0.931 + 2.53 * root;
    double a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = ft_mt_uniform(m) - 0.5;
        double v = ft_mt_uniform(m);
        double us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= vr)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1))
            return k;
    }
}

/* Uniform in [low, high). */
FT_PLAIN double ft_between(ft_mt *m, double low, double high) {
    return ft_mt_uniform(m) * (high - low) + low;
}

/* The generator's second normal of a pair, kept for the next call. */
typedef struct {
    ft_mt *m;
    double next;
    int has_next;
} ft_pair;

FT_PLAIN double ft_pair_normal(ft_pair *p) {
    if (p->has_next) {
        p->has_next = 0;
        return p->next;
    }
    double u1 = ft_mt_uniform(p->m), u2 = ft_mt_uniform(p->m);
    double r = sqrt(-2.0 * log1p(-u2)), theta = 2.0 * 3.14159265358979323846 * u1;
    p->next = r * sin(theta);
    p->has_next = 1;
    return r * cos(theta);
}

/* Gamma numbers of scale 1: acceptance and rejection of Marsaglia and Tsang (2000), with the
 * shape raised by one where it is below one, which accepts more often. */
#define FT_GAMMA(NAME, T) \
    FT_PLAIN double NAME(ft_pair *p, T alpha) { \
        double scale = 1.0; \
        if (alpha < 1.0f) { \
            if (alpha == 0.0f) \
                return 0.0; \
            scale *= pow(1 - ft_mt_uniform(p->m), 1.0f / alpha); \
            alpha += 1.0f; \
        } \
        const double d = alpha - 1.0f / 3.0f, c = 1.0f / sqrt(9.0f * d); \
        for (;;) { \
            double x, y; \
            do { \
                x = ft_pair_normal(p); \
                y = 1.0f + c * x; \
            } while (y <= 0); \
            const double v = y * y * y, u = 1 - ft_mt_uniform(p->m), xx = x * x; \
            if (u < 1.0f - 0.0331f * xx * xx || log(u) < 0.5f * xx + d * (1.0f - v + log(v))) \
                return scale * d * v; \
        } \
    }
FT_GAMMA(ft_gamma_f32, float)
FT_GAMMA(ft_gamma_f64, double)

/* ln k! minus Stirling's approximation: exact values for small k, the series beyond. */
FT_PLAIN double ft_stirling_tail(double k) {
    static const double small[10] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
        0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k < 10)
        return small[(int)k];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* Binomial numbers: sums of geometric ones where few successes are expected, else transformed
 * rejection (BTRS, Hoermann, 1993). The element type decides where PyTorch rounds. */
#define FT_BINOMIAL(NAME, T, SQRT, FLOOR, LOG, LOG1P) \
    FT_PLAIN T NAME##_few(ft_mt *m, T count, T p) { \
        double log_q = LOG1P(-p), sum = 0; \
        T k = 0; \
        for (;;) { \
            sum += ceil(log(ft_mt_uniform(m)) / log_q); \
            if (sum > count) \
                return k; \
            k = k + 1; \
        } \
    } \
    FT_PLAIN T NAME##_many(ft_mt *m, T count, T p) { \
        const double stddev = SQRT(count * p * (1 - p)); \
        const double b = 1.15 + 2.53 * stddev; \
        const double a = -0.0873 + 0.0248 * b + 0.01 * p; \
        const double c = count * p + 0.5; \
        const double vr = 0.92 - 4.2 / b; \
        const double r = p / (1 - p); \
        const double alpha = (2.83 + 5.1 / b) * stddev; \
        const double mode = FLOOR((count + 1) * p); \
        for (;;) { \
            double u = ft_mt_uniform(m) - 0.5, v = ft_mt_uniform(m); \
            double us = 0.5 - fabs(u); \
            T k = (T)floor((2 * a / us + b) * u + c); \
            if (k < 0 || k > count) \
                continue; \
            if (us >= 0.07 && v <= vr) \
                return k; \
            v = log(v * alpha / (a / (us * us) + b)); \
            double bound = (mode + 0.5) * log((mode + 1) / (r * (count - mode + 1))) \
                + (count + 1) * log((count - mode + 1) / (count - k + 1)) \
                + (k + 0.5) * log(r * (count - k + 1) / (k + 1)) \
                + ft_stirling_tail(mode) + ft_stirling_tail(count - mode) \
                - ft_stirling_tail(k) - ft_stirling_tail(count - k); \
            if (v <= bound) \
                return k; \
        } \
    } \
    FT_PLAIN T NAME(ft_mt *m, T count, T p) { \
        if (isnan(count) || (isinf(count) && p > 0)) \
            return count; \
        if (count <= 0.0 || p <= 0.0) \
            return 0; \
        if (p >= 1.0) \
            return count; \
        if (p <= 0.5) \
            return count * p >= 10.0 ? NAME##_many(m, count, p) : NAME##_few(m, count, p); \
        if (p > 0.5) { \
            T q = 1.0 - p; \
            return count - (count * q >= 10.0 ? NAME##_many(m, count, q) : NAME##_few(m, count, q)); \
        } \
        return (T)NAN; \
    }
FT_BINOMIAL(ft_binomial_f32, float, sqrtf, floorf, logf, log1pf)
FT_BINOMIAL(ft_binomial_f64, double, sqrt, floor, log, log1p)
#endif
