/* Transforms of several sequences side by side, a lane of a vector each. The passes are Stockham's (C. Van Loan, "Computational
 * Frameworks for the Fast Fourier Transform", 1992, 1.7): each reads radix elements far apart and writes them so that the last
 * pass leaves them in order, from one buffer into the other. */
typedef struct NAME(lanes) {
    ptrdiff_t n, room;                  /* room: elements of each of the two buffers */
    int passes;
    struct { int radix; ptrdiff_t m, s; const FT_T *w, *odd; } pass[FT_FFT_PASSES];
    struct NAME(lanes) *conv;           /* of a convolution: its transform, the chirp and the transform of the chirp */
    const FT_T *chirp, *kernel;
} NAME(lanes);

ALWAYS void NAME(two)(CV *v)
{
    const CV a = v[0];
    v[0] = NAME(add)(a, v[1]);
    v[1] = NAME(sub)(a, v[1]);
}

ALWAYS void NAME(four)(CV *v)
{
    const CV a = NAME(add)(v[0], v[2]), b = NAME(sub)(v[0], v[2]), c = NAME(add)(v[1], v[3]), d = NAME(down)(NAME(sub)(v[1], v[3]));
    v[0] = NAME(add)(a, c);
    v[1] = NAME(add)(b, d);
    v[2] = NAME(sub)(a, c);
    v[3] = NAME(sub)(b, d);
}

ALWAYS void NAME(eight)(CV *v)
{
    const FT_T h = (FT_T)0.70710678118654752440;
    CV e[4] = {v[0], v[2], v[4], v[6]}, o[4] = {v[1], v[3], v[5], v[7]};
    NAME(four)(e);
    NAME(four)(o);
    const CV p = {(o[1].r + o[1].i) * h, (o[1].i - o[1].r) * h}, q = {(o[3].i - o[3].r) * h, -(o[3].r + o[3].i) * h}, d = NAME(down)(o[2]);
    v[0] = NAME(add)(e[0], o[0]);
    v[1] = NAME(add)(e[1], p);
    v[2] = NAME(add)(e[2], d);
    v[3] = NAME(add)(e[3], q);
    v[4] = NAME(sub)(e[0], o[0]);
    v[5] = NAME(sub)(e[1], p);
    v[6] = NAME(sub)(e[2], d);
    v[7] = NAME(sub)(e[3], q);
}

/* An odd radix: sums and differences of v[j] and v[r - j] meet cosines and sines alone; c: [k][j] of them in pairs. */
ALWAYS void NAME(odd)(const int r, CV *v, const FT_T *c)
{
    enum { MOST = 6 };
    const int h = r / 2;
    CV t[MOST], d[MOST];
    CV first = v[0], all = v[0];
#pragma GCC unroll 8
    for (int j = 0; j < h; j++) {
        t[j] = NAME(add)(v[j + 1], v[r - 1 - j]);
        d[j] = NAME(sub)(v[j + 1], v[r - 1 - j]);
        all = NAME(add)(all, t[j]);
    }
    v[0] = all;
#pragma GCC unroll 8
    for (int k = 0; k < h; k++) {
        const FT_T *w = c + 2 * k * h;
        CV a = {first.r + w[0] * t[0].r, first.i + w[0] * t[0].i}, b = {w[1] * d[0].r, w[1] * d[0].i};
#pragma GCC unroll 8
        for (int j = 1; j < h; j++) {
            a.r += w[2 * j] * t[j].r; a.i += w[2 * j] * t[j].i;
            b.r += w[2 * j + 1] * d[j].r; b.i += w[2 * j + 1] * d[j].i;
        }
        v[k + 1] = (CV){a.r + b.i, a.i - b.r};
        v[r - 1 - k] = (CV){a.r - b.i, a.i + b.r};
    }
}

ALWAYS void NAME(butterfly)(const int r, CV *v, const FT_T *odd)
{
    if (r == 2) NAME(two)(v);
    else if (r == 4) NAME(four)(v);
    else if (r == 8) NAME(eight)(v);
    else NAME(odd)(r, v, odd);
}

/* Where the first pass reads and the last pass writes, when these are not the buffers: complex numbers side by side in memory,
 * an element's lanes together and elements a stride apart, or the buffer after a factor `near` for each element. */
typedef struct {
    const FT_T *x;
    FT_T *y;
    ptrdiff_t x_stride, y_stride;
    int count, x_swap, y_swap;          /* count: lanes in use */
    FT_T scale;
    const CV *near;
} NAME(ends);
enum { NAME(BUFFER), NAME(MEMORY), NAME(NEAR) };

