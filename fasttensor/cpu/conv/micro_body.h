/* One element type's tiles; micro.h includes it with T and NAME set. */
#define V NAME(vector)
#define VI NAME(indices)
#define LANES ((ptrdiff_t)(FT_VECTOR_BYTES / sizeof(T)))
typedef T V __attribute__((vector_size(FT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
typedef I VI __attribute__((vector_size(FT_VECTOR_BYTES)));

FT_INLINE void NAME(start)(const int rows, const int nv, V acc[FT_ROWS][FT_VECS], const T *init, const T *c,
                           ptrdiff_t ldc, int add)
{
    if (add) {
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < nv; v++) acc[r][v] = *(const V *)(c + r * ldc + v * LANES);
    } else {
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < nv; v++) acc[r][v] = (V){0} + (init ? init[r] : (T)0);
    }
}

FT_INLINE void NAME(step)(const int rows, const int nv, V acc[FT_ROWS][FT_VECS], const T *const *p, ptrdiff_t j, const T *b)
{
    V bv[FT_VECS];
    for (int v = 0; v < nv; v++) bv[v] = *(const V *)(b + v * LANES);
    for (int r = 0; r < rows; r++) {
        const T s = p[r][j];
        for (int v = 0; v < nv; v++) acc[r][v] += s * bv[v];
    }
}

FT_INLINE void NAME(finish)(const int rows, const int nv, V acc[FT_ROWS][FT_VECS], T *c, ptrdiff_t ldc)
{
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) *(V *)(c + r * ldc + v * LANES) = acc[r][v];
}

FT_INLINE void NAME(run)(const int rows, const int nv, ptrdiff_t k, const T *const *a, const ptrdiff_t *aoff, const T *b,
                         const ptrdiff_t *off, const T *init, T *c, ptrdiff_t ldc, int add)
{
    V acc[FT_ROWS][FT_VECS];
    const T *p[FT_ROWS];
    for (int r = 0; r < rows; r++) p[r] = a[r];
    const ptrdiff_t between = rows > 1 ? p[1] - p[0] : 0;
    NAME(start)(rows, nv, acc, init, c, ldc, add);
    if (aoff)
        for (ptrdiff_t i = 0; i < k; i++) {
            /* the weights' next rows lie pages apart, where no hardware prefetcher looks */
            const T *ahead = p[0] + aoff[i + FT_AHEAD];
            __builtin_prefetch(ahead + (i & (FT_ROWS - 1)) * between);
            __builtin_prefetch(ahead + ((i + FT_ROWS / 2) & (FT_ROWS - 1)) * between);
            NAME(step)(rows, nv, acc, p, aoff[i], b + (off ? off[i] : i * nv * LANES));
        }
    else if (off)
        for (ptrdiff_t i = 0; i < k; i++) NAME(step)(rows, nv, acc, p, i, b + off[i]);
    else
        for (ptrdiff_t i = 0; i < k; i++) NAME(step)(rows, nv, acc, p, i, b + i * nv * LANES);
    NAME(finish)(rows, nv, acc, c, ldc);
}

FT_INLINE void NAME(walk)(const int rows, const int nv, ptrdiff_t planes, ptrdiff_t step, ptrdiff_t height, ptrdiff_t width,
                          ptrdiff_t pitch, const T *const *a, const T *b, T *c, ptrdiff_t ldc)
{
    V acc[FT_ROWS][FT_VECS];
    const T *p[FT_ROWS];
    for (int r = 0; r < rows; r++) p[r] = a[r];
    NAME(start)(rows, nv, acc, NULL, c, ldc, 1);
    for (ptrdiff_t i = 0; i < planes; i++)
        for (ptrdiff_t h = 0; h < height; h++)
            for (ptrdiff_t j = i * step + h * pitch, end = j + width; j < end; j++, b += nv * LANES)
                NAME(step)(rows, nv, acc, p, j, b);
    NAME(finish)(rows, nv, acc, c, ldc);
}

#define FT_CASES(CALL)                                                       \
    switch (rows * 4 + nv) { FT_ROW_CASES(CALL) }
#define FT_TILE(R)                                                           \
    case R * 4 + 1: NAME(run)(R, 1, k, a, aoff, b, off, init, c, ldc, add); break; \
    case R * 4 + 2: NAME(run)(R, 2, k, a, aoff, b, off, init, c, ldc, add); break; \
    case R * 4 + 3: NAME(run)(R, 3, k, a, aoff, b, off, init, c, ldc, add); break;
