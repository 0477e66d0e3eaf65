/* exp of float and double as straight-line code, so that loops around it vectorise.
   exp(x) = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2, ln 2 split in two parts after
   Cody and Waite; e^r by its Taylor polynomial, whose remainder is below half an ulp there.
   2^n is applied in two halves, which keeps subnormal results and overflow to infinity. */
#ifndef FT_VECMATH_H
#define FT_VECMATH_H
#include <stdint.h>

/* Folds L lanes (a power of two up to 64) into v[0] by halves, so that the chain of dependent steps is short. */
#define FT_HALVE(L, W, v, F) if (L > W) { for (int l = 0; l < W; l++) v[l] = F(v[l], v[l + W]); }
#define FT_FOLD(L, v, F) FT_HALVE(L, 32, v, F) FT_HALVE(L, 16, v, F) FT_HALVE(L, 8, v, F) FT_HALVE(L, 4, v, F) FT_HALVE(L, 2, v, F) FT_HALVE(L, 1, v, F)
#define FT_PLUS(a, b) ((a) + (b))
#define FT_GREATER(a, b) ((b) > (a) ? (b) : (a))

static inline float vm_expf(float x)
{
    float c = x < -104.f ? -104.f : x;      /* NaN passes: the comparisons are false for it */
    c = c > 89.f ? 89.f : c;
    float t = c * 1.44269504f + 12582912.f;
    float n = t - 12582912.f;
    float r = c - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
    int32_t k = (int32_t)n, h = k >> 1;
    union { int32_t i; float f; } a = {(h + 127) << 23}, b = {(k - h + 127) << 23};
    p = p * a.f * b.f;
    return x != x ? x : p;
}

static inline double vm_exp(double x)
{
    double c = x < -746. ? -746. : x;
    c = c > 710. ? 710. : c;
    double t = c * 1.4426950408889634 + 6755399441055744.0;
    double n = t - 6755399441055744.0;
    double r = c - n * 6.93147180369123816490e-01;
    r = r - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    int64_t k = (int64_t)n, h = k >> 1;
    union { int64_t i; double f; } a = {(h + 1023) << 52}, b = {(k - h + 1023) << 52};
    p = p * a.f * b.f;
    return x != x ? x : p;
}

#endif
