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
FT_SIMD1(sin) FT_SIMD1(cos) FT_SIMD1(tan) FT_SIMD1(sinh) FT_SIMD1(tanh) FT_SIMD1(asinh) FT_SIMD1(acosh)
FT_SIMD1(atanh) FT_SIMD1(exp2) FT_SIMD1(erf) FT_SIMD1(erfc)
FT_SIMD2(pow) FT_SIMD2(hypot)
/* cos under another name: gcc joins sine and cosine of one number into a call that is no vector */
__attribute__((const, simd("notinbranch"))) double ft_cosine(double) __asm__("cos");
#define FT_COSINE ft_cosine
#endif
#endif

#ifndef FT_COSINE
#define FT_COSINE cos
#endif

#define FT_LIBM1(name) \
    FT_FN ft_f32 name##_f32(ft_f32 x) { return name##f(x); } \
    FT_FN ft_f64 name##_f64(ft_f64 x) { return name(x); }
#define FT_LIBM2(name) \
    FT_FN ft_f32 name##_f32(ft_f32 a, ft_f32 b) { return name##f(a, b); } \
    FT_FN ft_f64 name##_f64(ft_f64 a, ft_f64 b) { return name(a, b); }
/* One body for both: T is the type, L(v) a literal of it, F(name) a function of it. */
#define FT_F32_L(v) v##f
#define FT_F64_L(v) v
#define FT_F32_F(name) name##_f32
#define FT_F64_F(name) name##_f64
#define FT_REAL(M) M(ft_f32, FT_F32_L, FT_F32_F) M(ft_f64, FT_F64_L, FT_F64_F)

FT_LIBM1(sin) FT_LIBM1(cos) FT_LIBM1(sinh) FT_LIBM1(tanh) FT_LIBM1(asinh) FT_LIBM1(acosh) FT_LIBM1(atanh)
FT_LIBM1(exp2) FT_LIBM1(erfc) FT_LIBM1(sqrt)
FT_FN ft_f64 erf_f64(ft_f64 x) { return erf(x); }
FT_LIBM1(fabs) FT_LIBM1(rint) FT_LIBM1(floor) FT_LIBM1(ceil) FT_LIBM1(trunc)
FT_LIBM2(pow) FT_LIBM2(hypot) FT_LIBM2(copysign) FT_LIBM2(fmod)

#include "scalar_exp.h"
#include "scalar_trig.h"
#include "scalar_log.h"

FT_FN ft_f32 fma_f32(ft_f32 a, ft_f32 b, ft_f32 c) { return fmaf(a, b, c); }
FT_FN ft_f64 fma_f64(ft_f64 a, ft_f64 b, ft_f64 c) { return fma(a, b, c); }

