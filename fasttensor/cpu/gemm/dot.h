/* Products of rows that are contiguous along k: vectors run along k and nothing is packed. Best where M or N is
   tiny. Included after tile.h with the same macros; lanes are summed by a tree of shuffles. */
#if FT_SIZE == 4
typedef int32_t NAME(lanes) __attribute__((vector_size(FT_VBYTES)));
#else
typedef int64_t NAME(lanes) __attribute__((vector_size(FT_VBYTES)));
#endif
#define FT_LANES (FT_VBYTES / FT_SIZE)

/* Lane i of the result: the pair (i, i ^ s) of x where bit s of i is clear, of y where it is set. After all
   bits lane i holds the sum of the i-th vector that went in. */
#if FT_LANES == 16
#define FT_EACH(F) F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15)
#elif FT_LANES == 8
#define FT_EACH(F) F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7)
#elif FT_LANES == 4
#define FT_EACH(F) F(0), F(1), F(2), F(3)
#else
#define FT_EACH(F) F(0), F(1)
#endif
#define FT_FOLD(s, FS, FO)                                                                                       \
  static inline __attribute__((always_inline)) NAME(vec) NAME(fold##s)(NAME(vec) x, NAME(vec) y) {               \
    return __builtin_shuffle(x, y, (NAME(lanes)){FT_EACH(FS)}) + __builtin_shuffle(x, y, (NAME(lanes)){FT_EACH(FO)}); \
  }
