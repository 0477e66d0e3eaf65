/* Functions of complex numbers: C99's on the CPU. */
#ifndef FT_SCALAR_COMPLEX_H
#define FT_SCALAR_COMPLEX_H

#define FT_CLIBM1(name) \
    FT_FN ft_c64 name##_c64(ft_c64 z) { return c##name##f(z); } \
    FT_FN ft_c128 name##_c128(ft_c128 z) { return c##name(z); }
#define FT_F32_C(name) name##_c64
#define FT_F64_C(name) name##_c128
#define FT_COMPLEX(M) M(ft_c64, ft_f32, FT_F32_C, FT_F32_F, FT_C64) M(ft_c128, ft_f64, FT_F64_C, FT_F64_F, FT_C128)

#ifndef __CUDACC__
#define FT_C64(re, im) __builtin_complex((ft_f32)(re), (ft_f32)(im))
#define FT_C128(re, im) __builtin_complex((ft_f64)(re), (ft_f64)(im))
FT_FN ft_f32 real_c64(ft_c64 z) { return __real__ z; }
FT_FN ft_f32 imag_c64(ft_c64 z) { return __imag__ z; }
FT_FN ft_f64 real_c128(ft_c128 z) { return __real__ z; }
FT_FN ft_f64 imag_c128(ft_c128 z) { return __imag__ z; }
FT_CLIBM1(exp) FT_CLIBM1(log) FT_CLIBM1(sqrt) FT_CLIBM1(sin) FT_CLIBM1(cos) FT_CLIBM1(tan) FT_CLIBM1(sinh)
FT_CLIBM1(cosh) FT_CLIBM1(tanh) FT_CLIBM1(asin) FT_CLIBM1(acos) FT_CLIBM1(atan) FT_CLIBM1(asinh) FT_CLIBM1(acosh)
FT_CLIBM1(atanh)
FT_FN ft_c64 general_pow_c64(ft_c64 a, ft_c64 b) { return cpowf(a, b); }
FT_FN ft_c128 general_pow_c128(ft_c128 a, ft_c128 b) { return cpow(a, b); }
/* small whole exponents by products, which are exact where the numbers are */
#define M(Z, T, C, F, MAKE) \
    FT_FN Z C(reciprocal)(Z z); \
    FT_FN Z C(pow)(Z a, Z b) { \
        T r = C(real)(b); \
        if ((C(imag)(b) != 0) | (r != F(trunc)(r)) | (r < -2) | (r > 3)) return C(general_pow)(a, b); \
        Z y = MAKE(1, 0); \
        if (r != 0) y = a; \
        if ((r == 2) | (r == -2)) y = a * a; \
        if (r == 3) y = a * a * a; \
        if (r >= 0) return y; \
        T d = (C(real)(y) - C(real)(y)) + (C(imag)(y) - C(imag)(y)); \
        if ((r == -1) | ((d == 0) & (y != 0))) return C(reciprocal)(y); \
        y = C(reciprocal)(a);       /* of a square that left the range */ \
        return y * y; \
    }
FT_COMPLEX(M)
#undef M
#else
/* what the functions below need; the others are in complex_math.cuh */
#define FT_C64(re, im) ft_c64((ft_f32)(re), (ft_f32)(im))
#define FT_C128(re, im) ft_c128((ft_f64)(re), (ft_f64)(im))
#define M(Z, T, C, F, MAKE) \
    FT_FN T C(real)(Z z) { return z.re; } \
    FT_FN T C(imag)(Z z) { return z.im; } \
    FT_FN Z C(exp)(Z z) { \
        T e = F(exp)(z.re); \
        return z.im == 0 ? MAKE(e, z.im) : MAKE(e * F(cos)(z.im), e * F(sin)(z.im)); \
    } \
    FT_FN Z C(log)(Z z) { return MAKE(F(log)(F(hypot)(z.re, z.im)), F(atan2)(z.im, z.re)); } \
    FT_FN Z C(sqrt)(Z z) { \
        T t = F(sqrt)(((T)0.5) * (F(hypot)(z.re, z.im) + F(fabs)(z.re))); \
        if (t == 0) return MAKE(0, z.im); \
        T u = z.im / (t + t); \
        return z.re >= 0 ? MAKE(t, u) : MAKE(F(fabs)(u), F(copysign)(t, z.im)); \
    } \
    FT_FN Z C(sin)(Z z);