#define M(T, L, F) \
    FT_FN T F(where)(int c, T a, T b) { return c ? a : b; } \
    FT_FN T F(zeros_like)(T x) { (void)x; return L(0.0); } \
    FT_FN T F(infinity)(T x) { (void)x; return (T)INFINITY; } \
    FT_FN int F(isinf)(T x) { return (x == (T)INFINITY) | (x == -(T)INFINITY); } \
    FT_FN int F(isfinite)(T x) { return x - x == L(0.0); } \
    FT_FN int F(signbit)(T x) { return F(copysign)(L(1.0), x) < L(0.0); } \
    FT_FN T F(abs)(T x) { return F(fabs)(x); } \
    FT_FN T F(sgn)(T x) { return (T)((x > L(0.0)) - (x < L(0.0))); } \
    FT_FN T F(sign)(T x) { return (T)((x > L(0.0)) - (x < L(0.0))); } \
    FT_FN T F(square)(T x) { return x * x; } \
    FT_FN T F(rsqrt)(T x) { return L(1.0) / F(sqrt)(x); } \
    FT_FN T F(maximum)(T a, T b) { T m = a > b ? a : b; return a != a ? a : m; } \
    FT_FN T F(minimum)(T a, T b) { T m = a < b ? a : b; return a != a ? a : m; } \
    FT_FN T F(angle)(T x) { return x != x ? x : x < L(0.0) ? L(3.14159265358979324) : L(0.0); } \
    FT_FN T F(div_trunc)(T a, T b) { return F(trunc)(a / b); } \
    /* Python's: the remainder takes the sign of the divisor, the quotient goes with it */ \
    FT_FN T F(python_remainder)(T m, T b) { return (m != L(0.0)) & ((b < L(0.0)) != (m < L(0.0))) ? m + b : m; } \
    FT_FN T F(python_quotient)(T m, T a, T b) { \
        T q = (a - m) / b; \
        q = (m != L(0.0)) & ((b < L(0.0)) != (m < L(0.0))) ? q - L(1.0) : q; \
        T f = F(floor)(q), r = q - f > L(0.5) ? f + L(1.0) : f; \
        return q == L(0.0) ? F(copysign)(L(0.0), a / b) : r; \
    } \
    FT_FN T F(remainder)(T a, T b) { return F(python_remainder)(F(fmod)(a, b), b); } \
    FT_FN T F(floor_divide)(T a, T b) { \
        return b == L(0.0) ? a / b : F(python_quotient)(F(fmod)(a, b), a, b); \
    } \
    /* Exact by one fma while the quotient has few digits; the quotient may round up to the next integer. */ \
    FT_FN int F(fmod_is_fast)(T a, T b) { \
        return (F(fabs)(a / b) < L(2097152.0)) & (F(fabs)(b) < (T)INFINITY); \
    } \
    FT_FN T F(fmod_fast)(T a, T b) { \
        T r = F(fma)(-F(trunc)(a / b), b, a); \
        r = (r != L(0.0)) & ((r < L(0.0)) != (a < L(0.0))) ? r + F(copysign)(b, a) : r; \
        return F(copysign)(r, a); \
    } \
    FT_FN T F(remainder_fast)(T a, T b) { return F(python_remainder)(F(fmod_fast)(a, b), b); } \
    FT_FN T F(floor_divide_fast)(T a, T b) { return F(python_quotient)(F(fmod_fast)(a, b), a, b); } \
    /* whole exponents by products; of negative ones only those whose power of x cannot overflow long before 1 / it vanishes */ \
    FT_FN int F(power_is_whole)(T x, T n) { (void)x; return (n >= L(-1.0)) & (n <= L(7.0)) & (n == F(trunc)(n)); } \
    FT_FN T F(power_whole)(T x, T n) { \
        const int k = (int)F(fabs)(n); \
        const T two = x * x; \
        T p = k & 1 ? x : L(1.0); \
        p = k & 2 ? p * two : p; \
        p = k & 4 ? p * (two * two) : p; \
        return n < L(0.0) ? L(1.0) / p : p; \
    } \
    FT_FN T F(round)(T x, T decimals) { \
        if (decimals == L(0.0)) return F(rint)(x); \
        T ten = F(pow)(L(10.0), F(fabs)(decimals)); \
        return decimals > L(0.0) ? F(rint)(x * ten) / ten : F(rint)(x / ten) * ten; \
    } \
    /* near 1/2 the quotient is near 1, and 2 x - 1 is exact */ \
    FT_FN T F(logit)(T x) { \
        T middle = F(log1p)((L(2.0) * x - L(1.0)) / (L(1.0) - x)), v = F(log)(x / (L(1.0) - x)); \
        return (x > L(0.25)) & (x < L(0.75)) ? middle : v; \
    } \
    FT_FN T F(logit_eps)(T x, T eps) { \
        T z = x < eps ? eps : x > L(1.0) - eps ? L(1.0) - eps : x; \
        return F(logit)(z); \
    } \
    FT_FN T F(sinc)(T x) { \
        /* the sine of the distance to the nearest integer, which is exact, with that integer's sign */ \
        T n = F(rint)(x), s = F(sin)(L(3.14159265358979324) * (x - n)); \
        s = n == L(2.0) * F(rint)(L(0.5) * n) ? s : -s; \
        return x == L(0.0) ? L(1.0) : s / (L(3.14159265358979324) * x); \
    } \
    /* x - tanh(x), near zero by its series (DLMF 4.33.3), where the two would cancel */ \
    FT_FN T F(tanhshrink)(T x) { \
        T q = x * x, small = L(6404582.0) / L(10854718875.0) - q * (L(443861162.0) / L(1856156927625.0) - q * L(9.69153790629e-5)); \
        small = L(21844.0) / L(6081075.0) - q * (L(929569.0) / L(638512875.0) - q * small); \
        small = L(1.0) / L(3.0) - q * (L(2.0) / L(15.0) - q * (L(17.0) / L(315.0) - q * (L(62.0) / L(2835.0) - q * (L(1382.0) / L(155925.0) - q * small)))); \
        T v = x - F(tanh)(x); \
        return F(fabs)(x) < L(0.25) ? x * q * small : v; \
    } \
    /* from the nearer end, so that weights 0 and 1 give the ends themselves */ \
    FT_FN T F(lerp)(T a, T b, T w) { \
        return F(fabs)(w) < L(0.5) ? a + w * (b - a) : b - (b - a) * (L(1.0) - w); \
    } \
    FT_FN T F(logsigmoid)(T x) { return F(minimum)(x, L(0.0)) - F(log1p)(F(exp)(-F(fabs)(x))); } \
    /* equal infinities: their difference would be NaN */ \
    FT_FN T F(logaddexp)(T a, T b) { \
        T d = a == b ? L(0.0) : F(fabs)(a - b); \
        return F(maximum)(a, b) + F(log1p)(F(exp)(-d)); \
    } \
    FT_FN T F(logaddexp2)(T a, T b) { \
        T d = a == b ? L(0.0) : F(fabs)(a - b); \
        return F(maximum)(a, b) + F(log1p)(F(exp2)(-d)) * L(1.44269504088896341); \
    } \
    FT_FN T F(xlogy)(T a, T b) { T v = a * F(log)(b); return (a == L(0.0)) & (b == b) ? L(0.0) : v; } \
    FT_FN T F(xlog1py)(T a, T b) { T v = a * F(log1p)(b); return (a == L(0.0)) & (b == b) ? L(0.0) : v; }
