/* Elementary functions of complex numbers. Formulas: the addition theorems; Kahan, "Branch cuts for complex elementary
 * functions" (1987), for the inverse functions. */
#ifndef FT_COMPLEX_MATH_CUH
#define FT_COMPLEX_MATH_CUH

#define M(Z, T, C, F, MAKE) \
    FT_FN Z C(pow)(Z a, Z b) { \
        if (a == MAKE(0, 0)) return b == MAKE(0, 0) ? MAKE(1, 0) : MAKE(0, 0); \
        return C(exp)(b * C(log)(a)); \
    } \
    FT_FN Z C(cosh)(Z z) { return MAKE(F(cosh)(z.re) * F(cos)(z.im), F(sinh)(z.re) * F(sin)(z.im)); } \
    FT_FN Z C(sinh)(Z z) { return MAKE(F(sinh)(z.re) * F(cos)(z.im), F(cosh)(z.re) * F(sin)(z.im)); } \
    FT_FN Z C(sin)(Z z) { return MAKE(F(sin)(z.re) * F(cosh)(z.im), F(cos)(z.re) * F(sinh)(z.im)); } \
    FT_FN Z C(cos)(Z z) { return MAKE(F(cos)(z.re) * F(cosh)(z.im), -F(sin)(z.re) * F(sinh)(z.im)); } \
    FT_FN Z C(tanh)(Z z) { \
        T s = F(sin)(z.im), c = F(cos)(z.im); \
        if (F(fabs)(z.re) > (T)20) { \
            T e = F(exp)(-F(fabs)(z.re)); \
            return MAKE(F(copysign)((T)1, z.re), (T)4 * s * c * e * e); \
        } \
        T h = F(sinh)(z.re), d = h * h + c * c; \
        return MAKE(h * F(cosh)(z.re) / d, s * c / d); \
    } \
    FT_FN Z C(tan)(Z z) { Z w = C(tanh)(MAKE(-z.im, z.re)); return MAKE(w.im, -w.re); } \
    FT_FN Z C(asin)(Z z) { \
        Z p = C(sqrt)((T)1 + z), q = C(sqrt)((T)1 - z); \
        return MAKE(F(atan2)(z.re, p.re * q.re - p.im * q.im), F(asinh)(q.re * p.im - q.im * p.re)); \
    } \
    FT_FN Z C(acos)(Z z) { \
        Z p = C(sqrt)((T)1 + z), q = C(sqrt)((T)1 - z); \
        return MAKE((T)2 * F(atan2)(q.re, p.re), F(asinh)(p.re * q.im - p.im * q.re)); \
    } \
    FT_FN Z C(acosh)(Z z) { \
        Z p = C(sqrt)(z + (T)1), q = C(sqrt)(z - (T)1); \
        return MAKE(F(asinh)(p.re * q.re + p.im * q.im), (T)2 * F(atan2)(q.im, p.re)); \
    } \
    FT_FN Z C(asinh)(Z z) { Z w = C(asin)(MAKE(-z.im, z.re)); return MAKE(w.im, -w.re); } \
    FT_FN Z C(atanh)(Z z) { \
        T u = (T)1 - z.re, d = u * u + z.im * z.im; \
        T im = (T)0.5 * F(atan2)((T)2 * z.im, u * ((T)1 + z.re) - z.im * z.im); \
        return MAKE((T)0.25 * F(log1p)((T)4 * z.re / d), im); \
    } \
    FT_FN Z C(atan)(Z z) { Z w = C(atanh)(MAKE(-z.im, z.re)); return MAKE(w.im, -w.re); }
FT_COMPLEX(M)
#undef M
#endif
