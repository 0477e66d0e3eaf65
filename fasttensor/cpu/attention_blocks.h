/* The bodies of parallel_for; included by attention_type.h after attention_softmax.h. */

/* C = alpha A B, added to C if `add`; rows of B and C are contiguous. */
static void NAME(product)(const ft_kernel *kern, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T *a, ptrdiff_t ars, ptrdiff_t acs,
                          const T *b, ptrdiff_t ldb, T *c, ptrdiff_t crs, int add) {
  ft_tile t = {.ars = ars, .acs = acs, .ldb = ldb, .crs = crs, .ccs = 1, .drs = crs, .dcs = 1, .plain = 1};
  FT_ONE(t.alpha) = FT_ONE(t.beta) = 1;
  for (ptrdiff_t j = 0; j < n; j += kern->nr)
    for (ptrdiff_t i = 0; i < m; i += kern->mr) {
      t.a = a + i * ars, t.b = b + j, t.c = c + i * crs + j;
      t.d = add ? t.c : NULL;
      kern->run(&t, k, attention_least(kern->mr, m - i), attention_least(kern->nr, n - j));
    }
}

/* Rows that a product reads as its B: in place, or copied to `room` where their last vector could not be masked. */
static const T *NAME(rows)(const ft_kernel *kern, const T *x, ptrdiff_t *ld, ptrdiff_t n, ptrdiff_t width, T *room) {
  if (kern->partial || width % kern->lanes == 0) return x;
  const ptrdiff_t up = attention_up(width, kern->lanes);
  for (ptrdiff_t i = 0; i < n; i++) {
    memcpy(room + i * up, x + i * *ld, width * sizeof(T));
    memset(room + i * up + width, 0, (up - width) * sizeof(T));
  }
  *ld = up;
  return room;
}

/* Rows as columns: out[e * w + i] = factor x[i][e], 0 for n <= i < w. */
static void NAME(turn)(const ft_kernel *kern, const T *x, ptrdiff_t ld, ptrdiff_t n, ptrdiff_t width, T *out, ptrdiff_t w, T factor) {
  kern->pack(out, w, x, ld, 1, n, width);
  if (factor != 1)
    for (ptrdiff_t i = 0; i < width * w; i++) out[i] *= factor;
  if (n < w)
    for (ptrdiff_t e = 0; e < width; e++)
      for (ptrdiff_t i = n; i < w; i++) out[e * w + i] = 0;
}

/* The scores, or products of that form, of n keys by w query rows; with `causal`, lanes that a whole panel of keys hides
 * are left out. `ahead`: how far the first row's position is ahead of the first key's. */
static void NAME(across)(const ft_kernel *kern, const T *keys, ptrdiff_t ld, ptrdiff_t n, ptrdiff_t width, const T *turned, ptrdiff_t w,
                         T *s, int causal, ptrdiff_t ahead) {
  const ptrdiff_t whole = causal ? attention_least(n, ahead < 0 ? 0 : (ahead + FT_LANES) / kern->mr * kern->mr) : n;
  if (whole) NAME(product)(kern, whole, w, width, keys, ld, 1, turned, w, s, w, 0);
  for (ptrdiff_t k = whole; k < n; k += kern->mr) {
    const ptrdiff_t first = (k > ahead ? k - ahead : 0) / FT_LANES * FT_LANES;
    if (first < w)
      NAME(product)(kern, attention_least(kern->mr, n - k), w - first, width, keys + k * ld, ld, 1, turned + first, w, s + k * w + first, w, 0);
  }
}

/* out[row] += sum over the keys that a row sees of s[key][row] x[key]. */
static void NAME(along_keys)(const ft_kernel *kern, const T *s, ptrdiff_t w, ptrdiff_t rows, ptrdiff_t n, const T *x, ptrdiff_t ld,
                             ptrdiff_t width, T *out, ptrdiff_t ldo, int add, int causal, ptrdiff_t ahead) {
  if (!causal || ahead + 1 >= n) {
    NAME(product)(kern, rows, width, n, s, 1, w, x, ld, out, ldo, add);
    return;
  }
  for (ptrdiff_t i = 0; i < rows; i += kern->mr) {
    const ptrdiff_t m = attention_least(kern->mr, rows - i), k = attention_least(n, ahead + i + m);
    if (k > 0) NAME(product)(kern, m, width, k, s + i, 1, w, x, ld, out + i * ldo, ldo, add);
  }
}

