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
FT_FN ft_c64 pow_c64(ft_c64 a, ft_c64 b) { return cpowf(a, b); }
FT_FN ft_c128 pow_c128(ft_c128 a, ft_c128 b) { return cpow(a, b); }
#endif

#define M(Z, T, C, F, MAKE) \
    FT_FN Z C(where)(int c, Z a, Z b) { return c ? a : b; } \
    FT_FN Z C(zeros_like)(Z x) { (void)x; return MAKE(0, 0); } \
    FT_FN Z C(conj)(Z z) { return MAKE(C(real)(z), -C(imag)(z)); } \
    FT_FN T C(abs)(Z z) { return F(hypot)(C(real)(z), C(imag)(z)); } \
    FT_FN Z C(sgn)(Z z) { \
        T r = C(abs)(z); \
        return r == 0 ? MAKE(0, 0) : MAKE(C(real)(z) / r, C(imag)(z) / r); \
    } \
    FT_FN Z C(square)(Z z) { return z * z; } \
    FT_FN Z C(rsqrt)(Z z) { return (T)1 / C(sqrt)(z); } \
    FT_FN Z C(sigmoid)(Z z) { return (T)1 / ((T)1 + C(exp)(-z)); } \
    /* d(z/|z|): the part of g across z, over |z| */ \
    FT_FN Z C(sgn_backward)(Z g, Z z, Z s) { \
        T r = C(abs)(z); \
        T along = C(real)(g) * C(real)(s) + C(imag)(g) * C(imag)(s); \
        return r == 0 ? MAKE(0, 0) : (g - s * along) / r; \
    }
FT_COMPLEX(M)
#undef M
#endif
