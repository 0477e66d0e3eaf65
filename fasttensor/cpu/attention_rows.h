/* Rows of attention scores: one step of the running softmax, and its backward.
 *
 * The softmax of a row of many blocks keeps the largest score m and the sum l of exp(score - m) seen so far, and
 * rescales when m grows: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
 */
#ifndef FT_ATTENTION_ROWS_H
#define FT_ATTENTION_ROWS_H
#include <math.h>
#include <stddef.h>
#include "../_core/scalar.h"

/* Cephes (S. Moshier), expf, with a true zero below the smallest normal number: -inf must give 0. */
static inline __attribute__((always_inline)) float attention_exp(float x) {
  float y = x < -87.0f ? -87.0f : x;
  y = y > 88.0f ? 88.0f : y;
  float n = rintf(y * 1.44269504088896341f), r = y - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  union { int i; float f; } scale = {((int)n + 127) << 23};
  p *= scale.f;
  return x < -87.0f ? 0.0f : p;
}

/* How many of n columns a row sees when it may see `seen`. */
static inline ptrdiff_t attention_seen(ptrdiff_t n, ptrdiff_t seen) { return seen > n ? n : seen < 0 ? 0 : seen; }

/* The seen columns filled up with -inf to whole vectors; a row has room for them, since blocks are 256 wide. */
static inline ptrdiff_t attention_fill(float *s, ptrdiff_t seen) {
  const ptrdiff_t whole = (seen + 15) & ~(ptrdiff_t)15;
  for (ptrdiff_t i = seen; i < whole; i++) s[i] = -INFINITY;
  return whole;
}

/* scores = scale * scores + mask */
static inline void attention_scale(float *s, ptrdiff_t n, float scale, const float *mask, ptrdiff_t step) {
  if (!mask) {
    for (ptrdiff_t i = 0; i < n; i++) s[i] *= scale;
  } else if (step == 1) {
    for (ptrdiff_t i = 0; i < n; i++) s[i] = s[i] * scale + mask[i];
  } else {
    for (ptrdiff_t i = 0; i < n; i++) s[i] = s[i] * scale + mask[i * step];
  }
}

/* Sixteen lanes by halves: a chain through all of them would cost more than a row's arithmetic. */
#define ATTENTION_HALVES(OP) \
  for (int k = 0; k < 8; k++) lanes[k] = OP(lanes[k], lanes[k + 8]); \
  for (int k = 0; k < 4; k++) lanes[k] = OP(lanes[k], lanes[k + 4]); \
  return OP(OP(lanes[0], lanes[2]), OP(lanes[1], lanes[3]));
#define ATTENTION_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define ATTENTION_ADD(a, b) ((a) + (b))
static inline float attention_largest(float *lanes) { ATTENTION_HALVES(ATTENTION_LARGER) }
static inline float attention_sum(float *lanes) { ATTENTION_HALVES(ATTENTION_ADD) }

/* One block of a row of which `seen` columns count: s becomes exp(s - m), 0 from there on; returns by what the row's
 * earlier output must be multiplied. */
static inline float attention_softmax(float *s, ptrdiff_t n, ptrdiff_t seen, float *m, float *l) {
  float lanes[16], big = *m;
  const ptrdiff_t whole = attention_fill(s, seen);
  for (int k = 0; k < 16; k++) lanes[k] = big;
  for (ptrdiff_t i = 0; i < whole; i += 16)
    for (int k = 0; k < 16; k++) lanes[k] = s[i + k] > lanes[k] ? s[i + k] : lanes[k];
  big = attention_largest(lanes);
  const float origin = big == -INFINITY ? 0.0f : big;   /* a row of -inf alone: all weights 0 */
  for (int k = 0; k < 16; k++) lanes[k] = 0;
  for (ptrdiff_t i = 0; i < whole; i += 16)
    for (int k = 0; k < 16; k++) {
      float e = attention_exp(s[i + k] - origin);
      s[i + k] = e;
      lanes[k] += e;
    }
  for (ptrdiff_t i = whole; i < n; i++) s[i] = 0;
  const float keep = *m == big ? 1.0f : *m == -INFINITY ? 0.0f : attention_exp(*m - origin);
  *l = *l * keep + attention_sum(lanes);
  *m = big;
  return keep;
}

/* The factor 1 / l of each row, and m + log l. A row that sees no key gives zeros; its +inf makes its weights zero in
 * backward. */
static inline void attention_finish(const float *m, float *l, float *lse, ptrdiff_t rows) {
  for (ptrdiff_t r = 0; r < rows; r++) {
    const float sum = l[r], log_sum = m[r] + log_f32(sum);
    lse[r] = sum != 0 ? log_sum : INFINITY;
    l[r] = sum != 0 ? 1 / sum : 0;
  }
}

/* s = exp(s - lse): the weights again; g = s * (g - delta) * scale: the gradient of the unscaled scores. */
static inline void attention_weights(float *s, ptrdiff_t n, ptrdiff_t seen, float lse) {
  const ptrdiff_t whole = attention_fill(s, seen);
  for (ptrdiff_t i = 0; i < whole; i++) s[i] = attention_exp(s[i] - lse);
  for (ptrdiff_t i = whole; i < n; i++) s[i] = 0;
}
static inline void attention_gradient(const float *s, float *g, ptrdiff_t n, float delta, float scale) {
  for (ptrdiff_t i = 0; i < n; i++) g[i] = s[i] * (g[i] - delta) * scale;
}

static inline float attention_dot(const float *a, const float *b, ptrdiff_t n) {
  float lanes[16] = {0};
  ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) lanes[k] += a[i + k] * b[i + k];
  for (; i < n; i++) lanes[0] += a[i] * b[i];
  return attention_sum(lanes);
}
#endif
