/* Fourier transforms for both precisions; see docs/kernels.md. */
#ifndef FT_FFT_KERNEL_H
#define FT_FFT_KERNEL_H
#include "fft_job.h"

#define FT_IOTA_16 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#define FT_IOTA_8 {0, 1, 2, 3, 4, 5, 6, 7}
#define FT_IOTA_4 {0, 1, 2, 3}
#define FT_IOTA_2 {0, 1}
#define FT_IOTA_OF_(n) FT_IOTA_##n
#define FT_IOTA_OF(n) FT_IOTA_OF_(n)
#if FT_FFT_BYTES == 64
#define FT_FFT_FLOATS 16
#define FT_FFT_DOUBLES 8
#elif FT_FFT_BYTES == 32
#define FT_FFT_FLOATS 8
#define FT_FFT_DOUBLES 4
#else
#define FT_FFT_FLOATS 4
#define FT_FFT_DOUBLES 2
#endif

#define FT_T float
#define FT_MASK int32_t
#define FT_LANES FT_FFT_FLOATS
#define NAME(x) ft_fft_##x##_f
#define FT_IOTA ((NAME(mask))FT_IOTA_OF(FT_FFT_FLOATS))
#include "fft_typed.h"
#define FT_T double
#define FT_MASK int64_t
#define FT_LANES FT_FFT_DOUBLES
#define NAME(x) ft_fft_##x##_d
#define FT_IOTA ((NAME(mask))FT_IOTA_OF(FT_FFT_DOUBLES))
#include "fft_typed.h"

static void ft_fft_free(ft_fft_plan *f)
{
    ft_release(&f->arena);
    free(f);
}

static ft_fft_plan *ft_fft_make(ptrdiff_t n, int wide, int real)
{
    ft_fft_plan *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->n = n;
    f->points = real && n % 2 == 0 ? n / 2 : n;
    if (!(wide ? ft_fft_prepare_d(f) : ft_fft_prepare_f(f))) {
        ft_fft_free(f);
        return NULL;
    }
    return f;
}
#endif