static __attribute__((unused, noinline)) void NAME(tile)(int rows, int nv, ptrdiff_t k, const T *const *a, const ptrdiff_t *aoff, const T *b,
                                               const ptrdiff_t *off, const T *init, T *c, ptrdiff_t ldc, int add)
{
    FT_CASES(FT_TILE)
}
#undef FT_TILE
#define FT_WALK(R)                                                           \
    case R * 4 + 1: NAME(walk)(R, 1, planes, step, height, width, pitch, a, b, c, ldc); break;   \
    case R * 4 + 2: NAME(walk)(R, 2, planes, step, height, width, pitch, a, b, c, ldc); break;   \
    case R * 4 + 3: NAME(walk)(R, 3, planes, step, height, width, pitch, a, b, c, ldc); break;
static __attribute__((unused, noinline)) void NAME(rows)(int rows, int nv, ptrdiff_t planes, ptrdiff_t step, ptrdiff_t height,
                                               ptrdiff_t width, ptrdiff_t pitch, const T *const *a, const T *b, T *c, ptrdiff_t ldc)
{
    FT_CASES(FT_WALK)
}
#undef FT_WALK

/* A tile of n = last + LANES pixels of one output row, of which the last vector may overlap the one before it. */
FT_INLINE void NAME(line_tile)(const int rows, const int nv, ptrdiff_t last, ptrdiff_t k, const T *const *a, const T *b,
                               const ptrdiff_t *off, const T *init, T *c, ptrdiff_t ldc)
{
    V acc[FT_ROWS][FT_VECS], bv[FT_VECS];
    const T *p[FT_ROWS];
    for (int r = 0; r < rows; r++) p[r] = a[r];
    NAME(start)(rows, nv, acc, init, NULL, 0, 0);
    for (ptrdiff_t i = 0; i < k; i++) {
        for (int v = 0; v < nv; v++) bv[v] = *(const V *)(b + off[i] + (v == nv - 1 ? last : v * LANES));
        for (int r = 0; r < rows; r++) {
            const T s = p[r][i];
            for (int v = 0; v < nv; v++) acc[r][v] += s * bv[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) *(V *)(c + r * ldc + (v == nv - 1 ? last : v * LANES)) = acc[r][v];
}
#define FT_LINE_CASE(R)                                                           \
    case R * 4 + 1: NAME(line_tile)(R, 1, last, k, a, b, off, init, c, ldc); break; \
    case R * 4 + 2: NAME(line_tile)(R, 2, last, k, a, b, off, init, c, ldc); break; \
    case R * 4 + 3: NAME(line_tile)(R, 3, last, k, a, b, off, init, c, ldc); break;
static __attribute__((unused, noinline)) void NAME(line)(int rows, int nv, ptrdiff_t last, ptrdiff_t k, const T *const *a, const T *b,
                                               const ptrdiff_t *off, const T *init, T *c, ptrdiff_t ldc)
{
    FT_CASES(FT_LINE_CASE)
}
#undef FT_LINE_CASE
#undef FT_CASES

/* dst[0..n) = src[0..n): short runs, where a call of memcpy costs more than the copy. */
FT_INLINE void NAME(copy)(T *dst, const T *src, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) *(V *)(dst + i) = *(const V *)(src + i);
    if (i == n) return;
    /* the rest in two pieces that overlap */
    if (n >= LANES) *(V *)(dst + n - LANES) = *(const V *)(src + n - LANES);
    else if (n >= 8) { memcpy(dst, src, 8 * sizeof(T)); memcpy(dst + n - 8, src + n - 8, 8 * sizeof(T)); }
    else if (n >= 4) { memcpy(dst, src, 4 * sizeof(T)); memcpy(dst + n - 4, src + n - 4, 4 * sizeof(T)); }
    else if (n >= 2) { memcpy(dst, src, 2 * sizeof(T)); memcpy(dst + n - 2, src + n - 2, 2 * sizeof(T)); }
    else dst[0] = src[0];
}

/* `ahead`: terms after these that are asked for, 0 at the end. Short runs of many channels are no stream that the hardware would see. */
FT_INLINE void NAME(pack_run)(const ptrdiff_t bytes, T *dst, ptrdiff_t width, const T *src, const ptrdiff_t *off, ptrdiff_t k, ptrdiff_t ahead)
{
    for (ptrdiff_t i = 0; i < k; i++, dst += width) {
        __builtin_prefetch(src + off[i + ahead]);
        memcpy(dst, src + off[i], bytes);
    }
}

/* dst[i][run.at + j] = x[off[i] + run.src + j] for every run of pixels and j < run.n, zeros after the last. Runs are copied by whole or
 * half vectors where what is too much stays in the row, as the next run writes over it; `exact`: the source may not be read past a run. */
static __attribute__((unused, noinline)) void NAME(pack)(T *dst, ptrdiff_t width, const T *x, const ptrdiff_t *off, ptrdiff_t k, int runs,
                                                         const ft_pixels *run, int exact)
{
    enum { BLOCK = 32 };        /* terms: few enough that a block stays in L1 for all its runs */
    const ptrdiff_t end = run[runs - 1].at + run[runs - 1].n;
    for (; k > 0; k -= BLOCK, off += BLOCK, dst += BLOCK * width) {
        const ptrdiff_t kn = k < BLOCK ? k : BLOCK, ahead = k < 2 * BLOCK ? 0 : BLOCK;
        for (int r = 0; r < runs; r++) {
            const ptrdiff_t n = run[r].n, most = exact ? 0 : width - run[r].at;
            const T *src = x + run[r].src;
            T *to = dst + run[r].at;
            if (2 * n <= LANES && LANES <= 2 * most) NAME(pack_run)(FT_VECTOR_BYTES / 2, to, width, src, off, kn, ahead);
            else if (n <= LANES && LANES <= most) NAME(pack_run)(FT_VECTOR_BYTES, to, width, src, off, kn, ahead);
            else if (n <= 2 * LANES && 2 * LANES <= most) NAME(pack_run)(2 * FT_VECTOR_BYTES, to, width, src, off, kn, ahead);
            else if (n <= 3 * LANES && 3 * LANES <= most) NAME(pack_run)(3 * FT_VECTOR_BYTES, to, width, src, off, kn, ahead);
            else
                for (ptrdiff_t i = 0; i < kn; i++) NAME(copy)(to + i * width, src + off[i], n);
        }
        if (end < width)
            for (ptrdiff_t i = 0; i < kn; i++)
                for (ptrdiff_t j = end; j < width; j++) dst[i * width + j] = 0;
    }
}

/* dst[i] = bias + sum_t w[t] * src[off[t] + i] for one-channel windows. */
FT_INLINE void NAME(taps_block)(const int nv, ptrdiff_t taps, const ptrdiff_t *off, const T *w, const T *src, T bias, T *dst)
{
    V acc[4];
    for (int v = 0; v < nv; v++) acc[v] = (V){0} + bias;
    for (ptrdiff_t t = 0; t < taps; t++) {
        const T s = w[t];
        const T *p = src + off[t];
        for (int v = 0; v < nv; v++) acc[v] += s * *(const V *)(p + v * LANES);
    }
    for (int v = 0; v < nv; v++) *(V *)(dst + v * LANES) = acc[v];
}

static __attribute__((unused, noinline)) void NAME(taps)(ptrdiff_t taps, const ptrdiff_t *off, const T *w, const T *src, T bias, T *dst, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) NAME(taps_block)(4, taps, off, w, src + i, bias, dst + i);
    for (; i + LANES <= n; i += LANES) NAME(taps_block)(1, taps, off, w, src + i, bias, dst + i);
    if (i < n && n >= LANES)    /* the last vector overlaps the one before it */
        NAME(taps_block)(1, taps, off, w, src + n - LANES, bias, dst + n - LANES);
    else
        for (; i < n; i++) {
            T sum = bias;
            for (ptrdiff_t t = 0; t < taps; t++) sum += w[t] * src[off[t] + i];
            dst[i] = sum;
        }
}

