/* Trigonometric functions and their inverses, without branches and within 2 ulp; glibc's vector functions, which promise 4,
 * stay for sine and cosine of float and of large arguments. On a GPU the names are CUDA's own. */
#ifndef FT_SCALAR_TRIG_H
#define FT_SCALAR_TRIG_H

#ifdef __CUDACC__
FT_LIBM1(tan) FT_LIBM1(asin) FT_LIBM1(acos) FT_LIBM1(atan) FT_LIBM2(atan2)
#else

/* (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 for |r| <= pi / 4, (asin(s) / s - 1) / s^2 and
 * (atan(s) / s - 1) / s^2 for s <= 1/2; all by the square, from interpolation in Chebyshev points */
FT_CONST ft_f32 ft_atan_fit_f32[] = {
    -0.333333329f, 0.199998752f, -0.142798011f, 0.110068807f, -0.0823550576f, 0.0422568596f
};
FT_CONST ft_f64 ft_atan_fit_f64[] = {
    -0.33333333333333333, 0.19999999999999488, -0.14285714285599188, 0.11111111100917375, -0.090909086203225222,
    0.076922947125402845, -0.066664356772359478, 0.058795784295824249, -0.052400995079947131, 0.046280248685701532,
    -0.038066536720573659, 0.025006503566489508, -0.0092157920470898591
};
FT_CONST ft_f32 ft_asin_fit_f32[] = {
    0.166666663f, 0.0750009454f, 0.0445994015f, 0.0311006627f, 0.0171492384f, 0.0336908472f
};
FT_CONST ft_f64 ft_asin_fit_f64[] = {
    0.16666666666666668, 0.074999999999984329, 0.04464285714635543, 0.030381944138531247, 0.022372172942149888,
    0.017352392720869973, 0.013971212973552933, 0.011479177415184906, 0.010322814350185779, 0.0054575067186403583,
    0.017400879442694022, -0.014851887071247203, 0.028757851367421565
};
FT_CONST ft_f32 ft_sin_fit_f32[] = {
    -0.166666667f, 0.00833333187f, -0.00019840082f, 2.72493141e-6f
};
FT_CONST ft_f64 ft_sin_fit_f64[] = {
    -0.16666666666666665, 0.0083333333333309246, -0.00019841269836722418, 2.7557316083816359e-6,
    -2.5051127944014188e-8, 1.5917848524808261e-10
};
FT_CONST ft_f32 ft_cos_fit_f32[] = {
    0.0416666667f, -0.00138888877f, 2.48005964e-5f, -2.73004486e-7f
};
FT_CONST ft_f64 ft_cos_fit_f64[] = {
    0.041666666666666665, -0.0013888888888887382, 2.4801587298743069e-5, -2.7557317260008838e-7,
    2.0876143827993132e-9, -1.1382456778061306e-11
};

/* x - n pi/2 = r + *low, with pi/2 in three parts of which n times the first two is exact up to n = 2^20 (Cody and Waite) */
FT_FN ft_f64 ft_quadrant_f64(ft_f64 x, ft_f64 *low, ft_i64 *n) {
    const ft_f64 shift = 6755399441055744.0, t = x * 0.636619772367581343 + shift, k = t - shift;
    const ft_f64 a = x - k * 1.57079632673412561417, w = k * 6.07710050630396597660e-11, b = a - w;
    const ft_f64 rest = k * 2.02226624879595063154e-21 - ((a - b) - w), r = b - rest;
    memcpy(n, &t, sizeof t);
    *low = (b - r) - rest;
    return r;
}
FT_FN ft_f64 ft_sin_f64(ft_f64 r, ft_f64 low) {
    const ft_f64 q = r * r;
    return r + (r * q * FT_HORNER(f64, sin_fit, q) + low);
}
FT_FN ft_f64 ft_cos_f64(ft_f64 r, ft_f64 low) {
    const ft_f64 q = r * r, half = 0.5 * q, w = 1.0 - half;
    return w + (((1.0 - w) - half) + (q * q * FT_HORNER(f64, cos_fit, q) - r * low));
}
FT_FN int ft_quadrant_serves_f64(ft_f64 x) { return fabs(x) < 1e6; }
FT_FN int ft_quadrant_serves_f32(ft_f32 x) { return fabsf(x) < 1e6f; }
FT_FN ft_f64 sin_fast_f64(ft_f64 x) {
    ft_f64 low;
    ft_i64 n;
    const ft_f64 r = ft_quadrant_f64(x, &low, &n), s = ft_sin_f64(r, low), c = ft_cos_f64(r, low), y = n & 1 ? c : s;
    return x == 0 ? x : n & 2 ? -y : y;
}
FT_FN ft_f64 cos_fast_f64(ft_f64 x) {
    ft_f64 low;
    ft_i64 n;
    const ft_f64 r = ft_quadrant_f64(x, &low, &n), s = ft_sin_f64(r, low), c = ft_cos_f64(r, low), y = n & 1 ? s : c;
    return (n + 1) & 2 ? -y : y;
}
/* (r + s) / (w + c), or for odd n -(w + c) / (r + s), with what rounding took from the sums and the quotient put back */
#define M(T, S, FMA) \
    FT_FN T ft_tan_##S(T r, T s, T w, T c, int odd) { \
        const T sine = r + s, cosine = w + c, sine_rest = (r - sine) + s, cosine_rest = (w - cosine) + c; \
        const T a = odd ? -cosine : sine, a_rest = odd ? -cosine_rest : sine_rest; \
        const T b = odd ? sine : cosine, b_rest = odd ? sine_rest : cosine_rest, v = 1 / b, t = a * v; \
        return t + ((FMA(-t, b, a) + a_rest) - t * b_rest) * v; \
    }
