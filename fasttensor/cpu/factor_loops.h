/* Factorisations of narrow panels and small triangular systems, for one element type FT_T: see factor.h. */
#define L (64 / (ptrdiff_t)sizeof(FT_T))
typedef FT_T NAME(v) __attribute__((vector_size(64)));
typedef FT_T NAME(u) __attribute__((vector_size(64), aligned(sizeof(FT_T)), may_alias));
typedef FT_INT NAME(i) __attribute__((vector_size(64)));
#define V NAME(v)
#define AT(p) (*(NAME(u) *)(p))
#define READ(p) (*(const NAME(u) *)(p))
#define PICK(mask, a, b) ((V)(((mask) & (NAME(i))(a)) | (~(mask) & (NAME(i))(b))))

/* The places of a vector whose first element has the index `from`: all ones where the index is at least `least`. */
static inline NAME(i) NAME(since)(ptrdiff_t from, ptrdiff_t least) {
  const NAME(i) place = FT_PLACES;
  return place >= (FT_INT)(least - from);
}

static inline FT_T NAME(total)(V x) {
  const NAME(i) place = FT_PLACES;
#pragma GCC unroll 4
  for (int half = L / 2; half; half /= 2) x += __builtin_shuffle(x, place ^ half);
  return x[0];
}

/* Columns of a into columns of whole vectors, zeros below, and back. */
static void NAME(pad)(FT_T *w, ptrdiff_t ldw, const FT_T *a, ptrdiff_t lda, ptrdiff_t m, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++, w += ldw, a += lda) {
    memcpy(w, a, m * sizeof(FT_T));
    for (ptrdiff_t i = m; i < ldw; i++) w[i] = 0;
  }
}

static void NAME(unpad)(FT_T *a, ptrdiff_t lda, const FT_T *w, ptrdiff_t ldw, ptrdiff_t m, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++, w += ldw, a += lda) memcpy(a, w, m * sizeof(FT_T));
}

/* w[i, k] -= x[i] * s[k * ldw] for rows from..m of n columns, four columns a pass over x. */
static inline void NAME(update)(FT_T *w, ptrdiff_t ldw, const FT_T *x, const FT_T *s, ptrdiff_t from, ptrdiff_t m, ptrdiff_t n) {
  const ptrdiff_t begin = from - from % L;
  const NAME(i) keep = NAME(since)(begin, from);
  ptrdiff_t k = 0;
  for (; k + 4 <= n; k += 4, w += 4 * ldw, s += 4 * ldw) {
    const FT_T s0 = s[0], s1 = s[ldw], s2 = s[2 * ldw], s3 = s[3 * ldw];
    FT_T *w0 = w, *w1 = w + ldw, *w2 = w + 2 * ldw, *w3 = w + 3 * ldw;
    V t = READ(x + begin), a = READ(w0 + begin), b = READ(w1 + begin), c = READ(w2 + begin), d = READ(w3 + begin);
    AT(w0 + begin) = PICK(keep, a - t * s0, a);
    AT(w1 + begin) = PICK(keep, b - t * s1, b);
    AT(w2 + begin) = PICK(keep, c - t * s2, c);
    AT(w3 + begin) = PICK(keep, d - t * s3, d);
    for (ptrdiff_t i = begin + L; i < m; i += L) {
      t = READ(x + i);
      AT(w0 + i) -= t * s0;
      AT(w1 + i) -= t * s1;
      AT(w2 + i) -= t * s2;
      AT(w3 + i) -= t * s3;
    }
  }
  for (; k < n; k++, w += ldw, s += ldw) {
    const FT_T s0 = s[0];
    V a = READ(w + begin);
    AT(w + begin) = PICK(keep, a - READ(x + begin) * s0, a);
    for (ptrdiff_t i = begin + L; i < m; i += L) AT(w + i) -= READ(x + i) * s0;
  }
}