/* The same for `height` rows of n >= LANES outputs, `pitch` apart in the source and `ldc` in the output: a weight that is in a
 * register serves four rows of two vectors. The last vector of a row overlaps the one before it. */
FT_INLINE void NAME(plane_block)(const int rows, const int nv, ptrdiff_t taps, const ptrdiff_t *off, const T *w, const T *src,
                                 ptrdiff_t pitch, ptrdiff_t last, T bias, T *dst, ptrdiff_t ldc)
{
    V acc[4][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) acc[r][v] = (V){0} + bias;
    for (ptrdiff_t t = 0; t < taps; t++) {
        const V s = (V){0} + w[t];
        const T *p = src + off[t];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < nv; v++) acc[r][v] += s * *(const V *)(p + r * pitch + v * last);
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) *(V *)(dst + r * ldc + v * last) = acc[r][v];
}

static __attribute__((unused, noinline)) void NAME(plane)(ptrdiff_t taps, const ptrdiff_t *off, const T *w, const T *src, ptrdiff_t pitch,
                                                T bias, T *dst, ptrdiff_t ldc, ptrdiff_t n, ptrdiff_t height)
{
    for (ptrdiff_t j = 0; j < n; j += 2 * LANES) {
        ptrdiff_t left = n - j, at = j, last = LANES;
        if (left <= LANES) at = n - LANES;
        else if (left < 2 * LANES) last = left - LANES;
        ptrdiff_t h = 0;
        if (left <= LANES) {
            for (; h + 4 <= height; h += 4) NAME(plane_block)(4, 1, taps, off, w, src + h * pitch + at, pitch, 0, bias, dst + h * ldc + at, ldc);
            for (; h < height; h++) NAME(plane_block)(1, 1, taps, off, w, src + h * pitch + at, pitch, 0, bias, dst + h * ldc + at, ldc);
        } else {
            for (; h + 4 <= height; h += 4) NAME(plane_block)(4, 2, taps, off, w, src + h * pitch + at, pitch, last, bias, dst + h * ldc + at, ldc);
            for (; h < height; h++) NAME(plane_block)(1, 2, taps, off, w, src + h * pitch + at, pitch, last, bias, dst + h * ldc + at, ldc);
        }
    }
}

