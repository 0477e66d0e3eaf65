/* Bessel functions, modified and spherical ones, and Airy's Ai; all in double, rounded for f32. */
#ifndef FT_SCALAR_BESSEL_H
#define FT_SCALAR_BESSEL_H

#define FT_DOUBLE1(name) FT_FN ft_f32 name##_f32(ft_f32 x) { return (ft_f32)name##_f64((double)x); }
#define FT_DOUBLE2(name) FT_FN ft_f32 name##_f32(ft_f32 a, ft_f32 b) { return (ft_f32)name##_f64((double)a, (double)b); }

/* Both branches of each of these are computed and one taken, so that loops over them vectorise. The names in `near` leave out
 * the branch beyond 8. */

/* Up to 8: J0, J1(x) / x, Y0 - 2/pi log(x) J0 and (Y1 - 2/pi (log(x) J1 - 1/x)) / x are series in x^2 (DLMF 10.2.2, 10.8.1) */
FT_FN double ft_bessel_j0_near(double x, int few) { return FT_CHEB(ft_j0_small, x * x / 32 - 1); }
FT_FN double ft_bessel_j1_near(double x, int few) { return x * FT_CHEB(ft_j1_small, x * x / 32 - 1); }
FT_FN double ft_bessel_y0_near(double x, int few) {
    return FT_CHEB(ft_y0_small, x * x / 32 - 1) + 0.636619772367581343 * log_f64(x) * ft_bessel_j0_near(x, few);
}
FT_FN double ft_bessel_y1_near(double x, int few) {
    return x * FT_CHEB(ft_y1_small, x * x / 32 - 1) + 0.636619772367581343 * (log_f64(x) * ft_bessel_j1_near(x, few) - 1 / x);
}
/* Beyond: sqrt(2 / (pi a)) (P cos - Q sin) and (P sin + Q cos) of a - (2 n + 1) pi / 4 (DLMF 10.17.3), P and a Q / 8 fitted in
 * (8 / a)^2. The sine and cosine get what rounding took from the difference back. */
FT_FN double ft_either(int first, double a, double b) {
#ifdef __CUDACC__
    return first ? a : b;
#else
    /* by the bits: gcc would move the sine and cosine into a branch, where they are no vectors */
    ft_i64 i, k, mask = -(ft_i64)first;
    memcpy(&i, &a, sizeof i);
    memcpy(&k, &b, sizeof k);
    i = (i & mask) | (k & ~mask);
    memcpy(&a, &i, sizeof i);
    return a;
#endif
}
#define M(n, PHASE, LOW) \
    FT_FN double ft_bessel_far##n(double a, int second, int few) { \
        double v = 8 / a, t = 2 * v * v - 1, p = FT_CHEB(ft_bessel_p##n, t), q = v * FT_CHEB(ft_bessel_q##n, t); \
        double d = a - PHASE, lost = ((a - d) - PHASE) - LOW, s = sin(d), c = FT_COSINE(d); \
        double sine = s + lost * c, cosine = c - lost * s; \
        double r = 0.797884560802865356 / sqrt(a) * (second ? p * sine + q * cosine : p * cosine - q * sine); \
        return ft_either(a == (double)INFINITY, 0, r); \
    } \
    FT_FN double ft_bessel_y##n(double x, int few) { \
        double far = ft_bessel_far##n(x, 1, few), r = ft_either(x <= 8, ft_bessel_y##n##_near(x, few), far); \
        r = ft_either(x == 0, -(double)INFINITY, r); \
        return ft_either(x < 0, (double)NAN, r); \
    }
M(0, 0.785398163397448310, 3.06161699786838302e-17) M(1, 2.35619449019234493, 9.18485099360514906e-17)
#undef M
FT_FN double ft_bessel_j0(double x, int few) {
    double a = fabs(x), far = ft_bessel_far0(a, 0, few);
    return ft_either(a <= 8, ft_bessel_j0_near(x, few), far);
}
FT_FN double ft_bessel_j1(double x, int few) {
    double a = fabs(x), far = copysign(1.0, x) * ft_bessel_far1(a, 0, few);
    return ft_either(a <= 8, ft_bessel_j1_near(x, few), far);
}
FT_FITTED(bessel_j0) FT_FITTED(bessel_j1) FT_FITTED(bessel_y0) FT_FITTED(bessel_y1)
FT_FITTED(bessel_j0_near) FT_FITTED(bessel_j1_near) FT_FITTED(bessel_y0_near) FT_FITTED(bessel_y1_near)

