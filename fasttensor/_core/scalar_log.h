/* Logarithms and the normal distribution function, written without branches so that loops over them vectorise for every
 * input: glibc's vector logarithms leave for a scalar call at the first element outside their domain, and its erf costs twice
 * what a gelu needs. The polynomials are minimax fits (Lawson's reweighted least squares in 40 digits); the measured errors
 * stand beside each, and tests/test_scalar_accuracy.py keeps them. On a GPU the names are CUDA's own functions. */
#ifndef FT_SCALAR_LOG_H
#define FT_SCALAR_LOG_H

#ifdef __CUDACC__
FT_LIBM1(log) FT_LIBM1(log2) FT_LIBM1(log10) FT_LIBM1(log1p)
FT_FN ft_f32 _normal_cdf_f32(ft_f32 x) { return normcdff(x); }
FT_FN ft_f64 _normal_cdf_f64(ft_f64 x) { return normcdf(x); }
#else

/* x = m * 2^k with m in [sqrt(1/2), sqrt(2)), for x > 0 and not subnormal: the difference to the bits of sqrt(1/2) has k in
 * its exponent field and the offset of m below it. */
#define FT_SPLIT(T, S, I, BITS, SQRT_HALF) \
    FT_FN T ft_split_##S(T x, I *k) { \
        I i; \
        memcpy(&i, &x, sizeof i); \
        i -= SQRT_HALF; \
        *k = i >> BITS; \
        i = (i & (((I)1 << BITS) - 1)) + SQRT_HALF; \
        memcpy(&x, &i, sizeof i); \
        return x; \
    } \
    /* 2^-k, 0 where that is below every normal number */ \
    FT_FN T ft_scale_##S(I k) { \
        I e = ((I)1 << (sizeof(I) * 8 - 2 - BITS)) - 1 - k; \
        e = (e < 0 ? 0 : e) << BITS; \
        T scale; \
        memcpy(&scale, &e, sizeof e); \
        return scale; \
    }
FT_SPLIT(ft_f32, f32, ft_i32, 23, 0x3f3504f3)
FT_SPLIT(ft_f64, f64, ft_i64, 52, 0x3fe6a09e667f3bcd)

/* log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), as the part that f and its rounding leave: log(1 + f) = f + tail */
FT_FN ft_f32 ft_log_tail_f32(ft_f32 f) {
    ft_f32 p = -0.078595459f, s = f * f;
    p = p * f + 0.128816217f; p = p * f - 0.131287679f; p = p * f + 0.141811970f; p = p * f - 0.166245535f;
    p = p * f + 0.200022861f; p = p * f - 0.250008106f; p = p * f + 0.333333164f;
    return s * (f * p - 0.5f);
}
/* the series of 2 atanh(s), s = f / (2 + f), with f split off: f*f/2 is what 2s lacks to f, times (2 + f) / 2 */
FT_FN ft_f64 ft_log_tail_f64(ft_f64 f) {
    ft_f64 s = f / (2.0 + f), z = s * s, half = 0.5 * f * f, p = 0.14816396535681553;
    p = p * z + 0.1531421667765799; p = p * z + 0.18183456141125826; p = p * z + 0.22222202908756478;
    p = p * z + 0.285714286762922; p = p * z + 0.39999999999805874; p = p * z + 0.6666666666666675;
    return s * (half + z * p) - half;
}

/* One body for both types. ln 2 and log10 2 are cut in two: k times the first part is exact. Errors in ulp: float log 0.9,
 * log2 1.6, log10 1.6, log1p 1.3; double 0.9, 1.6, 1.6, 1.3. */
