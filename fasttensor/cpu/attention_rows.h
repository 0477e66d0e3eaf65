/* Rows of attention scores: one step of the running softmax, and its backward.
 *
 * The softmax of a row of many blocks keeps the largest score m and the sum l of exp(score - m) seen so far, and
 * rescales when m grows: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
 */
#ifndef FT_ATTENTION_ROWS_H
#define FT_ATTENTION_ROWS_H
#include <math.h>
#include <stddef.h>

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

/* scores = scale * scores + mask; -inf from column `seen` on. */
static inline void attention_scale(float *s, ptrdiff_t n, float scale, const float *mask, ptrdiff_t step, ptrdiff_t seen) {
  if (seen > n) seen = n;
  if (seen < 0) seen = 0;
  if (!mask) {
    for (ptrdiff_t i = 0; i < seen; i++) s[i] *= scale;
  } else if (step == 1) {
    for (ptrdiff_t i = 0; i < seen; i++) s[i] = s[i] * scale + mask[i];
  } else {
    for (ptrdiff_t i = 0; i < seen; i++) s[i] = s[i] * scale + mask[i * step];
  }
  for (ptrdiff_t i = seen; i < n; i++) s[i] = -INFINITY;
}

/* One block of a row: s becomes exp(s - m); returns by what the row's earlier output must be multiplied. */
static inline float attention_softmax(float *s, ptrdiff_t n, float *m, float *l) {
  float lanes[16], big = *m, sum = 0;
  ptrdiff_t i = 0;
  for (int k = 0; k < 16; k++) lanes[k] = big;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) lanes[k] = s[i + k] > lanes[k] ? s[i + k] : lanes[k];
  for (; i < n; i++) lanes[0] = s[i] > lanes[0] ? s[i] : lanes[0];
  for (int k = 0; k < 16; k++) big = lanes[k] > big ? lanes[k] : big;
  float origin = big == -INFINITY ? 0.0f : big;   /* a row of -inf alone: all weights 0 */
  for (int k = 0; k < 16; k++) lanes[k] = 0;
  for (i = 0; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) {
      float e = attention_exp(s[i + k] - origin);
      s[i + k] = e;
      lanes[k] += e;
    }
  for (; i < n; i++) {
    s[i] = attention_exp(s[i] - origin);
    lanes[0] += s[i];
  }
  for (int k = 0; k < 16; k++) sum += lanes[k];
  float keep = *m == -INFINITY ? 0.0f : attention_exp(*m - origin);
  *l = *l * keep + sum;
  *m = big;
  return keep;
}

/* s = exp(s - lse): the weights again; g = s * (g - delta) * scale: the gradient of the unscaled scores. */
static inline void attention_weights(float *s, ptrdiff_t n, float lse) {
  for (ptrdiff_t i = 0; i < n; i++) s[i] = attention_exp(s[i] - lse);
}
static inline void attention_gradient(const float *s, float *g, ptrdiff_t n, float delta, float scale) {
  for (ptrdiff_t i = 0; i < n; i++) g[i] = s[i] * (g[i] - delta) * scale;
}

static inline float attention_dot(const float *a, const float *b, ptrdiff_t n) {
  float lanes[16] = {0}, sum = 0;
  ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) lanes[k] += a[i + k] * b[i + k];
  for (; i < n; i++) lanes[0] += a[i] * b[i];
  for (int k = 0; k < 16; k++) sum += lanes[k];
  return sum;
}
#endif
