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
#if defined(__AVX512BW__)
FT_HALF_FN __m512 ft_bf16_16(const uint16_t *h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)h)), 16));
}
FT_HALF_FN void ft_store_bf16_16(uint16_t *h, __m512 f) {
    const __m512i u = _mm512_castps_si512(f), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
    _mm256_storeu_si256((__m256i *)h, _mm512_mask_cvtepi32_epi16(_mm256_set1_epi16(0x7FC0), _mm512_cmp_ps_mask(f, f, _CMP_ORD_Q),
                                                                 _mm512_srli_epi32(rounded, 16)));
}
#endif
FT_HALF_FN void ft_bf16_to_f32(float *dst, const char *src, ptrdiff_t stride, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__AVX512BW__)
    if (stride == 2)
        for (; i + 16 <= n; i += 16) _mm512_storeu_ps(dst + i, ft_bf16_16((const uint16_t *)src + i));
#endif
    for (; i < n; i++) dst[i] = ft_bf16_value(*(const uint16_t *)(src + i * stride));
}
FT_HALF_FN void ft_f32_to_bf16(char *dst, ptrdiff_t stride, const float *src, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__AVX512BW__)
    if (stride == 2) {
        uint16_t *h = (uint16_t *)dst;
#if defined(__AVX512BF16__)
        /* The instruction rounds as wanted, but takes subnormal numbers for zeros, and keeps what a NaN carries. */
        for (; i + 64 <= n; i += 64) {
            int subnormal = 0;
            for (int k = 0; k < 64; k += 16) {
                const __m512 f = _mm512_loadu_ps(src + i + k);
                subnormal |= _mm512_fpclass_ps_mask(f, 0x20);
                _mm256_storeu_si256((__m256i *)(h + i + k), _mm256_mask_mov_epi16((__m256i)_mm512_cvtneps_pbh(f),
                                    _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), _mm256_set1_epi16(0x7FC0)));
            }
            if (subnormal) for (int k = 0; k < 64; k += 16) ft_store_bf16_16(h + i + k, _mm512_loadu_ps(src + i + k));
        }
#endif
        for (; i + 16 <= n; i += 16) ft_store_bf16_16(h + i, _mm512_loadu_ps(src + i));
    }
#endif
    for (; i < n; i++) *(uint16_t *)(dst + i * stride) = ft_bf16_bits(src[i]);
}
#endif
