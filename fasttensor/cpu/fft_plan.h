/* What Fourier transforms of one length share: memory, roots of unity, factors. */
#ifndef FT_FFT_PLAN_H
#define FT_FFT_PLAN_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define FT_FFT_BYTES 64
#elif defined(__AVX__)
#define FT_FFT_BYTES 32
#else
#define FT_FFT_BYTES 16
#endif

/* a prime radix may be this large; longer ones are convolutions */
enum { FT_FFT_PASSES = 64, FT_FFT_PRIME = 251 };

/* All memory of a plan, released at once. */
typedef struct ft_piece { struct ft_piece *next; } ft_piece;
typedef struct { ft_piece *first; size_t bytes; } ft_arena;

static void *ft_take(ft_arena *a, size_t bytes)
{
    const size_t all = (bytes + 127) / 64 * 64;
    ft_piece *p = aligned_alloc(64, all);
    if (!p) return NULL;
    p->next = a->first;
    a->first = p;
    a->bytes += all;
    return (char *)p + 64;
}

static void ft_release(ft_arena *a)
{
    while (a->first) { ft_piece *next = a->first->next; free(a->first); a->first = next; }
}

typedef struct { long double c, s; } ft_turn;

/* The point at k / n of a full turn, computed within an eighth of it: symmetric points are exactly so. */
static ft_turn ft_point(ptrdiff_t k, ptrdiff_t n)
{
    ptrdiff_t u = 8 * k;
    const int below = u > 4 * n;
    if (below) u = 8 * n - u;
    const int left = u > 2 * n;
    if (left) u = 4 * n - u;
    const int high = u > n;
    if (high) u = 2 * n - u;
    const long double angle = 0.785398163397448309615660845819875721L * u / n, c = cosl(angle), s = sinl(angle);
    ft_turn t = {high ? s : c, high ? c : s};
    if (left) t.c = -t.c;
    if (below) t.s = -t.s;
    return t;
}

/* Roots of unity as products of two of some 2 sqrt(n), in extended precision, so that a table of n costs no n cosines. */
typedef struct { ptrdiff_t n, part; ft_turn *fine, *coarse; } ft_roots;

static int ft_open_roots(ft_roots *r, ptrdiff_t n)
{
    ptrdiff_t part = 1;
    while (part * part < n) part *= 2;
    const ptrdiff_t parts = n / part + 1;
    r->n = n;
    r->part = part;
    r->fine = malloc((part + parts) * sizeof(ft_turn));
    if (!r->fine) return 0;
    r->coarse = r->fine + part;
    for (ptrdiff_t k = 0; k < part; k++) r->fine[k] = ft_point(k % n, n);
    for (ptrdiff_t k = 0; k < parts; k++) r->coarse[k] = ft_point(k * part % n, n);
    return 1;
}

/* exp(-2 pi i k / n), 0 <= k < n */
static inline ft_turn ft_root(const ft_roots *r, ptrdiff_t k)
{
    const ft_turn a = r->coarse[k / r->part], b = r->fine[k % r->part];
    const ft_turn t = {a.c * b.c - a.s * b.s, -(a.c * b.s + a.s * b.c)};
    return t;
}

static void ft_close_roots(ft_roots *r) { free(r->fine); }

/* The radices of n in the order of the passes, 0 where a prime factor is too large. Twos go in eights, the rest in fours, and
 * come last. */
static int ft_factors(ptrdiff_t n, int *radix)
{
    int passes = 0, twos = 0;
    while (n % 2 == 0) { n /= 2; twos++; }
    if (twos == 1) radix[passes++] = 2;
    for (ptrdiff_t p = 3; n > 1; p += 2) {
        if (p * p > n) p = n;
        if (p > FT_FFT_PRIME) return 0;
        while (n % p == 0) { n /= p; radix[passes++] = (int)p; }
    }
    for (; twos == 2 || twos == 4 || (twos > 4 && twos % 3); twos -= 2) radix[passes++] = 4;
    for (; twos >= 3; twos -= 3) radix[passes++] = 8;
    return passes;
}

