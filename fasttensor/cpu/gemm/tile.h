/* Register tile and panel packing of one element type; included by kernels.h once a type, with
   FT_T (element), FT_SIZE (its bytes), FT_SUFFIX (in names) and FT_REAL (1 for float and double). */
typedef FT_T NAME(vec) __attribute__((vector_size(FT_VBYTES)));
typedef FT_T NAME(uvec) __attribute__((vector_size(FT_VBYTES), aligned(FT_SIZE), may_alias));

#if FT_REAL
#define FT_RELU(v) ((v) > 0 ? (v) : (v) != (v) ? (v) : 0)
#else
#define FT_RELU(v) (v)
#endif

#if FT_REAL
/* The first n lanes of a row, zero beyond. */
static inline __attribute__((always_inline)) NAME(vec) NAME(part)(const FT_T *p, ptrdiff_t n) {
#if defined(__AVX512F__) && FT_SIZE == 4
  return (NAME(vec))_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif defined(__AVX512F__)
  return (NAME(vec))_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
#else
  FT_T v[(FT_VBYTES / FT_SIZE)] = {0};
  for (ptrdiff_t i = 0; i < n; i++) v[i] = p[i];
  return *(const NAME(uvec) *)v;
#endif
}

static inline __attribute__((always_inline)) void NAME(put)(FT_T *p, NAME(vec) v, ptrdiff_t n) {
#if defined(__AVX512F__) && FT_SIZE == 4
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#elif defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
#else
  for (ptrdiff_t i = 0; i < n; i++) p[i] = v[i];
#endif
}
#endif

/* The last vector of a row may be a partial one where masks cost nothing. */
#if defined(__AVX512F__) && FT_REAL
#define FT_LOAD_LAST(p) NAME(part)(p, tail)
#define FT_STORE_LAST(p, v) NAME(put)(p, v, tail)
#else
#define FT_LOAD_LAST(p) (*(const NAME(uvec) *)(p))
#define FT_STORE_LAST(p, v) (*(NAME(uvec) *)(p) = v)
#endif

static inline FT_T NAME(num)(ft_num v) {
#if !FT_REAL
  return (FT_T)v.u;
#elif FT_SIZE == 4
  return v.f;
#else
  return v.d;
#endif
}

/* Sums stay in registers through the whole k loop. A is read by broadcast at any strides, so packed and plain
   rows run at the same speed. With acc != NULL the raw sums go there, FT_NV vectors a row. */
static inline __attribute__((always_inline)) void NAME(tile)(const ft_tile *t, ptrdiff_t k, FT_T *acc, const int m,
                                                             const int nv,
                                                              const ptrdiff_t tail) {
  enum { L = FT_VBYTES / FT_SIZE };
  NAME(vec) sum[FT_MR][FT_NV];
  const FT_T *a0 = (const FT_T *)t->a, *a1 = a0 + (m > 4 ? 4 * t->ars : 0), *b = (const FT_T *)t->b;
  const ptrdiff_t ars = t->ars, acs = t->acs, ldb = t->ldb;
#pragma GCC unroll 8
  for (int i = 0; i < m; i++)
    for (int j = 0; j < nv; j++) sum[i][j] = (NAME(vec)){0};
#ifdef FT_PAIRS
  k = (k + 1) / 2;
#endif
  for (; k > 0; --k) {
    NAME(vec) col[FT_NV];
    for (int j = 0; j < nv - 1; j++) col[j] = *(const NAME(uvec) *)(b + j * L);
    col[nv - 1] = FT_LOAD_LAST(b + (nv - 1) * L);
#pragma GCC unroll 8
    for (int i = 0; i < m; i++) {
      const FT_T x = (i < 4 ? a0 : a1)[(i & 3) * ars];
#ifdef FT_PAIRS
      for (int j = 0; j < nv; j++)
        sum[i][j] = (NAME(vec))_mm512_dpbf16_ps((__m512)sum[i][j], (__m512bh)_mm512_set1_ps(x), (__m512bh)col[j]);
#else
      for (int j = 0; j < nv; j++) sum[i][j] += x * col[j];
#endif
    }
    a0 += acs;
    a1 += acs;
    b += ldb;
  }
  if (acc) {
#pragma GCC unroll 8
    for (int i = 0; i < m; i++)
      for (int j = 0; j < nv; j++) *(NAME(uvec) *)(acc + (i * FT_NV + j) * L) = sum[i][j];
    return;
  }
  const FT_T alpha = NAME(num)(t->alpha), beta = NAME(num)(t->beta);
  FT_T *c = (FT_T *)t->c;
  const FT_T *d = (const FT_T *)t->d;
  /* unrolled, or the sums would live in memory */
#pragma GCC unroll 8
  for (int i = 0; i < m; i++, c += t->crs) {
    NAME(vec) v[FT_NV];
    for (int j = 0; j < nv; j++) v[j] = alpha * sum[i][j];
    if (d) {
      for (int j = 0; j < nv - 1; j++) v[j] += beta * *(const NAME(uvec) *)(d + j * L);
      v[nv - 1] += beta * FT_LOAD_LAST(d + (nv - 1) * L);
      d += t->drs;
    }
#if FT_REAL
    /* max that lets NaN through, as PyTorch's relu does */
    if (t->relu)
      for (int j = 0; j < nv; j++) v[j] = (NAME(vec))((__typeof__(v[j] < v[j]))v[j] & ~(v[j] < 0));
#endif
    for (int j = 0; j < nv - 1; j++) *(NAME(uvec) *)(c + j * L) = v[j];
    FT_STORE_LAST(c + (nv - 1) * L, v[nv - 1]);
  }
}