/* x: [radix][m][s], y: [m][radix][s]; the first of m needs no factors. */
ALWAYS void NAME(pass)(const int r, const int from, const int to, const NAME(ends) *ends, const CV *restrict x, CV *restrict y, ptrdiff_t m,
                       ptrdiff_t s, const FT_T *w, const FT_T *odd)
{
    CV v[13];
    const NAME(ends) e = ends ? *ends : (NAME(ends)){0};        /* a copy, which no store can change */
    for (ptrdiff_t q = 0; q < s; q++) {
#pragma GCC unroll 16
        for (int j = 0; j < r; j++)
            v[j] = from == NAME(MEMORY) ? NAME(load)(e.x + m * j * e.x_stride, e.count, e.x_swap) : x[q + s * m * j];
        NAME(butterfly)(r, v, odd);
#pragma GCC unroll 16
        for (int k = 0; k < r; k++) {
            const ptrdiff_t at = q + s * k;
            if (to == NAME(MEMORY)) NAME(store)(e.y + at * e.y_stride, NAME(times)(v[k], e.scale), e.count, e.y_swap);
            else y[at] = to == NAME(NEAR) ? NAME(lanes_mul)(v[k], e.near[at]) : v[k];
        }
    }
    for (ptrdiff_t p = 1; p < m; p++, w += 2 * (r - 1))
        for (ptrdiff_t q = 0; q < s; q++) {
            const CV *a = x + s * p + q;
            CV *b = y + s * r * p + q;
#pragma GCC unroll 16
            for (int j = 0; j < r; j++)
                v[j] = from == NAME(MEMORY) ? NAME(load)(e.x + (p + m * j) * e.x_stride, e.count, e.x_swap) : a[s * m * j];
            NAME(butterfly)(r, v, odd);
            b[0] = v[0];
#pragma GCC unroll 16
            for (int k = 1; k < r; k++) b[s * k] = NAME(mul)(v[k], w + 2 * (k - 1));
        }
}

/* Any odd radix; odd: for every four rows k the cosines and sines of one j side by side. */
static void NAME(pass_prime)(int r, const CV *restrict x, CV *restrict y, ptrdiff_t m, ptrdiff_t s, const FT_T *w, const FT_T *odd)
{
    const int h = r / 2;
    CV t[FT_FFT_PRIME / 2 + 1], d[FT_FFT_PRIME / 2 + 1];
    for (ptrdiff_t p = 0; p < m; p++)
        for (ptrdiff_t q = 0; q < s; q++) {
            const CV *a = x + s * p + q;
            const FT_T *turn = w + 2 * (r - 1) * (p - 1);
            CV *b = y + s * r * p + q;
            CV all = a[0];
            for (int j = 0; j < h; j++) {
                const CV low = a[s * m * (j + 1)], high = a[s * m * (r - 1 - j)];
                t[j] = NAME(add)(low, high);
                d[j] = NAME(sub)(low, high);
                all = NAME(add)(all, t[j]);
            }
            b[0] = all;
            for (int k = 0; k < h; k += 4) {
                const FT_T *c = odd + 2 * k * h;
                CV u[4], v[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++) u[i] = a[0], v[i] = (CV){{0}, {0}};
                for (int j = 0; j < h; j++, c += 8)
#pragma GCC unroll 4
                    for (int i = 0; i < 4; i++) {
                        u[i].r += c[2 * i] * t[j].r; u[i].i += c[2 * i] * t[j].i;
                        v[i].r += c[2 * i + 1] * d[j].r; v[i].i += c[2 * i + 1] * d[j].i;
                    }
                for (int i = 0; i < 4 && k + i < h; i++) {
                    const int far = r - 1 - k - i;
                    CV low = {u[i].r + v[i].i, u[i].i - v[i].r}, high = {u[i].r - v[i].i, u[i].i + v[i].r};
                    if (p) low = NAME(mul)(low, turn + 2 * (k + i)), high = NAME(mul)(high, turn + 2 * (far - 1));
                    b[s * (k + i + 1)] = low;
                    b[s * far] = high;
                }
            }
        }
}

