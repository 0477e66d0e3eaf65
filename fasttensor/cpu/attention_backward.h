/* Gradients of attention; included by attention_type.h after attention_blocks.h. The weights are computed
 * again, block by block, as in forward. */

/* A block of n keys from j by the rows from i of one head of q. */
static void NAME(block_back)(attention_job *g, ptrdiff_t item, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t n, T *dq, ptrdiff_t ldq, int add,
                             T *room) {
  const ft_kernel *kern = g->kern;
  const ptrdiff_t w = attention_up(rows, FT_LANES), head = attention_place(&g->k, g, item, g->shared);
  const ptrdiff_t up_e = attention_up(g->E, FT_LANES), up_v = attention_up(g->V, FT_LANES), wide = up_e > up_v ? up_e : up_v;
  T *s = room, *d = s + ATTENTION_KEYS * w, *masks = d + ATTENTION_KEYS * w, *turned = masks + ATTENTION_KEYS * w;
  T *lse = turned + w * wide, *delta = lse + w, *copy = delta + w;
  const T *q = (const T *)g->q.p + attention_place(&g->q, g, item, 1) + i * g->q.row, *x;
  const T *grad = (const T *)g->g.p + attention_place(&g->g, g, item, 1) + i * g->g.row;
  const T *o = (const T *)g->o.p + attention_place(&g->o, g, item, 1) + i * g->o.row;
  const T *keys = (const T *)g->k.p + head + j * g->k.row;
  const T *values = (const T *)g->v.p + attention_place(&g->v, g, item, g->shared) + j * g->v.row;
  T *dk = (T *)g->dk.p + attention_place(&g->dk, g, item, g->shared) + j * g->dk.row;
  T *dv = (T *)g->dv.p + attention_place(&g->dv, g, item, g->shared) + j * g->dv.row;
  ptrdiff_t step, ld;
  for (ptrdiff_t r = 0; r < w; r++) {
    lse[r] = r < rows ? ((const T *)g->lse)[item * g->L + i + r] * (T)1.44269504088896340736 : (T)INFINITY;
    delta[r] = r < rows ? NAME(dot)(grad + r * g->g.row, o + r * g->o.row, g->V) : 0;
  }
  const T *mask = NAME(mask)(g, item, i, rows, j, n, w, masks, &step);
  NAME(turn)(kern, q, g->q.row, rows, g->E, turned, w, (T)(g->scale * 1.44269504088896340736));
  NAME(across)(kern, keys, g->k.row, n, g->E, turned, w, s, g->causal, i - j);
  NAME(weigh_again)(s, w, n, g->causal, i - j, mask, step, lse);
  NAME(turn)(kern, grad, g->g.row, rows, g->V, turned, w, 1);
  NAME(across)(kern, values, g->v.row, n, g->V, turned, w, d, g->causal, i - j);
  ld = g->g.row;
  x = NAME(rows)(kern, grad, &ld, rows, g->V, copy);
  NAME(along_rows)(kern, s, w, rows, n, x, ld, g->V, dv, g->dv.row, g->causal, i - j);
  NAME(bend)(s, d, w, n, g->causal, i - j, delta, (T)g->scale);
  ld = g->q.row;
  x = NAME(rows)(kern, q, &ld, rows, g->E, copy);
  NAME(along_rows)(kern, d, w, rows, n, x, ld, g->E, dk, g->dk.row, g->causal, i - j);
  ld = g->k.row;
  x = NAME(rows)(kern, keys, &ld, n, g->E, copy);
  NAME(along_keys)(kern, d, w, rows, n, x, ld, g->E, dq, ldq, add, g->causal, i - j);
}

/* Tasks: a piece of the keys of one head of k and v, with all heads of q that use it. */
static void NAME(backward)(void *context, ptrdiff_t begin, ptrdiff_t end) {
  attention_job *g = (attention_job *)context;
  const ptrdiff_t w = ATTENTION_ROWS, wide = attention_up(g->E > g->V ? g->E : g->V, FT_LANES);
  T *room = (T *)ft_scratch(sizeof(T) * (w * (3 * ATTENTION_KEYS + wide + 2) + ATTENTION_KEYS * wide));
  if (!room) { g->failed = 1; return; }
  for (ptrdiff_t task = begin; task < end; task++) {
    const ptrdiff_t first = task / g->pieces * g->shared, piece = task % g->pieces;
    const ptrdiff_t from = piece * g->piece, to = attention_least(g->S, from + g->piece);
    for (ptrdiff_t j = from; j < to; j++) {
      memset((T *)g->dk.p + attention_place(&g->dk, g, first, g->shared) + j * g->dk.row, 0, g->E * sizeof(T));
      memset((T *)g->dv.p + attention_place(&g->dv, g, first, g->shared) + j * g->dv.row, 0, g->V * sizeof(T));
    }
    for (ptrdiff_t item = first; item < first + g->shared; item++) {
      T *dq = (T *)g->dq.p + attention_place(&g->dq, g, item, 1);
      ptrdiff_t ldq = g->dq.row;
      if (piece) dq = (T *)g->parts + ((piece - 1) * g->items + item) * g->L * g->E, ldq = g->E;
      for (ptrdiff_t j = from; j < to; j += ATTENTION_KEYS)
        for (ptrdiff_t i = g->causal ? j / ATTENTION_ROWS * ATTENTION_ROWS : 0; i < g->L; i += ATTENTION_ROWS) {
          const ptrdiff_t rows = attention_least(ATTENTION_ROWS, g->L - i);
          ptrdiff_t n = attention_least(ATTENTION_KEYS, to - j);
          if (g->causal) n = attention_least(n, i + rows - j);
          NAME(block_back)(g, item, i, rows, j, n, dq + i * ldq, ldq, j > from, room);
        }
    }
  }
}

/* Tasks: query rows of all items, to whose gradient the pieces of the keys that they see are added in order. */
static void NAME(add_parts)(void *context, ptrdiff_t begin, ptrdiff_t end) {
  const attention_job *g = (const attention_job *)context;
  for (ptrdiff_t task = begin; task < end; task++) {
    const ptrdiff_t item = task / g->L, i = task % g->L;
    T *restrict dq = (T *)g->dq.p + attention_place(&g->dq, g, item, 1) + i * g->dq.row;
    for (ptrdiff_t piece = 1; piece < g->pieces; piece++) {
      if (g->causal && piece * g->piece >= attention_up(i + 1, ATTENTION_ROWS)) break;
      const T *restrict part = (const T *)g->parts + (((piece - 1) * g->items + item) * g->L + i) * g->E;
      for (ptrdiff_t e = 0; e < g->E; e++) dq[e] += part[e];
    }
  }
}