M(ft_f32, f32, fmaf) M(ft_f64, f64, fma)
#undef M
FT_FN ft_f64 tan_fast_f64(ft_f64 x) {
    ft_f64 low;
    ft_i64 n;
    const ft_f64 r = ft_quadrant_f64(x, &low, &n), q = r * r, half = 0.5 * q, w = 1.0 - half;
    const ft_f64 c = ((1.0 - w) - half) + (q * q * FT_HORNER(f64, cos_fit, q) - r * low);
    const ft_f64 y = ft_tan_f64(r, r * q * FT_HORNER(f64, sin_fit, q) + low, w, c, n & 1);
    return x == 0 ? x : y;
}
/* the quadrant in double, the rest in float */
FT_FN ft_f32 tan_fast_f32(ft_f32 x) {
    const ft_f64 shift = 6755399441055744.0, t = x * 0.636619772367581343 + shift, k = t - shift;
    const ft_f64 exact = (x - k * 1.57079632679489656) - k * 6.12323399573676604e-17;
    const ft_f32 r = (ft_f32)exact, low = (ft_f32)(exact - r), q = r * r, half = 0.5f * q, w = 1.0f - half;
    const ft_f32 c = ((1.0f - w) - half) + (q * q * FT_HORNER(f32, cos_fit, q) - r * low);
    const ft_f32 y = ft_tan_f32(r, r * q * FT_HORNER(f32, sin_fit, q) + low, w, c, (ft_i32)k & 1);
    return x == 0 ? x : y;
}
FT_FN ft_f32 tan_f32(ft_f32 x) { return tanf(x); }
FT_FN ft_f64 tan_f64(ft_f64 x) { return tan(x); }

#define FT_ARCS(T, S, L, HALF_PI_LOW) \
    /* asin of the root s of q <= 1/4 */ \
    FT_FN T ft_arc_##S(T s, T q) { return s + s * q * FT_HORNER(S, asin_fit, q); } \
    /* beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) */ \
    FT_FN T asin_##S(T x) { \
        const T a = FT_##S(fabs)(x), q = L(0.5) - L(0.5) * a; \
        const int far = a > L(0.5); \
        const T s = far ? FT_##S(sqrt)(q) : a, z = far ? q : a * a, rest = s * z * FT_HORNER(S, asin_fit, z); \
        const T y = far ? (L(1.57079632679489662) - L(2.0) * s) - (L(2.0) * rest - HALF_PI_LOW) : s + rest; \
        return FT_##S(copysign)(y, x); \
    } \
    FT_FN T acos_##S(T x) { \
        const T a = FT_##S(fabs)(x), q = L(0.5) - L(0.5) * a; \
        const int far = a > L(0.5); \
        const T y = ft_arc_##S(far ? FT_##S(sqrt)(q) : x, far ? q : x * x); \
        const T outer = x < L(0.0) ? L(3.14159265358979324) - (L(2.0) * y - L(2.0) * HALF_PI_LOW) : L(2.0) * y; \
        return far ? outer : L(1.57079632679489662) - (y - HALF_PI_LOW); \
    } \
    /* the angle of (d, n), n <= d, both at least 0: above 1/2 it is pi/4 + atan((n - d) / (n + d)) */ \
    FT_FN T ft_angle_##S(T n, T d, int far) { \
        const int middle = n > L(0.5) * d; \
        const T z = (middle ? n - d : n) / (middle ? n + d : d), q = z * z, y = z * q * FT_HORNER(S, atan_fit, q); \
        /* far: from pi/2 backwards */ \
        const T base = middle ? L(0.785398163397448310) : far ? L(1.57079632679489662) : L(0.0); \
        const T low = middle ? L(0.5) * HALF_PI_LOW : far ? HALF_PI_LOW : L(0.0); \
        return base + (far ? (low - y) - z : (low + y) + z); \
    } \
    FT_FN T atan_##S(T x) { \
        const T a = FT_##S(fabs)(x); \
        const int far = a > L(1.0); \
        const T y = ft_angle_##S(far ? L(1.0) : a, far ? a : L(1.0), far); \
        return FT_##S(copysign)(a == (T)INFINITY ? L(1.57079632679489662) : y, x); \
    } \
    FT_FN T atan2_##S(T b, T a) { \
        const T y = FT_##S(fabs)(b), x = FT_##S(fabs)(a); \
        const int far = y > x, ends = (x == (T)INFINITY) & (y == (T)INFINITY), none = (x == L(0.0)) & (y == L(0.0)); \
        T n = far ? x : y, d = far ? y : x; \
        n = ends ? L(1.0) : n; \
        d = ends | none ? L(1.0) : d; \
        T w = ft_angle_##S(n, d, far); \
        w = FT_##S(copysign)(L(1.0), a) < L(0.0) ? L(3.14159265358979324) - (w - L(2.0) * HALF_PI_LOW) : w; \
        w = a != a ? a : b != b ? b : w; \
        return FT_##S(copysign)(w, b); \
    }
#define FT_f32(name) name##f
#define FT_f64(name) name
FT_ARCS(ft_f32, f32, FT_F32_L, -4.37113883e-8f)
FT_ARCS(ft_f64, f64, FT_F64_L, 6.12323399573676604e-17)
#undef FT_f32
#undef FT_f64
#endif
#endif
