/* One time step of a recurrent layer, forward and backward, in the type T of VL-element vectors.
 *
 * The recurrent weight is packed into panels that hold the columns of all gates for VL hidden units,
 * so that one task multiplies and applies the gates while they are in registers. Included once a type:
 *     #define T float
 *     #define NAME(x) x##_f32
 *     #include "rnn_steps.h"
 */
#define VL ((int)(RNN_BYTES / sizeof(T)))
typedef T NAME(vec) __attribute__((vector_size(RNN_BYTES), aligned(sizeof(T))));
#define V NAME(vec)

typedef struct {
  ptrdiff_t n, hidden, k;     /* rows of this step, hidden units, length of the products */
  int kind;                   /* 0 tanh, 1 relu, 2 GRU, 3 LSTM */
  const T *a;                 /* rows x k: previous h (forward), gradients of the gates (backward) */
  ptrdiff_t lda;
  const T *panels;            /* or NULL where `product` is: rows x gates * hidden, computed from the weight as it is */
  const T *product;
  T *gates;                   /* rows x gates * hidden: in: from the inputs; out: activated */
  T *cell, *cells;            /* LSTM: state, updated; its history */
  const T *bias_n;            /* GRU: bias of the recurrent part of n, or NULL */
  T *recurrent_n;             /* GRU: that part, kept for backward */
  T *out;                     /* rows x hidden */
} NAME(step);