#define FT_S1(i) ((i) & 1 ? FT_LANES + (i) : (i))
#define FT_O1(i) ((i) & 1 ? FT_LANES + ((i) ^ 1) : (i) ^ 1)
#define FT_S2(i) ((i) & 2 ? FT_LANES + (i) : (i))
#define FT_O2(i) ((i) & 2 ? FT_LANES + ((i) ^ 2) : (i) ^ 2)
#define FT_S4(i) ((i) & 4 ? FT_LANES + (i) : (i))
#define FT_O4(i) ((i) & 4 ? FT_LANES + ((i) ^ 4) : (i) ^ 4)
#define FT_S8(i) ((i) & 8 ? FT_LANES + (i) : (i))
#define FT_O8(i) ((i) & 8 ? FT_LANES + ((i) ^ 8) : (i) ^ 8)
FT_FOLD(1, FT_S1, FT_O1)
#if FT_LANES > 2
FT_FOLD(2, FT_S2, FT_O2)
#endif
#if FT_LANES > 4
FT_FOLD(4, FT_S4, FT_O4)
#endif
#if FT_LANES > 8
FT_FOLD(8, FT_S8, FT_O8)
#endif
#define FT_FOLD_ALL(s)                                                                              \
  for (int x = 0; x < FT_LANES && g + x < used; x += 2 * s)                                         \
    v[x] = NAME(fold##s)(v[x], g + x + s < used ? v[x + s] : (NAME(vec)){0});

static inline __attribute__((always_inline)) void NAME(dots)(const FT_T *a, ptrdiff_t ars, const FT_T *b,
                                                             ptrdiff_t brs, ptrdiff_t k,
                                                    FT_T *out, const int m, const int n) {
  NAME(vec) sum[16 + FT_LANES];
  const int used = m * n;
  ptrdiff_t p = 0;
  for (int i = 0; i < used; i++) sum[i] = (NAME(vec)){0};
  if (used == 1) {
    /* Four quarters at once: one chain of sums would wait for itself, and memory serves several streams faster. */
    NAME(vec) more[4] = {{0}};
    const ptrdiff_t h = k / (4 * FT_LANES) * FT_LANES;
    for (; p < h; p += FT_LANES)
      for (int i = 0; i < 4; i++)
        more[i] += *(const NAME(uvec) *)(a + p + i * h) * *(const NAME(uvec) *)(b + p + i * h);
    p = 4 * h;
    sum[0] = (more[0] + more[1]) + (more[2] + more[3]);
  }
  for (; p + FT_LANES <= k; p += FT_LANES) {
    NAME(vec) y[4];
    for (int j = 0; j < n; j++) y[j] = *(const NAME(uvec) *)(b + j * brs + p);
#pragma GCC unroll 4
    for (int i = 0; i < m; i++) {
      const NAME(vec) x = *(const NAME(uvec) *)(a + i * ars + p);
      for (int j = 0; j < n; j++) sum[i * n + j] += x * y[j];
    }
  }
  if (p < k) {
    NAME(vec) y[4];
    for (int j = 0; j < n; j++) y[j] = NAME(part)(b + j * brs + p, k - p);
#pragma GCC unroll 4
    for (int i = 0; i < m; i++) {
      const NAME(vec) x = NAME(part)(a + i * ars + p, k - p);
      for (int j = 0; j < n; j++) sum[i * n + j] += x * y[j];
    }
  }
#pragma GCC unroll 8
  for (int g = 0; g < used; g += FT_LANES) {
    NAME(vec) *v = sum + g;
    FT_FOLD_ALL(1)
#if FT_LANES > 2
    FT_FOLD_ALL(2)
#endif
#if FT_LANES > 4
    FT_FOLD_ALL(4)
#endif
#if FT_LANES > 8
    FT_FOLD_ALL(8)
#endif
    *(NAME(uvec) *)(out + g) = v[0];
  }
}

#define FT_DOTS(m, n) \
  static void NAME(dots_##m##_##n)(const FT_T *a, ptrdiff_t ars, const FT_T *b, ptrdiff_t brs, ptrdiff_t k,          \
                                   FT_T *out) {                                                                     \
    NAME(dots)(a, ars, b, brs, k, out, m, n); }
#define FT_DOTS_ROW(m) FT_DOTS(m, 1) FT_DOTS(m, 2) FT_DOTS(m, 3) FT_DOTS(m, 4)
#define FT_DOTS_NAMES(m) {NAME(dots_##m##_1), NAME(dots_##m##_2), NAME(dots_##m##_3), NAME(dots_##m##_4)}
FT_DOTS_ROW(1) FT_DOTS_ROW(2) FT_DOTS_ROW(3) FT_DOTS_ROW(4)
static void (*const NAME(dot_tiles)[4][4])(const FT_T *, ptrdiff_t, const FT_T *, ptrdiff_t, ptrdiff_t, FT_T *) = {
  FT_DOTS_NAMES(1), FT_DOTS_NAMES(2), FT_DOTS_NAMES(3), FT_DOTS_NAMES(4)};

/* t->ldb is the distance of the rows of B here. */
static void NAME(dot)(const ft_tile *t, ptrdiff_t k, ptrdiff_t m, ptrdiff_t n) {
  ft_tile part = *t;
  FT_T out[16 + FT_LANES];
  for (ptrdiff_t j = 0; j < n; j += 4) {
    const ptrdiff_t nj = n - j < 4 ? n - j : 4;
    for (ptrdiff_t i = 0; i < m; i += 4) {
      const ptrdiff_t mi = m - i < 4 ? m - i : 4;
      NAME(dot_tiles)[mi - 1][nj - 1]((const FT_T *)t->a + i * t->ars, t->ars, (const FT_T *)t->b + j * t->ldb,
                                      t->ldb, k, out);
      part.c = (FT_T *)t->c + i * t->crs + j * t->ccs;
      if (t->d) part.d = (const FT_T *)t->d + i * t->drs + j * t->dcs;
      NAME(finish)(&part, out, nj, mi, nj);
    }
  }
}
#undef FT_DOTS
#undef FT_DOTS_ROW
#undef FT_DOTS_NAMES
#undef FT_LANES
#undef FT_EACH
#undef FT_FOLD
#undef FT_FOLD_ALL
#undef FT_S1
#undef FT_O1
#undef FT_S2
#undef FT_O2
#undef FT_S4
#undef FT_O4
#undef FT_S8
#undef FT_O8
