/* Orthogonal polynomials p_n(x) by their three-term recurrences (DLMF 18.9); Chebyshev's inside (-1, 1) by angles, so
 * that no degree makes them slow. n is truncated; a negative one gives 0. */
#ifndef FT_SCALAR_POLYNOMIAL_H
#define FT_SCALAR_POLYNOMIAL_H

#ifdef __CUDACC__
#define FT_UNROLL _Pragma("unroll")
#else
#define FT_UNROLL _Pragma("GCC unroll 16")
#endif

/* Degrees above this would take seconds: NaN, except where a closed form serves. */
#define FT_MAX_DEGREE 1e6

/* What a polynomial of degree n >= 1 tends to far out: its leading coefficient is positive */
FT_FN double ft_far_out(double x, double n) { return x < 0 && fmod(n, 2.0) != 0 ? -(double)INFINITY : (double)INFINITY; }

/* Chebyshev's four kinds outside of [-1, 1], with hyperbolic functions in the place of the angles' (DLMF 18.5.1 to 18.5.4) */
FT_FN double ft_chebyshev_outside(double x, double n, int kind) {
    if (isinf(x)) return ft_far_out(x, n);
    double t = acosh(fabs(x)), size;
    if (x < 0 && kind > 1) kind = 5 - kind;       /* V(-x) is W(x) but for the sign */
    if (kind == 0) size = cosh(n * t);
    else if (kind == 1) size = sinh((n + 1) * t) / sinh(t);
    else if (kind == 2) size = cosh((n + 0.5) * t) / cosh(t / 2);
    else size = sinh((n + 0.5) * t) / sinh(t / 2);
    return x < 0 && fmod(n, 2.0) != 0 ? -size : size;
}

/* p0 = 1, p1 = 2 x - shift, p(k+1) = 2 x p(k) - p(k-1): Chebyshev's four kinds by their p1 */
FT_FN double ft_chebyshev_run(double x, double n, double p1, int kind) {
    if (n == 0) return 1;
    if (x != x) return x;
    if (isinf(x) || (n > 300 && fabs(x) > 1)) return ft_chebyshev_outside(x, n, kind);
    double p = 1, q = p1;
    for (double k = 1; k < n; k++) {
        double r = 2 * x * q - p;
        p = q;
        q = r;
        if (isinf(q)) return ft_far_out(x, n);
    }
    return q;
}
FT_BIG ft_f64 chebyshev_polynomial_t_f64(ft_f64 x, ft_f64 n) {
    n = trunc(n);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 || fmod(n, 2.0) == 0 ? 1 : -1;
    if (n > 6 && fabs(x) < 1) return cos(n * acos(x));
    return ft_chebyshev_run(x, n, x, 0);
}
FT_BIG ft_f64 chebyshev_polynomial_u_f64(ft_f64 x, ft_f64 n) {
    n = trunc(n);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 || fmod(n, 2.0) == 0 ? n + 1 : -(n + 1);
    if (n > 8 && fabs(x) < 1) {
        double t = acos(x);
        return sin(t) != 0 ? sin((n + 1) * t) / sin(t) : (n + 1) * cos((n + 1) * t) / x;
    }
    return ft_chebyshev_run(x, n, 2 * x, 1);
}
FT_BIG ft_f64 chebyshev_polynomial_v_f64(ft_f64 x, ft_f64 n) {
    n = trunc(n);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 ? 1 : fmod(n, 2.0) == 0 ? 2 * n + 1 : -(2 * n + 1);
    if (n > 8 && fabs(x) < 1) {
        double t = acos(x);
        return cos(t / 2) != 0 ? cos((n + 0.5) * t) / cos(t / 2) : fmod(n, 2.0) == 0 ? 2 * n + 1 : -(2 * n + 1);
    }
    return ft_chebyshev_run(x, n, 2 * x - 1, 2);
}
FT_BIG ft_f64 chebyshev_polynomial_w_f64(ft_f64 x, ft_f64 n) {
    n = trunc(n);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 ? 2 * n + 1 : fmod(n, 2.0) == 0 ? 1 : -1;
    if (n > 8 && fabs(x) < 1) {
        double t = acos(x);
        return sin(t / 2) != 0 ? sin((n + 0.5) * t) / sin(t / 2) : 2 * n + 1;
    }
    return ft_chebyshev_run(x, n, 2 * x + 1, 3);
}
FT_FN ft_f64 shifted_chebyshev_polynomial_t_f64(ft_f64 x, ft_f64 n) { return chebyshev_polynomial_t_f64(2 * x - 1, n); }
FT_FN ft_f64 shifted_chebyshev_polynomial_u_f64(ft_f64 x, ft_f64 n) { return chebyshev_polynomial_u_f64(2 * x - 1, n); }
FT_FN ft_f64 shifted_chebyshev_polynomial_v_f64(ft_f64 x, ft_f64 n) { return chebyshev_polynomial_v_f64(2 * x - 1, n); }
FT_FN ft_f64 shifted_chebyshev_polynomial_w_f64(ft_f64 x, ft_f64 n) { return chebyshev_polynomial_w_f64(2 * x - 1, n); }

