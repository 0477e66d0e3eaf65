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
#include "vecmath.h"
#include <math.h>

/* Thirty-two points of Gauss and Legendre's rule on [0, 1/5] and as many on [1/5, 1], with their weights. */
static const double ft_places[64] = {
    0.00027361381505183746, 0.0014388488454731563, 0.003523774441249364, 0.006509392406226028, 0.010367884423394785, 0.015063238626742997,
    0.020551620403205767, 0.026781788125971026, 0.03369557330697848, 0.04122842427592377, 0.04931000910677707, 0.05786487238693647,
    0.06681313977178724, 0.07607126377478629, 0.08555280384172036, 0.09516923343122617, 0.10483076656877384, 0.11444719615827965,
    0.12392873622521372, 0.13318686022821277, 0.14213512761306354, 0.15068999089322294, 0.15877157572407624, 0.16630442669302153,
    0.17321821187402897, 0.17944837959679424, 0.184936761373257, 0.18963211557660523, 0.19349060759377398, 0.19647622555875066, 0.19856115115452685,
    0.19972638618494817, 0.2010944552602073, 0.20575539538189258, 0.2140950977649974, 0.22603756962490407, 0.2414715376935791, 0.26025295450697195,
    0.282206481612823, 0.30712715250388406, 0.33478229322791386, 0.36491369710369503, 0.39724003642710826, 0.4314594895477458, 0.4672525590871489,
    0.5042850550991451, 0.5422112153668814, 0.5806769337249047, 0.6193230662750953, 0.6577887846331185, 0.6957149449008548, 0.732747440912851,
    0.7685405104522541, 0.8027599635728917, 0.8350863028963049, 0.8652177067720861, 0.8928728474961158, 0.9177935183871769, 0.939747045493028,
    0.9585284623064209, 0.9739624303750959, 0.9859049022350026, 0.9942446046181074, 0.9989055447397927};
static const double ft_shares[64] = {
    0.0007018610009470506, 0.0016274394730905744, 0.0025392065309262028, 0.0034273862913021765, 0.004283589802222684, 0.00509980592623761,
    0.0058684093478535565, 0.006582222277636169, 0.0072345794108848345, 0.007819389578707023, 0.00833119242269467, 0.008765209300440379,
    0.009117387869576379, 0.009384439908080452, 0.009563872007927472, 0.009654008851472766, 0.009654008851472766, 0.009563872007927472,
    0.009384439908080452, 0.009117387869576379, 0.008765209300440379, 0.00833119242269467, 0.007819389578707023, 0.0072345794108848345,
    0.006582222277636169, 0.0058684093478535565, 0.00509980592623761, 0.004283589802222684, 0.0034273862913021765, 0.0025392065309262028,
    0.0016274394730905744, 0.0007018610009470506, 0.0028074440037882025, 0.0065097578923622975, 0.010156826123704811, 0.013709545165208706,
    0.017134359208890736, 0.02039922370495044, 0.023473637391414226, 0.026328889110544675, 0.028938317643539338, 0.03127755831482809,
    0.03332476969077868, 0.035060837201761515, 0.036469551478305516, 0.03753775963232181, 0.03825548803170989, 0.038616035405891064,
    0.038616035405891064, 0.03825548803170989, 0.03753775963232181, 0.036469551478305516, 0.035060837201761515, 0.03332476969077868,
    0.03127755831482809, 0.028938317643539338, 0.026328889110544675, 0.023473637391414226, 0.02039922370495044, 0.017134359208890736,
    0.013709545165208706, 0.010156826123704811, 0.0065097578923622975, 0.0028074440037882025};

/* A tail below (above = 0) or above x: s is the distance from x in the logarithm, or the logit, of the variable, towards
 * the end. With the density at x as one, its logarithm there is
 *     Gamma below: x (1 - e^-s) - a s       above: a s - x (e^s - 1)
 *     Beta below:  b s - (a + b) log(1 + (1 - x) (e^s - 1))      above: a s - (a + b) log(1 + x (e^s - 1))
 * so that both kinds are  grow s - weight * shape(e^s - 1), and the score at s is `from` plus s, or the logarithm, or both. */
