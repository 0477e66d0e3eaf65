/* Functions of f32 and f64. On the CPU the libm names carry simd clones of glibc's libmvec, so that loops over them
 * vectorise; on a GPU they are CUDA's own. */
#ifndef FT_SCALAR_REAL_H
#define FT_SCALAR_REAL_H

#if !defined(__CUDACC__) && defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define FT_SIMD1(name) \
    __attribute__((const, simd("notinbranch"))) double name(double); \
    __attribute__((const, simd("notinbranch"))) float name##f(float);
#define FT_SIMD2(name) \
    __attribute__((const, simd("notinbranch"))) double name(double, double); \
    __attribute__((const, simd("notinbranch"))) float name##f(float, float);
FT_SIMD1(exp) FT_SIMD1(log) FT_SIMD1(sin) FT_SIMD1(cos) FT_SIMD1(tan) FT_SIMD1(asin) FT_SIMD1(acos) FT_SIMD1(atan)
FT_SIMD1(sinh) FT_SIMD1(cosh) FT_SIMD1(tanh) FT_SIMD1(asinh) FT_SIMD1(acosh) FT_SIMD1(atanh) FT_SIMD1(exp2)
FT_SIMD1(expm1) FT_SIMD1(log2) FT_SIMD1(log10) FT_SIMD1(log1p) FT_SIMD1(erf) FT_SIMD1(erfc)
FT_SIMD2(pow) FT_SIMD2(atan2) FT_SIMD2(hypot)
#endif
#endif

#define FT_LIBM1(name) \
    FT_FN ft_f32 name##_f32(ft_f32 x) { return name##f(x); } \
    FT_FN ft_f64 name##_f64(ft_f64 x) { return name(x); }
#define FT_LIBM2(name, c) \
    FT_FN ft_f32 name##_f32(ft_f32 a, ft_f32 b) { return c##f(a, b); } \
    FT_FN ft_f64 name##_f64(ft_f64 a, ft_f64 b) { return c(a, b); }
/* One body for both: T is the type, L(v) a literal of it, F(name) a function of it. */
#define FT_F32_L(v) v##f
#define FT_F64_L(v) v
#define FT_F32_F(name) name##_f32
#define FT_F64_F(name) name##_f64
#define FT_REAL(M) M(ft_f32, FT_F32_L, FT_F32_F) M(ft_f64, FT_F64_L, FT_F64_F)

FT_LIBM1(exp) FT_LIBM1(log) FT_LIBM1(sin) FT_LIBM1(cos) FT_LIBM1(tan) FT_LIBM1(asin) FT_LIBM1(acos) FT_LIBM1(atan)
FT_LIBM1(sinh) FT_LIBM1(cosh) FT_LIBM1(tanh) FT_LIBM1(asinh) FT_LIBM1(acosh) FT_LIBM1(atanh) FT_LIBM1(exp2)
FT_LIBM1(expm1) FT_LIBM1(log2) FT_LIBM1(log10) FT_LIBM1(log1p) FT_LIBM1(erf) FT_LIBM1(erfc) FT_LIBM1(sqrt)
FT_LIBM1(floor) FT_LIBM1(ceil) FT_LIBM1(trunc)
FT_LIBM2(pow, pow) FT_LIBM2(atan2, atan2) FT_LIBM2(hypot, hypot) FT_LIBM2(copysign, copysign)

#define M(T, L, F) \
    FT_FN T F(where)(int c, T a, T b) { return c ? a : b; } \
    FT_FN T F(zeros_like)(T x) { (void)x; return L(0.0); } \
    FT_FN T F(abs)(T x) { return x < L(0.0) ? -x : x == L(0.0) ? L(0.0) : x; } \
    FT_FN T F(sgn)(T x) { return (T)((x > L(0.0)) - (x < L(0.0))); } \
    FT_FN T F(sign)(T x) { return (T)((x > L(0.0)) - (x < L(0.0))); } \
    FT_FN T F(square)(T x) { return x * x; } \
    FT_FN T F(rsqrt)(T x) { return L(1.0) / F(sqrt)(x); } \
    FT_FN T F(sigmoid)(T x) { return L(1.0) / (L(1.0) + F(exp)(-x)); } \
    FT_FN T F(maximum)(T a, T b) { return (a > b || a != a) ? a : b; } \
    FT_FN T F(minimum)(T a, T b) { return (a < b || a != a) ? a : b; }
FT_REAL(M)
#undef M
#endif
