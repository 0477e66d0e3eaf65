/* Exponentials and the float error function, written without branches: loops over them vectorise on any machine, and no result
 * is more than 1 ulp off (expm1, cosh and erf 1.5, sigmoid 2), where glibc's vector functions promise 4. exp(x) = 2^n e^r
 * with n = round(x / ln 2) (Cody and Waite 1980), e^r by interpolation in Chebyshev points. On a GPU the names are CUDA's own. */
#ifndef FT_SCALAR_EXP_H
#define FT_SCALAR_EXP_H

#ifdef __CUDACC__
#define FT_CONST static __device__ const
FT_LIBM1(exp) FT_LIBM1(expm1) FT_LIBM1(cosh)
FT_FN ft_f32 erf_f32(ft_f32 x) { return erff(x); }
FT_FN ft_f32 sigmoid_f32(ft_f32 x) { return 1.0f / (1.0f + expf(-x)); }
FT_FN ft_f64 sigmoid_f64(ft_f64 x) { return 1.0 / (1.0 + exp(-x)); }
#else
#define FT_CONST static const __attribute__((unused))

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2; erf(x) / x - 1 by x^2 up to x = 0.94; -log2(erfc(x)) from there to 4 */
FT_CONST ft_f32 ft_exp_fit_f32[] = {
    0.5f, 0.166665767f, 0.0416665542f, 0.00836323288f, 0.00139262508f
};
FT_CONST ft_f64 ft_exp_fit_f64[] = {
    0.5, 0.16666666666666671, 0.04166666666666667, 0.0083333333333260831, 0.0013888888888883711,
    0.00019841269875002279, 2.4801587325677462e-5, 2.7557255170000887e-6, 2.755727347871858e-7, 2.5105312729622102e-8,
    2.0914755325893202e-9
};
FT_CONST ft_f32 ft_erf_fit_f32[] = {
    0.128379167f, -0.376126387f, 0.112837869f, -0.0268657402f, 0.00522205495f, -0.00085013297f, 0.000114093778f,
    -1.01334054e-5f
};
FT_CONST ft_f32 ft_erfc_fit_f32[] = {
    -0.000462299408f, 1.6305882f, 0.91151567f, 0.158832762f, -0.038131898f, 0.00687238639f, -0.000862361543f,
    6.66206458e-5f, -2.37116979e-6f
};

/* c[0] + c[1] t + ..., unrolled */
#define M(T, S) \
    FT_FN T ft_horner_##S(const T *c, int n, T t) { \
        T p = c[n - 1]; \
        _Pragma("GCC unroll 40") \
        for (int k = n - 2; k >= 0; k--) p = p * t + c[k]; \
        return p; \
    }
M(ft_f32, f32) M(ft_f64, f64)
#undef M
#define FT_HORNER(S, table, t) ft_horner_##S(ft_##table##_##S, (int)(sizeof(ft_##table##_##S) / sizeof(*ft_##table##_##S)), t)

/* SHIFT is 1.5 * 2^BITS: adding it rounds to an integer, which is then in the low bits. Beyond LEAST and MOST results are 0 and
 * infinity. 2^n is applied in two halves, so that subnormal results round once. NaN passes every comparison. */
#define FT_EXPS(T, S, I, L, BITS, BIAS, SHIFT, LEAST, MOST, LEAST1, LN2_HI, LN2_LO) \
    FT_FN T ft_power_##S(I k) { \
        T power; \
        k = (k + BIAS) << BITS; \
        memcpy(&power, &k, sizeof k); \
        return power; \
    } \
    /* e^x - 1 = 2^k (1 + p) - 1 */ \
    FT_FN T ft_exp_split_##S(T x, I *k) { \
        const T t = x * L(1.44269504088896341) + SHIFT, n = t - SHIFT, shift = SHIFT; \
        const T r = (x - n * LN2_HI) - n * LN2_LO; \
        I bits, none; \
        memcpy(&bits, &t, sizeof bits); \
        memcpy(&none, &shift, sizeof none); \
        *k = bits - none; \
        return r + r * r * FT_HORNER(S, exp_fit, r); \
    } \
    /* e^x / 2^lower */ \
    FT_FN T ft_exp_##S(T x, I lower) { \
        I k; \
        x = x < LEAST ? LEAST : x; \
        x = x > MOST ? MOST : x; \
        const T p = ft_exp_split_##S(x, &k) + L(1.0); \
        k -= lower; \
        const I half = k >> 1; \
        return p * ft_power_##S(half) * ft_power_##S(k - half); \
    } \
    FT_FN T exp_##S(T x) { return ft_exp_##S(x, 0); } \
    FT_FN T expm1_##S(T x) { \
        I k; \
        T c = x < LEAST1 ? LEAST1 : x; \
        c = c > MOST ? MOST : c; \
        const T p = ft_exp_split_##S(c, &k), half = ft_power_##S(k > BIAS ? BIAS : k - 1); \
        const T y = L(2.0) * (p * half + (half - L(0.5))); \
        return (x < L(1e-17)) & (x > L(-1e-17)) ? x : (k > BIAS + 1) & (x > L(0.0)) ? (T)INFINITY : y; \
    } \
    FT_FN T cosh_##S(T x) { \
        const T half = ft_exp_##S(x < L(0.0) ? -x : x, 1); \
        return half + L(0.25) / half; \
    } \
    /* 1 + e^-x = 2^k + (2^k p + 1) spares the rounding of e^-x; half of it, as 2^k may be beyond the largest number */ \
    FT_FN T sigmoid_##S(T x) { \
        I k; \
        T c = -x < LEAST ? LEAST : -x; \
        c = c > MOST ? MOST : c; \
        const T p = ft_exp_split_##S(c, &k), power = ft_power_##S(k >> 1) * ft_power_##S(k - 1 - (k >> 1)); \
        /* infinity plus something, not minus infinity */ \
        return L(0.5) / (power + (power * (power == (T)INFINITY ? L(1.0) : p) + L(0.5))); \
    }
FT_EXPS(ft_f32, f32, ft_i32, FT_F32_L, 23, 127, 12582912.0f, -104.0f, 90.0f, -18.0f, 0.693145752f, 1.42860677e-6f)
FT_EXPS(ft_f64, f64, ft_i64, FT_F64_L, 52, 1023, 6755399441055744.0, -746.0, 711.0, -39.0, 0.693147180559663, 2.8235290563031577e-13)

FT_FN ft_f32 erf_f32(ft_f32 x) {
    const ft_f32 a = fabsf(x), q = a * a, small = a + a * FT_HORNER(f32, erf_fit, q);
    /* 2^-z, of which nothing is left in 1 - 2^-z beyond 25; 127 is the bias of the exponent */
    ft_f32 z = FT_HORNER(f32, erfc_fit, a > 4.0f ? 4.0f : a), scale;
    const ft_f32 t = 12583039.0f - z, r = ((12583039.0f - t) - z) * 0.693147181f;
    ft_i32 n;
    memcpy(&n, &t, sizeof n);
    n = (ft_i32)((ft_u32)n << 23);
    memcpy(&scale, &n, sizeof n);
    const ft_f32 tail = 1.0f - scale * (1.0f + (r + r * r * FT_HORNER(f32, exp_fit, r)));
    return x != x ? x : copysignf(a < 0.9375f ? small : tail, x);
}
#endif
#endif
