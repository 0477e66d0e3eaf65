/* Derivatives of Gamma and Beta samples by their parameters.
 *
 * A sample x of the cumulative distribution F(x; a) moves with its parameter as dx/da = -(dF/da) / (dF/dx), which keeps F
 * fixed (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
 *
 * dF/da is the integral over the tail on one side of x of the density times d log(density) / da. The latter changes its sign once and has
 * mean zero, so that on the better side all terms have one sign and nothing cancels. The integral is either summed as the power
 * series of the incomplete functions (Abramowitz and Stegun 6.5.29 and 26.5.4), differentiated term by term, or done by
 * Gauss and Legendre's rule over the logarithm (the logit) of the variable, where the density is log-concave.
 *
 *     double slope = ft_gamma_slope(2.0, 1.5);      // a, x
 */
#ifndef FT_SAMPLE_GRAD_H
#define FT_SAMPLE_GRAD_H
#include "scalar.h"
#include <math.h>

/* Twenty points on [-1, 1]: those on the positive side with their weights. */
static const double ft_nodes[10] = {0.07652652113349734, 0.22778585114164507, 0.37370608871541955, 0.5108670019508271, 0.636053680726515,
    0.7463319064601508, 0.8391169718222188, 0.912234428251326, 0.9639719272779138, 0.9931285991850949};
static const double ft_weights[10] = {0.15275338713072584, 0.14917298647260374, 0.14209610931838204, 0.13168863844917664, 0.11819453196151841,
    0.10193011981724044, 0.08327674157670475, 0.06267204833410907, 0.04060142980038694, 0.017614007139152118};

/* A tail: its log density, relative to x, at distance s, and the slope of that. */
typedef struct {
    double a, b, x, from, sum;      /* sum = a + b; from = the score at x */
    int kind;                       /* 0, 1: below and above a Gamma's x; 2, 3: a Beta's */
} ft_tail;

FT_FN double ft_tail_log(const ft_tail *t, double s, double *slope, double *score) {
    double e, inner;
    switch (t->kind) {
    case 0:
        e = expm1(-s);
        *slope = t->x * (1 + e) - t->a;
        *score = t->from + s;
        return -t->a * s - t->x * e;
    case 1:
        e = expm1(s);
        *slope = t->a - t->x * (1 + e);
        *score = t->from + s;
        return t->a * s - t->x * e;
    case 2:
        e = (1 - t->x) * expm1(s);
        inner = log1p(e);
        *slope = t->b - t->sum * (1 - t->x + e) / (1 + e);
        *score = t->from + inner;
        return t->b * s - t->sum * inner;
    default:
        e = t->x * expm1(s);
        inner = log1p(e);
        *slope = t->a - t->sum * (t->x + e) / (1 + e);
        *score = t->from + s - inner;
        return t->a * s - t->sum * inner;
    }
}

/* The integral of score * density over the tail, which is cut where the density is exp(-40) of that at x. */
FT_BIG double ft_tail_integral(const ft_tail *t, double end) {
    static const double cuts[4] = {0, 0.125, 0.4, 1};
    double slope, score, total = 0, value = ft_tail_log(t, end, &slope, &score);
    for (int i = 0; i < 60 && value > -38; i++) {
        end *= 2;
        value = ft_tail_log(t, end, &slope, &score);
    }
    /* the log density is concave: Newton's steps stay outside of the point that they seek */
    for (int i = 0; i < 40 && value < -44; i++) {
        end -= (value + 40) / slope;
        value = ft_tail_log(t, end, &slope, &score);
    }
    for (int panel = 0; panel < 3; panel++) {
        double half = 0.5 * (cuts[panel + 1] - cuts[panel]) * end, middle = cuts[panel] * end + half, part = 0;
        for (int i = 0; i < 20; i++) {
            double s = middle + (i < 10 ? half : -half) * ft_nodes[i % 10];
            double v = exp(ft_tail_log(t, s, &slope, &score));
            part += ft_weights[i % 10] * score * v;
        }
        total += half * part;
    }
    return total;
}

/* d x / d a of a Gamma number of scale one. */
FT_BIG double ft_gamma_slope(double a, double x) {
    if (!(a > 0 && x >= 0) || isinf(a) || isinf(x))
        return isnan(a) || isnan(x) || a <= 0 ? NAN : x;
    if (x == 0)
        return 0;
    double psi = digamma_f64(a), log_x = log(x);
    if (a < 30 && log_x <= psi + 1 / a) {
        /* x * sum of x^n / (a)_{n+1} * (digamma(a + n + 1) - log x) */
        double term = 1 / a, score = psi + 1 / a - log_x, total = term * score;
        for (int n = 1; n < 300; n++) {
            term *= x / (a + n);
            score += 1 / (a + n);
            total += term * score;
            if (term * score < 1e-17 * total)
                break;
        }
        return x * total;
    }
    ft_tail t = {.a = a, .x = x};
    if (log_x < psi) {
        t.kind = 0, t.from = psi - log_x;
        return x * ft_tail_integral(&t, (40 + x) / a);
    }
    t.kind = 1, t.from = log_x - psi;
    return x * ft_tail_integral(&t, (0.5 + sqrt(0.25 + 80 * x)) / x);
}

/* d x / d a over 1 - x, of a Beta number of a and b: what a Dirichlet number's gradient is made of. */
FT_BIG double ft_dirichlet_slope(double x, double a, double total) {
    double b = total - a, y = 1 - x;
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(total))
        return NAN;
    if (x == 0)
        return 0;
    double log_x = log(x), psi = digamma_f64(a) - digamma_f64(total);
    int below = log_x <= psi + 1 / a && x <= 0.75 && x * total <= 40;
    int above = log_x >= psi && y <= 0.75 && y * total <= 40;
    if (below && !(above && y < x)) {
        /* x * sum of (a + b)_n / (a)_{n+1} x^n * (digamma(a + n + 1) - digamma(a + b + n) - log x) */
        double term = 1 / a, score = psi + 1 / a - log_x, sum = term * score;
        for (int n = 1; n < 2000; n++) {
            term *= x * (total + n - 1) / (a + n);
            score += 1 / (a + n) - 1 / (total + n - 1);
            sum += term * score;
            if (term * score < 1e-17 * sum)
                break;
        }
        return x * sum;
    }
    if (above) {
        /* x * sum of (a + b)_n / (b)_{n+1} y^n * (log x - digamma(a) + digamma(a + b + n)) */
        double term = 1 / b, score = log_x - psi, sum = term * score;
        for (int n = 1; n < 2000; n++) {
            term *= y * (total + n - 1) / (b + n);
            score += 1 / (total + n - 1);
            sum += term * score;
            if (term * score < 1e-17 * sum)
                break;
        }
        return x * sum;
    }
    ft_tail t = {.a = a, .b = b, .x = x, .sum = total};
    double start = 1 / sqrt(total * x * y + 1);
    if (log_x < psi) {
        t.kind = 2, t.from = psi - log_x;
        return x * ft_tail_integral(&t, start);
    }
    t.kind = 3, t.from = log_x - psi;
    return x * ft_tail_integral(&t, start);
}
#endif