/* out[key] += sum over the rows that see a key of s[key][row] x[row]. */
static void NAME(along_rows)(const ft_kernel *kern, const T *s, ptrdiff_t w, ptrdiff_t rows, ptrdiff_t n, const T *x, ptrdiff_t ld,
                             ptrdiff_t width, T *out, ptrdiff_t ldo, int causal, ptrdiff_t ahead) {
  if (!causal || ahead + 1 >= n) {
    NAME(product)(kern, n, width, rows, s, w, 1, x, ld, out, ldo, 1);
    return;
  }
  for (ptrdiff_t i = 0; i < n; i += kern->mr) {
    const ptrdiff_t m = attention_least(kern->mr, n - i), first = i > ahead ? i - ahead : 0;
    if (first < rows)
      NAME(product)(kern, m, width, rows - first, s + i * w + first, w, 1, x + first * ld, ld, out + i * ldo, ldo, 1);
  }
}

/* The mask of a block, [key][row] in `room`, or one number a key (then *step is not 0), or NULL. */
static const T *NAME(mask)(const attention_job *g, ptrdiff_t item, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t key, ptrdiff_t n, ptrdiff_t w,
                           T *room, ptrdiff_t *step) {
  *step = 0;
  if (!g->mask) return NULL;
  const T *m = (const T *)g->mask + item / g->heads * g->mask_outer + item % g->heads * g->mask_inner + row * g->mask_row +
               key * g->mask_col;
  if (g->mask_row == 0 && g->mask_col != 0) {
    *step = g->mask_col;
    return m;
  }
  g->kern->pack(room, w, m, g->mask_row, g->mask_col, rows, n);
  for (ptrdiff_t k = 0; k < n; k++)
    for (ptrdiff_t i = rows; i < w; i++) room[k * w + i] = 0;
  return room;
}

static T NAME(dot)(const T *a, const T *b, ptrdiff_t n) {
  NAME(vec) sum = {0};
  ptrdiff_t i = 0;
  T all = 0;
  for (; i + FT_LANES <= n; i += FT_LANES) sum += *(const NAME(uvec) *)(a + i) * *(const NAME(uvec) *)(b + i);
  for (; i < n; i++) all += a[i] * b[i];
  for (int l = 0; l < FT_LANES; l++) all += sum[l];
  return all;
}

/* m and l of finished rows become their log of the sum and the factor 1 / l. A row that sees no key gives zeros; its +inf
 * makes its weights zero in backward. */
static T NAME(finish)(T m, T *l) {
  const T sum = *l;
  *l = sum != 0 ? 1 / sum : 0;
  return sum != 0 ? m * (T)0.693147180559945309417 + FT_LOG(sum) : (T)INFINITY;
}

/* A block of few query rows: scores are rows, from dot products. */
static void NAME(few_rows)(attention_job *g, ptrdiff_t item, ptrdiff_t i, ptrdiff_t rows, T *room) {
  const ft_kernel *kern = g->kern;
  const ptrdiff_t width = attention_up(g->V, FT_LANES), last = g->causal ? attention_least(g->S, i + rows) : g->S;
  T *s = room, *acc = s + ATTENTION_FEW * ATTENTION_KEYS, *copy = acc + ATTENTION_FEW * width;
  T m[ATTENTION_FEW], l[ATTENTION_FEW];
  const T *q = (const T *)g->q.p + attention_place(&g->q, g, item, 1) + i * g->q.row;
  T *o = (T *)g->o.p + attention_place(&g->o, g, item, 1) + i * g->o.row;
  ft_tile t = {.a = q, .c = s, .ars = g->q.row, .acs = 1, .ldb = g->k.row, .crs = ATTENTION_KEYS, .ccs = 1, .drs = 0, .dcs = 1, .plain = 1};
  FT_ONE(t.alpha) = (T)(g->scale * 1.44269504088896340736);
  for (ptrdiff_t r = 0; r < rows; r++) m[r] = -(T)INFINITY, l[r] = 0;
  for (ptrdiff_t j = 0; j < last; j += ATTENTION_KEYS) {
    const ptrdiff_t n = attention_least(ATTENTION_KEYS, last - j);
    ptrdiff_t ld = g->v.row;
    t.b = (const T *)g->k.p + attention_place(&g->k, g, item, g->shared) + j * g->k.row;
    kern->dot(&t, g->E, rows, n);
    for (ptrdiff_t r = 0; r < rows; r++) {
      const T *mask = !g->mask ? NULL : (const T *)g->mask + item / g->heads * g->mask_outer + item % g->heads * g->mask_inner +
                                            (i + r) * g->mask_row + j * g->mask_col;
      const ptrdiff_t see = g->causal ? attention_least(n, i + r + 1 - j < 0 ? 0 : i + r + 1 - j) : n;
      const T factor = NAME(weigh_row)(s + r * ATTENTION_KEYS, n, see, mask, g->mask_col, m + r, l + r);
      if (factor != 1 && j)
        for (ptrdiff_t c = 0; c < g->V; c++) acc[r * width + c] *= factor;
    }
    const T *v = NAME(rows)(kern, (const T *)g->v.p + attention_place(&g->v, g, item, g->shared) + j * g->v.row, &ld, n, g->V, copy);
    NAME(product)(kern, rows, g->V, n, s, ATTENTION_KEYS, 1, v, ld, acc, width, j > 0);
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    ((T *)g->lse)[item * g->L + i + r] = NAME(finish)(m[r], l + r);
    for (ptrdiff_t c = 0; c < g->V; c++) o[r * g->o.row + c] = acc[r * width + c] * l[r];
  }
}

