/* Register-tile kernels of the matrix product, one set an element type.

   ft_kernel const *kern = &FT_KERNELS[7];        // bfloat16 in, float32 out
   kern->pack(panel, kern->nr, b, bcs, brs, n, k);  // panel[p * nr + j] = b[p * brs + j * bcs]
   kern->run(&tile, k, m, n);                     // C = alpha * A B + beta * D on m <= mr, n <= nr

   Everything is GCC vector code, so that AVX-512, AVX2, NEON and plain SSE2 come from one source. */
#ifndef FT_GEMM_KERNELS_H
#define FT_GEMM_KERNELS_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "half.h"
#include "kernel_types.h"
#include "../scratch.h"

/* The tile fills the registers: mr * nv accumulators + nv columns + a broadcast. */
#if defined(__AVX512F__)
#define FT_VBYTES 64
#define FT_MR 8
#define FT_NV 3
#elif defined(__AVX__)
#define FT_VBYTES 32
#define FT_MR 6
#define FT_NV 2
#elif defined(__aarch64__)
#define FT_VBYTES 16
#define FT_MR 8
#define FT_NV 3
#else
#define FT_VBYTES 16
#define FT_MR 4
#define FT_NV 2
#endif

#define FT_CAT2(a, b) a##_##b
#define FT_CAT(a, b) FT_CAT2(a, b)
#define NAME(x) FT_CAT(x, FT_SUFFIX)

#define FT_REAL 1
#define FT_T float
#define FT_SUFFIX f32
#define FT_SIZE 4
#include "tile.h"
#include "dot.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#define FT_T double
#define FT_SUFFIX f64
#define FT_SIZE 8
#include "tile.h"
#include "dot.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#undef FT_REAL
/* Integers wrap: unsigned arithmetic gives the bits of the signed types without undefined behaviour. */
#define FT_REAL 0
#define FT_T uint8_t
#define FT_SUFFIX u8
#define FT_SIZE 1
#include "tile.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#define FT_T uint16_t
#define FT_SUFFIX u16
#define FT_SIZE 2
#include "tile.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#define FT_T uint32_t
#define FT_SUFFIX u32
#define FT_SIZE 4
#include "tile.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#define FT_T uint64_t
#define FT_SUFFIX u64
#define FT_SIZE 8
#include "tile.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#undef FT_REAL

#define FT_PACK_HALF(name, convert)                                                                 \
  static void name(void *to, ptrdiff_t width, const void *from, ptrdiff_t ws, ptrdiff_t ks,         \
                   ptrdiff_t w, ptrdiff_t k) {                                                      \
    float *dst = (float *)to;                                                                       \
    const char *src = (const char *)from;                                                           \
    for (ptrdiff_t p = 0; p < k; p++, dst += width, src += 2 * ks) {                                \
      convert(dst, src, 2 * ws, w);                                                                 \
      for (ptrdiff_t i = w; i < width; i++) dst[i] = 0;                                             \
    }                                                                                               \
  }
FT_PACK_HALF(pack_f16, ft_f16_to_f32)
FT_PACK_HALF(pack_bf16, ft_bf16_to_f32)

#ifdef __AVX512BF16__
#include "bf16.h"
#define FT_BF16_PACK pack_pairs
#define FT_BF16_RUN run_bf16
#else
#define FT_BF16_PACK pack_bf16
#define FT_BF16_RUN run_f32
#endif

#define FT_NR(size) (FT_NV * FT_VBYTES / (size))
#ifdef __AVX512F__
#define FT_MASKS 1
#else
#define FT_MASKS 0
#endif
#define FT_INT(size, s) {FT_MR, FT_NR(size), FT_NR(size), 0, size, size, 0, pack_##s, run_##s, NULL}
/* By dtype code. Complex products are made of real ones by the caller. */
static const ft_kernel FT_KERNELS[10] = {
  FT_INT(1, u8), FT_INT(1, u8), FT_INT(1, u8), FT_INT(2, u16), FT_INT(4, u32), FT_INT(8, u64),
  {FT_MR, FT_NR(4), FT_VBYTES / 4, FT_MASKS, 2, 4, 0, pack_f16, run_f32, NULL},
  {FT_MR, FT_NR(4), FT_VBYTES / 4, FT_MASKS, 2, 4, 0, FT_BF16_PACK, FT_BF16_RUN, NULL},
  {FT_MR, FT_NR(4), FT_VBYTES / 4, FT_MASKS, 4, 4, FT_MR == 8, pack_f32, run_f32, dot_f32},
  {FT_MR, FT_NR(8), FT_VBYTES / 8, FT_MASKS, 8, 8, FT_MR == 8, pack_f64, run_f64, dot_f64},
};
#endif