/* LU of m x n in padded columns; row exchanges from 1; the first column without a pivot, from 1, or 0. */
static int NAME(ft_lu)(FT_T *w, ptrdiff_t ldw, ptrdiff_t m, ptrdiff_t n, int *pivots) {
  int info = 0;
  for (ptrdiff_t j = 0; j < m && j < n; j++) {
    FT_T *x = w + j * ldw;
    const ptrdiff_t begin = j - j % L;
    V top = READ(x + begin);
    top = (V)((NAME(i))top & NAME(since)(begin, j));
    top = PICK(top < 0, -top, top);
    top = PICK(top > 0, top, (V){0});          /* NaN is a pivot only where it already is */
    for (ptrdiff_t i = begin + L; i < m; i += L) {
      V a = READ(x + i);
      a = PICK(a < 0, -a, a);
      top = PICK(a > top, a, top);
    }
    FT_T most = 0;
    for (int e = 0; e < L; e++) most = top[e] > most ? top[e] : most;
    ptrdiff_t p = j;
    while (p < m && !(x[p] == most || x[p] == -most)) p++;
    if (p == m || x[j] != x[j]) p = j;
    pivots[j] = (int)p + 1;
    if (p != j)
      for (ptrdiff_t k = 0; k < n; k++) {
        FT_T t = w[k * ldw + j];
        w[k * ldw + j] = w[k * ldw + p];
        w[k * ldw + p] = t;
      }
    const FT_T d = x[j];
    if (d == 0 && !info) info = (int)j + 1;
    if (j + 1 >= m) continue;
    const ptrdiff_t next = j + 1, start = next - next % L;
    if (d != 0) {
      V a = READ(x + start);
      AT(x + start) = PICK(NAME(since)(start, next), a / d, a);
      for (ptrdiff_t i = start + L; i < m; i += L) AT(x + i) /= d;
    }
    NAME(update)(x + ldw, ldw, x, x + ldw + j, next, m, n - next);
  }
  return info;
}

/* The rows that the exchanges of an LU bring where they belong, for n columns of a. */
static void NAME(ft_exchange)(FT_T *a, ptrdiff_t lda, ptrdiff_t n, const int *pivots, ptrdiff_t first, ptrdiff_t count) {
  for (ptrdiff_t k = 0; k < n; k++, a += lda)
    for (ptrdiff_t i = first; i < first + count; i++) {
      const ptrdiff_t p = pivots[i] - 1;
      FT_T t = a[i];
      a[i] = a[p];
      a[p] = t;
    }
}

/* The lower Cholesky factor in padded columns; 0, or which pivot is not positive. What is above is not read, but overwritten. */
static int NAME(ft_cholesky)(FT_T *w, ptrdiff_t ldw, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) {
    FT_T *x = w + j * ldw;
    const FT_T d = FT_SQRT(x[j]);
    if (!(x[j] > 0)) return (int)j + 1;
    for (ptrdiff_t i = j - j % L; i < n; i += L) AT(x + i) /= d;
    x[j] = d;
    for (ptrdiff_t k = j + 1; k < n;) {
      const ptrdiff_t end = k - k % L + L, stop = end < n ? end : n;       /* columns whose rows begin in one vector */
      const ptrdiff_t begin = k - k % L;
      for (; k < stop; k++) {
        const FT_T s = x[k];
        FT_T *y = w + k * ldw;
        for (ptrdiff_t i = begin; i < n; i += L) AT(y + i) -= READ(x + i) * s;
      }
    }
  }
  return 0;
}

/* Length of x[0 .. n), n a multiple of L: squares that leave the range are summed anew, in double or scaled. */
static FT_T NAME(length)(const FT_T *x, ptrdiff_t n) {
  V s = {0};
  for (ptrdiff_t i = 0; i < n; i += L) s += READ(x + i) * READ(x + i);
  const FT_T sum = NAME(total)(s);
  if ((sum > FT_SAFE && sum < 1 / FT_SAFE) || sum != sum) return FT_SQRT(sum);
  double most = 0, again = 0;
  for (ptrdiff_t i = 0; i < n; i++) most = !(fabs((double)x[i]) <= most) ? fabs((double)x[i]) : most;
  if (most == 0 || !(most - most == 0)) return (FT_T)most;
  for (ptrdiff_t i = 0; i < n; i++) again += (x[i] / most) * (x[i] / most);
  return (FT_T)(most * sqrt(again));
}

/* A column of `reflect` that is not finite: without the zeros of v, whose products with infinities would spread. */
static void NAME(reflect_one)(FT_T *w, const FT_T *v, FT_T t, ptrdiff_t from, ptrdiff_t m) {
  FT_T s = 0;
  for (ptrdiff_t i = from; i < m; i++) s += v[i] * w[i];
  s *= t;
  for (ptrdiff_t i = from; i < m; i++) w[i] -= v[i] * s;
}

