/* Functions of bool and the integers: they wrap like PyTorch's, and never trap, whatever the operands. */
#ifndef FT_SCALAR_INT_H
#define FT_SCALAR_INT_H

#define M(T, S) \
    FT_FN T where_##S(int c, T a, T b) { return c ? a : b; } \
    FT_FN int isinf_##S(T x) { (void)x; return 0; } \
    FT_FN int isfinite_##S(T x) { (void)x; return 1; } \
    FT_FN T zeros_like_##S(T x) { (void)x; return 0; } \
    FT_FN T maximum_##S(T a, T b) { return a > b ? a : b; } \
    FT_FN T minimum_##S(T a, T b) { return a < b ? a : b; }
M(ft_u8, u8) M(ft_i8, i8) M(ft_i16, i16) M(ft_i32, i32) M(ft_i64, i64) M(ft_bool, bool)
#undef M

/* U: a type that is unsigned and at least as wide as int, so that products wrap instead of overflowing.
 * A negative exponent gives 0, but for bases 1 and -1. */
#define M(T, S, U) \
    FT_FN T abs_##S(T x) { return x < 0 ? (T)(0 - (U)x) : x; } \
    FT_FN T sgn_##S(T x) { return (T)((x > 0) - (x < 0)); } \
    FT_FN T sign_##S(T x) { return (T)((x > 0) - (x < 0)); } \
    FT_FN T pow_##S(T a, T b) { \
        if (b < 0) return (T)(a == 1 ? 1 : a == (T)-1 ? ((b & 1) ? -1 : 1) : 0); \
        U r = 1, x = (U)a; \
        for (; b; b = (T)(b >> 1), x *= x) if (b & 1) r *= x; \
        return (T)r; \
    }
M(ft_i8, i8, ft_u32) M(ft_i16, i16, ft_u32) M(ft_i32, i32, ft_u32) M(ft_i64, i64, ft_u64)
#undef M
FT_FN ft_u8 abs_u8(ft_u8 x) { return x; }
FT_FN ft_u8 sgn_u8(ft_u8 x) { return x != 0; }
FT_FN ft_u8 sign_u8(ft_u8 x) { return x != 0; }
FT_FN ft_bool sgn_bool(ft_bool x) { return x; }
FT_FN ft_bool sign_bool(ft_bool x) { return x; }
FT_FN ft_u8 pow_u8(ft_u8 a, ft_u8 b) {
    ft_u32 r = 1, x = a;
    for (; b; b = (ft_u8)(b >> 1), x *= x) if (b & 1) r *= x;
    return (ft_u8)r;
}

/* Division by zero gives 0 here, because the driver has refused it; the smallest number by -1 wraps. */
#define M(T, S, U) \
    FT_FN T div_trunc_##S(T a, T b) { return b == 0 ? 0 : b == (T)-1 ? (T)(0 - (U)a) : (T)(a / b); } \
    FT_FN T fmod_##S(T a, T b) { return (b == 0) | (b == (T)-1) ? 0 : (T)(a % b); } \
    FT_FN T floor_divide_##S(T a, T b) { \
        T q = div_trunc_##S(a, b), m = fmod_##S(a, b); \
        return (m != 0) & ((m < 0) != (b < 0)) ? (T)(q - 1) : q; \
    } \
    FT_FN T remainder_##S(T a, T b) { \
        T m = fmod_##S(a, b); \
        return (m != 0) & ((m < 0) != (b < 0)) ? (T)(m + b) : m; \
    } \
    FT_FN int signbit_##S(T x) { return x < 0; } \
    FT_FN T gcd_##S(T a, T b) { \
        U x = (U)abs_##S(a), y = (U)abs_##S(b); \
        while (y) { U t = x % y; x = y; y = t; } \
        return (T)x; \
    } \
    FT_FN T lcm_##S(T a, T b) { \
        T g = gcd_##S(a, b); \
        return g == 0 ? 0 : abs_##S((T)((U)div_trunc_##S(a, g) * (U)b)); \
    }
M(ft_i8, i8, ft_u32) M(ft_i16, i16, ft_u32) M(ft_i32, i32, ft_u32) M(ft_i64, i64, ft_u64)
#undef M
/* Division in double precision, which vectorises: a quotient of whole numbers below 2^53 is at least 1 / |a| of itself away
 * from the next one, so that rounding does not reach it. */