/* Vector operations that a point costs in the passes of n, -1 where a factor is too large. */
static double ft_cost(ptrdiff_t n)
{
    int radix[FT_FFT_PASSES];
    double cost = 0;
    const int passes = ft_factors(n, radix);
    if (n > 1 && !passes) return -1;
    for (int k = 0; k < passes; k++) cost += radix[k] < 14 ? 6 + radix[k] : 8 + 1.2 * radix[k];
    return cost;
}

/* Whether a pass of this radix reads from memory and writes there itself. */
static int ft_fuses(int radix) { return radix == 4 || radix == 8; }

/* What the passes of n do not do themselves when they read from memory and write there: ends 1 the first, 2 the last, 3 both. */
static double ft_cost_of_ends(ptrdiff_t n, int ends)
{
    int radix[FT_FFT_PASSES];
    const int passes = ft_factors(n, radix);
    return (ends & 1 && !(passes > 1 && ft_fuses(radix[0])) ? 8 : 0) + (ends & 2 && !(passes && ft_fuses(radix[passes - 1])) ? 12 : 0);
}

/* The number of rows of n = rows x columns that cost least, a vector's width at a time; 1 where one lane alone is cheaper. */
static ptrdiff_t ft_best_rows(ptrdiff_t n, int width, double *least)
{
    ptrdiff_t best = 1;
    *least = n * (ft_cost(n) + 8) + 60;
    for (ptrdiff_t a = 2; a <= n / 2 && a <= 8192; a++) {
        if (n % a) continue;
        const ptrdiff_t b = n / a;
        const double far = (a > 1024 ? 6 : 0) + (b > 1024 ? 6 : 0);
        const double cost = (double)((b + width - 1) / width) * a * (ft_cost(a) + ft_cost_of_ends(a, 3) + 8 + far)
                          + (double)((a + width - 1) / width) * b * (ft_cost(b) + ft_cost_of_ends(b, 2) + 16 + far) + 60;
        if (cost < *least) *least = cost, best = a;
    }
    return best;
}

/* A length >= n without large factors, for a convolution. */
static ptrdiff_t ft_good_size(ptrdiff_t n)
{
    ptrdiff_t best = 1;
    while (best < n) best *= 2;
    for (ptrdiff_t f = 1; f < best; f *= 5)
        for (ptrdiff_t k = f; k < best; k *= 3) {
            ptrdiff_t m = k;
            while (m < n) m *= 2;
            if (m < best) best = m;
        }
    return best;
}

/* Whether n is cheaper as a convolution (Bluestein) than by its factors. */
static int ft_convolves(ptrdiff_t n, ptrdiff_t *m)
{
    const double cost = ft_cost(n);
    *m = ft_good_size(2 * n - 1);
    return cost < 0 || (n > 50 && n * cost > *m * (2 * ft_cost(*m) + 12));
}

/* What a transform of n points costs, in vector operations: *block of lanes, each of which has one, and *line after line.
 * The weights of moving elements were fitted to times on a processor with 32 KiB of first cache. */
static void ft_compare_ways(ptrdiff_t n, int width, double *block, double *line)
{
    int radix[FT_FFT_PASSES];
    ptrdiff_t m;
    if (ft_convolves(n, &m)) {
        ft_compare_ways(m, width, block, line);
        *block = 2 * *block + 6.0 * n;
        *line = 2 * *line + 2.0 * n;
        return;
    }
    const int passes = ft_factors(n, radix);
    /* beyond the first cache, and with powers of two, whose elements meet in few of its sets */
    *block = n * (ft_cost(n) + 32 + (n <= 128 ? 0 : n % 64 ? 4 * passes : 13 * passes)) + 150;
    ft_best_rows(n, width, line);
    *line += 100;
}
#endif