/* w[:, k] -= t (v . w[:, k]) v for n columns of m rows, v zero above row `from` and below row m: a reflection. */
static inline void NAME(reflect)(FT_T *w, ptrdiff_t ldw, const FT_T *v, FT_T t, ptrdiff_t from, ptrdiff_t m, ptrdiff_t n) {
  const ptrdiff_t begin = from - from % L;
  ptrdiff_t k = 0;
  if (t == 0) return;
  for (; k + 4 <= n; k += 4, w += 4 * ldw) {
    FT_T *w0 = w, *w1 = w + ldw, *w2 = w + 2 * ldw, *w3 = w + 3 * ldw;
    V a = {0}, b = {0}, c = {0}, d = {0};
    for (ptrdiff_t i = begin; i < m; i += L) {
      V x = READ(v + i);
      a += x * READ(w0 + i);
      b += x * READ(w1 + i);
      c += x * READ(w2 + i);
      d += x * READ(w3 + i);
    }
    const FT_T s0 = t * NAME(total)(a), s1 = t * NAME(total)(b), s2 = t * NAME(total)(c), s3 = t * NAME(total)(d);
    if (!((s0 + s1 + s2 + s3) * 0 == 0)) {
      for (int e = 0; e < 4; e++) NAME(reflect_one)(w + e * ldw, v, t, from, m);
      continue;
    }
    for (ptrdiff_t i = begin; i < m; i += L) {
      V x = READ(v + i);
      AT(w0 + i) -= x * s0;
      AT(w1 + i) -= x * s1;
      AT(w2 + i) -= x * s2;
      AT(w3 + i) -= x * s3;
    }
  }
  for (; k < n; k++, w += ldw) {
    V a = {0};
    for (ptrdiff_t i = begin; i < m; i += L) a += READ(v + i) * READ(w + i);
    const FT_T s = t * NAME(total)(a);
    if (!(s * 0 == 0)) {
      NAME(reflect_one)(w, v, t, from, m);
      continue;
    }
    for (ptrdiff_t i = begin; i < m; i += L) AT(w + i) -= READ(v + i) * s;
  }
}

/* QR of m x n in padded columns: R, and below it the reflections I - tau v v^T, v[j] = 1. v: room for ldw elements.
   As LAPACK's, R's diagonal has the sign opposite to what it replaces, and a column that is zero below it keeps it. */
static void NAME(ft_qr)(FT_T *w, ptrdiff_t ldw, ptrdiff_t m, ptrdiff_t n, FT_T *tau, FT_T *v) {
  for (ptrdiff_t j = 0; j < m && j < n; j++) {
    FT_T *x = w + j * ldw;
    const ptrdiff_t begin = j - j % L;
    for (ptrdiff_t i = begin; i < ldw; i += L) AT(v + i) = READ(x + i);
    for (ptrdiff_t i = begin; i <= j; i++) v[i] = 0;
    FT_T alpha = x[j], norm = NAME(length)(v + begin, ldw - begin);
    tau[j] = 0;
    if (norm == 0) continue;
    FT_T whole = FT_HYPOT(alpha, norm), shrink = 1;
    if (whole < FT_TINY) {             /* its reciprocal would overflow */
      shrink = FT_TINY;
      alpha /= shrink;
      for (ptrdiff_t i = begin; i < ldw; i += L) AT(v + i) /= shrink;
      norm = NAME(length)(v + begin, ldw - begin);
      whole = FT_HYPOT(alpha, norm);
    }
    const FT_T beta = alpha > 0 || (alpha == 0 && !signbit(alpha)) ? -whole : whole, scale = alpha - beta;
    tau[j] = (beta - alpha) / beta;
    for (ptrdiff_t i = begin; i < ldw; i += L) AT(v + i) /= scale;
    for (ptrdiff_t i = j + 1; i < m; i++) x[i] = v[i];
    x[j] = beta * shrink;
    v[j] = 1;
    NAME(reflect)(x + ldw, ldw, v, tau[j], j, m, n - j - 1);
  }
}

/* The first n columns of the product of k reflections whose vectors are in padded columns, in place of them. */
static void NAME(ft_q)(FT_T *w, ptrdiff_t ldw, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const FT_T *tau, FT_T *v) {
  for (ptrdiff_t j = k; j < n; j++) {
    memset(w + j * ldw, 0, ldw * sizeof(FT_T));
    w[j * ldw + j] = 1;
  }
  for (ptrdiff_t j = k - 1; j >= 0; j--) {
    FT_T *x = w + j * ldw;
    const ptrdiff_t begin = j - j % L;
    for (ptrdiff_t i = begin; i < ldw; i += L) AT(v + i) = READ(x + i);
    for (ptrdiff_t i = begin; i < j; i++) v[i] = 0;
    v[j] = 1;
    NAME(reflect)(x + ldw, ldw, v, tau[j], j, m, n - j - 1);
    for (ptrdiff_t i = 0; i < begin; i += L) AT(x + i) = (V){0};
    for (ptrdiff_t i = begin; i < ldw; i += L) AT(x + i) = -tau[j] * READ(v + i);
    x[j] = 1 - tau[j];
  }
}

/* The upper triangle T of I - V T V^T = H_1 .. H_n from the products g = V^T V, n x n by rows, which become T. */
static void NAME(ft_compact)(FT_T *g, ptrdiff_t n, const FT_T *tau) {
  FT_T column[FT_PANEL];
  for (ptrdiff_t j = 0; j < n; j++) {
    for (ptrdiff_t i = 0; i < j; i++) {
      FT_T s = 0;
      for (ptrdiff_t p = i; p < j; p++) s += g[i * n + p] * g[p * n + j];
      column[i] = -tau[j] * s;
    }
    for (ptrdiff_t i = 0; i < j; i++) g[i * n + j] = column[i];
    g[j * n + j] = tau[j];
    for (ptrdiff_t i = j + 1; i < n; i++) g[i * n + j] = 0;
  }
}