#define M(T, S, U, SERVES) \
    FT_FN int fmod_is_fast_##S(T a, T b) { return SERVES; } \
    FT_FN T div_trunc_fast_##S(T a, T b) { return (T)((double)a / (double)(b == 0 ? 1 : b)); } \
    FT_FN T fmod_fast_##S(T a, T b) { return (T)((U)a - (U)div_trunc_fast_##S(a, b) * (U)b); } \
    FT_FN T floor_divide_fast_##S(T a, T b) { \
        T q = div_trunc_fast_##S(a, b), m = (T)((U)a - (U)q * (U)b); \
        return (T)(q - ((m != 0) & ((m < 0) != (b < 0)))); \
    } \
    FT_FN T remainder_fast_##S(T a, T b) { \
        T m = fmod_fast_##S(a, b); \
        return (m != 0) & ((m < 0) != (b < 0)) ? (T)(m + b) : m; \
    }
M(ft_i32, i32, ft_u32, (b != 0) & (b != -1))
M(ft_i64, i64, ft_u64, (b != 0) & (((ft_u64)a + ((ft_u64)1 << 53)) < ((ft_u64)1 << 54)) & (((ft_u64)b + ((ft_u64)1 << 53)) < ((ft_u64)1 << 54)))
#undef M
FT_FN ft_u8 div_trunc_u8(ft_u8 a, ft_u8 b) { return b == 0 ? 0 : (ft_u8)(a / b); }
FT_FN ft_u8 floor_divide_u8(ft_u8 a, ft_u8 b) { return div_trunc_u8(a, b); }
FT_FN ft_u8 fmod_u8(ft_u8 a, ft_u8 b) { return b == 0 ? 0 : (ft_u8)(a % b); }
FT_FN ft_u8 remainder_u8(ft_u8 a, ft_u8 b) { return fmod_u8(a, b); }
FT_FN int signbit_u8(ft_u8 x) { (void)x; return 0; }
FT_FN int signbit_bool(ft_bool x) { (void)x; return 0; }
FT_FN ft_u8 gcd_u8(ft_u8 x, ft_u8 y) {
    while (y) { ft_u8 t = (ft_u8)(x % y); x = y; y = t; }
    return x;
}
FT_FN ft_u8 lcm_u8(ft_u8 a, ft_u8 b) {
    ft_u8 g = gcd_u8(a, b);
    return g == 0 ? 0 : (ft_u8)(a / g * b);
}

/* Shifts by the width or more, or by a negative number, empty the value: 0, or its sign. */
#define M(T, S, U, W) \
    FT_FN T shift_left_##S(T a, T b) { return (U)b >= W ? 0 : (T)((U)a << (b & (W - 1))); } \
    FT_FN T shift_right_##S(T a, T b) { return (T)(a >> ((U)b >= W ? W - 1 : (int)b)); }
M(ft_i8, i8, ft_u32, 8) M(ft_i16, i16, ft_u32, 16) M(ft_i32, i32, ft_u32, 32) M(ft_i64, i64, ft_u64, 64)
#undef M
FT_FN ft_u8 shift_left_u8(ft_u8 a, ft_u8 b) { return b >= 8 ? 0 : (ft_u8)(a << b); }
FT_FN ft_u8 shift_right_u8(ft_u8 a, ft_u8 b) { return b >= 8 ? 0 : (ft_u8)(a >> b); }

/* Parameters come as double: one outside a type's range wraps around in it, as the operands do. */
FT_FN ft_i64 par_i64(double v) {
    return v != v ? 0 : v <= -9223372036854775808.0 ? (-9223372036854775807LL - 1)
         : v >= 9223372036854775808.0 ? 9223372036854775807LL : (ft_i64)v;
}
#define M(T, S) FT_FN T par_##S(double v) { return (T)par_i64(v); }
M(ft_u8, u8) M(ft_i8, i8) M(ft_i16, i16) M(ft_i32, i32)
#undef M
FT_FN ft_bool par_bool(double v) { return v != 0; }
FT_FN ft_f32 par_f32(double v) { return (ft_f32)v; }
FT_FN ft_f64 par_f64(double v) { return v; }
FT_FN ft_f32 par_c64(double v) { return (ft_f32)v; }
FT_FN ft_f64 par_c128(double v) { return v; }
#endif