#define FT_PASS(R) \
static void NAME(pass_##R)(const CV *x, CV *y, ptrdiff_t m, ptrdiff_t s, const FT_T *w, const FT_T *odd) \
{ NAME(pass)(R, NAME(BUFFER), NAME(BUFFER), NULL, x, y, m, s, w, odd); }
FT_PASS(2) FT_PASS(3) FT_PASS(4) FT_PASS(5) FT_PASS(7) FT_PASS(8) FT_PASS(11) FT_PASS(13)
#undef FT_PASS
#define FT_ENDS(R) \
static void NAME(from_memory_##R)(const NAME(ends) *e, CV *y, ptrdiff_t m, const FT_T *w) \
{ NAME(pass)(R, NAME(MEMORY), NAME(BUFFER), e, NULL, y, m, 1, w, NULL); } \
static void NAME(to_memory_##R)(const NAME(ends) *e, const CV *x, ptrdiff_t s) \
{ NAME(pass)(R, NAME(BUFFER), NAME(MEMORY), e, x, NULL, 1, s, NULL, NULL); } \
static void NAME(to_near_##R)(const NAME(ends) *e, const CV *x, CV *y, ptrdiff_t s) \
{ NAME(pass)(R, NAME(BUFFER), NAME(NEAR), e, x, y, 1, s, NULL, NULL); }
FT_ENDS(4) FT_ENDS(8)
#undef FT_ENDS

/* Transforms a, or what `e` reads where e->x is given; b is scratch. Returns the one of them that holds the result, or NULL where
 * e->y took it. */
static CV *NAME(lanes_run)(const NAME(lanes) *f, CV *a, CV *b, const NAME(ends) *e);

/* L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform" (1970): jk is
 * (j^2 + k^2 - (k - j)^2) / 2, which makes a convolution of the sum. */
static CV *NAME(lanes_convolve)(const NAME(lanes) *f, CV *a, CV *b)
{
    const ptrdiff_t n = f->n, m = f->conv->n;
    for (ptrdiff_t j = 0; j < n; j++) a[j] = NAME(mul)(a[j], f->chirp + 2 * j);
    memset(a + n, 0, (m - n) * sizeof(CV));
    CV *y = NAME(lanes_run)(f->conv, a, b, NULL), *z = y == a ? b : a;
    for (ptrdiff_t k = 0; k < m; k++) {         /* real and imaginary parts swapped: the inverse transform */
        const CV t = NAME(mul)(y[k], f->kernel + 2 * k);
        y[k] = (CV){t.i, t.r};
    }
    y = NAME(lanes_run)(f->conv, y, z, NULL);
    for (ptrdiff_t j = 0; j < n; j++) y[j] = NAME(mul)((CV){y[j].i, y[j].r}, f->chirp + 2 * j);
    return y;
}

static CV *NAME(lanes_run)(const NAME(lanes) *f, CV *a, CV *b, const NAME(ends) *e)
{
    const int fused = f->passes > 1, last = f->passes - 1;
    int k = 0;
    if (e && e->x) {
        const ptrdiff_t m = f->passes ? f->pass[0].m : 0;
        if (fused && ft_fuses(f->pass[0].radix)) {
            if (f->pass[0].radix == 4) NAME(from_memory_4)(e, b, m, f->pass[0].w);
            else NAME(from_memory_8)(e, b, m, f->pass[0].w);
            CV *swap = a; a = b; b = swap;
            k = 1;
        } else
            for (ptrdiff_t j = 0; j < f->n; j++) a[j] = NAME(load)(e->x + j * e->x_stride, e->count, e->x_swap);
    }
    if (f->conv) a = NAME(lanes_convolve)(f, a, b);
    for (; k < f->passes; k++) {
        const int r = f->pass[k].radix;
        const ptrdiff_t m = f->pass[k].m, s = f->pass[k].s;
        const FT_T *w = f->pass[k].w, *odd = f->pass[k].odd;
        if (k == last && e && ft_fuses(r) && (e->y || e->near)) {
            if (e->y) {
                if (r == 4) NAME(to_memory_4)(e, a, s);
                else NAME(to_memory_8)(e, a, s);
                return NULL;
            }
            if (r == 4) NAME(to_near_4)(e, a, b, s);
            else NAME(to_near_8)(e, a, b, s);
            return b;
        }
        switch (r) {
        case 2: NAME(pass_2)(a, b, m, s, w, odd); break;
        case 3: NAME(pass_3)(a, b, m, s, w, odd); break;
        case 4: NAME(pass_4)(a, b, m, s, w, odd); break;
        case 5: NAME(pass_5)(a, b, m, s, w, odd); break;
        case 7: NAME(pass_7)(a, b, m, s, w, odd); break;
        case 8: NAME(pass_8)(a, b, m, s, w, odd); break;
        case 11: NAME(pass_11)(a, b, m, s, w, odd); break;
        case 13: NAME(pass_13)(a, b, m, s, w, odd); break;
        default: NAME(pass_prime)(r, a, b, m, s, w, odd);
        }
        CV *swap = a; a = b; b = swap;
    }
    if (e && e->near)
        for (ptrdiff_t j = 0; j < f->n; j++) a[j] = NAME(lanes_mul)(a[j], e->near[j]);
    if (e && e->y) {
        for (ptrdiff_t j = 0; j < f->n; j++) NAME(store)(e->y + j * e->y_stride, NAME(times)(a[j], e->scale), e->count, e->y_swap);
        return NULL;
    }
    return a;
}

/* Cosines and sines of an odd radix: [k][j], or for a large one [k / 4][j][k % 4]. */
static const FT_T *NAME(odd_table)(ft_arena *arena, int r)
{
    const int h = r / 2, block = r > 13 ? 4 : 1, rows = (h + block - 1) / block * block;
    FT_T *c = ft_take(arena, sizeof(FT_T) * 2 * rows * h);
    if (!c) return NULL;
    for (int k = 0; k < rows; k++)
        for (int j = 0; j < h; j++) {
            const ft_turn t = ft_point((ptrdiff_t)(k + 1) * (j + 1) % r, r);
            FT_T *at = c + 2 * ((ptrdiff_t)(k / block * h + j) * block + k % block);
            at[0] = (FT_T)t.c;
            at[1] = (FT_T)t.s;
        }
    return c;
}

static void NAME(put)(FT_T *p, ft_turn t) { p[0] = (FT_T)t.c; p[1] = (FT_T)t.s; }

/* The chirp exp(-i pi j^2 / n), j < n, and the sequence that it is convolved with, of m elements, 1 / m included. */
static int NAME(chirps)(ft_arena *arena, ptrdiff_t n, ptrdiff_t m, FT_T **chirp, FT_T **kernel)
{
    ft_roots roots;
    *chirp = ft_take(arena, sizeof(FT_T) * 2 * n);
    *kernel = ft_take(arena, sizeof(FT_T) * 2 * m);
    if (!*chirp || !*kernel || !ft_open_roots(&roots, 2 * n)) return 0;
    memset(*kernel, 0, sizeof(FT_T) * 2 * m);
    for (ptrdiff_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), j++) {
        ft_turn t = ft_root(&roots, square);
        NAME(put)(*chirp + 2 * j, t);
        t.s = -t.s;
        t.c /= m;
        t.s /= m;
        NAME(put)(*kernel + 2 * j, t);
        if (j) NAME(put)(*kernel + 2 * (m - j), t);
    }
    ft_close_roots(&roots);
    return 1;
}

static NAME(lanes) *NAME(plan_lanes)(ft_arena *arena, ptrdiff_t n)
{
    NAME(lanes) *f = ft_take(arena, sizeof *f);
    ptrdiff_t m;
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->n = f->room = n;
    if (ft_convolves(n, &m)) {
        FT_T *chirp, *kernel;
        f->conv = NAME(plan_lanes)(arena, m);
        f->room = m;
        if (!f->conv || !NAME(chirps)(arena, n, m, &chirp, &kernel)) return NULL;
        f->chirp = chirp;
        f->kernel = kernel;
        /* the kernel's transform, computed in the first lane */
        CV *a = aligned_alloc(64, 2 * m * sizeof(CV));
        if (!a) return NULL;
        memset(a, 0, m * sizeof(CV));
        for (ptrdiff_t k = 0; k < m; k++) a[k].r[0] = kernel[2 * k], a[k].i[0] = kernel[2 * k + 1];
        const CV *y = NAME(lanes_run)(f->conv, a, a + m, NULL);
        for (ptrdiff_t k = 0; k < m; k++) kernel[2 * k] = y[k].r[0], kernel[2 * k + 1] = y[k].i[0];
        free(a);
        return f;
    }
    int radix[FT_FFT_PASSES];
    ptrdiff_t s = 1;
    ft_roots roots;
    f->passes = ft_factors(n, radix);
    if (!ft_open_roots(&roots, n)) return NULL;
    for (int k = 0; k < f->passes; k++) {
        const int r = radix[k];
        m = n / s / r;
        FT_T *w = ft_take(arena, sizeof(FT_T) * 2 * (m - 1) * (r - 1));
        const FT_T *odd = r % 2 ? NAME(odd_table)(arena, r) : NULL;
        if (!w || (r % 2 && !odd)) { ft_close_roots(&roots); return NULL; }
        f->pass[k].radix = r;
        f->pass[k].m = m;
        f->pass[k].s = s;
        f->pass[k].w = w;
        f->pass[k].odd = odd;
        for (ptrdiff_t p = 1; p < m; p++)
            for (int j = 1; j < r; j++, w += 2) NAME(put)(w, ft_root(&roots, p * j * s % n));
        s *= r;
    }
    ft_close_roots(&roots);
    return f;
}
