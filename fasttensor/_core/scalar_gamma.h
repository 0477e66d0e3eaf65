/* The gamma family and the inverses of the error function; all in double, rounded for f32. */
#ifndef FT_SCALAR_GAMMA_H
#define FT_SCALAR_GAMMA_H

#define FT_PI 3.14159265358979324
/* the sine of a small angle */
#ifdef __CUDACC__
#define FT_SINE sin
#else
#define FT_SINE sin_fast_f64
#endif

/* DLMF 5.5.3 (reflection), 5.5.1 (recurrence), 5.11.1 (expansion): an absolute error of 1e-14, so for f32 alone */
FT_FN double ft_lgamma_positive(double a) {
    double low = a < 8, product = a * (a + 1) * (a + 2) * (a + 3) * (a + 4) * (a + 5) * (a + 6) * (a + 7);
    double z = low ? a + 8 : a, v = 1 / z, q = v * v;
    double r = (z - 0.5) * log_f64(z) - z + 0.91893853320467274
               + (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q * (1.0 / 1188))))) * v;
    r = low ? r - log_f64(product) : r;
    r = (a == 1) | (a == 2) ? 0 : r;
    return a == (double)INFINITY ? a : r;
}
FT_FN double ft_lgamma(double x) {
    double a = fabs(x), r = ft_lgamma_positive(a), f = a - floor(a), s = FT_SINE(FT_PI * (f > 0.5 ? 1 - f : f));
    double reflected = log_f64(FT_PI / (a * s)) - r;
    r = (x < 0) & (a < (double)INFINITY) ? reflected : r;
    return r;
}
FT_FN ft_f32 lgamma_positive_f32(ft_f32 x) { return (ft_f32)ft_lgamma_positive((double)x); }
FT_FN ft_f32 lgamma_f32(ft_f32 x) { return (ft_f32)ft_lgamma((double)x); }
#ifdef __CUDACC__
FT_FN ft_f64 lgamma_f64(ft_f64 x) { return lgamma(x); }
#else
/* not lgamma: it writes the global signgam, from every thread */
FT_FN ft_f64 lgamma_f64(ft_f64 x) { int sign; return lgamma_r(x, &sign); }
#endif

