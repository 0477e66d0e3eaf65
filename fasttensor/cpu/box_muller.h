/* Box-Muller on blocks of 16 uniforms: value j of the first eight gives the radius, value j of
 * the last eight the angle, and both normals go back to the places they came from.
 *
 * The polynomials are those of the Cephes library's logf, sinf and cosf (S. Moshier), and
 * every rounding is spelled out with fmaf: PyTorch's vector code does exactly these steps, so a
 * seed gives the same bits. Plain loops over lanes; the compiler makes vectors of them. */
#ifndef FT_BOX_MULLER_H
#define FT_BOX_MULLER_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define FT_FMA __builtin_fmaf

static inline float ft_bm_log(float x) {       /* 2^-24 <= x <= 1 */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    float e = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    memcpy(&x, &bits, 4);
    int low = x < 0.707106781186547524f;
    float twice = low ? x : 0.0f;
    x = (x - 1.0f) + twice;
    e -= low ? 1.0f : 0.0f;
    float z = x * x;
    float y = 7.0376836292e-2f;
    y = FT_FMA(y, x, -1.1514610310e-1f);
    y = FT_FMA(y, x, 1.1676998740e-1f);
    y = FT_FMA(y, x, -1.2420140846e-1f);
    y = FT_FMA(y, x, 1.4249322787e-1f);
    y = FT_FMA(y, x, -1.6668057665e-1f);
    y = FT_FMA(y, x, 2.0000714765e-1f);
    y = FT_FMA(y, x, -2.4999993993e-1f);
    y = FT_FMA(y, x, 3.3333331174e-1f);
    y = y * x;
    y = FT_FMA(y, z, e * -2.12194440e-4f);
    y = FT_FMA(z, -0.5f, y);
    return FT_FMA(e, 0.693359375f, x + y);
}

static inline void ft_bm_sincos(float x, float *s, float *c) {     /* 0 <= x <= 2 pi */
    int32_t j = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    float y = (float)j;
    x = FT_FMA(y, -0.78515625f, x);
    x = FT_FMA(y, -2.4187564849853515625e-4f, x);
    x = FT_FMA(y, -3.77489497744594108e-8f, x);
    float z = x * x;
    float p = 2.443315711809948e-5f;
    p = FT_FMA(p, z, -1.388731625493765e-3f);
    p = FT_FMA(p, z, 4.166664568298827e-2f);
    p = p * z;
    p = FT_FMA(p, z, z * -0.5f) + 1.0f;
    float q = -1.9515295891e-4f;
    q = FT_FMA(q, z, 8.3321608736e-3f);
    q = FT_FMA(q, z, -1.6666654611e-1f);
    q = q * z;
    q = FT_FMA(q, x, x);
    int swap = (j & 2) != 0;
    float sine = swap ? p : q, cosine = swap ? q : p;
    *s = (j & 4) ? -sine : sine;
    *c = ((j - 2) & 4) ? cosine : -cosine;
}

/* Normals from two blocks of 16 untempered words: the radii of both fill one vector of 16, the
 * angles another. Shuffled in registers, since a load that spans two stores would wait for them. */
typedef uint32_t ft_v16 __attribute__((vector_size(64), aligned(4), may_alias));

static inline void ft_bm_pair(const uint32_t *w, const uint32_t *w2, float *out, float *out2, float mean, float std) {
    const float two_pi = (float)(2.0 * 3.14159265358979323846);
    const ft_v16 low = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
    const ft_v16 high = low + 8;
    union { ft_v16 v; uint32_t u[16]; float f[16]; } r, a, first, second;
    r.v = __builtin_shuffle(*(const ft_v16 *)w, *(const ft_v16 *)w2, low);
    a.v = __builtin_shuffle(*(const ft_v16 *)w, *(const ft_v16 *)w2, high);
    for (int l = 0; l < 16; l++) {
        float u1 = 1.0f - (float)(int32_t)(ft_temper(r.u[l]) & 0xffffffu) * 0x1p-24f;
        float u2 = (float)(int32_t)(ft_temper(a.u[l]) & 0xffffffu) * 0x1p-24f;
        float radius = __builtin_sqrtf(-2.0f * ft_bm_log(u1)), s, c;
        ft_bm_sincos(two_pi * u2, &s, &c);
        first.f[l] = FT_FMA(radius * c, std, mean);
        second.f[l] = FT_FMA(radius * s, std, mean);
    }
    *(ft_v16 *)out = __builtin_shuffle(first.v, second.v, low);
    *(ft_v16 *)out2 = __builtin_shuffle(first.v, second.v, high);
}

static inline void ft_bm_blocks(const uint32_t *w, float *out, int64_t blocks, float mean, float std) {
    int64_t b = 0;
    for (; b + 1 < blocks; b += 2, w += 32, out += 32)
        ft_bm_pair(w, w + 16, out, out + 16, mean, std);
    if (b < blocks) {
        float spare[16];
        ft_bm_pair(w, w, out, spare, mean, std);
    }
}

static inline void ft_bm_block_f64(const uint32_t *w, double *out, double mean, double std) {
    double u[16];
    for (int l = 0; l < 16; l++)
        u[l] = (double)(ft_temper64(w + 2 * l) & 0x1fffffffffffffull) * 0x1p-53;
    for (int l = 0; l < 8; l++) {
        double radius = sqrt(-2.0 * log(1.0 - u[l])), theta = 2.0 * 3.14159265358979323846 * u[l + 8];
        double s = sin(theta), c = cos(theta);
        out[l] = __builtin_fma(radius * c, std, mean);
        out[l + 8] = __builtin_fma(radius * s, std, mean);
    }
}
#endif