FT_COMPLEX(M)
#undef M
#endif

/* A choice of parts vectorises, one of pairs becomes a branch. */
#define M(Z, T, C, F, MAKE) \
    FT_FN Z C(where)(int c, Z a, Z b) { return MAKE(c ? C(real)(a) : C(real)(b), c ? C(imag)(a) : C(imag)(b)); } \
    FT_FN Z C(zeros_like)(Z x) { (void)x; return MAKE(0, 0); } \
    FT_FN Z C(conj)(Z z) { return MAKE(C(real)(z), -C(imag)(z)); } \
    FT_FN T C(abs)(Z z) { return F(hypot)(C(real)(z), C(imag)(z)); } \
    FT_FN Z C(sgn)(Z z) { \
        T r = C(abs)(z); \
        return r == 0 ? MAKE(0, 0) : MAKE(C(real)(z) / r, C(imag)(z) / r); \
    } \
    FT_FN Z C(square)(Z z) { return z * z; } \
    /* by zero, the parts are divided alone: infinite where they are not zero */ \
    FT_FN Z C(div)(Z a, Z b) { \
        T s = F(fabs)(C(real)(b)); \
        return (s == 0) & (C(imag)(b) == 0) ? MAKE(C(real)(a) / s, C(imag)(a) / s) : a / b; \
    } \
    FT_FN Z C(reciprocal)(Z z) { return C(div)(MAKE(1, 0), z); } \
    FT_FN Z C(rsqrt)(Z z) { return C(reciprocal)(C(sqrt)(z)); } \
    FT_FN Z C(sigmoid)(Z z) { return (T)1 / ((T)1 + C(exp)(-z)); } \
    FT_FN int C(isinf)(Z z) { return F(isinf)(C(real)(z)) | F(isinf)(C(imag)(z)); } \
    FT_FN int C(isfinite)(Z z) { return F(isfinite)(C(real)(z)) & F(isfinite)(C(imag)(z)); } \
    FT_FN T C(angle)(Z z) { return F(atan2)(C(imag)(z), C(real)(z)); } \
    FT_FN Z C(exp2)(Z z) { return C(exp)(z * (T)0.693147180559945309); } \
    FT_FN Z C(log2)(Z z) { return C(log)(z) * (T)1.44269504088896341; } \
    FT_FN Z C(log10)(Z z) { return C(log)(z) * (T)0.434294481903251828; } \
    /* exp(z) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y) */ \
    FT_FN Z C(expm1)(Z z) { \
        T x = C(real)(z), y = C(imag)(z), h = F(sin)(y * (T)0.5); \
        return MAKE(F(expm1)(x) * F(cos)(y) - (T)2 * h * h, y == 0 ? y : F(exp)(x) * F(sin)(y)); \
    } \
    /* |1 + z|^2 - 1 = x (2 + x) + y^2 */ \
    FT_FN Z C(log1p)(Z z) { \
        T x = C(real)(z), y = C(imag)(z), r = C(abs)(z); \
        T re = r < (T)0.5 ? (T)0.5 * F(log1p)(x * ((T)2 + x) + y * y) : F(log)(F(hypot)((T)1 + x, y)); \
        return MAKE(re, F(atan2)(y, (T)1 + x)); \
    } \
    FT_FN Z C(lerp)(Z a, Z b, Z w) { \
        return C(abs)(w) < (T)0.5 ? a + w * (b - a) : b - (b - a) * ((T)1 - w); \
    } \
    FT_FN Z C(logaddexp)(Z a, Z b) { \
        Z m = C(real)(a) >= C(real)(b) ? a : b, l = C(real)(a) >= C(real)(b) ? b : a; \
        return (C(isinf)(a) != 0) & (a == b) ? a : m + C(log1p)(C(exp)(l - m)); \
    } \
    FT_FN Z C(sinc)(Z z) { \
        Z p = z * (T)3.14159265358979324; \
        return z == (T)0 ? MAKE(1, 0) : C(sin)(p) / p; \
    }
FT_COMPLEX(M)
#undef M
#endif