/* 1/(x+0) + ... + 1/(x+9), and of the squares, with one division */
FT_FN double ft_reciprocals(double x, int squares) {
    double n = 0, d = 1;
#ifdef __CUDACC__
#pragma unroll
#else
#pragma GCC unroll 10
#endif
    for (int k = 0; k < 10; k++) {
        double e = squares ? (x + k) * (x + k) : x + k;
        n = n * e + d;
        d *= e;
    }
    return n / d;
}
/* DLMF 5.5.4 (reflection), 5.5.2 (recurrence), 5.11.2 (expansion) */
FT_FN ft_f64 digamma_f64(ft_f64 x) {
    /* the tangent of the fraction alone: it loses nothing to the size of x */
    double a = x < 0 ? 1 - x : x, reflected = FT_PI / tan(FT_PI * (x - floor(x + 0.5)));
    double low = a < 10, z = low ? a + 10 : a, q = 1 / (z * z);
    double r = log_f64(z) - 0.5 / z - q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132
               - q * (691.0 / 32760 - q * (1.0 / 12)))))));
    r = low ? r - ft_reciprocals(a, 0) : r;
    r = x < 0 ? r - reflected : r;
    r = (x < 0) & (x == floor(x)) ? (double)NAN : r;
    return x == 0 ? copysign((double)INFINITY, -x) : r;
}
/* DLMF 5.15.6, 5.15.5, 5.15.8 */
FT_FN ft_f64 _trigamma_f64(ft_f64 x) {
    double s = FT_PI / FT_SINE(FT_PI * (x - floor(x + 0.5)));
    double a = x < 0.5 ? 1 - x : x, low = a < 10, z = low ? a + 10 : a, v = 1 / z, q = v * v;
    double r = v + 0.5 * q + q * v * (1.0 / 6 - q * (1.0 / 30 - q * (1.0 / 42 - q * (1.0 / 30 - q * (5.0 / 66
               - q * (691.0 / 2730 - q * (7.0 / 6 - q * (3617.0 / 510))))))));
    r = low ? r + ft_reciprocals(a, 1) : r;
    return x < 0.5 ? s * s - r : r;
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
    /* the expansion's twelve terms shrink fast enough from here on */
    double sum = 0, enough = s > 2 ? 0.75 * (s + 12) : 10;
    int first = 1;
    for (; q < enough; q += 1) {
        double term = pow(q, -s);
        sum += term;
        if (!first && q > 0 && term <= 1e-17 * sum) return sum;
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
    double zeta = zeta_f64(n + 1, x), z = n > 170 ? exp_f64(lgamma_f64(n + 1) + log_f64(zeta)) : tgamma(n + 1) * zeta;
    return fmod(n, 2.0) == 0 ? -z : z;
}

/* log(1 + m) - m, without the cancellation: 2 atanh(r) - m with r = m / (2 + m) (DLMF 4.6.8 regrouped) */
FT_FN ft_f64 ft_log1p_minus(ft_f64 m) {
    if (m < -0.6 || m > 1.5) return log1p_f64(m) - m;
    double r = m / (2 + m), q = r * r, sum = 0, power = 1;
    for (int k = 3; k < 80 && power > 1e-17; k += 2) {
        sum += power / k;
        power *= q;
    }
    return r * (2 * q * sum - m);
}
/* x^a exp(-x) / gamma(1 + a). Large exponents are never rounded before exp: powers instead, what rounding their arguments
 * lost put back, and Stirling's series (DLMF 5.11.1) for gamma(1 + a) = a gamma(a). */
FT_FN ft_f64 ft_gamma_density(ft_f64 a, ft_f64 x) {
    if (a < 10) {
        double p = pow(x, a);
        if (p > 1e-290 && p < 1e290 && x < 600) return p * exp_f64(-x) / tgamma(1 + a);
        return exp_f64(a * log_f64(x) - x - lgamma_f64(1 + a));
    }
    double m = (x - a) / a, q = 1 / (a * a);
    double stirling = (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q * (1.0 / 1188 - q * (691.0 / 360360 - q / 156)))))) / a;
    double scale = exp_f64(-stirling) / sqrt(2 * FT_PI * a);
    if (fabs(m) < 0.5) return scale * exp_f64(a * ft_log1p_minus(m));
    double ratio = x / a, p = pow(ratio, a), d = a - x, e = exp_f64(d), part = d - a;
    if (!(p > 1e-290 && p < 1e290 && e > 1e-290 && e < 1e290)) return scale * exp_f64(a * log_f64(ratio) + d);
    double lost = a * (fma(-ratio, a, x) / x) + ((a - (d - part)) - (x + part));
    return scale * p * e * (1 + lost);
}
/* log(gamma(1 + a)) for 0 <= a < 1, to the last bits of a */
FT_FN ft_f64 ft_lgamma1p(ft_f64 a) {
    double b = 1 + a;
    return lgamma_f64(b) + (a - (b - 1)) * digamma_f64(b);
}
/* Temme's uniform expansion DLMF 8.12.3 for a above a million, near x = a, with the first terms of DLMF 8.12.12 */
FT_FN ft_f64 ft_incomplete_gamma_huge(ft_f64 a, ft_f64 m, int upper) {
    double half = -ft_log1p_minus(m), eta = copysign(sqrt(2 * half), m);
    double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
    double c1 = -1.0 / 540 + eta * (-1.0 / 288 + eta / 378);
    double rest = exp_f64(-a * half) / sqrt(2 * FT_PI * a) * (c0 + c1 / a);
    return upper ? 0.5 * erfc(eta * sqrt(a / 2)) + rest : 0.5 * erfc(-eta * sqrt(a / 2)) - rest;
}
/* P or Q: the series DLMF 8.7.1, the continued fraction 8.9.2 by Lentz's method, 8.12.3 for huge a */
FT_BIG ft_f64 ft_incomplete_gamma(ft_f64 a, ft_f64 x, int upper) {
    if (!(a >= 0) || !(x >= 0)) return (double)NAN;
    if (a == 0) return x > 0 ? !upper : (double)NAN;
    if (x == 0) return upper;
    if (isinf(a)) return isinf(x) ? (double)NAN : upper;
    if (isinf(x)) return !upper;
    double m = (x - a) / a;
    if (a > 1e6 && fabs(m) < 0.3) {
        /* farther out there is nothing left of the smaller of the two */
        if (fabs(m) > 0.05) return (m < 0) == upper;
        return ft_incomplete_gamma_huge(a, m, upper);
    }
    if (x <= 1 && a < 1 && upper) {
        /* 1 - P would cancel: DLMF 8.7.1 with its first term, x^a / gamma(1 + a), taken from 1 by expm1 */
        double l = a * log_f64(x) - ft_lgamma1p(a), term = 1, sum = 0;
        for (int k = 1; k < 40; k++) {
            term *= -x / k;
            sum += term / (a + k);
            if (fabs(term) < 1e-17) break;
        }
        return -expm1_f64(l) - exp_f64(l) * a * sum;
    }
    double density = ft_gamma_density(a, x);
    if (x <= 1 || x < a) {
        double term = 1, sum = 1;
        for (int k = 1; k < 20000; k++) {
            term *= x / (a + k);
            sum += term;
            if (term < 1e-17 * sum) break;
        }
        double p = density * sum;
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
    double q = density * a * h;
    return upper ? q : 1 - q;
}
FT_FN ft_f64 igamma_f64(ft_f64 a, ft_f64 x) { return ft_incomplete_gamma(a, x, 0); }
FT_FN ft_f64 igammac_f64(ft_f64 a, ft_f64 x) { return ft_incomplete_gamma(a, x, 1); }

/* exp(x^2) erfc(x): a fit of (1 + 2 x) erfcx(x) in (x - 4) / (x + 4) (Shepherd and Laframboise 1981) */
FT_FN double ft_erfcx(double x, int few) {
    double a = fabs(x), near = FT_CHEB(ft_erfcx_fit, (a - 4) / (a + 4)) / (1 + 2 * a);
    /* exp of the rounded square, with what rounding took from it */
    double square = x * x, lost = few ? 0 : fma(x, x, -square), grown = 2 * exp_f64(square);
    double r = a > 1e8 ? 0.56418958354775629 / a : near, mirrored = grown + (grown < (double)INFINITY ? grown * lost : 0) - r;
    return x < 0 ? mirrored : r;
}
/* erfinv(x) / x in w = -log(1 - x^2), in pieces of w and then of its root (the variable is Giles's, 2012) */
FT_FN double ft_erfinv_ratio(double w, int few) {
    double s = sqrt(w), middle = FT_CHEB(ft_erfinv_0, w / 3.125 - 1), tail = FT_CHEB(ft_erfinv_1, (s - 3.25) / 0.75);
    double far = FT_CHEB(ft_erfinv_2, (s - 5.25) / 1.25);
    return w < 6.25 ? middle : s < 4 ? tail : far;
}
FT_FN double ft_erfinv(double x, int few) {
    double r = x * ft_erfinv_ratio(-log_f64((1 - x) * (1 + x)), few);
    return fabs(x) == 1 ? x * (double)INFINITY : r;
}
FT_FN double ft_ndtri(double p, int few) {
    double w = -log_f64(4 * p * (1 - p)), ratio = ft_erfinv_ratio(w, few);
    double far = FT_CHEB(ft_erfinv_3, (sqrt(w) - 17) / 10.5);
    double r = (2 * p - 1) * 1.41421356237309505 * (w < 42.25 ? ratio : far);
    return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : r;
}
/* erfc(-x / sqrt(2)) / 2, with the first derivative's part of what rounding the argument took */
FT_FN double ft_ndtr(double x, int few) {
    double t = x * -0.70710678118654752, lost = fma(x, -0.70710678118654752, -t) + x * 4.8336466567264567e-17;
    double slope = few ? 0 : -1.1283791670955126 * exp_f64(-t * t) * lost;
    return 0.5 * (erfc(t) + (slope == slope ? slope : 0));
}
FT_FN double ft_log_ndtr(double x, int few) {
    double t = x * 0.70710678118654752, low = log_f64(ft_erfcx(-t, few) / 2) - 0.5 * x * x, high = log1p_f64(-ft_ndtr(-x, few));
    return x < -1 ? low : high;
}
#ifdef __CUDACC__
FT_FITTED(erfinv)
#else
/* up to w = 5 or 6.25 a line and a fit of the rest, which spares the digits that a shifted argument loses near zero; `near` leaves
 * out what is beyond. In float the tail by one fit in the root. */
FT_CONST ft_f32 ft_erfinv_near_f32[] = {
    -0.00417732004f, -0.0012527485f, 0.000218257724f, -4.95969179e-6f, -3.42341427e-6f, 4.65417411e-7f,
    1.59843061e-8f, -8.7390107e-9f, 4.67193251e-10f
};
FT_CONST ft_f32 ft_erfinv_far_f32[] = {
    2.8329768f, 1.00167526f, 0.00944554211f, -0.00764316157f, 0.00568466477f, -0.00356427031f, 0.00148841214f,
    -0.000130031088f, -0.00030139152f, 0.000178134842f, -1.43065506e-5f, -1.1850598e-5f
};
FT_CONST ft_f64 ft_erfinv_near_f64[] = {
    -0.058922567103777843, -0.022604447453449802, 0.017808361818295657, -0.0041373143774144298,
    -0.0012716922684373015, 0.0012324855686812835, -0.00026439366843661737, -0.00011688883993097131,
    9.3367391778047894e-5, -1.5027710420277575e-5, -1.1257319182677935e-5, 7.1300572630824492e-6,
    -6.8371872181211699e-7, -1.0593214025407311e-6, 5.3943206487070086e-7, -1.0185147576818286e-8,
    -9.8677131401742485e-8, 3.9154731140230453e-8, 4.7923699961003877e-9, -8.5627877967429322e-9,
    1.5401738716654887e-9, 7.689312733742569e-10, -2.7032254091069343e-10
};
FT_FN ft_f64 erfinv_near_f64(ft_f64 x) {
    const ft_f64 w = -log_f64((1 - x) * (1 + x)), t = 0.32 * w - 1;
    return x * (0.90316024260313913 + 0.24015818242558834 * w + t * t * FT_HORNER(f64, erfinv_near, t));
}
FT_FN ft_f64 erfinv_f64(ft_f64 x) {
    const ft_f64 near = erfinv_near_f64(x), r = ft_erfinv(x, 0);
    return fabs(x) < 0.996 ? near : r;
}
FT_FN ft_f32 ft_erfinv_line(ft_f32 w) {
    const ft_f32 t = w - 2.5f;
    return 0.884808627f + 0.246640289f * w + t * t * FT_HORNER(f32, erfinv_near, t);
}
FT_FN ft_f32 erfinv_near_f32(ft_f32 x) { return x * ft_erfinv_line(-log_f32((1 - x) * (1 + x))); }
FT_FN ft_f32 erfinv_f32(ft_f32 x) {
    const ft_f32 w = -log_f32((1 - x) * (1 + x)), near = ft_erfinv_line(w), far = FT_HORNER(f32, erfinv_far, sqrtf(w) - 3.0f);
    const ft_f32 r = x * (w < 5.0f ? near : far);
    return fabsf(x) == 1 ? x * (ft_f32)INFINITY : r;
}
FT_FN ft_f64 ndtri_near_f64(ft_f64 p) {
    const ft_f64 w = -log_f64(4 * p * (1 - p)), t = 0.32 * w - 1;
    return (2 * p - 1) * 1.41421356237309505 * (0.90316024260313913 + 0.24015818242558834 * w + t * t * FT_HORNER(f64, erfinv_near, t));
}
#endif
FT_FITTED(erfcx) FT_FITTED(ndtri) FT_FITTED(ndtr) FT_FITTED(log_ndtr)
#define M(T, L, F) \
    FT_FN T F(entr)(T x) { \
        T v = -x * F(log)(x), edge = x == L(0.0) ? L(0.0) : -(T)INFINITY; \
        return (x > L(0.0)) | (x != x) ? v : edge; \
    }
FT_REAL(M)
#undef M

FT_DOUBLE1(digamma) FT_DOUBLE1(_trigamma) FT_DOUBLE2(zeta) FT_DOUBLE2(polygamma) FT_DOUBLE2(igamma) FT_DOUBLE2(igammac)
#endif
