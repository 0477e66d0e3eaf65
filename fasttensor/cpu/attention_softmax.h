/* The softmax of blocks of scores; included by attention_type.h. */
typedef T NAME(vec) __attribute__((vector_size(64)));
typedef T NAME(uvec) __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
typedef FT_INT NAME(ivec) __attribute__((vector_size(64)));

/* The larger of each lane, b where a or b is NaN. */
FT_INLINE NAME(vec) NAME(larger)(NAME(vec) a, NAME(vec) b) {
#ifdef __AVX512F__
  return (NAME(vec))FT_MAX(a, b);
#else
  const NAME(ivec) more = (NAME(ivec))(a > b);
  return (NAME(vec))((more & (NAME(ivec))a) | (~more & (NAME(ivec))b));
#endif
}

/* 2^x for x up to 1, NaN of NaN; 0 of -inf. 2^r on [-1/2, 1/2] is 1 + r p(r) with p by interpolation of (2^r - 1) / r in
 * Chebyshev points. */
FT_INLINE NAME(vec) NAME(exp2)(NAME(vec) x) {
  static const T c[] = FT_POWERS;
#ifdef __AVX512F__
  const T low = 2 * (T)FT_LOWEST;       /* scaling by it gives 0 */
#else
  const T low = (T)FT_LOWEST;
#endif
  const NAME(vec) zero = {0}, y = NAME(larger)(zero + low, x);
  const NAME(vec) t = y + (T)FT_ROUND, n = t - (T)FT_ROUND, r = y - n;
  NAME(vec) p = zero + c[0];
#pragma GCC unroll 12
  for (unsigned i = 1; i < sizeof c / sizeof c[0]; i++) p = p * r + c[i];
  p = p * r + 1;
#ifdef __AVX512F__
  return (NAME(vec))FT_SCALE(p, n);
#else
  /* n is added to the exponent's bits; what would be below the normal numbers is 0 */
  const NAME(ivec) none = (NAME(ivec))(x <= (T)FT_LOWEST), odd = (NAME(ivec))(x != x);
  const NAME(ivec) whole = ((NAME(ivec))p + ((NAME(ivec))t << FT_MANTISSA)) & ~none;
  return (NAME(vec))((odd & (NAME(ivec))x) | (~odd & whole));
#endif
}

/* -inf in the lanes below `first`. */
FT_INLINE NAME(vec) NAME(hide)(NAME(vec) x, ptrdiff_t first) {
  NAME(ivec) lane;
  for (int l = 0; l < FT_LANES; l++) lane[l] = l;
  const NAME(ivec) hidden = lane < (FT_INT)first;
  const NAME(vec) none = (NAME(vec)){0} - (T)INFINITY;
  return (NAME(vec))((hidden & (NAME(ivec))none) | (~hidden & (NAME(ivec))x));
}

/* What a vector of query rows sees of n keys: the first `all` whole, then up to `some` those that hide lanes below a
 * rising one. `ahead`: how far the first lane's position is ahead of the first key's. */
typedef struct { ptrdiff_t all, some; } NAME(view);
FT_INLINE NAME(view) NAME(seen)(int causal, ptrdiff_t n, ptrdiff_t ahead) {
  NAME(view) s = {n, n};
  if (causal) {
    s.all = ahead + 1 < 0 ? 0 : attention_least(ahead + 1, n);
    s.some = ahead + FT_LANES < 0 ? 0 : attention_least(ahead + FT_LANES, n);
  }
  return s;
}

/* One vector of a block of scores, w apart for each key: masks them, and finds the largest. `mask`: NULL, or what is added,
 * w apart too, or one number a key with `step` apart. */
FT_INLINE NAME(vec) NAME(masked_largest)(T *s, ptrdiff_t w, NAME(view) see, ptrdiff_t ahead, const T *mask, ptrdiff_t step,
                                         NAME(vec) top) {
  const T log2e = (T)1.44269504088896340736;
  if (mask)
    for (ptrdiff_t k = 0; k < see.some; k++) {
      NAME(vec) x = *(NAME(vec) *)(s + k * w);
      if (step) x += mask[k * step] * log2e;
      else x += *(const NAME(uvec) *)(mask + k * w) * log2e;
      *(NAME(vec) *)(s + k * w) = x;
    }
  NAME(vec) other = top;
  ptrdiff_t k = 0;
  for (; k + 2 <= see.all; k += 2) {      /* two chains */
    top = NAME(larger)(*(NAME(vec) *)(s + k * w), top);
    other = NAME(larger)(*(NAME(vec) *)(s + (k + 1) * w), other);
  }
  for (; k < see.some; k++) {
    const NAME(vec) x = k < see.all ? *(NAME(vec) *)(s + k * w) : NAME(hide)(*(NAME(vec) *)(s + k * w), k - ahead);
    *(NAME(vec) *)(s + k * w) = x;
    top = NAME(larger)(x, top);
  }
  return NAME(larger)(other, top);
}

/* A block of n keys by w query rows becomes weights 2^(s - m), zero where hidden. m and l move on; `keep` gets by what each
 * row's earlier output must be multiplied; returns whether that matters. */
