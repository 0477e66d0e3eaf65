/* The sum of the products of two rows, by compute type. Eight vectors of sums, so that no addition waits for the one before it.

     ft_dot_rows(kind, x, y, n, conj, sum)     sum: an int64, or two doubles (the second of complex rows only)
*/
#ifndef FT_DOT_ROWS_H
#define FT_DOT_ROWS_H
#include "reduce_load.h"

/* Lane by lane, the sums of x y and, for complex rows, of x and y with the parts of each number swapped. */
#define FT_DOT_SUMS(N, T, I, L, ...) \
typedef T N##_v __attribute__((vector_size(64))); \
typedef T N##_u __attribute__((vector_size(64), aligned(sizeof(T)), may_alias)); \
typedef I N##_i __attribute__((vector_size(64))); \
static inline N##_v N##_part(const T *x, ptrdiff_t n) \
{ \
    N##_v v = {0}; \
    for (ptrdiff_t l = 0; l < L && l < n; l++) v[l] = x[l]; \
    return v; \
} \
static void N##_dot(const T *x, const T *y, ptrdiff_t n, double *sum) \
{ \
    N##_v v[8] = {{0}}; ptrdiff_t i = 0; double s = 0; \
    for (; i + 8 * L <= n; i += 8 * L) \
        for (int k = 0; k < 8; k++) v[k] += *(const N##_u *)(x + i + k * L) * *(const N##_u *)(y + i + k * L); \
    for (; i + L <= n; i += L) v[0] += *(const N##_u *)(x + i) * *(const N##_u *)(y + i); \
    if (i < n) v[1] += N##_part(x + i, n - i) * N##_part(y + i, n - i); \
    v[0] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); \
    for (int l = 0; l < L; l++) s += (double)v[0][l]; \
    sum[0] = s; \
} \
static void N##_complex_dot(const T *x, const T *y, ptrdiff_t n, int conj, double *sum) \
{ \
    const N##_i swap = {__VA_ARGS__}; \
    N##_v v[4] = {{0}}, w[4] = {{0}}; ptrdiff_t i = 0; double a[2] = {0, 0}, b[2] = {0, 0}; \
    for (; i + 4 * L <= n; i += 4 * L) \
        for (int k = 0; k < 4; k++) { \
            const N##_v p = *(const N##_u *)(x + i + k * L), q = *(const N##_u *)(y + i + k * L); \
            v[k] += p * q; w[k] += p * __builtin_shuffle(q, swap); } \
    for (; i < n; i += L) { \
        const N##_v p = N##_part(x + i, n - i), q = N##_part(y + i, n - i); \
        v[0] += p * q; w[0] += p * __builtin_shuffle(q, swap); } \
    v[0] = (v[0] + v[1]) + (v[2] + v[3]); w[0] = (w[0] + w[1]) + (w[2] + w[3]); \
    for (int l = 0; l < L; l++) { a[l & 1] += (double)v[0][l]; b[l & 1] += (double)w[0][l]; } \
    sum[0] = conj ? a[0] + a[1] : a[0] - a[1]; \
    sum[1] = conj ? b[0] - b[1] : b[0] + b[1]; \
}
FT_DOT_SUMS(ft_f, float, int32_t, 16, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
FT_DOT_SUMS(ft_d, double, int64_t, 8, 1, 0, 3, 2, 5, 4, 7, 6)

static int64_t ft_dot_ints(const uint64_t *x, const uint64_t *y, ptrdiff_t n)
{
    uint64_t s = 0;
    for (ptrdiff_t i = 0; i < n; i++) s += x[i] * y[i];
    return (int64_t)s;
}

static void ft_dot_rows(int kind, const void *x, const void *y, ptrdiff_t n, int conj, void *sum)
{
    switch (kind) {
    case K_INT: *(int64_t *)sum = ft_dot_ints(x, y, n); break;
    case K_FLOAT: ft_f_dot(x, y, n, sum); break;
    case K_DOUBLE: ft_d_dot(x, y, n, sum); break;
    case K_C64: ft_f_complex_dot(x, y, 2 * n, conj, sum); break;
    default: ft_d_complex_dot(x, y, 2 * n, conj, sum); break;
    }
}
#endif