static inline __attribute__((always_inline)) void NAME(block)(const int rows, const int ng, ptrdiff_t k, const T *a,
                                                              ptrdiff_t lda, const T *p, T *acc) {
  V c[8][4];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int g = 0; g < ng; g++) c[r][g] = *(const V *)(acc + (r * ng + g) * VL);
  for (ptrdiff_t i = 0; i < k; i++, p += ng * VL) {
    V b[4];
#pragma GCC unroll 4
    for (int g = 0; g < ng; g++) {
      b[g] = *(const V *)(p + g * VL);
      RNN_KEEP(b[g]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      T x = a[r * lda + i];
#pragma GCC unroll 4
      for (int g = 0; g < ng; g++) c[r][g] += x * b[g];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int g = 0; g < ng; g++) *(V *)(acc + (r * ng + g) * VL) = c[r][g];
}

#define BLOCKS(ng, most) \
  static __attribute__((noinline)) void NAME(product##ng)(int rows, ptrdiff_t k, const T *a, ptrdiff_t lda, const T *p, T *acc) { \
    while (rows >= most) { NAME(block)(most, ng, k, a, lda, p, acc); rows -= most; a += most * lda; acc += most * ng * VL; } \
    if (rows & 4) { NAME(block)(4, ng, k, a, lda, p, acc); a += 4 * lda; acc += 4 * ng * VL; } \
    if (rows & 2) { NAME(block)(2, ng, k, a, lda, p, acc); a += 2 * lda; acc += 2 * ng * VL; } \
    if (rows & 1) NAME(block)(1, ng, k, a, lda, p, acc); \
  }
BLOCKS(1, 8)
BLOCKS(2, RNN_ROWS2)
BLOCKS(3, RNN_ROWS3)
BLOCKS(4, RNN_ROWS4)
#undef BLOCKS

/* Panels of the recurrent weight (gates * H rows of H). Forward: panel j holds, for each of the H columns, VL rows of
 * every gate. Backward: panel j holds columns [2 j VL, 2 (j + 1) VL) of every row. Zeros fill the last. */
typedef struct {
  const T *w;
  ptrdiff_t hidden;
  int ng, backward;
  T *p;
} NAME(packing);

static void NAME(pack_tasks)(void *context, ptrdiff_t begin, ptrdiff_t end) {
  const NAME(packing) *k = context;
  const ptrdiff_t H = k->hidden, wide = k->backward ? 2 * VL : VL, rows = k->backward ? k->ng * H : H;
  const ptrdiff_t step = k->backward ? wide : k->ng * VL;
  for (ptrdiff_t j = begin; j < end; j++) {
    const ptrdiff_t first = j * wide, w = H - first < wide ? H - first : wide;
    T *p = k->p + j * rows * step;
    if (w < wide) memset(p, 0, sizeof(T) * rows * step);
    if (k->backward)
      for (ptrdiff_t i = 0; i < rows; i++) {
        if (w == wide) memcpy(p + i * step, k->w + i * H + first, sizeof(T) * wide);
        else memcpy(p + i * step, k->w + i * H + first, sizeof(T) * w);
      }
    else
      for (int g = 0; g < k->ng; g++)
        ft_transpose((char *)(p + g * VL), sizeof(T) * step, (const char *)(k->w + (g * H + first) * H), sizeof(T) * H, w, H,
                     sizeof(T));
  }
}

static inline void NAME(copy)(T *to, const T *from, ptrdiff_t n) {
  if (n == VL) memcpy(to, from, VL * sizeof(T));
  else memcpy(to, from, n * sizeof(T));
}

static void NAME(add_product)(const NAME(step) *s, ptrdiff_t r0, int rows, int ng, ptrdiff_t first, ptrdiff_t w, T *acc) {
  for (int r = 0; r < rows; r++)
    for (int g = 0; g < ng; g++) {
      const T *from = s->product + ((r0 + r) * ng + g) * s->hidden + first;
      for (ptrdiff_t l = 0; l < w; l++) acc[(r * ng + g) * VL + l] += from[l];
    }
}

#define ROWS 32

/* Hidden units [j VL, (j + 1) VL) of one step: product, gates, new state. */
static void NAME(forward_chunk)(const NAME(step) *s, ptrdiff_t j) {
  const int ng = rnn_gates[s->kind];
  const ptrdiff_t H = s->hidden, first = j * VL, w = H - first < VL ? H - first : VL;
  const T *p = s->product ? NULL : s->panels + j * s->k * ng * VL;
  T acc[ROWS * 4 * VL] __attribute__((aligned(64)));
  for (ptrdiff_t r0 = 0; r0 < s->n; r0 += ROWS) {
    int rows = s->n - r0 < ROWS ? (int)(s->n - r0) : ROWS;
    memset(acc, 0, sizeof(T) * rows * ng * VL);
    for (int r = 0; r < rows; r++)
      for (int g = 0; g < ng; g++) {
        /* the recurrent part of a GRU's n stays apart from what comes from the input */
        const T *from = s->kind == 2 && g == 2 ? (s->bias_n ? s->bias_n + first : NULL)
                                               : s->gates + ((r0 + r) * ng + g) * H + first;
        if (from) NAME(copy)(acc + (r * ng + g) * VL, from, w);
      }
    const T *a = s->a + r0 * s->lda;
    if (s->product) NAME(add_product)(s, r0, rows, ng, first, w, acc);
    else if (ng == 1) NAME(product1)(rows, s->k, a, s->lda, p, acc);
    else if (ng == 3) NAME(product3)(rows, s->k, a, s->lda, p, acc);
    else NAME(product4)(rows, s->k, a, s->lda, p, acc);
    for (int r = 0; r < rows; r++) {
      T *x = acc + r * ng * VL, *gates = s->gates + (r0 + r) * ng * H + first;
      const ptrdiff_t at = (r0 + r) * H + first;
      T h[VL], c[VL];
      if (s->kind == 3) {
        memset(c, 0, sizeof c);
        NAME(copy)(c, s->cell + at, w);
        for (int l = 0; l < VL; l++) {
          T i = NAME(rnn_sigmoid)(x[l]), f = NAME(rnn_sigmoid)(x[VL + l]);
          T g = NAME(rnn_tanh)(x[2 * VL + l]), o = NAME(rnn_sigmoid)(x[3 * VL + l]);
          c[l] = f * c[l] + i * g;
          h[l] = o * NAME(rnn_tanh)(c[l]);
          x[l] = i; x[VL + l] = f; x[2 * VL + l] = g; x[3 * VL + l] = o;
        }
        NAME(copy)(s->cell + at, c, w);
        NAME(copy)(s->cells + at, c, w);
      } else if (s->kind == 2) {
        T before[VL], nx[VL];
        memset(before, 0, sizeof before);
        memset(nx, 0, sizeof nx);
        NAME(copy)(before, s->a + (r0 + r) * s->lda + first, w);
        NAME(copy)(nx, gates + 2 * H, w);
        NAME(copy)(s->recurrent_n + at, x + 2 * VL, w);
        for (int l = 0; l < VL; l++) {
          T rr = NAME(rnn_sigmoid)(x[l]), z = NAME(rnn_sigmoid)(x[VL + l]);
          T n = NAME(rnn_tanh)(nx[l] + rr * x[2 * VL + l]);
          h[l] = n + z * (before[l] - n);
          x[l] = rr; x[VL + l] = z; x[2 * VL + l] = n;
        }
      } else {
        for (int l = 0; l < VL; l++) h[l] = s->kind == 0 ? NAME(rnn_tanh)(x[l]) : x[l] > 0 || x[l] != x[l] ? x[l] : 0;
      }
      if (s->kind >= 2)
        for (int g = 0; g < ng; g++) NAME(copy)(gates + g * H, x + g * VL, w);
      NAME(copy)(s->out + at, h, w);
    }
  }
}

typedef struct {
  ptrdiff_t n, hidden;
  int kind;
  const T *gates, *cells, *recurrent_n, *out, *gout;  /* of this step */
  const T *const *before;     /* rows of the state before it: c for LSTM, h for GRU */
  T *dh, *dc;                 /* gradient of the state after it; of the one before it afterwards */
  T *dgates, *drecurrent;     /* of what the input gave; of what the state gave (GRU: apart) */
} NAME(gstep);

/* Rows [begin, end): gradients of the gates from the gradient of the new state. */
static void NAME(backward_rows)(const NAME(gstep) *s, ptrdiff_t begin, ptrdiff_t end) {
  const ptrdiff_t H = s->hidden;
  for (ptrdiff_t r = begin; r < end; r++) {
    T *dh = s->dh + r * H, *dc = s->dc + r * H;
    const T *go = s->gout ? s->gout + r * H : NULL;
    if (go)
      for (ptrdiff_t l = 0; l < H; l++) dh[l] += go[l];
    if (s->kind == 3) {
      const T *i = s->gates + r * 4 * H, *f = i + H, *g = f + H, *o = g + H, *c = s->cells + r * H, *was = s->before[r];
      T *di = s->dgates + r * 4 * H, *df = di + H, *dg = df + H, *d_o = dg + H;
#pragma GCC ivdep
      for (ptrdiff_t l = 0; l < H; l++) {
        T t = NAME(rnn_tanh)(c[l]), dcl = dc[l] + dh[l] * o[l] * (1 - t * t);
        d_o[l] = dh[l] * t * o[l] * (1 - o[l]);
        di[l] = dcl * g[l] * i[l] * (1 - i[l]);
        df[l] = dcl * was[l] * f[l] * (1 - f[l]);
        dg[l] = dcl * i[l] * (1 - g[l] * g[l]);
        dc[l] = dcl * f[l];
        dh[l] = 0;
      }
    } else if (s->kind == 2) {
      const T *rr = s->gates + r * 3 * H, *z = rr + H, *n = z + H, *hn = s->recurrent_n + r * H, *was = s->before[r];
      T *dr = s->dgates + r * 3 * H, *dz = dr + H, *dn = dz + H;
      T *er = s->drecurrent + r * 3 * H, *ez = er + H, *en = ez + H;
#pragma GCC ivdep
      for (ptrdiff_t l = 0; l < H; l++) {
        T d = dh[l], a = d * (1 - z[l]) * (1 - n[l] * n[l]);
        dn[l] = a;
        dz[l] = ez[l] = d * (was[l] - n[l]) * z[l] * (1 - z[l]);
        dr[l] = er[l] = a * hn[l] * rr[l] * (1 - rr[l]);
        en[l] = a * rr[l];
        dh[l] = d * z[l];
      }
    } else {
      const T *y = s->out + r * H;
      T *d = s->dgates + r * H;
      for (ptrdiff_t l = 0; l < H; l++) {
        d[l] = s->kind == 0 ? dh[l] * (1 - y[l] * y[l]) : y[l] > 0 ? dh[l] : 0;
        dh[l] = 0;
      }
    }
  }
}

/* Columns [2 j VL, 2 (j + 1) VL) of dh += dgates W: `out` is dh, `a` the gradients of the gates. */
static void NAME(backward_chunk)(const NAME(step) *s, ptrdiff_t j) {
  const ptrdiff_t H = s->hidden, first = 2 * j * VL, w = H - first < 2 * VL ? H - first : 2 * VL;
  T acc[ROWS * 2 * VL] __attribute__((aligned(64)));
  for (ptrdiff_t r0 = 0; r0 < s->n; r0 += ROWS) {
    int rows = s->n - r0 < ROWS ? (int)(s->n - r0) : ROWS;
    memset(acc, 0, sizeof(T) * rows * 2 * VL);
    for (int r = 0; r < rows; r++) memcpy(acc + r * 2 * VL, s->out + (r0 + r) * H + first, w * sizeof(T));
    NAME(product2)(rows, s->k, s->a + r0 * s->lda, s->lda, s->panels + j * s->k * 2 * VL, acc);
    for (int r = 0; r < rows; r++) memcpy(s->out + (r0 + r) * H + first, acc + r * 2 * VL, w * sizeof(T));
  }
}

static void NAME(forward_tasks)(void *s, ptrdiff_t begin, ptrdiff_t end) {
  for (ptrdiff_t j = begin; j < end; j++) NAME(forward_chunk)(s, j);
}
static void NAME(backward_tasks)(void *s, ptrdiff_t begin, ptrdiff_t end) {
  for (ptrdiff_t j = begin; j < end; j++) NAME(backward_chunk)(s, j);
}
static void NAME(row_tasks)(void *s, ptrdiff_t begin, ptrdiff_t end) { NAME(backward_rows)(s, begin, end); }

/* The steps of a layer, in the order in which they run: step t has n[t] rows, which begin at row at[t]. A row of the batch
 * depends on itself alone, so that a block of rows can go through all steps without waiting for the others. */
typedef struct {
  rnn_parallel run;
  rnn_product multiply;
  int kind, threads;
  ptrdiff_t hidden, steps, block;     /* block: rows that go through the steps together */
  const ptrdiff_t *n, *at;
  const T *w, *panels;
  T *product;                         /* room for one step's product where the weight is read as it lies, or NULL */
  T *gates, *cells, *kept_n, *out;    /* of all steps */
  T *h, *c;                           /* forward: the state */
  const T *bias_n;
  const T *h0, *c0, *gout, **before;  /* backward */
  T *dh, *dc, *dgates, *drecurrent, *all_before;
  int failed;
} NAME(layer);

static void NAME(forward_block)(NAME(layer) *y, ptrdiff_t first, ptrdiff_t last) {
  const int ng = rnn_gates[y->kind];
  const ptrdiff_t H = y->hidden, panels = (H + VL - 1) / VL;
  for (ptrdiff_t t = 0; t < y->steps; t++) {
    const ptrdiff_t n = (y->n[t] < last ? y->n[t] : last) - first, at = y->at[t] + first;
    if (n <= 0) continue;
    NAME(step) s = {.n = n, .hidden = H, .k = H, .kind = y->kind, .a = y->h + first * H, .lda = H, .panels = y->panels,
                    .product = y->product, .gates = y->gates + at * ng * H, .cell = y->c ? y->c + first * H : NULL,
                    .cells = y->cells ? y->cells + at * H : NULL, .bias_n = y->bias_n,
                    .recurrent_n = y->kept_n ? y->kept_n + at * H : NULL, .out = y->out + at * H};
    if (y->product && y->multiply(sizeof(T), n, ng * H, H, s.a, y->w, 1, H, y->product, 0)) y->failed = 1;
    const double cycles = rnn_cycles(n, y->product ? 0 : H, ng) + 30.0 * n * ng * sizeof(T) / 4;
    y->run(panels, rnn_grain(panels, cycles, y->threads), NAME(forward_tasks), &s);
    memcpy(y->h + first * H, s.out, sizeof(T) * n * H);
  }
}

/* Where row r of the state before step t is: in the step before it, or in the initial state. */
static inline const T *NAME(row_before)(const NAME(layer) *y, ptrdiff_t t, ptrdiff_t r, const T *history, const T *initial) {
  return t > 0 && r < y->n[t - 1] ? history + (y->at[t - 1] + r) * y->hidden : initial + r * y->hidden;
}

static void NAME(backward_block)(NAME(layer) *y, ptrdiff_t first, ptrdiff_t last) {
  const ptrdiff_t H = y->hidden, k = rnn_gates[y->kind] * H, panels = (H + 2 * VL - 1) / (2 * VL);
  for (ptrdiff_t t = y->steps; t-- > 0;) {
    const ptrdiff_t n = (y->n[t] < last ? y->n[t] : last) - first, at = y->at[t] + first;
    if (n <= 0) continue;
    for (ptrdiff_t r = first; r < first + n; r++) {
      const T *was = NAME(row_before)(y, t, r, y->out, y->h0);
      memcpy(y->all_before + (y->at[t] + r) * H, was, sizeof(T) * H);
      y->before[r] = y->kind == 3 ? NAME(row_before)(y, t, r, y->cells, y->c0) : was;
    }
    NAME(gstep) g = {.n = n, .hidden = H, .kind = y->kind, .gates = y->gates + at * k, .cells = y->cells ? y->cells + at * H : NULL,
                     .recurrent_n = y->kept_n ? y->kept_n + at * H : NULL, .out = y->out + at * H,
                     .gout = y->gout ? y->gout + at * H : NULL, .before = y->before + first, .dh = y->dh + first * H,
                     .dc = y->dc + first * H, .dgates = y->dgates + at * k, .drecurrent = y->drecurrent + at * k};
    y->run(n, rnn_grain(n, 4.0 * k * sizeof(T) / 4, y->threads), NAME(row_tasks), &g);
    NAME(step) s = {.n = n, .hidden = H, .k = k, .a = g.drecurrent, .lda = k, .panels = y->panels, .out = g.dh};
    if (y->product) y->failed |= y->multiply(sizeof(T), n, H, k, g.drecurrent, y->w, H, 1, g.dh, 1) != 0;
    else y->run(panels, rnn_grain(panels, rnn_cycles(n, k, 2), y->threads), NAME(backward_tasks), &s);
  }
}

static void NAME(forward_blocks)(void *y, ptrdiff_t begin, ptrdiff_t end) { NAME(forward_block)(y, begin, end); }
static void NAME(backward_blocks)(void *y, ptrdiff_t begin, ptrdiff_t end) { NAME(backward_block)(y, begin, end); }

/* h and c hold the initial state, the last one afterwards. `scratch` is for the packed weight or, where `in_place`, for one
 * step's product. Returns -1 when a product had no memory. */
static int NAME(rnn_forward)(const rnn_plan *p, const void *w, void *scratch, void *h, void *gates, void *out, void *c, void *cells,
                             const void *bias_n, void *kept_n) {
  const ptrdiff_t H = p->hidden, panels = (H + VL - 1) / VL;
  const int ng = rnn_gates[p->kind];
  NAME(packing) packing = {.w = w, .hidden = H, .ng = ng, .p = scratch};
  if (!p->in_place) p->run(panels, rnn_grain(panels, 4.0 * H * ng, p->threads), NAME(pack_tasks), &packing);
  NAME(layer) y = {.run = p->run, .multiply = p->multiply, .kind = p->kind, .threads = p->threads, .hidden = H, .steps = p->steps,
                   .n = p->n, .at = p->at, .w = w, .panels = scratch, .product = p->in_place ? scratch : NULL, .gates = gates,
                   .cells = cells, .kept_n = kept_n, .out = out, .h = h, .c = c, .bias_n = bias_n};
  if (p->block < p->batch) p->run(p->batch, p->block, NAME(forward_blocks), &y);
  else NAME(forward_block)(&y, 0, p->batch);
  return y.failed ? -1 : 0;
}

/* All steps, last first. dh and dc: gradients of the last state, of the initial one afterwards. `before` receives h
 * before each step, row by row, for the gradient of the recurrent weight. */
static int NAME(rnn_backward)(const rnn_plan *p, const void *w, void *scratch, const void *gates, const void *cells, const void *kept_n,
                              const void *out, const void *h0, const void *c0, const void *gout, void *dh, void *dc, void *dgates,
                              void *drecurrent, void *before) {
  const ptrdiff_t H = p->hidden, panels = (H + 2 * VL - 1) / (2 * VL);
  const int ng = rnn_gates[p->kind];
  const T **rows = malloc(sizeof(T *) * (p->batch + 1));
  if (!rows) return -1;
  NAME(packing) packing = {.w = w, .hidden = H, .ng = ng, .backward = 1, .p = scratch};
  if (!p->in_place) p->run(panels, rnn_grain(panels, 4.0 * H * ng, p->threads), NAME(pack_tasks), &packing);
  NAME(layer) y = {.run = p->run, .multiply = p->multiply, .kind = p->kind, .threads = p->threads, .hidden = H, .steps = p->steps,
                   .n = p->n, .at = p->at, .w = w, .panels = scratch, .product = p->in_place ? scratch : NULL, .gates = (T *)gates,
                   .cells = (T *)cells, .kept_n = (T *)kept_n, .out = (T *)out, .h0 = h0, .c0 = c0, .gout = gout, .before = rows,
                   .dh = dh, .dc = dc, .dgates = dgates, .drecurrent = drecurrent, .all_before = before};
  if (p->block < p->batch) p->run(p->batch, p->block, NAME(backward_blocks), &y);
  else NAME(backward_block)(&y, 0, p->batch);
  free(rows);
  return y.failed ? -1 : 0;
}

static void NAME(column_sums)(const void *all, ptrdiff_t rows, ptrdiff_t cols, void *result) {
  const T *a = all;
  T *sums = result;
  memset(sums, 0, cols * sizeof(T));
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t c = 0; c < cols; c++) sums[c] += a[r * cols + c];
}
#undef V
#undef VL
#undef ROWS