static void NAME(block)(attention_job *g, ptrdiff_t item, ptrdiff_t i, ptrdiff_t rows, T *room) {
  const ft_kernel *kern = g->kern;
  const ptrdiff_t w = attention_up(rows, FT_LANES), width = attention_up(g->V, FT_LANES);
  const ptrdiff_t last = g->causal ? attention_least(g->S, i + rows) : g->S;
  T *turned = room, *s = turned + g->E * w, *acc = s + ATTENTION_KEYS * w, *m = acc + rows * width, *l = m + w, *keep = l + w;
  T *masks = keep + w, *copy = masks + ATTENTION_KEYS * w;
  T *o = (T *)g->o.p + attention_place(&g->o, g, item, 1) + i * g->o.row;
  for (ptrdiff_t r = 0; r < w; r++) m[r] = -(T)INFINITY, l[r] = 0;
  NAME(turn)(kern, (const T *)g->q.p + attention_place(&g->q, g, item, 1) + i * g->q.row, g->q.row, rows, g->E, turned, w,
             (T)(g->scale * 1.44269504088896340736));
  for (ptrdiff_t j = 0; j < last; j += ATTENTION_KEYS) {
    const ptrdiff_t n = attention_least(ATTENTION_KEYS, last - j);
    ptrdiff_t step, ld = g->v.row;
    const T *mask = NAME(mask)(g, item, i, rows, j, n, w, masks, &step);
    NAME(across)(kern, (const T *)g->k.p + attention_place(&g->k, g, item, g->shared) + j * g->k.row, g->k.row, n, g->E, turned, w, s,
                 g->causal, i - j);
    if (NAME(weigh)(s, w, n, g->causal, i - j, mask, step, m, l, keep) && j)
      for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < width; c += FT_LANES) *(NAME(vec) *)(acc + r * width + c) *= keep[r];
    const T *v = NAME(rows)(kern, (const T *)g->v.p + attention_place(&g->v, g, item, g->shared) + j * g->v.row, &ld, n, g->V, copy);
    NAME(along_keys)(kern, s, w, rows, n, v, ld, g->V, acc, width, j > 0, g->causal, i - j);
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    ((T *)g->lse)[item * g->L + i + r] = NAME(finish)(m[r], l + r);
    for (ptrdiff_t c = 0; c < g->V; c++) o[r * g->o.row + c] = acc[r * width + c] * l[r];
  }
}

/* Tasks: blocks of query rows. */
static void NAME(forward)(void *context, ptrdiff_t begin, ptrdiff_t end) {
  attention_job *g = (attention_job *)context;
  const ptrdiff_t w = ATTENTION_ROWS, width = attention_up(g->V, FT_LANES);
  T *room = (T *)ft_scratch(sizeof(T) * (w * (g->E + 2 * ATTENTION_KEYS + width + 3) + ATTENTION_KEYS * width));
  if (!room) { g->failed = 1; return; }
  for (ptrdiff_t task = begin; task < end; task++) {
    const ptrdiff_t item = task / g->blocks, i = task % g->blocks * ATTENTION_ROWS, rows = attention_least(ATTENTION_ROWS, g->L - i);
    if (g->L < ATTENTION_FEW) NAME(few_rows)(g, item, i, rows, room);
    else NAME(block)(g, item, i, rows, room);
  }
}
