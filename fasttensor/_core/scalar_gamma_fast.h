/* The part of the gamma family where straight-line code serves, which loops vectorise. On a GPU only the general functions. */
#ifndef FT_SCALAR_GAMMA_FAST_H
#define FT_SCALAR_GAMMA_FAST_H
#ifndef __CUDACC__

/* Euler and Maclaurin's sum of zeta_f64 with always fifteen terms before it */
FT_FN int zeta_is_fast_f64(ft_f64 s, ft_f64 q) { return (s > 1) & (s <= 8) & (q > 1e-30) & (q < 1e30); }
FT_FN int zeta_is_fast_f32(ft_f32 s, ft_f32 q) { return (s > 1) & (s <= 8) & (q > 1e-30f) & (q < 1e30f); }
FT_FN ft_f64 zeta_fast_f64(ft_f64 s, ft_f64 q) {
    const int low = q < 15;
    double sum = 0, z = low ? q + 15 : q, term = 0;
    FT_UNROLL
    for (int k = 14; k >= 0; k--) sum += pow(q + k, -s);    /* the small ones first */
    const double p = pow(z, -s), v = 1 / z, v2 = v * v;
    double rising = s * v, tail = 0;
    FT_UNROLL
    for (int k = 0; k < 12; k++) {
        tail += ft_bernoulli[k] * rising;
        rising *= (s + (2 * k + 1)) * (s + (2 * k + 2)) * v2;
    }
    term = p * (z / (s - 1) + 0.5 + tail);
    return term + ft_either(low, sum, 0);
}
FT_FN int polygamma_is_fast_f64(ft_f64 n, ft_f64 x) { return (n >= 2) & (n <= 7) & zeta_is_fast_f64(n + 1, x); }
FT_FN int polygamma_is_fast_f32(ft_f32 n, ft_f32 x) { return (n >= 2) & (n <= 7) & zeta_is_fast_f32(n + 1, x); }
FT_FN ft_f64 polygamma_fast_f64(ft_f64 n, ft_f64 x) {
    double factor = n - 2 * floor(n / 2) == 0 ? -1 : 1;
    FT_UNROLL
    for (int k = 2; k <= 7; k++) factor *= k <= n ? k : 1;
    return factor * zeta_fast_f64(n + 1, x);
}

/* 1 / gamma(1 + f) for 0 <= f <= 1, by interpolation in Chebyshev points */
FT_CONST ft_f64 ft_rgamma_f64[] = {
    1.0, 0.57721566490153269, -0.65587807152023979, -0.042002635034564144, 0.1665386113904478, -0.042197734640812813,
    -0.0096219709473145778, 0.0072189405444411121, -0.0011651587514510775, -0.00021526222615287758,
    0.00012808396519598864, -2.0172222461425588e-5, -1.2260549452566737e-6, 1.1300185638252899e-6,
    -2.1625295038834288e-7, 1.6830710938973938e-8
};
/* P by DLMF 8.7.1 for 0 < a <= 8 and x <= 6, as one fraction: the sum of the first `terms` terms over the product of a + k */
FT_FN ft_f64 ft_lower_gamma(ft_f64 a, ft_f64 x, int terms) {
    const double n = floor(a), f = a - n;
    double gamma = 1, sum = 1, product = 1, power = 1;
    _Pragma("GCC unroll 8") for (int k = 1; k <= 8; k++) gamma *= k <= n ? f + k : 1;
    _Pragma("GCC unroll 40") for (int k = 1; k < terms; k++) {
        power *= x;
        product *= a + k;
        sum = sum * (a + k) + power;
    }
    return pow(x, a) * exp_f64(-x) * FT_HORNER(f64, rgamma, f) * sum / (gamma * product);
}
/* Q by the continued fraction DLMF 8.9.2 for x >= 1.3 and x >= a, its terms scaled so that nothing grows */
FT_FN ft_f64 ft_upper_gamma(ft_f64 a, ft_f64 x) {
    const double n = floor(a), f = a - n, d = x + 1 - a;
    double gamma = 1, p0 = 1, p1 = d, q0 = 0, q1 = 1;
    _Pragma("GCC unroll 8") for (int k = 1; k <= 8; k++) gamma *= k <= n ? f + k : 1;
    _Pragma("GCC unroll 70") for (int k = 1; k < 70; k++) {
        const double b = d * (1.0 / k) + 2, c = (a - k) * (k > 1 ? 1.0 / (k > 1 ? k - 1 : 1) : 1.0), p = b * p1 + c * p0, q = b * q1 + c * q0;
        p0 = p1;
        p1 = p;
        q0 = q1;
        q1 = q;
    }
    return pow(x, a) * exp_f64(-x) * FT_HORNER(f64, rgamma, f) * a / gamma * q1 / p1;
}
FT_FN int igamma_is_fast_f64(ft_f64 a, ft_f64 x) { return (a > 1e-3) & (a <= 8) & (x > 1e-30) & (x <= 6); }
FT_FN int igamma_is_fast_f32(ft_f32 a, ft_f32 x) { return (a > 1e-3f) & (a <= 8) & (x > 1e-30f) & (x <= 6); }
FT_FN ft_f64 igamma_fast_f64(ft_f64 a, ft_f64 x) { return ft_lower_gamma(a, x, 38); }
FT_FN ft_f32 igamma_fast_f32(ft_f32 a, ft_f32 x) { return (ft_f32)ft_lower_gamma(a, x, 28); }
/* 1 - P keeps its digits in double while it is above one half, and in float while it is above 1e-6 */
FT_FN int igammac_is_fast_f64(ft_f64 a, ft_f64 x) { return igamma_is_fast_f64(a, x) & ((x >= 1.3) | (x <= a)); }
FT_FN int igammac_is_fast_f32(ft_f32 a, ft_f32 x) { return igamma_is_fast_f32(a, x) & (a > 0.1f); }
FT_FN ft_f64 igammac_fast_f64(ft_f64 a, ft_f64 x) {
    const double upper = ft_upper_gamma(a, x), lower = 1 - ft_lower_gamma(a, x, 38);
    return x <= a ? lower : upper;
}
FT_FN ft_f32 igammac_fast_f32(ft_f32 a, ft_f32 x) { return (ft_f32)(1 - ft_lower_gamma(a, x, 30)); }
FT_DOUBLE2(zeta_fast) FT_DOUBLE2(polygamma_fast)
#endif
#endif