#define FT_LOGS(T, S, I, L, LEAST, LIFT, BITS_LIFTED, LN2_HI, LN2_LO, LG2_HI, LG2_LO, C) \
    /* outside (0, inf): the limit -inf at zero, the input at infinity, NaN elsewhere */ \
    FT_FN T ft_log_edge_##S(T x, T y) { \
        return x > L(0.0) ? (x < (T)INFINITY ? y : x) : x == L(0.0) ? -(T)INFINITY : (T)NAN; \
    } \
    FT_FN T ft_log_split_##S(T x, T *f) { \
        I k; \
        const int tiny = x < LEAST; \
        *f = ft_split_##S(tiny ? x * LIFT : x, &k) - L(1.0); \
        return (T)(tiny ? k - BITS_LIFTED : k); \
    } \
    FT_FN T log_##S(T x) { \
        T f, k = ft_log_split_##S(x, &f); \
        return ft_log_edge_##S(x, k * LN2_HI + (f + (ft_log_tail_##S(f) + k * LN2_LO))); \
    } \
    FT_FN T log2_##S(T x) { \
        T f, k = ft_log_split_##S(x, &f); \
        return ft_log_edge_##S(x, k + L(1.44269504088896341) * (f + ft_log_tail_##S(f))); \
    } \
    FT_FN T log10_##S(T x) { \
        T f, k = ft_log_split_##S(x, &f); \
        return ft_log_edge_##S(x, k * LG2_HI + (L(0.434294481903251828) * (f + ft_log_tail_##S(f)) + k * LG2_LO)); \
    } \
    /* log of u = 1 + x and of what the rounding of u left out, which joins f at u's scale */ \
    FT_FN T log1p_##S(T x) { \
        I k; \
        const T u = L(1.0) + x, lost = x > L(1.0) ? L(1.0) - (u - x) : x - (u - L(1.0)); \
        const T f = (ft_split_##S(u, &k) - L(1.0)) + lost * ft_scale_##S(k); \
        const T y = (T)k * LN2_HI + (f + (ft_log_tail_##S(f) + (T)k * LN2_LO)); \
        return copysign##C(ft_log_edge_##S(u, y), x);   /* of -0 too */ \
    }
FT_LOGS(ft_f32, f32, ft_i32, FT_F32_L, 1.17549435e-38f, 8388608.0f, 23, 0.693145752f, 1.42860677e-6f, 0.301025391f, 4.60503907e-6f, f)
FT_LOGS(ft_f64, f64, ft_i64, FT_F64_L, 2.2250738585072014e-308, 4503599627370496.0, 52, 0.693147180559663, 2.8235290563031577e-13,
        0.30102999566383914, 1.42050232272661e-13, )

/* The normal distribution function of an activation: Phi(-z) = 2^-q(z), q a polynomial fitted to 6 whose leading term keeps it
 * growing beyond. Absolute error below 1.2e-7, and of the lower tail 2e-5 of its value down to -6; it is 0 where 2^-q is
 * below every normal number. special.ndtr has full relative accuracy everywhere. */
FT_FN ft_f32 _normal_cdf_f32(ft_f32 x) {
    const ft_f32 z = fabsf(x);
    ft_f32 q = 2.64993982e-8f;
    q = q * z - 8.04730860e-7f; q = q * z + 1.04412384e-5f; q = q * z - 7.36393704e-5f; q = q * z + 2.70502816e-4f;
    q = q * z + 1.85989338e-5f; q = q * z - 6.96988776e-3f; q = q * z + 0.0524573326f; q = q * z + 0.459215313f;
    q = q * z + 1.15110493f; q = q * z + 1.0f;
    q = 127.0f < q ? 127.0f : q;
    /* 2^-q: adding 1.5 * 2^23 rounds to an integer, which the low bits then hold; with 127 it is the exponent field */
    const ft_f32 t = 12583039.0f - q, r = (12583039.0f - t) - q;
    ft_f32 e = 1.34072558e-3f, scale;
    e = e * r + 9.67187528e-3f; e = e * r + 0.0555030853f; e = e * r + 0.240222350f; e = e * r + 0.693147242f; e = e * r + 1.0f;
    ft_i32 n;
    memcpy(&n, &t, sizeof n);
    n = (ft_i32)((ft_u32)n << 23);
    memcpy(&scale, &n, sizeof n);
    e *= scale;
    return x < 0.0f ? e : 1.0f - e;
}
FT_FN ft_f64 _normal_cdf_f64(ft_f64 x) { return 0.5 * erfc(x * -0.70710678118654752); }
#endif
#endif
