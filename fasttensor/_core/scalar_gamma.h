/* The gamma family and the inverses of the error function; all in double, rounded for f32. */
#ifndef FT_SCALAR_GAMMA_H
#define FT_SCALAR_GAMMA_H

#define FT_PI 3.14159265358979324

#ifdef __CUDACC__
FT_FN ft_f64 lgamma_f64(ft_f64 x) { return lgamma(x); }
FT_FN ft_f32 lgamma_f32(ft_f32 x) { return lgammaf(x); }
#else
/* not lgamma: it writes the global signgam, from every thread */
FT_FN ft_f64 lgamma_f64(ft_f64 x) { int sign; return lgamma_r(x, &sign); }
FT_FN ft_f32 lgamma_f32(ft_f32 x) { int sign; return lgammaf_r(x, &sign); }
#endif

/* DLMF 5.5.4 (reflection), 5.5.2 (recurrence up to 10), 5.11.2 (expansion) */
FT_BIG ft_f64 digamma_f64(ft_f64 x) {
    if (x == 0) return copysign((double)INFINITY, -x);
    double r = 0;
    if (x < 0.5) {
        if (x == floor(x)) return (double)NAN;
        /* the tangent of the fraction alone: it loses nothing to the size of x */
        double f = x - floor(x + 0.5);
        if (x < 0) { r = -FT_PI / tan(FT_PI * f); x = 1 - x; }
    }
    for (; x < 10; x += 1) r -= 1 / x;
    double q = 1 / (x * x);
    double tail = q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132
                  - q * (691.0 / 32760 - q * (1.0 / 12)))))));
    return r + log(x) - 0.5 / x - tail;
}
/* DLMF 5.15.6, 5.15.5, 5.15.8 */
FT_BIG ft_f64 _trigamma_f64(ft_f64 x) {
    double r = 0, sign = 1;
    if (x < 0.5) {
        double s = FT_PI / sin(FT_PI * (x - floor(x + 0.5)));
        r = s * s;
        sign = -1;
        x = 1 - x;
    }
    double t = 0;
    for (; x < 10; x += 1) t += 1 / (x * x);
    double q = 1 / (x * x);
    t += 1 / x + 0.5 * q + q / x * (1.0 / 6 - q * (1.0 / 30 - q * (1.0 / 42 - q * (1.0 / 30 - q * (5.0 / 66
         - q * (691.0 / 2730 - q * (7.0 / 6)))))));
    return r + sign * t;
}

/* Hurwitz's zeta by Euler and Maclaurin's sum (DLMF 25.11.5); the constants are B(2k) / (2k)! */
FT_CONST double ft_bernoulli[] = {
    8.33333333333333333e-2, -1.38888888888888889e-3, 3.30687830687830688e-5, -8.26719576719576720e-7,
    2.08767569878680990e-8, -5.28419013868749318e-10, 1.33825365306846788e-11, -3.38968029632258287e-13,
    8.58606205627784456e-15, -2.17486869855806187e-16, 5.50900282836022951e-18, -1.39544646858125233e-19};
FT_BIG ft_f64 zeta_f64(ft_f64 s, ft_f64 q) {
    if (s == 1) return (double)INFINITY;
    if (!(s > 1) || q != q) return (double)NAN;
    if (q <= 0) {
        if (q == floor(q)) return (double)INFINITY;
        if (s != floor(s) || q < -1e7) return (double)NAN;
    }
    double sum = 0;
    int first = 1;
    for (; q < 10; q += 1) {
        double term = pow(q, -s);
        sum += term;
        if (!first && q > 0 && term < 1e-17 * sum) return sum;
        first = 0;
    }
    double p = pow(q, -s);
    sum += p * q / (s - 1) + 0.5 * p;
    double rising = s, power = p / q;
    for (int k = 0; k < 12; k++) {
        double term = ft_bernoulli[k] * rising * power;
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum)) break;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        power /= q * q;
    }
    return sum;
}
FT_BIG ft_f64 polygamma_f64(ft_f64 n, ft_f64 x) {
    if (n == 0) return digamma_f64(x);
    if (n == 1) return _trigamma_f64(x);
    double z = exp(lgamma_f64(n + 1)) * zeta_f64(n + 1, x);
    return fmod(n, 2.0) == 0 ? -z : z;
}