/* exp(-|x|) I0(x): a fit on [0, 8], one of sqrt(x) exp(-x) I0(x) in 16/x - 1 beyond */
FT_FN double ft_i0e(double x, int few) {
    double a = fabs(x), small = FT_CHEB(ft_i0_small, a / 4 - 1), large = FT_CHEB(ft_i0_large, 16 / a - 1) / sqrt(a);
    return a <= 8 ? small : large;
}
/* the same for I1, whose fit on [0, 8] is of exp(-x) I1(x) / x */
FT_FN double ft_i1e(double x, int few) {
    double a = fabs(x), small = FT_CHEB(ft_i1_small, a / 4 - 1) * x;
    double large = copysign(FT_CHEB(ft_i1_large, 16 / a - 1) / sqrt(a), x);
    return a <= 8 ? small : large;
}
/* exp(a) overflows before I0 and I1 do: half of it at a time */
FT_FN double ft_i0(double x, int few) {
    double h = exp_f64(0.5 * fabs(x)), v = ft_i0e(x, few) * h * h;
    return fabs(x) == (double)INFINITY ? (double)INFINITY : v;
}
FT_FN double ft_i1(double x, int few) {
    double h = exp_f64(0.5 * fabs(x)), v = ft_i1e(x, few) * h * h;
    return fabs(x) == (double)INFINITY ? x : v;
}
FT_FITTED(i0e) FT_FITTED(i1e) FT_FITTED(i0) FT_FITTED(i1)

/* K0: on (0, 2] K0(x) + log(x/2) I0(x) in x*x/2 - 1, beyond sqrt(x) exp(x) K0(x) in 4/x - 1 */
FT_FN double ft_k0(double x, int scaled, int few) {
    double e = exp_f64(scaled ? x : -x), i0 = FT_CHEB(ft_i0_small, x / 4 - 1) * (scaled ? e : 1 / e);
    double small = FT_CHEB(ft_k0_small, x * x / 2 - 1) - log(x / 2) * i0;
    double large = FT_CHEB(ft_k0_large, 4 / x - 1) / sqrt(x);
    double k = x <= 2 ? (scaled ? small * e : small) : (scaled ? large : large * e);
    k = x == 0 ? (double)INFINITY : k;
    return x < 0 ? (double)NAN : k;
}
/* the same for K1, whose fit on (0, 2] is of x (K1(x) - log(x/2) I1(x)) */
FT_FN double ft_k1(double x, int scaled, int few) {
    double e = exp_f64(scaled ? x : -x), i1 = FT_CHEB(ft_i1_small, x / 4 - 1) * x * (scaled ? e : 1 / e);
    double small = FT_CHEB(ft_k1_small, x * x / 2 - 1) / x + log(x / 2) * i1;
    double large = FT_CHEB(ft_k1_large, 4 / x - 1) / sqrt(x);
    double k = x <= 2 ? (scaled ? small * e : small) : (scaled ? large : large * e);
    k = x == 0 ? (double)INFINITY : k;
    return x < 0 ? (double)NAN : k;
}
FT_FN double ft_modified_bessel_k0(double x, int few) { return ft_k0(x, 0, few); }
FT_FN double ft_modified_bessel_k1(double x, int few) { return ft_k1(x, 0, few); }
FT_FN double ft_scaled_modified_bessel_k0(double x, int few) { return ft_k0(x, 1, few); }
FT_FN double ft_scaled_modified_bessel_k1(double x, int few) { return ft_k1(x, 1, few); }
FT_FITTED(modified_bessel_k0) FT_FITTED(modified_bessel_k1)
FT_FITTED(scaled_modified_bessel_k0) FT_FITTED(scaled_modified_bessel_k1)

FT_FN ft_f64 spherical_bessel_j0_f64(ft_f64 x) {
    if (isinf(x)) return 0;
    double q = x * x;
    if (q < 0.25) return 1 - q / 6 * (1 - q / 20 * (1 - q / 42 * (1 - q / 72 * (1 - q / 110 * (1 - q / 156)))));
    return sin(x) / x;
}

/* Ai: the power series DLMF 9.4.1 on [-4, 0], whose terms would cancel above, where exp(x) Ai(x) is fitted up to 2;
 * fits of the factors of the expansions DLMF 9.7.5 and 9.7.9 elsewhere */
FT_BIG ft_f64 airy_ai_f64(ft_f64 x) {
    const int few = 0;
    if (x != x) return x;
    if (x > 2) {
        if (x > 110) return 0;
        double z = x * sqrt(x) * (2.0 / 3);
        return FT_CHEB(ft_airy_pos, 2 / (0.54 * z) - 1) * exp_f64(-z) / (3.5449077018110321 * sqrt(sqrt(x)));
    }
    if (x < -4) {
        if (isinf(x)) return 0;
        double a = -x, z = a * sqrt(a) * (2.0 / 3), t = 2 / (0.036 * z * z) - 1, q = z + 0.78539816339744831;
        return (sin(q) * FT_CHEB(ft_airy_f, t) - cos(q) / z * FT_CHEB(ft_airy_g, t))
               / (1.7724538509055160 * sqrt(sqrt(a)));
    }
    if (x > 0) return FT_CHEB(ft_airy_mid, x - 1) * exp_f64(-x);
    double q = x * x * x, f = 1, g = x, sf = 1, sg = x;
    for (int k = 1; k < 60; k++) {
        f *= q / ((3 * k - 1) * (3 * k));
        g *= q / ((3 * k) * (3 * k + 1));
        sf += f;
        sg += g;
        if (fabs(f) + fabs(g) < 1e-18) break;
    }
    return 0.35502805388781724 * sf - 0.25881940379280680 * sg;
}
FT_DOUBLE1(spherical_bessel_j0) FT_DOUBLE1(airy_ai)
#endif
