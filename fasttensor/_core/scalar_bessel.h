/* Bessel functions, modified and spherical ones, and Airy's Ai; all in double, rounded for f32. */
#ifndef FT_SCALAR_BESSEL_H
#define FT_SCALAR_BESSEL_H

#define FT_DOUBLE1(name) FT_FN ft_f32 name##_f32(ft_f32 x) { return (ft_f32)name##_f64((double)x); }
#define FT_DOUBLE2(name) FT_FN ft_f32 name##_f32(ft_f32 a, ft_f32 b) { return (ft_f32)name##_f64((double)a, (double)b); }

FT_FN ft_f64 bessel_j0_f64(ft_f64 x) { return j0(x); }
FT_FN ft_f64 bessel_j1_f64(ft_f64 x) { return j1(x); }
FT_FN ft_f64 bessel_y0_f64(ft_f64 x) { return y0(x); }
FT_FN ft_f64 bessel_y1_f64(ft_f64 x) { return y1(x); }

/* exp(-|x|) I0(x): a fit on [0, 8], one of sqrt(x) exp(-x) I0(x) in 16/x - 1 beyond */
FT_BIG ft_f64 i0e_f64(ft_f64 x) {
    double a = fabs(x);
    if (a <= 8) return FT_CHEB(ft_i0_small, a / 4 - 1);
    return FT_CHEB(ft_i0_large, 16 / a - 1) / sqrt(a);
}
/* the same for I1, whose fit on [0, 8] is of exp(-x) I1(x) / x */
FT_BIG ft_f64 i1e_f64(ft_f64 x) {
    double a = fabs(x);
    if (a <= 8) return FT_CHEB(ft_i1_small, a / 4 - 1) * x;
    return copysign(FT_CHEB(ft_i1_large, 16 / a - 1) / sqrt(a), x);
}
/* exp(a) overflows before I0 and I1 do: half of it at a time. */
FT_FN ft_f64 ft_unscale(ft_f64 v, ft_f64 a) {
    if (a < 700) return v * exp(a);
    double half = exp(0.5 * a);
    return v == 0 ? half * half : v * half * half;
}
FT_FN ft_f64 i0_f64(ft_f64 x) { return ft_unscale(i0e_f64(x), fabs(x)); }
FT_FN ft_f64 i1_f64(ft_f64 x) { return isinf(x) ? x : ft_unscale(i1e_f64(x), fabs(x)); }

/* exp(x) K0(x): on (0, 2] K0(x) + log(x/2) I0(x) in x*x/2 - 1, beyond sqrt(x) exp(x) K0(x) in 4/x - 1 */
FT_BIG ft_f64 ft_k0(ft_f64 x, int scaled) {
    if (!(x > 0)) return x == 0 ? (double)INFINITY : (double)NAN;
    if (x <= 2) {
        double k = FT_CHEB(ft_k0_small, x * x / 2 - 1) - log(x / 2) * i0_f64(x);
        return scaled ? k * exp(x) : k;
    }
    double k = FT_CHEB(ft_k0_large, 4 / x - 1) / sqrt(x);
    return scaled ? k : k * exp(-x);
}
/* the same for K1, whose fit on (0, 2] is of x (K1(x) - log(x/2) I1(x)) */
FT_BIG ft_f64 ft_k1(ft_f64 x, int scaled) {
    if (!(x > 0)) return x == 0 ? (double)INFINITY : (double)NAN;
    if (x <= 2) {
        double k = FT_CHEB(ft_k1_small, x * x / 2 - 1) / x + log(x / 2) * i1_f64(x);
        return scaled ? k * exp(x) : k;
    }
    double k = FT_CHEB(ft_k1_large, 4 / x - 1) / sqrt(x);
    return scaled ? k : k * exp(-x);
}
FT_FN ft_f64 modified_bessel_k0_f64(ft_f64 x) { return ft_k0(x, 0); }
FT_FN ft_f64 modified_bessel_k1_f64(ft_f64 x) { return ft_k1(x, 0); }
FT_FN ft_f64 scaled_modified_bessel_k0_f64(ft_f64 x) { return ft_k0(x, 1); }
FT_FN ft_f64 scaled_modified_bessel_k1_f64(ft_f64 x) { return ft_k1(x, 1); }

FT_FN ft_f64 spherical_bessel_j0_f64(ft_f64 x) {
    if (isinf(x)) return 0;
    double q = x * x;
    if (q < 0.25) return 1 - q / 6 * (1 - q / 20 * (1 - q / 42 * (1 - q / 72 * (1 - q / 110 * (1 - q / 156)))));
    return sin(x) / x;
}

/* Ai: the power series DLMF 9.4.1 on [-4, 2], fits of the factors of the expansions DLMF 9.7.5 and 9.7.9 elsewhere */
FT_BIG ft_f64 airy_ai_f64(ft_f64 x) {
    if (x != x) return x;
    if (x > 2) {
        if (x > 110) return 0;
        double z = x * sqrt(x) * (2.0 / 3);
        return FT_CHEB(ft_airy_pos, 2 / (0.54 * z) - 1) * exp(-z) / (3.5449077018110321 * sqrt(sqrt(x)));
    }
    if (x < -4) {
        if (isinf(x)) return 0;
        double a = -x, z = a * sqrt(a) * (2.0 / 3), t = 2 / (0.036 * z * z) - 1, q = z + 0.78539816339744831;
        return (sin(q) * FT_CHEB(ft_airy_f, t) - cos(q) / z * FT_CHEB(ft_airy_g, t))
               / (1.7724538509055160 * sqrt(sqrt(a)));
    }
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
FT_DOUBLE1(bessel_j0) FT_DOUBLE1(bessel_j1) FT_DOUBLE1(bessel_y0) FT_DOUBLE1(bessel_y1) FT_DOUBLE1(i0e) FT_DOUBLE1(i1e)
FT_DOUBLE1(i0) FT_DOUBLE1(i1) FT_DOUBLE1(modified_bessel_k0) FT_DOUBLE1(modified_bessel_k1)
FT_DOUBLE1(scaled_modified_bessel_k0) FT_DOUBLE1(scaled_modified_bessel_k1) FT_DOUBLE1(spherical_bessel_j0)
FT_DOUBLE1(airy_ai)
#endif