#define FT_TILE_FN(m, nv) \
  static void NAME(tile_##m##_##nv)(const ft_tile *t, ptrdiff_t k, FT_T *acc, ptrdiff_t tail) { \
    NAME(tile)(t, k, acc, m, nv, tail);                                                         \
  }
#if FT_NV == 3
#define FT_TILE_ROW(m) FT_TILE_FN(m, 1) FT_TILE_FN(m, 2) FT_TILE_FN(m, 3)
#define FT_TILE_NAMES(m) {NAME(tile_##m##_1), NAME(tile_##m##_2), NAME(tile_##m##_3)}
#else
#define FT_TILE_ROW(m) FT_TILE_FN(m, 1) FT_TILE_FN(m, 2)
#define FT_TILE_NAMES(m) {NAME(tile_##m##_1), NAME(tile_##m##_2)}
#endif
#if FT_REAL
FT_TILE_ROW(1) FT_TILE_ROW(2) FT_TILE_ROW(3) FT_TILE_ROW(4)
#if FT_MR > 4
FT_TILE_ROW(5) FT_TILE_ROW(6)
#endif
#if FT_MR > 6
FT_TILE_ROW(7) FT_TILE_ROW(8)
#endif
static void (*const NAME(tiles)[FT_MR][FT_NV])(const ft_tile *, ptrdiff_t, FT_T *, ptrdiff_t) = {
  FT_TILE_NAMES(1), FT_TILE_NAMES(2), FT_TILE_NAMES(3), FT_TILE_NAMES(4),
#if FT_MR > 4
  FT_TILE_NAMES(5), FT_TILE_NAMES(6),
#endif
#if FT_MR > 6
  FT_TILE_NAMES(7), FT_TILE_NAMES(8),
#endif
};
#define FT_CALL_TILE(t, k, acc, m, nv, tail) NAME(tiles)[(m) - 1][(nv) - 1](t, k, acc, tail)
#else
/* Integers are rare: two row counts keep the object file small. */
static void NAME(tile_all)(const ft_tile *t, ptrdiff_t k, FT_T *acc, ptrdiff_t m) {
  if (m == FT_MR) { NAME(tile)(t, k, acc, FT_MR, FT_NV, 0); return; }
  ft_tile row = *t;
  for (ptrdiff_t i = 0; i < m; i++) {
    NAME(tile)(&row, k, acc ? acc + i * (FT_NV * FT_VBYTES / FT_SIZE) : NULL, 1, FT_NV, 0);
    row.a = (const FT_T *)row.a + t->ars;
    row.c = (FT_T *)row.c + t->crs;
    if (row.d) row.d = (const FT_T *)row.d + t->drs;
  }
}
#define FT_CALL_TILE(t, k, acc, m, nv, tail) NAME(tile_all)(t, k, acc, m)
#endif

/* The epilogue of sums in memory: edges of C, and C or D without unit column stride. */
static void NAME(finish)(const ft_tile *t, const FT_T *acc, ptrdiff_t ld, ptrdiff_t m, ptrdiff_t n) {
  const FT_T alpha = NAME(num)(t->alpha), beta = NAME(num)(t->beta);
  for (ptrdiff_t i = 0; i < m; i++, acc += ld) {
    FT_T *c = (FT_T *)t->c + i * t->crs;
    if (!t->d && t->ccs == 1) {
      for (ptrdiff_t j = 0; j < n; j++) { FT_T v = alpha * acc[j]; c[j] = t->relu ? FT_RELU(v) : v; }
    } else if (t->plain) {
      const FT_T *d = (const FT_T *)t->d + i * t->drs;
      for (ptrdiff_t j = 0; j < n; j++) { FT_T v = alpha * acc[j] + beta * d[j]; c[j] = t->relu ? FT_RELU(v) : v; }
    } else {
      const FT_T *d = t->d ? (const FT_T *)t->d + i * t->drs : NULL;
      for (ptrdiff_t j = 0; j < n; j++) {
        FT_T v = alpha * acc[j];
        if (d) v += beta * d[j * t->dcs];
        c[j * t->ccs] = t->relu ? FT_RELU(v) : v;
      }
    }
  }
}