typedef struct {
    double grow, weight, part, from;
    int beta, above;
} ft_tail;

FT_FN double ft_tail_log(const ft_tail *t, double s, double *slope) {
    double e = vm_exp(t->beta || t->above ? s : -s) - 1, bent = t->part * e;
    if (!t->beta) {
        *slope = t->grow - (t->above ? t->weight : -t->weight) * (1 + e);
        return t->grow * s - t->weight * e;
    }
    *slope = t->grow - t->weight * (t->part + bent) / (1 + bent);
    return t->grow * s - t->weight * log1p_f64(bent);
}

/* The integral of score * density over the tail, which is cut where the density is exp(-40) of that at x. */
FT_BIG double ft_tail_integral(const ft_tail *t, double end) {
    double slope, total[8] = {0}, value = ft_tail_log(t, end, &slope);
    for (int i = 0; i < 60 && value > -36; i++) {
        end *= 1.5;
        value = ft_tail_log(t, end, &slope);
    }
    /* the log density is concave: Newton's steps stay outside of the point that they seek */
    for (int i = 0; i < 40 && value < -50; i++) {
        end -= (value + 40) / slope;
        value = ft_tail_log(t, end, &slope);
    }
    double v[64];
    if (!t->beta) {
        double sign = t->above ? 1 : -1, grow = t->grow, weight = t->weight, from = t->from;
        for (int i = 0; i < 64; i++) {
            double s = ft_places[i] * end;
            v[i] = ft_shares[i] * (from + s) * vm_exp(grow * s - weight * (vm_exp(sign * s) - 1));
        }
    } else {
        double also = t->above ? 1 : 0, sign = t->above ? -1 : 1, grow = t->grow, weight = t->weight, part = t->part, from = t->from;
        for (int i = 0; i < 64; i++) {
            double s = ft_places[i] * end, bent = log_f64(1 + part * (vm_exp(s) - 1));
            v[i] = ft_shares[i] * (from + also * s + sign * bent) * vm_exp(grow * s - weight * bent);
        }
    }
    for (int i = 0; i < 64; i += 8)
        for (int l = 0; l < 8; l++)
            total[l] += v[i + l];
    return end * (((total[0] + total[1]) + (total[2] + total[3])) + ((total[4] + total[5]) + (total[6] + total[7])));
}

/* d x / d a of a Gamma number of scale one. */
FT_BIG double ft_gamma_slope(double a, double x) {
    if (!(a > 0 && x >= 0) || isinf(a) || isinf(x))
        return isnan(a) || isnan(x) || a <= 0 ? NAN : x;
    if (x == 0)
        return 0;
    double psi = digamma_f64(a), log_x = log(x);
    /* above the mode the first terms are negative, and as large as the density at the mode over that at x */
    if (a < 30 && (x <= a || x - a - a * (log_x - log(a)) < 8)) {
        /* x * sum of x^n / (a)_{n+1} * (digamma(a + n + 1) - log x) */
        double term = 1 / a, score = psi + 1 / a - log_x, total = term * score;
        for (int n = 1; n < 300; n++) {
            double next = 1 / (a + n);
            term *= x * next;
            score += next;
            total += term * score;
            if (score > 0 && term * score < 1e-17 * total)
                break;
        }
        return x * total;
    }
    if (log_x < psi) {
        ft_tail t = {.grow = -a, .weight = x, .from = psi - log_x};
        return x * ft_tail_integral(&t, (40 + x) / a);
    }
    ft_tail t = {.grow = a, .weight = x, .from = log_x - psi, .above = 1};
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
            double next = 1 / (a + n);
            term *= x * (total + n - 1) * next;
            score += next - 1 / (total + n - 1);
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
    double start = 8 / sqrt(total * x * y + 1);
    if (log_x < psi) {
        ft_tail t = {.grow = b, .weight = total, .part = y, .from = psi - log_x, .beta = 1};
        return x * ft_tail_integral(&t, start);
    }
    ft_tail t = {.grow = a, .weight = total, .part = x, .from = log_x - psi, .beta = 1, .above = 1};
    return x * ft_tail_integral(&t, start);
}
#endif
