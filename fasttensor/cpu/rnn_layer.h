/* Scalar functions of the recurrent kernels, and the kernels for float and double. */
#ifndef FT_RNN_LAYER_H
#define FT_RNN_LAYER_H
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "transpose.h"

/* c = a b (+ c where `add`): a of m x k rows side by side, b[p][j] at p * brs + j * bcs. */
typedef int (*rnn_product)(int itemsize, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const void *a, const void *b, ptrdiff_t brs,
                           ptrdiff_t bcs, void *c, int add);
typedef void (*rnn_parallel)(ptrdiff_t n, ptrdiff_t grain, void (*body)(void *, ptrdiff_t, ptrdiff_t), void *context);

/* Vector width, rows of a register tile by gates, and a hint to load a vector once, not once a row. */
#ifdef __AVX512F__
#define RNN_BYTES 64
#define RNN_ROWS2 8
#define RNN_ROWS3 8
#define RNN_ROWS4 6
#define RNN_KEEP(x) __asm__("" : "+v"(x))
#else
#define RNN_BYTES 32
#define RNN_ROWS2 4
#define RNN_ROWS3 3
#define RNN_ROWS4 2
#ifdef __AVX__
#define RNN_KEEP(x) __asm__("" : "+x"(x))
#else
#define RNN_KEEP(x) (void)0
#endif
#endif

static const int rnn_gates[4] = {1, 1, 3, 4};

/* What the steps of one layer share. */
typedef struct {
  rnn_parallel run;
  rnn_product multiply;
  int kind, threads, in_place;
  ptrdiff_t hidden, steps, batch, block;
  const ptrdiff_t *n, *at;
} rnn_plan;

/* Cycles of a panel of k rows of `wide` vectors: those of its products, or of reading it from the second-level cache. */
static inline double rnn_cycles(ptrdiff_t rows, ptrdiff_t k, int wide) {
  return (double)k * wide * (rows < 2 ? 2 : rows);
}

/* Tasks a chunk: equal chunks of some microseconds, a multiple of the threads where there are more. */
static inline ptrdiff_t rnn_grain(ptrdiff_t tasks, double cycles, int threads) {
  ptrdiff_t chunks = (ptrdiff_t)(cycles * tasks / 6000);
  if (chunks < 2 || threads < 2) return tasks > 0 ? tasks : 1;
  if (chunks > threads) chunks = chunks / threads * threads;
  return chunks < tasks ? (tasks + chunks - 1) / chunks : 1;
}

/* Cephes (S. Moshier), expf: range reduction by log 2, polynomial of degree 5. */
static inline __attribute__((always_inline)) float rnn_exp_f32(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  float n = rintf(x * 1.44269504088896341f), r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  union { int i; float f; } scale = {((int)n + 127) << 23};
  return p * scale.f;
}

static inline __attribute__((always_inline)) float rnn_sigmoid_f32(float x) { return 1.0f / (1.0f + rnn_exp_f32(-x)); }

/* Cephes, tanhf: a polynomial near zero, where 1 - 2 / (exp(2 x) + 1) would lose digits. */
static inline __attribute__((always_inline)) float rnn_tanh_f32(float x) {
  float a = fabsf(x), z = x * x;
  float large = copysignf(1.0f - 2.0f / (rnn_exp_f32(2.0f * a) + 1.0f), x);
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float small = p * z * x + x;
  return a > 0.625f ? large : small;
}

static inline double rnn_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
static inline double rnn_tanh_f64(double x) { return tanh(x); }

#define T float
#define NAME(x) x##_f32
#include "rnn_steps.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "rnn_steps.h"
#undef T
#undef NAME
#endif
