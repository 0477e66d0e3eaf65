/* One row against packed rows. Included once an element type T.
 *
 * Rows are short in most programs, so the lanes of a vector are different rows: rows come packed in blocks of BLOCK,
 * [M][BLOCK], and no vector is summed across its lanes, but for the gradient's at the end. */
enum { SFX(LANES) = 64 / sizeof(T), SFX(BLOCK) = 256 / sizeof(T) };
typedef T SFX(vec) __attribute__((vector_size(64)));
typedef T SFX(row) __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));      /* the same anywhere in memory */
typedef INT SFX(bits) __attribute__((vector_size(64)));
#define VEC SFX(vec)
#define BITS SFX(bits)
#define SIGN ((BITS){0} + (INT)((INT)1 << (sizeof(T) * 8 - 1)))
#define AT(p) (*(const SFX(row) *)(p))
#define BLOCK SFX(BLOCK)
#define LANES SFX(LANES)

/* `rows` rows as blocks; the last is filled up with zeros. */
static void SFX(pack)(const void *from, ptrdiff_t rows, ptrdiff_t m, void *to) {
    const T *x = from;
    T *out = to;
    for (ptrdiff_t j = 0; j < rows; j += BLOCK, out += m * BLOCK) {
        const ptrdiff_t n = rows - j < BLOCK ? rows - j : BLOCK;
        if (n < BLOCK) memset(out, 0, m * BLOCK * sizeof(T));
        for (ptrdiff_t k = 0; k < m; k++)
            for (ptrdiff_t l = 0; l < n; l++) out[k * BLOCK + l] = x[(j + l) * m + k];
    }
}

static inline __attribute__((always_inline)) VEC SFX(size)(VEC d) { return (VEC)((BITS)d & ~SIGN); }

/* The greater of both, or a NaN. */
static inline __attribute__((always_inline)) VEC SFX(greater)(VEC a, VEC b) {
    const BITS stays = (BITS)(b <= a) | (BITS)(a != a);
    return (VEC)(((BITS)a & stays) | ((BITS)b & ~stays));
}

/* The sum (count, greatest) over the columns, then the root, for n vectors of rows. Long sums are cut, so that they stay accurate. */
static inline __attribute__((always_inline)) void SFX(rows_of)(const T *restrict a, const T *restrict b, ptrdiff_t m, const int kind,
                                                               double p, T *restrict out, const int n) {
    enum { PIECE = 128 };
    VEC total[4] = {{0}};
    for (ptrdiff_t from = 0; from < m; from += PIECE) {
        const ptrdiff_t end = m - from < PIECE ? m : from + PIECE;
        VEC sum[4] = {{0}};
        for (ptrdiff_t k = from; k < end; k++)
            for (int v = 0; v < n; v++) {
                const VEC d = ((VEC){0} + a[k]) - AT(b + k * BLOCK + v * LANES);
                if (kind == FT_ABSOLUTE) sum[v] += SFX(size)(d);
                else if (kind == FT_EUCLID) sum[v] += d * d;
                else if (kind == FT_GREATEST) sum[v] = SFX(greater)(sum[v], SFX(size)(d));
                else
                    for (int l = 0; l < LANES; l++)
                        sum[v][l] += kind == FT_POWER ? F(pow)(F(fabs)(d[l]), (T)p) : d[l] == 0 ? 0 : d[l] == d[l] ? 1 : d[l];
            }
        for (int v = 0; v < n; v++) total[v] = kind == FT_GREATEST ? SFX(greater)(total[v], sum[v]) : total[v] + sum[v];
    }
    for (int v = 0; v < n; v++) *(SFX(row) *)(out + v * LANES) = total[v];
    if (kind == FT_EUCLID) for (int l = 0; l < n * LANES; l++) out[l] = F(sqrt)(out[l]);
    if (kind == FT_POWER) for (int l = 0; l < n * LANES; l++) out[l] = F(pow)(out[l], (T)(1 / p));
}

#define FT_BY_KIND(CALL) \
    switch (ft_distance_kind(p)) { \
        case FT_COUNT: CALL(FT_COUNT); break; \
        case FT_ABSOLUTE: CALL(FT_ABSOLUTE); break; \
        case FT_EUCLID: CALL(FT_EUCLID); break; \
        case FT_GREATEST: CALL(FT_GREATEST); break; \
        default: CALL(FT_POWER); \
    }

