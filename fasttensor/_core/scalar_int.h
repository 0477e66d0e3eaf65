/* Functions of bool and the integers: they wrap like PyTorch's, and never trap, whatever the operands. */
#ifndef FT_SCALAR_INT_H
#define FT_SCALAR_INT_H

#define M(T, S) \
    FT_FN T where_##S(int c, T a, T b) { return c ? a : b; } \
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

/* Parameters come as double: one outside a type's range saturates. */
#define M(T, S, LO, HI) \
    FT_FN T par_##S(double v) { return v != v ? 0 : v <= LO ? (T)LO : v >= HI ? (T)HI : (T)v; }
M(ft_u8, u8, 0, 255) M(ft_i8, i8, -128, 127) M(ft_i16, i16, -32768, 32767)
M(ft_i32, i32, (-2147483647 - 1), 2147483647)
#undef M
FT_FN ft_i64 par_i64(double v) {
    return v != v ? 0 : v <= -9223372036854775808.0 ? (-9223372036854775807LL - 1)
         : v >= 9223372036854775808.0 ? 9223372036854775807LL : (ft_i64)v;
}
FT_FN ft_bool par_bool(double v) { return v != 0; }
FT_FN ft_f32 par_f32(double v) { return (ft_f32)v; }
FT_FN ft_f64 par_f64(double v) { return v; }
FT_FN ft_f32 par_c64(double v) { return (ft_f32)v; }
FT_FN ft_f64 par_c128(double v) { return v; }
#endif
