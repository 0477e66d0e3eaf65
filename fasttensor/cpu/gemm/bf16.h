/* bfloat16 by pairs: one instruction adds the products of two neighbours along k, in float32. A panel holds
   32-bit words of two values, so that the tile of tile.h runs over words instead of floats. Subnormal operands
   count as zero there, as in every library that uses the instruction. Included by kernels.h. */
#define FT_PAIRS
#define FT_REAL 1
#define FT_T float
#define FT_SUFFIX bf16
#define FT_SIZE 4
#include "tile.h"
#undef FT_T
#undef FT_SUFFIX
#undef FT_SIZE
#undef FT_REAL
#undef FT_PAIRS

/* dst[p / 2 * width + i] = the words src[i * ws + p * ks], src[i * ws + (p + 1) * ks]; an odd k ends with a zero. */
static void pack_pairs(void *to, ptrdiff_t width, const void *from, ptrdiff_t ws, ptrdiff_t ks, ptrdiff_t w,
                       ptrdiff_t k) {
  uint32_t *dst = (uint32_t *)to;
  const uint16_t *src = (const uint16_t *)from;
  const ptrdiff_t even = k & ~(ptrdiff_t)1;
  ptrdiff_t p = 0;
  if (ks == 1 && width % 8 == 0) {
    const ptrdiff_t blocks = k / 16 * 8;
    for (ptrdiff_t i = 0; i < w; i += 8) {
      const float *row[8];
      for (int q = 0; q < 8; q++) row[q] = (const float *)(const void *)(src + (i + q < w ? i + q : w - 1) * ws);
      for (ptrdiff_t b = 0; b < blocks; b += 8) transpose_bf16((float *)to + b * width + i, width, row, b);
    }
    p = 2 * blocks;
    dst += blocks * width;
  }
  for (; p < even; p += 2, dst += width) {
    const uint16_t *x = src + p * ks, *y = x + ks;
    if (ws == 1) for (ptrdiff_t i = 0; i < w; i++) dst[i] = x[i] | (uint32_t)y[i] << 16;
    else for (ptrdiff_t i = 0; i < w; i++) dst[i] = x[i * ws] | (uint32_t)y[i * ws] << 16;
    for (ptrdiff_t i = w; i < width; i++) dst[i] = 0;
  }
  if (even < k) {
    for (ptrdiff_t i = 0; i < w; i++) dst[i] = src[i * ws + even * ks];
    for (ptrdiff_t i = w; i < width; i++) dst[i] = 0;
  }
}
