/* Vectors of FT_T, complex elements as a vector of real and one of imaginary parts, and their exchange with memory, where real and
 * imaginary parts alternate. */
typedef FT_T NAME(vec) __attribute__((vector_size(FT_FFT_BYTES)));
typedef FT_T NAME(uvec) __attribute__((vector_size(FT_FFT_BYTES), aligned(sizeof(FT_T)), may_alias));
typedef FT_MASK NAME(mask) __attribute__((vector_size(FT_FFT_BYTES)));
typedef struct { NAME(vec) r, i; } NAME(cv);

ALWAYS CV NAME(add)(CV a, CV b) { return (CV){a.r + b.r, a.i + b.i}; }
ALWAYS CV NAME(sub)(CV a, CV b) { return (CV){a.r - b.r, a.i - b.i}; }
ALWAYS CV NAME(down)(CV a) { return (CV){a.i, -a.r}; }                                   /* -i a */
ALWAYS CV NAME(mul)(CV a, const FT_T *w) { return (CV){a.r * w[0] - a.i * w[1], a.i * w[0] + a.r * w[1]}; }

ALWAYS CV NAME(lanes_mul)(CV a, CV w) { return (CV){a.r * w.r - a.i * w.i, a.i * w.r + a.r * w.i}; }
ALWAYS CV NAME(times)(CV a, FT_T f) { return (CV){a.r * f, a.i * f}; }

/* Transposes FT_LANES vectors, in log2(FT_LANES) rounds of exchanges between vectors `step` apart. */
ALWAYS void NAME(turn)(NAME(vec) *v)
{
    const NAME(mask) iota = FT_IOTA;
#pragma GCC unroll 4
    for (int step = 1; step < FT_LANES; step *= 2) {
        const NAME(mask) odd = (iota & step) == step;
        const NAME(mask) low = iota + (odd & (FT_LANES - step)), high = iota + (odd & FT_LANES) + (~odd & step);
#pragma GCC unroll 16
        for (int k = 0; k < FT_LANES; k++)
            if (!(k & step)) {
                const NAME(vec) a = v[k], b = v[k + step];
                v[k] = __builtin_shuffle(a, b, low);
                v[k + step] = __builtin_shuffle(a, b, high);
            }
    }
}

/* The first n lanes, zeros beyond: masks cost nothing where the processor has them. */
ALWAYS NAME(vec) NAME(part)(const FT_T *p, int n)
{
#if defined(__AVX512F__)
    return sizeof(FT_T) == 4 ? (NAME(vec))_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p)
                             : (NAME(vec))_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
#else
    if (n == FT_LANES) return *(const NAME(uvec) *)p;
    NAME(vec) v = {0};
    memcpy(&v, p, n * sizeof(FT_T));
    return v;
#endif
}

ALWAYS void NAME(put_part)(FT_T *p, NAME(vec) v, int n)
{
#if defined(__AVX512F__)
    if (sizeof(FT_T) == 4) _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
    else _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
#else
    if (n == FT_LANES) *(NAME(uvec) *)p = v;
    else memcpy(p, &v, n * sizeof(FT_T));
#endif
}

/* `count` complex numbers */
ALWAYS CV NAME(load)(const FT_T *x, int count, int swap)
{
    const NAME(mask) re = FT_IOTA * 2 + swap, im = FT_IOTA * 2 + !swap;
    const int near = 2 * count < FT_LANES ? 2 * count : FT_LANES;
    const NAME(vec) a = NAME(part)(x, near), b = NAME(part)(x + FT_LANES, 2 * count - near);
    return (CV){__builtin_shuffle(a, b, re), __builtin_shuffle(a, b, im)};
}

ALWAYS void NAME(store)(FT_T *y, CV a, int count, int swap)
{
    const NAME(mask) low = (FT_IOTA >> 1) + ((FT_IOTA & 1) ^ swap) * FT_LANES;
    const int near = 2 * count < FT_LANES ? 2 * count : FT_LANES;
    NAME(put_part)(y, __builtin_shuffle(a.r, a.i, low), near);
    NAME(put_part)(y + FT_LANES, __builtin_shuffle(a.r, a.i, low + FT_LANES / 2), 2 * count - near);
}
