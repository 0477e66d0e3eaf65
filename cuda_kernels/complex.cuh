/* Complex numbers with the layout of C99's; real numbers convert, and stay real beside complex ones. */
#ifndef FT_COMPLEX_CUH
#define FT_COMPLEX_CUH

#define FT_DEV static __device__ __forceinline__
template <class T> struct __align__(2 * sizeof(T)) ft_complex {
    T re, im;
    __device__ __forceinline__ ft_complex() {}
    __device__ __forceinline__ ft_complex(T r, T i = T(0)) : re(r), im(i) {}
    __device__ __forceinline__ ft_complex operator-() const { return ft_complex(-re, -im); }
};
#define FT_COMPLEX_OPS(T) \
    typedef ft_complex<T> ft_complex_##T; \
    FT_DEV ft_complex_##T operator+(ft_complex_##T a, ft_complex_##T b) { return {a.re + b.re, a.im + b.im}; } \
    FT_DEV ft_complex_##T operator-(ft_complex_##T a, ft_complex_##T b) { return {a.re - b.re, a.im - b.im}; } \
    FT_DEV ft_complex_##T operator*(ft_complex_##T a, ft_complex_##T b) { \
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; \
    } \
    /* Smith's division: scaled by the larger part of b, so that it does not overflow */ \
    FT_DEV ft_complex_##T operator/(ft_complex_##T a, ft_complex_##T b) { \
        if (fabs(b.re) >= fabs(b.im)) { \
            T q = b.im / b.re, d = b.re + b.im * q; \
            return {(a.re + a.im * q) / d, (a.im - a.re * q) / d}; \
        } \
        T q = b.re / b.im, d = b.re * q + b.im; \
        return {(a.re * q + a.im) / d, (a.im * q - a.re) / d}; \
    } \
    FT_DEV ft_complex_##T operator+(T a, ft_complex_##T b) { return {a + b.re, b.im}; } \
    FT_DEV ft_complex_##T operator+(ft_complex_##T a, T b) { return {a.re + b, a.im}; } \
    FT_DEV ft_complex_##T operator-(T a, ft_complex_##T b) { return {a - b.re, -b.im}; } \
    FT_DEV ft_complex_##T operator-(ft_complex_##T a, T b) { return {a.re - b, a.im}; } \
    FT_DEV ft_complex_##T operator*(T a, ft_complex_##T b) { return {a * b.re, a * b.im}; } \
    FT_DEV ft_complex_##T operator*(ft_complex_##T a, T b) { return {a.re * b, a.im * b}; } \
    FT_DEV ft_complex_##T operator/(T a, ft_complex_##T b) { return ft_complex_##T(a) / b; } \
    FT_DEV ft_complex_##T operator/(ft_complex_##T a, T b) { return {a.re / b, a.im / b}; } \
    FT_DEV bool operator==(ft_complex_##T a, ft_complex_##T b) { return (a.re == b.re) & (a.im == b.im); } \
    FT_DEV bool operator!=(ft_complex_##T a, ft_complex_##T b) { return (a.re != b.re) | (a.im != b.im); }
FT_COMPLEX_OPS(float)
FT_COMPLEX_OPS(double)
#endif