/* Distances of row a to the `rows` rows of a block. */
static void SFX(forward)(const void *a, const void *packed, ptrdiff_t rows, ptrdiff_t m, double p, void *out) {
    T part[BLOCK];
    T *y = rows == BLOCK ? out : part;
#define FT_CALL(kind) \
    if (rows > BLOCK / 2) SFX(rows_of)(a, packed, m, kind, p, y, 4); \
    else if (rows > LANES) SFX(rows_of)(a, packed, m, kind, p, y, 2); \
    else SFX(rows_of)(a, packed, m, kind, p, y, 1)
    FT_BY_KIND(FT_CALL)
#undef FT_CALL
    if (y == part) memcpy(out, part, rows * sizeof(T));
}

/* What the gradient g of the distances y gives to row a, added to sums [M][LANES]: d^(p - 1) / y^(p - 1), 0 where y is 0. */
static inline __attribute__((always_inline)) void SFX(gradient_of)(const T *restrict a, const T *restrict b, const T *restrict g, const T *restrict y,
                                                                   ptrdiff_t m, const int kind, double p, T *restrict sums) {
    T w[BLOCK];
    for (int l = 0; l < BLOCK; l++) {
        const T scale = kind == FT_EUCLID ? g[l] / y[l] : kind == FT_POWER ? g[l] / F(pow)(y[l], (T)(p - 1)) : g[l];
        w[l] = y[l] == 0 ? 0 : scale;
    }
    for (ptrdiff_t k = 0; k < m; k++) {
        VEC sum = AT(sums + k * LANES);
        for (int v = 0; v < BLOCK; v += LANES) {
            const VEC d = ((VEC){0} + a[k]) - AT(b + k * BLOCK + v), h = AT(w + v);
            const VEC turned = (VEC)(((BITS)h ^ ((BITS)d & SIGN)) & (BITS)(d != 0));        /* h with d's sign, or 0 */
            if (kind == FT_ABSOLUTE) sum += turned;
            else if (kind == FT_EUCLID) sum += d * h;
            else if (kind == FT_GREATEST) sum += (VEC)((BITS)turned & (BITS)(SFX(size)(d) == AT(y + v)));
            else for (int l = 0; l < LANES; l++) sum[l] += d[l] == 0 ? 0 : turned[l] * F(pow)(F(fabs)(d[l]), (T)(p - 1));
        }
        *(SFX(row) *)(sums + k * LANES) = sum;
    }
}

static void SFX(backward)(const void *a, const void *packed, const void *g, const void *y, ptrdiff_t rows, ptrdiff_t m, double p, void *sums) {
    T gs[BLOCK] = {0}, ys[BLOCK] = {0};
    if (rows < BLOCK) {
        memcpy(gs, g, rows * sizeof(T));
        memcpy(ys, y, rows * sizeof(T));
        g = gs;
        y = ys;
    }
#define FT_CALL(kind) SFX(gradient_of)(a, packed, g, y, m, kind, p, sums)
    if (p != 0) FT_BY_KIND(FT_CALL)
#undef FT_CALL
}

/* The sums of all lanes, which become 0 again. */
static void SFX(gather)(void *lanes, ptrdiff_t m, void *to) {
    T *s = lanes, *out = to;
    for (ptrdiff_t k = 0; k < m; k++, s += LANES) {
        for (int half = LANES / 2; half; half /= 2)
            for (int l = 0; l < half; l++) s[l] += s[l + half];
        out[k] = s[0];
        memset(s, 0, LANES * sizeof(T));
    }
}

/* Distances from products a.b in y [rows, n], and the squares of lengths. */
static void SFX(finish)(void *products, const void *na, const void *nb, ptrdiff_t rows, ptrdiff_t n) {
    const T *a = na, *b = nb;
    for (ptrdiff_t i = 0; i < rows; i++) {
        T *y = (T *)products + i * n;
        for (ptrdiff_t j = 0; j < n; j++) {
            const T square = a[i] + b[j] - 2 * y[j];
            y[j] = F(sqrt)(square < 0 ? 0 : square);
        }
    }
}
#undef FT_BY_KIND
#undef VEC
#undef BITS
#undef SIGN
#undef AT
#undef BLOCK
#undef LANES