/* Lower triangular rows (n <= FT_PANEL, row-major) into x, whose rows are 4 vectors wide. */
static inline void NAME(chunk)(const FT_T *a, ptrdiff_t n, int unit, FT_T *x, ptrdiff_t ldx) {
  for (ptrdiff_t q = 0; q < n; q++) {
    FT_T *y = x + q * ldx;
    V s0 = READ(y), s1 = READ(y + L), s2 = READ(y + 2 * L), s3 = READ(y + 3 * L);
    for (ptrdiff_t p = 0; p < q; p++) {
      const FT_T t = a[q * n + p];
      const FT_T *z = x + p * ldx;
      s0 -= t * READ(z);
      s1 -= t * READ(z + L);
      s2 -= t * READ(z + 2 * L);
      s3 -= t * READ(z + 3 * L);
    }
    if (!unit) {
      const FT_T t = a[q * n + q];
      s0 /= t;
      s1 /= t;
      s2 /= t;
      s3 /= t;
    }
    AT(y) = s0;
    AT(y + L) = s1;
    AT(y + 2 * L) = s2;
    AT(y + 3 * L) = s3;
  }
}

/* One vector wide, for what is left of the columns. */
static inline void NAME(narrow)(const FT_T *a, ptrdiff_t n, int unit, FT_T *x) {
  for (ptrdiff_t q = 0; q < n; q++) {
    V s = READ(x + q * L), r = {0};
    ptrdiff_t p = 0;
    for (; p + 2 <= q; p += 2) {
      s -= a[q * n + p] * READ(x + p * L);
      r -= a[q * n + p + 1] * READ(x + (p + 1) * L);
    }
    if (p < q) s -= a[q * n + p] * READ(x + p * L);
    s += r;
    AT(x + q * L) = unit ? s : s / a[q * n + q];
  }
}

/* x = a^-1 x for n <= FT_PANEL, any strides in elements; only the triangle that `upper` names is read. */
static void NAME(ft_solve)(ptrdiff_t n, ptrdiff_t columns, const FT_T *a, ptrdiff_t ars, ptrdiff_t acs, int upper, int unit,
                           FT_T *x, ptrdiff_t xrs, ptrdiff_t xcs) {
  FT_T t[FT_PANEL * FT_PANEL], room[FT_PANEL * 4 * L] __attribute__((aligned(64)));
  if (upper) {                 /* from the last row on it is a lower one */
    a += (n - 1) * (ars + acs);
    x += (n - 1) * xrs;
    ars = -ars, acs = -acs, xrs = -xrs;
  }
  for (ptrdiff_t q = 0; q < n; q++)
    for (ptrdiff_t p = 0; p <= q; p++) t[q * n + p] = a[q * ars + p * acs];
  ptrdiff_t c = 0;
  if (xcs == 1)
    for (; c + 4 * L <= columns; c += 4 * L) NAME(chunk)(t, n, unit, x + c, xrs);
  while (c < columns) {
    const ptrdiff_t left = columns - c, wide = left >= 2 * L ? 4 * L : L, take = left < wide ? left : wide;
    FT_T *from = x + c * xcs;
    if (xcs == 1) {
      for (ptrdiff_t q = 0; q < n; q++) memcpy(room + q * wide, from + q * xrs, take * sizeof(FT_T));
    } else {
      for (ptrdiff_t r = 0; r < take; r++)
        for (ptrdiff_t q = 0; q < n; q++) room[q * wide + r] = from[r * xcs + q * xrs];
    }
    for (ptrdiff_t q = 0; q < n; q++)
      for (ptrdiff_t r = take; r < wide; r++) room[q * wide + r] = 0;
    if (wide == L)
      NAME(narrow)(t, n, unit, room);
    else
      NAME(chunk)(t, n, unit, room, wide);
    if (xcs == 1) {
      for (ptrdiff_t q = 0; q < n; q++) memcpy(from + q * xrs, room + q * wide, take * sizeof(FT_T));
    } else {
      for (ptrdiff_t r = 0; r < take; r++)
        for (ptrdiff_t q = 0; q < n; q++) from[r * xcs + q * xrs] = room[q * wide + r];
    }
    c += take;
  }
}
#undef L
#undef V
#undef AT
#undef READ
#undef PICK
#undef FT_T
#undef FT_INT
#undef FT_SUFFIX
#undef FT_SQRT
#undef FT_HYPOT
#undef FT_SAFE
#undef FT_TINY
#undef FT_PLACES