/* `count` rows of a lattice: dst[j] = src[j * step] for first <= j < last, 0 for the other j < n, rows being `pitch` apart in the source.
 * Whole vectors are read and written past a row's end as long as they stay before the limits; what lies there is written later. */
static __attribute__((unused)) void NAME(lattice_rows)(T *dst, const T *src, ptrdiff_t pitch, ptrdiff_t count, ptrdiff_t step, ptrdiff_t first,
                                                       ptrdiff_t last, ptrdiff_t n, const T *src_limit, const T *dst_limit)
{
    VI even;
    for (int l = 0; l < LANES; l++) even[l] = 2 * l;
    VI kept;                    /* of a row that one vector holds, where the zeros after it are made on the way */
    const ptrdiff_t used = last - first;
    for (int l = 0; l < LANES; l++) kept[l] = l < used ? -1 : 0;
    const int one = used > 0 && n - first <= LANES && step <= 2;
    for (ptrdiff_t row = 0; row < count; row++, dst += n, src += pitch) {
        /* the empty statements keep these short loops from being vectorised, whose preparation costs more than they do */
        for (ptrdiff_t j = 0; j < first; j++) { dst[j] = 0; __asm__ volatile(""); }
        ptrdiff_t j = first;
        if (one && src + step * (first + LANES) <= src_limit && dst + first + LANES <= dst_limit) {
            const T *p = src + step * first;
            const V v = step == 1 ? *(const V *)p : __builtin_shuffle(*(const V *)p, *(const V *)(p + LANES), even);
            *(V *)(dst + first) = (V)((VI)v & kept);
            continue;
        }
        if (step == 1)
            for (; j < last && src + j + LANES <= src_limit && dst + j + LANES <= dst_limit; j += LANES)
                *(V *)(dst + j) = *(const V *)(src + j);
        else if (step == 2)
            for (; j < last && src + 2 * (j + LANES) <= src_limit && dst + j + LANES <= dst_limit; j += LANES)
                *(V *)(dst + j) = __builtin_shuffle(*(const V *)(src + 2 * j), *(const V *)(src + 2 * j + LANES), even);
        for (; j < last; j++) { dst[j] = src[j * step]; __asm__ volatile(""); }
        for (j = last; j < n; j++) { dst[j] = 0; __asm__ volatile(""); }
    }
}

/* sums[t] += sum_i g[i] * x[off[t] + i] */
FT_INLINE void NAME(dots_block)(const int taps, const ptrdiff_t *off, const T *g, const T *x, ptrdiff_t n, T *sums)
{
    V acc[10];
    ptrdiff_t i = 0;
    for (int t = 0; t < taps; t++) acc[t] = (V){0};
    for (; i + LANES <= n; i += LANES) {
        const V gv = *(const V *)(g + i);
        for (int t = 0; t < taps; t++) acc[t] += gv * *(const V *)(x + off[t] + i);
    }
    for (int t = 0; t < taps; t++) {
        T sum = 0;
        for (ptrdiff_t l = 0; l < LANES; l++) sum += acc[t][l];
        for (ptrdiff_t j = i; j < n; j++) sum += g[j] * x[off[t] + j];
        sums[t] += sum;
    }
}

static __attribute__((unused, noinline)) void NAME(dots)(ptrdiff_t taps, const ptrdiff_t *off, const T *g, const T *x, ptrdiff_t n, T *sums)
{
    for (; taps >= 9; taps -= 9, off += 9, sums += 9) NAME(dots_block)(9, off, g, x, n, sums);
    for (; taps >= 3; taps -= 3, off += 3, sums += 3) NAME(dots_block)(3, off, g, x, n, sums);
    for (; taps > 0; taps--, off++, sums++) NAME(dots_block)(1, off, g, x, n, sums);
}
#undef V
#undef VI
#undef LANES