static int NAME(weigh)(T *s, ptrdiff_t w, ptrdiff_t n, int causal, ptrdiff_t ahead, const T *mask, ptrdiff_t step, T *m, T *l,
                       T *keep) {
  int changed = 0;
  for (ptrdiff_t v = 0; v < w; v += FT_LANES) {
    const NAME(view) see = NAME(seen)(causal, n, ahead + v);
    const NAME(vec) was = *(NAME(vec) *)(m + v);
    const NAME(vec) top = NAME(masked_largest)(s + v, w, see, ahead + v, mask && !step ? mask + v : mask, step, was);
    /* a row of -inf alone has no largest: all of its weights are 0 */
    const NAME(vec) origin = NAME(larger)(top, (NAME(vec)){0} - (T)FT_HUGE), factor = NAME(exp2)(was - origin);
    NAME(vec) sum = {0};
    for (ptrdiff_t k = 0; k < see.some; k++) {
      const NAME(vec) e = NAME(exp2)(*(NAME(vec) *)(s + k * w + v) - origin);
      *(NAME(vec) *)(s + k * w + v) = e;
      sum += e;
    }
    for (ptrdiff_t k = see.some; k < n; k++) *(NAME(vec) *)(s + k * w + v) = (NAME(vec)){0};
    *(NAME(vec) *)(l + v) = *(NAME(vec) *)(l + v) * factor + sum;
    *(NAME(vec) *)(m + v) = top;
    *(NAME(vec) *)(keep + v) = factor;
    for (int i = 0; i < FT_LANES; i++) changed |= factor[i] != 1;
  }
  return changed;
}

/* The weights again: 2^(s - lse), zero where hidden. */
static void NAME(weigh_again)(T *s, ptrdiff_t w, ptrdiff_t n, int causal, ptrdiff_t ahead, const T *mask, ptrdiff_t step,
                              const T *lse) {
  for (ptrdiff_t v = 0; v < w; v += FT_LANES) {
    const NAME(view) see = NAME(seen)(causal, n, ahead + v);
    const NAME(vec) origin = *(const NAME(vec) *)(lse + v);
    if (mask || see.all < see.some)
      NAME(masked_largest)(s + v, w, see, ahead + v, mask && !step ? mask + v : mask, step, origin);
    for (ptrdiff_t k = 0; k < see.some; k++)
      *(NAME(vec) *)(s + k * w + v) = NAME(exp2)(*(NAME(vec) *)(s + k * w + v) - origin);
    for (ptrdiff_t k = see.some; k < n; k++) *(NAME(vec) *)(s + k * w + v) = (NAME(vec)){0};
  }
}

/* d = s (d - delta) scale: the gradient of the scores of q k^T, from the weights and from the gradient of the weights. */
static void NAME(bend)(const T *s, T *d, ptrdiff_t w, ptrdiff_t n, int causal, ptrdiff_t ahead, const T *delta, T scale) {
  for (ptrdiff_t v = 0; v < w; v += FT_LANES) {
    const NAME(view) see = NAME(seen)(causal, n, ahead + v);
    const NAME(vec) off = *(const NAME(vec) *)(delta + v);
    for (ptrdiff_t k = 0; k < see.some; k++)
      *(NAME(vec) *)(d + k * w + v) = *(const NAME(vec) *)(s + k * w + v) * (*(NAME(vec) *)(d + k * w + v) - off) * scale;
    for (ptrdiff_t k = see.some; k < n; k++) *(NAME(vec) *)(d + k * w + v) = (NAME(vec)){0};
  }
}

/* The same for one query row whose scores are neighbours: `room` is n rounded up to whole vectors. */
static T NAME(weigh_row)(T *s, ptrdiff_t n, ptrdiff_t see, const T *mask, ptrdiff_t step, T *m, T *l) {
  const T log2e = (T)1.44269504088896340736;
  const ptrdiff_t whole = attention_up(n, FT_LANES);
  NAME(vec) top = (NAME(vec)){0} + *m, sum = {0};
  if (mask)
    for (ptrdiff_t k = 0; k < see; k++) s[k] += mask[k * step] * log2e;
  for (ptrdiff_t k = see; k < whole; k++) s[k] = -(T)INFINITY;
  for (ptrdiff_t k = 0; k < whole; k += FT_LANES) top = NAME(larger)(*(NAME(vec) *)(s + k), top);
  T big = *m;
  for (int i = 0; i < FT_LANES; i++) big = top[i] > big ? top[i] : big;
  const T origin = big > -(T)FT_HUGE ? big : -(T)FT_HUGE;
  for (ptrdiff_t k = 0; k < whole; k += FT_LANES) {
    const NAME(vec) e = NAME(exp2)(*(NAME(vec) *)(s + k) - origin);
    *(NAME(vec) *)(s + k) = e;
    sum += e;
  }
  const NAME(vec) factor = NAME(exp2)((NAME(vec)){0} + (*m - origin));
  T all = 0;
  for (int i = 0; i < FT_LANES; i++) all += sum[i];
  *l = *l * factor[0] + all;
  *m = big;
  return factor[0];
}