/* p0 = 1, p1, p(k+1) = (slope(k) x + offset(k)) p(k) - back(k) p(k-1). Values are scaled down on the way where they
 * grow large, so that what overflows has the right sign. FLIP: the leading coefficient is positive in -x. */
#define FT_RECURRENCE(name, FLIP, P1, STEP) \
    FT_BIG ft_f64 name##_f64(ft_f64 x, ft_f64 n) { \
        n = trunc(n); \
        if (n < 0) return 0; \
        if (n == 0) return 1; \
        if (x != x) return x; \
        if (isinf(x)) return ft_far_out(FLIP ? -x : x, n); \
        if (n > FT_MAX_DEGREE) return (double)NAN; \
        double p = 1, q = P1, scale = 1; \
        for (double k = 1; k < n; k++) { \
            double r = STEP; \
            p = q; \
            q = r; \
            if (isinf(q)) return ft_far_out(FLIP ? -x : x, n); \
            if (fabs(q) > 1e150) p *= 1e-150, q *= 1e-150, scale *= 1e150; \
        } \
        return q * scale; \
    }
FT_RECURRENCE(hermite_polynomial_h, 0, 2 * x, 2 * x * q - 2 * k * p)
FT_RECURRENCE(hermite_polynomial_he, 0, x, x * q - k * p)
FT_RECURRENCE(laguerre_polynomial_l, 1, 1 - x, ((2 * k + 1 - x) * q - k * p) / (k + 1))
FT_RECURRENCE(legendre_polynomial_p, 0, x, ((2 * k + 1) * x * q - k * p) / (k + 1))

FT_DOUBLE2(chebyshev_polynomial_t) FT_DOUBLE2(chebyshev_polynomial_u) FT_DOUBLE2(chebyshev_polynomial_v)
FT_DOUBLE2(chebyshev_polynomial_w) FT_DOUBLE2(shifted_chebyshev_polynomial_t)
FT_DOUBLE2(shifted_chebyshev_polynomial_u) FT_DOUBLE2(shifted_chebyshev_polynomial_v)
FT_DOUBLE2(shifted_chebyshev_polynomial_w) FT_DOUBLE2(hermite_polynomial_h) FT_DOUBLE2(hermite_polynomial_he)
FT_DOUBLE2(laguerre_polynomial_l) FT_DOUBLE2(legendre_polynomial_p)

/* The same up to degree 15 in straight-line code, for loops that vectorise: every degree is computed and the one asked for taken.
 * What is beyond has the functions above. */
#define FT_SHORT(name, P1, STEP) \
    FT_FN ft_f64 name##_fast_f64(ft_f64 x, ft_f64 n) { \
        double p = 1, q = P1, y = n > -1 ? 1 : 0; \
        y = n >= 1 ? q : y; \
        FT_UNROLL \
        for (int k = 1; k < 15; k++) { \
            double r = STEP; \
            p = q; \
            q = r; \
            y = n >= k + 1 ? q : y; \
        } \
        return y; \
    } \
    FT_FN ft_f32 name##_fast_f32(ft_f32 x, ft_f32 n) { return (ft_f32)name##_fast_f64(x, n); }
FT_FN int ft_degree_is_short_f64(ft_f64 x, ft_f64 n) { return (fabs(x) < 1e9) & (n < 16); }
FT_FN int ft_degree_is_short_f32(ft_f32 x, ft_f32 n) { return (fabsf(x) < 1e9f) & (n < 16.0f); }
FT_SHORT(chebyshev_polynomial_t, x, 2 * x * q - p)
FT_SHORT(chebyshev_polynomial_u, 2 * x, 2 * x * q - p)
FT_SHORT(chebyshev_polynomial_v, 2 * x - 1, 2 * x * q - p)
FT_SHORT(chebyshev_polynomial_w, 2 * x + 1, 2 * x * q - p)
FT_SHORT(shifted_chebyshev_polynomial_t, 2 * x - 1, 2 * (2 * x - 1) * q - p)
FT_SHORT(shifted_chebyshev_polynomial_u, 2 * (2 * x - 1), 2 * (2 * x - 1) * q - p)
FT_SHORT(shifted_chebyshev_polynomial_v, 2 * (2 * x - 1) - 1, 2 * (2 * x - 1) * q - p)
FT_SHORT(shifted_chebyshev_polynomial_w, 2 * (2 * x - 1) + 1, 2 * (2 * x - 1) * q - p)
FT_SHORT(hermite_polynomial_h, 2 * x, 2 * x * q - 2 * k * p)
FT_SHORT(hermite_polynomial_he, x, x * q - k * p)
FT_SHORT(laguerre_polynomial_l, 1 - x, (2 + (-1 - x) * (1 / (k + 1.0))) * q - k / (k + 1.0) * p)
FT_SHORT(legendre_polynomial_p, x, x * q + k / (k + 1.0) * (x * q - p))
#endif
