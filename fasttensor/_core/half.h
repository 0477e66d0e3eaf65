/* Conversions between float and the half types, for rows of any byte stride; results round to nearest even.
 *     ft_f16_to_f32(buffer, p, stride, n);  ... ft_f32_to_f16(p, stride, buffer, n); */
#ifndef FT_HALF_H
#define FT_HALF_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#define FT_HALF_FN static inline __attribute__((unused))

FT_HALF_FN float ft_f16_value(uint16_t h) {
    _Float16 v;
    memcpy(&v, &h, 2);
    return (float)v;
}
FT_HALF_FN uint16_t ft_f16_bits(float f) {
    _Float16 v = (_Float16)f;
    uint16_t h;
    memcpy(&h, &v, 2);
    return h;
}
FT_HALF_FN float ft_bf16_value(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
FT_HALF_FN uint16_t ft_bf16_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)(f != f ? 0x7FC0u : rounded);
}

FT_HALF_FN void ft_f16_to_f32(float *dst, const char *src, ptrdiff_t stride, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__AVX512F__)
    if (stride == 2)
        for (; i + 16 <= n; i += 16)
            _mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(src + 2 * i))));
#elif defined(__F16C__)
    if (stride == 2)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + 2 * i))));
#endif
    for (; i < n; i++) dst[i] = ft_f16_value(*(const uint16_t *)(src + i * stride));
}
FT_HALF_FN void ft_f32_to_f16(char *dst, ptrdiff_t stride, const float *src, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__AVX512F__)
    if (stride == 2)
        for (; i + 16 <= n; i += 16)
            _mm256_storeu_si256((__m256i *)(dst + 2 * i), _mm512_cvtps_ph(_mm512_loadu_ps(src + i), 0));
#elif defined(__F16C__)
    if (stride == 2)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((__m128i *)(dst + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
#endif
    for (; i < n; i++) *(uint16_t *)(dst + i * stride) = ft_f16_bits(src[i]);
}
FT_HALF_FN void ft_bf16_to_f32(float *dst, const char *src, ptrdiff_t stride, ptrdiff_t n) {
    if (stride == 2) {
        const uint16_t *h = (const uint16_t *)src;
        for (ptrdiff_t i = 0; i < n; i++) dst[i] = ft_bf16_value(h[i]);
    } else
        for (ptrdiff_t i = 0; i < n; i++) dst[i] = ft_bf16_value(*(const uint16_t *)(src + i * stride));
}
FT_HALF_FN void ft_f32_to_bf16(char *dst, ptrdiff_t stride, const float *src, ptrdiff_t n) {
    if (stride == 2) {
        uint16_t *h = (uint16_t *)dst;
        for (ptrdiff_t i = 0; i < n; i++) h[i] = ft_bf16_bits(src[i]);
    } else
        for (ptrdiff_t i = 0; i < n; i++) *(uint16_t *)(dst + i * stride) = ft_bf16_bits(src[i]);
}
#endif