/* x^a exp(-x) / gamma(a): near x = a by Stirling's series, where a log(x) - x - lgamma(a) cancels */
FT_FN ft_f64 ft_gamma_density(ft_f64 a, ft_f64 x) {
    if (a < 10) return exp(a * log(x) - x - lgamma_f64(a));
    double m = (x - a) / a, q = 1 / (a * a);
    double stirling = (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q / 1680))) / a;
    return sqrt(a / (2 * FT_PI)) * exp(a * (log1p(m) - m) - stirling);
}
/* P or Q: the series DLMF 8.7.1, the continued fraction 8.9.2 by Lentz's method, 8.12.3 for huge a */
FT_BIG ft_f64 ft_incomplete_gamma(ft_f64 a, ft_f64 x, int upper) {
    if (!(a >= 0) || !(x >= 0)) return (double)NAN;
    if (a == 0) return x > 0 ? !upper : (double)NAN;
    if (x == 0) return upper;
    if (isinf(a)) return isinf(x) ? (double)NAN : upper;
    if (isinf(x)) return !upper;
    double l = x / a;
    if (a > 1e6 && fabs(l - 1) < 0.3) {
        double m = l - 1, eta = copysign(sqrt(2 * (m - log1p(m))), m);
        double c0 = fabs(eta) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / m - 1 / eta;
        double rest = exp(-0.5 * a * eta * eta) / sqrt(2 * FT_PI * a) * c0;
        return upper ? 0.5 * erfc(eta * sqrt(a / 2)) + rest : 0.5 * erfc(-eta * sqrt(a / 2)) - rest;
    }
    double density = ft_gamma_density(a, x);
    if (x <= 1 || x < a) {
        double term = 1, sum = 1;
        for (int k = 1; k < 20000; k++) {
            term *= x / (a + k);
            sum += term;
            if (term < 1e-17 * sum) break;
        }
        double p = density / a * sum;
        return upper ? 1 - p : p;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int k = 1; k < 20000; k++) {
        double an = -k * (k - a);
        b += 2;
        d = an * d + b;
        if (fabs(d) < 1e-300) d = 1e-300;
        c = b + an / c;
        if (fabs(c) < 1e-300) c = 1e-300;
        d = 1 / d;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    double q = density * h;
    return upper ? q : 1 - q;
}
FT_FN ft_f64 igamma_f64(ft_f64 a, ft_f64 x) { return ft_incomplete_gamma(a, x, 0); }
FT_FN ft_f64 igammac_f64(ft_f64 a, ft_f64 x) { return ft_incomplete_gamma(a, x, 1); }

/* exp(x^2) erfc(x): a fit of (1 + 2 x) erfcx(x) in (x - 4) / (x + 4) (Shepherd and Laframboise 1981) */
FT_BIG ft_f64 erfcx_f64(ft_f64 x) {
    if (x != x) return x;
    double a = fabs(x);
    double r = a > 1e8 ? 0.56418958354775629 / a : FT_CHEB(ft_erfcx, (a - 4) / (a + 4)) / (1 + 2 * a);
    return x < 0 ? (a > 26.7 ? (double)INFINITY : 2 * exp(x * x) - r) : r;
}
/* erfinv(x) / x in w = -log(1 - x^2), in pieces of w and then of its root (the variable is Giles's, 2012) */
FT_FN ft_f64 ft_erfinv_ratio(ft_f64 w) {
    if (w < 6.25) return FT_CHEB(ft_erfinv_0, w / 3.125 - 1);
    double s = sqrt(w);
    if (s < 4) return FT_CHEB(ft_erfinv_1, (s - 3.25) / 0.75);
    if (s < 6.5) return FT_CHEB(ft_erfinv_2, (s - 5.25) / 1.25);
    return FT_CHEB(ft_erfinv_3, (s - 17) / 10.5);
}
FT_BIG ft_f64 erfinv_f64(ft_f64 x) {
    if (!(fabs(x) < 1)) return fabs(x) == 1 ? copysign((double)INFINITY, x) : (double)NAN;
    return x * ft_erfinv_ratio(-log((1 - x) * (1 + x)));
}
FT_BIG ft_f64 ndtri_f64(ft_f64 p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : (double)NAN;
    return (2 * p - 1) * 1.41421356237309505 * ft_erfinv_ratio(-log(4 * p * (1 - p)));
}
FT_FN ft_f64 log_ndtr_f64(ft_f64 x) {
    double t = x * 0.70710678118654752;
    return x < -1 ? log(erfcx_f64(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}
FT_FN ft_f64 entr_f64(ft_f64 x) { return x != x ? x : x > 0 ? -x * log(x) : x == 0 ? 0 : -(double)INFINITY; }

FT_DOUBLE1(digamma) FT_DOUBLE1(_trigamma) FT_DOUBLE2(zeta) FT_DOUBLE2(polygamma) FT_DOUBLE2(igamma) FT_DOUBLE2(igammac)
FT_DOUBLE1(erfcx) FT_DOUBLE1(erfinv) FT_DOUBLE1(ndtri) FT_DOUBLE1(log_ndtr) FT_DOUBLE1(entr)
#endif