#if FT_SIZE == 4
typedef FT_T NAME(block) __attribute__((vector_size(32)));
typedef FT_T NAME(ublock) __attribute__((vector_size(32), aligned(FT_SIZE), may_alias));
typedef int32_t NAME(mask) __attribute__((vector_size(32)));
#define FT_BLOCK 8
#define FT_SHUF(x, y, ...) __builtin_shuffle(x, y, (NAME(mask)){__VA_ARGS__})
/* Rows become columns in a square of registers. */
static inline __attribute__((always_inline)) void NAME(turn)(NAME(block) *r) {
  NAME(block) s[8], q[8];
  for (int i = 0; i < 8; i += 2) {
    s[i] = FT_SHUF(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[i + 1] = FT_SHUF(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    q[i] = FT_SHUF(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    q[i + 1] = FT_SHUF(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    q[i + 2] = FT_SHUF(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    q[i + 3] = FT_SHUF(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = FT_SHUF(q[i], q[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = FT_SHUF(q[i], q[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#elif FT_SIZE == 8
typedef FT_T NAME(block) __attribute__((vector_size(32)));
typedef FT_T NAME(ublock) __attribute__((vector_size(32), aligned(FT_SIZE), may_alias));
typedef int64_t NAME(mask) __attribute__((vector_size(32)));
#define FT_BLOCK 4
#define FT_SHUF(x, y, ...) __builtin_shuffle(x, y, (NAME(mask)){__VA_ARGS__})
static inline __attribute__((always_inline)) void NAME(turn)(NAME(block) *r) {
  NAME(block) s[4];
  for (int i = 0; i < 4; i += 2) {
    s[i] = FT_SHUF(r[i], r[i + 1], 0, 4, 2, 6);
    s[i + 1] = FT_SHUF(r[i], r[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; i++) {
    r[i] = FT_SHUF(s[i], s[i + 2], 0, 1, 4, 5);
    r[i + 2] = FT_SHUF(s[i], s[i + 2], 2, 3, 6, 7);
  }
}
#else
#define FT_BLOCK 0
#endif

#if FT_BLOCK
/* dst[q * width + i] = row[i][p + q] for a square block */
static inline __attribute__((always_inline)) void NAME(transpose)(FT_T *dst, ptrdiff_t width, const FT_T *const *row,
                                                                  ptrdiff_t p) {
  NAME(block) r[FT_BLOCK];
  for (int i = 0; i < FT_BLOCK; i++) r[i] = *(const NAME(ublock) *)(row[i] + p);
  NAME(turn)(r);
  for (int i = 0; i < FT_BLOCK; i++) *(NAME(ublock) *)(dst + i * width) = r[i];
}
#endif

#if FT_REAL && FT_MR == 8
#define FT_TURNS 1
/* The epilogue where columns of C, and of D, are contiguous: squares of sums are transposed on the way to them. */
static inline __attribute__((always_inline)) void NAME(put_turned)(const ft_tile *t, NAME(block) *r, FT_T *c, const FT_T *d,
                                                                   const int w, const int n) {
  const NAME(block) zero = {0}, alpha = zero + NAME(num)(t->alpha), beta = zero + NAME(num)(t->beta);
  NAME(turn)(r);
#pragma GCC unroll 8
  for (int q = 0; q < n; q++, c += t->ccs) {
    NAME(block) v = alpha * r[q];
    if (d) {
      NAME(block) was = zero;
      memcpy(&was, d + q * t->dcs, w * sizeof(FT_T));
      v += beta * was;
    }
    if (t->relu) v = (NAME(block))((__typeof__(v < 0))v & ~(v < 0));
    memcpy(c, &v, w * sizeof(FT_T));
  }
}

static void NAME(finish_turned)(const ft_tile *t, const FT_T *acc, ptrdiff_t ld, ptrdiff_t m, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < m; i += FT_BLOCK, acc += FT_BLOCK * ld) {
    const int w = m - i < FT_BLOCK ? (int)(m - i) : FT_BLOCK;
    for (ptrdiff_t j = 0; j < n; j += FT_BLOCK) {
      const int h = n - j < FT_BLOCK ? (int)(n - j) : FT_BLOCK;
      FT_T *c = (FT_T *)t->c + i + j * t->ccs;
      const FT_T *d = t->d ? (const FT_T *)t->d + i + j * t->dcs : NULL;
      NAME(block) r[FT_BLOCK];
      /* a constant width is a store each, any other a call */
      if (w == FT_BLOCK) {
        for (int q = 0; q < FT_BLOCK; q++) r[q] = *(const NAME(ublock) *)(acc + q * ld + j);
        if (h == FT_BLOCK) NAME(put_turned)(t, r, c, d, FT_BLOCK, FT_BLOCK);
        else NAME(put_turned)(t, r, c, d, FT_BLOCK, h);
      } else {
        for (int q = 0; q < FT_BLOCK; q++) r[q] = *(const NAME(ublock) *)(acc + (q < w ? q : w - 1) * ld + j);
        NAME(put_turned)(t, r, c, d, w, h);
      }
    }
  }
}
#else
#define FT_TURNS 0
#endif

static void NAME(run)(const ft_tile *t, ptrdiff_t k, ptrdiff_t m, ptrdiff_t n) {
  enum { L = FT_VBYTES / FT_SIZE };
  const ptrdiff_t nv = (n + L - 1) / L, tail = n - (nv - 1) * L;
#if defined(__AVX512F__) && FT_REAL
  if (t->plain) {
#else
  if (t->plain && n == (FT_REAL ? nv : FT_NV) * L) {
#endif
    FT_CALL_TILE(t, k, NULL, m, nv, tail);
    return;
  }
  FT_T acc[FT_MR * FT_NV * L] __attribute__((aligned(FT_VBYTES)));
  FT_CALL_TILE(t, k, acc, m, nv, tail);
#if FT_TURNS
  if (t->turned) { NAME(finish_turned)(t, acc, FT_NV * L, m, n); return; }
#endif
  NAME(finish)(t, acc, FT_NV * L, m, n);
}

#ifndef FT_PAIRS
/* dst[p * width + i] = src[i * ws + p * ks]; what columns w <= i < width hold does not matter, as the results
   made of them are not stored. */
static void NAME(pack)(void *to, ptrdiff_t width, const void *from, ptrdiff_t ws, ptrdiff_t ks, ptrdiff_t w,
                       ptrdiff_t k) {
  enum { L = FT_VBYTES / FT_SIZE };
  FT_T *dst = (FT_T *)to;
  const FT_T *src = (const FT_T *)from;
  if (ws == 1 && w == FT_NV * L && width == w) {
    for (ptrdiff_t p = 0; p < k; p++, dst += width, src += ks)
      for (int j = 0; j < FT_NV; j++) *(NAME(uvec) *)(dst + j * L) = *(const NAME(uvec) *)(src + j * L);
    return;
  }
  if (ws == 1 && w == FT_MR && width == w) {
    for (ptrdiff_t p = 0; p < k; p++, dst += FT_MR, src += ks) memcpy(dst, src, FT_MR * sizeof(FT_T));
    return;
  }
#if FT_REAL
  if (ws == 1 && width % L == 0) {
    for (ptrdiff_t p = 0; p < k; p++, dst += width, src += ks) {
      ptrdiff_t i = 0;
      for (; i + L <= w; i += L) *(NAME(uvec) *)(dst + i) = *(const NAME(uvec) *)(src + i);
      if (i < w) *(NAME(uvec) *)(dst + i) = NAME(part)(src + i, w - i);
    }
    return;
  }
#endif
#if FT_BLOCK
  if (ks == 1 && width % FT_BLOCK == 0) {
    const ptrdiff_t kb = k - k % FT_BLOCK;
    for (ptrdiff_t i = 0; i < w; i += FT_BLOCK) {
      const FT_T *row[FT_BLOCK];
      for (int q = 0; q < FT_BLOCK; q++) row[q] = src + (i + q < w ? i + q : w - 1) * ws;
      for (ptrdiff_t p = 0; p < kb; p += FT_BLOCK) NAME(transpose)(dst + p * width + i, width, row, p);
      for (ptrdiff_t p = kb; p < k; p++)
        for (int q = 0; q < FT_BLOCK; q++) dst[p * width + i + q] = row[q][p];
    }
    return;
  }
#endif
  for (ptrdiff_t p = 0; p < k; p++, dst += width, src += ks) {
    for (ptrdiff_t i = 0; i < w; i++) dst[i] = src[i * ws];
    for (ptrdiff_t i = w; i < width; i++) dst[i] = 0;
  }
}
#endif
#undef FT_BLOCK
#undef FT_TURNS
#undef FT_SHUF
#undef FT_RELU
#undef FT_CALL_TILE
#undef FT_LOAD_LAST
#undef FT_STORE_LAST
#undef FT_TILE_FN
#undef FT_TILE_ROW
#undef FT_TILE_NAMES