FT_REAL(M)
#undef M

/* a * 2 ** b where 2 ** b alone leaves the range */
FT_FN ft_f32 ldexp_f32(ft_f32 a, ft_f32 b) {
    ft_f32 w = floorf(b);
    return b - b != 0.0f ? a * exp2f(b) : scalbnf(a * exp2f(b - w), (int)(w > 5000.0f ? 5000.0f : w < -5000.0f ? -5000.0f : w));
}
FT_FN ft_f64 ldexp_f64(ft_f64 a, ft_f64 b) {
    ft_f64 w = floor(b);
    return b - b != 0.0 ? a * exp2(b) : scalbn(a * exp2(b - w), (int)(w > 5000.0 ? 5000.0 : w < -5000.0 ? -5000.0 : w));
}

#ifdef __CUDACC__
FT_LIBM2(nextafter)
#else
/* by the bits, a sign and a magnitude: one up or down */
#define M(T, S, I, LEAST) \
    FT_FN T nextafter_##S(T a, T b) { \
        I i, tiny = b > 0 ? 1 : (I)(LEAST | 1); \
        memcpy(&i, &a, sizeof i); \
        I next = i + ((a > 0) == (b > a) ? 1 : -1); \
        i = a == b ? i : a == 0 ? tiny : next; \
        T r; \
        memcpy(&r, &i, sizeof r); \
        return a == b ? b : a != a ? a : b != b ? b : r; \
    }
M(ft_f32, f32, ft_i32, (-2147483647 - 1)) M(ft_f64, f64, ft_i64, (-9223372036854775807LL - 1))
#undef M
#endif
#endif
