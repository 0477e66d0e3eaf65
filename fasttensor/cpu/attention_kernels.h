/* Attention by blocks for float and double. A block is 64 query rows of one head by 128 keys, and its scores lie transposed,
 * [key][query row]: queries are lanes, so that the softmax of 16 rows is plain vector arithmetic along the keys, and both
 * products read K, V and the weights where they lie. Only the queries of a block are packed.
 *
 *     attention_job job = {...};
 *     attention_forward_f32(&job, 0, items * job.blocks);       bodies of parallel_for
 *     attention_backward_f32(&job, 0, items / job.shared * job.pieces);
 *
 * The running softmax keeps the largest score m and the sum l of 2^(score - m), and rescales when m grows: Milakov and
 * Gimelshein, arXiv 1805.02867. Scores carry the factor log2(e), so that the weights are powers of two. */
#ifndef FT_ATTENTION_KERNELS_H
#define FT_ATTENTION_KERNELS_H
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif
#include "../_core/scalar.h"
#include "gemm/kernel_types.h"
#include "scratch.h"

/* Strides in elements: of the two leading dimensions and of the rows, whose elements are neighbours. */
typedef struct { char *p; ptrdiff_t outer, inner, row; } attention_operand;

typedef struct {
  attention_operand q, k, v, o, g, dq, dk, dv;
  const char *mask;            /* added to the scores; NULL: none */
  ptrdiff_t mask_outer, mask_inner, mask_row, mask_col;
  char *lse;                   /* [heads of all items][L], log of each row's sum of exponentials */
  char *parts;                 /* [pieces - 1][heads of all items][L][E]: gradients of q from all pieces of keys but the first */
  const ft_kernel *kern;
  ptrdiff_t heads, shared;     /* heads of q, and how many of them use one head of k and v */
  ptrdiff_t items;             /* heads of q in all items */
  ptrdiff_t L, S, E, V;
  ptrdiff_t blocks;            /* of query rows */
  ptrdiff_t pieces, piece;     /* pieces of the keys in backward, and keys of one */
  int causal, failed;
  double scale;
} attention_job;

enum {
  ATTENTION_ROWS = 64,         /* query rows of a block */
  ATTENTION_KEYS = 128,        /* keys of a block */
  ATTENTION_FEW = 8,           /* query rows below which a block's lanes would be idle */
};

static inline ptrdiff_t attention_least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static inline ptrdiff_t attention_up(ptrdiff_t n, ptrdiff_t to) { return (n + to - 1) / to * to; }
/* Where the head of an item begins; `shared` is 1 for operands with the heads of q. */
static inline ptrdiff_t attention_place(const attention_operand *x, const attention_job *g, ptrdiff_t item, ptrdiff_t shared) {
  return item / g->heads * x->outer + item % g->heads / shared * x->inner;
}

#define FT_INLINE static inline __attribute__((always_inline))
#define T float
#define FT_INT int32_t
#define NAME(x) attention_##x##_f32
#define FT_LANES 16
#define FT_MANTISSA 23
#define FT_ROUND 12582912.0f
#define FT_LOWEST -126.0f
#define FT_POWERS {1.54531629451206902e-4f, 1.33908633646712344e-3f, 9.61808255727785149e-3f, 5.55035711421907782e-2f, \
                   0.240226507605681269f, 0.693147188026228781f}
#define FT_LOG log_f32
#define FT_ONE(t) ((t).f)
#define FT_MAX(a, b) _mm512_max_ps((__m512)(a), (__m512)(b))
#define FT_SCALE(a, b) _mm512_scalef_ps((__m512)(a), (__m512)(b))
#define FT_HUGE FLT_MAX
#include "attention_type.h"
#define T double
#define FT_INT int64_t
#define NAME(x) attention_##x##_f64
#define FT_LANES 8
#define FT_MANTISSA 52
#define FT_ROUND 6755399441055744.0
#define FT_LOWEST -1022.0
#define FT_POWERS {4.45496059818651839e-10, 7.0725859492692237e-9, 1.01780624458457735e-7, 1.32154425879216897e-6,    \
                   1.52527338298361184e-5, 1.54035304417360502e-4, 1.33335581464169353e-3, 9.61812910760688853e-3, \
                   5.55041086648215943e-2, 0.240226506959100982, 0.693147180559945309}
#define FT_LOG log_f64
#define FT_ONE(t) ((t).d)
#define FT_MAX(a, b) _mm512_max_pd((__m512d)(a), (__m512d)(b))
#define FT_SCALE(a, b) _mm512_scalef_pd((__m512d)(a), (__m512d)(b))
#define FT_HUGE DBL_MAX
#include "attention_type.h"
#endif
