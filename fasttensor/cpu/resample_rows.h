/* Resampling of one plane along up to three dimensions, the last first. Slabs of the lower dimensions are made once and
 * kept while further outputs need them, so that a plane is read and written once. */
#ifndef FT_RESAMPLE_ROWS_H
#define FT_RESAMPLE_ROWS_H
#include "resample_taps.h"

enum { FT_KEPT = 32 };          /* slabs at most; tables that reach further make a slab for every entry */

typedef struct {
    int levels;
    const ft_taps *taps[3];     /* NULL: the dimension stays as it is */
    ptrdiff_t in[3], out[3], inner;
    ptrdiff_t x_step[3], out_step[3];
    ptrdiff_t kept[3], room[3]; /* slabs of each level, and where they begin in the scratch memory */
    ptrdiff_t scratch;          /* elements in all */
} ft_resampling;

static void ft_resampling_settle(ft_resampling *r) {
    ptrdiff_t xs = r->inner, os = r->inner;
    r->scratch = 0;
    for (int a = r->levels - 1; a >= 0; a--) {
        r->x_step[a] = xs, r->out_step[a] = os;
        xs *= r->in[a], os *= r->out[a];
        r->kept[a] = a == r->levels - 1 || !r->taps[a] ? 0 : r->taps[a]->span <= FT_KEPT ? r->taps[a]->span : 1;
        r->room[a] = r->scratch;
        r->scratch += r->kept[a] * r->out_step[a];
    }
}

static inline void ft_row_double(const ft_taps *t, const double *x, double *out) {
    if (t->copies) {
        for (ptrdiff_t i = 0; i < t->n; i++) out[i] = x[t->index[i]];
        return;
    }
    for (ptrdiff_t i = 0; i < t->n; i++) {
        double total = 0;
        for (ptrdiff_t e = t->start[i]; e < t->start[i + 1]; e++) total += t->weight[e] * x[t->index[e]];
        out[i] = total;
    }
}

static inline void ft_row_float(const ft_taps *t, const float *x, float *out) {
#ifdef __AVX512F__
    const ptrdiff_t blocks = (t->n + 15) / 16;
    if (t->taps) {
        for (ptrdiff_t b = 0; b < blocks; b++) {
            const __mmask16 keep = (__mmask16)(b * 16 + 16 <= t->n ? 0xffff : (1u << (t->n - b * 16)) - 1);
            __m512 total = _mm512_setzero_ps();
            for (ptrdiff_t v = b, k = 0; k < t->taps; k++, v += blocks) {
                const __m512i lane = _mm512_loadu_si512(t->lane + v * 16);
                const __mmask16 present = t->present[v];
                __m512 value;
                if (t->near) {
                    const ptrdiff_t left = t->size - t->base[v];
                    const uint32_t inside = left >= 32 ? 0xffffffffu : (UINT32_C(1) << left) - 1;
                    const float *at = x + t->base[v];
                    value = _mm512_permutex2var_ps(_mm512_maskz_loadu_ps((__mmask16)inside, at), lane,
                                                   _mm512_maskz_loadu_ps((__mmask16)(inside >> 16), at + 16));
                } else
                    value = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), present, lane, x, 4);
                if (t->copies)
                    total = value;
                else {
                    const __m512 weight = _mm512_loadu_ps(t->lane_weight + v * 16);
                    total = k ? _mm512_mask3_fmadd_ps(value, weight, total, present) : _mm512_maskz_mul_ps(present, value, weight);
                }
            }
            _mm512_mask_storeu_ps(out + b * 16, keep, total);
        }
        return;
    }
#endif
    if (t->copies) {
        for (ptrdiff_t i = 0; i < t->n; i++) out[i] = x[t->index[i]];
        return;
    }
    for (ptrdiff_t i = 0; i < t->n; i++) {
        float total = 0;
        for (ptrdiff_t e = t->start[i]; e < t->start[i + 1]; e++) total += t->weight_f32[e] * x[t->index[e]];
        out[i] = total;
    }
}

#define FT_RESAMPLE(T, WEIGHT)                                                                                                   \
    /* out = (or +=) the weighted sum of `many` slabs, which begin at x + place * step */                                        \
    static inline void ft_combine_##T(T *restrict out, ptrdiff_t n, const T *x, ptrdiff_t step, const int32_t *place,            \
                                      ptrdiff_t period, const T *w, ptrdiff_t many) {                                            \
        if (many == 1 && w[0] == 1) {                                                                                            \
            memcpy(out, x + place[0] % period * step, n * sizeof(T));                                                            \
            return;                                                                                                              \
        }                                                                                                                        \
        if (many == 0) memset(out, 0, n * sizeof(T));                                                                            \
        for (ptrdiff_t e = 0; e < many;) {                                                                                       \
            const T *a = x + place[e] % period * step, wa = w[e];                                                                \
            if (e + 1 < many) {                                                                                                  \
                const T *b = x + place[e + 1] % period * step, wb = w[e + 1];                                                    \
                if (e == 0)                                                                                                      \
                    for (ptrdiff_t i = 0; i < n; i++) out[i] = wa * a[i] + wb * b[i];                                            \
                else                                                                                                             \
                    for (ptrdiff_t i = 0; i < n; i++) out[i] += wa * a[i] + wb * b[i];                                           \
                e += 2;                                                                                                          \
            } else {                                                                                                             \
                if (e == 0)                                                                                                      \
                    for (ptrdiff_t i = 0; i < n; i++) out[i] = wa * a[i];                                                        \
                else                                                                                                             \
                    for (ptrdiff_t i = 0; i < n; i++) out[i] += wa * a[i];                                                       \
                e += 1;                                                                                                          \
            }                                                                                                                    \
        }                                                                                                                        \
    }                                                                                                                            \
    /* outputs first .. last - 1 of dimension `a`; out is the place of output 0 */                                               \
    static void ft_resample_##T(const ft_resampling *r, int a, const T *x, T *out, ptrdiff_t first, ptrdiff_t last, T *scratch) { \
        if (a >= 3) return;                                                                                                      \
        const ft_taps *t = r->taps[a];                                                                                           \
        const ptrdiff_t xs = r->x_step[a], os = r->out_step[a];                                                                  \
        int32_t made[FT_KEPT];                                                                                                   \
        T *slabs = scratch + r->room[a];                                                                                         \
        if (a == r->levels - 1) {                                                                                                \
            if (r->inner == 1)                                                                                                   \
                ft_row_##T(t, x, out);                                                                                           \
            else                                                                                                                 \
                for (ptrdiff_t i = first; i < last; i++)                                                                         \
                    ft_combine_##T(out + i * os, os, x, xs, t->index + t->start[i], INT32_MAX, t->WEIGHT + t->start[i],          \
                                   t->start[i + 1] - t->start[i]);                                                               \
            return;                                                                                                              \
        }                                                                                                                        \
        if (a >= 2) return;             /* never: says so to the compiler, which unrolls the recursion */                        \
        for (int s = 0; s < FT_KEPT; s++) made[s] = -1;                                                                          \
        for (ptrdiff_t i = first; i < last; i++) {                                                                               \
            T *to = out + i * os;                                                                                                \
            if (!t) {                                                                                                            \
                ft_resample_##T(r, a + 1, x + i * xs, to, 0, r->out[a + 1], scratch);                                            \
                continue;                                                                                                        \
            }                                                                                                                    \
            const int32_t *index = t->index + t->start[i];                                                                       \
            const T *w = t->WEIGHT + t->start[i];                                                                                \
            const ptrdiff_t many = t->start[i + 1] - t->start[i];                                                                \
            if (many == 1 && w[0] == 1) {                                                                                        \
                if (i > first && t->start[i] - t->start[i - 1] == 1 && index[-1] == index[0] && w[-1] == 1)                      \
                    memcpy(to, to - os, os * sizeof(T));                                                                         \
                else                                                                                                             \
                    ft_resample_##T(r, a + 1, x + index[0] * xs, to, 0, r->out[a + 1], scratch);                                 \
                continue;                                                                                                        \
            }                                                                                                                    \
            if (r->kept[a] < t->span) {                                                                                          \
                memset(to, 0, os * sizeof(T));                                                                                   \
                for (ptrdiff_t e = 0; e < many; e++) {                                                                           \
                    ft_resample_##T(r, a + 1, x + index[e] * xs, slabs, 0, r->out[a + 1], scratch);                              \
                    for (ptrdiff_t j = 0; j < os; j++) to[j] += w[e] * slabs[j];                                                 \
                }                                                                                                                \
                continue;                                                                                                        \
            }                                                                                                                    \
            for (ptrdiff_t e = 0; e < many; e++) {                                                                               \
                const ptrdiff_t slot = index[e] % r->kept[a];                                                                    \
                if (made[slot] == index[e]) continue;                                                                            \
                made[slot] = index[e];                                                                                           \
                ft_resample_##T(r, a + 1, x + index[e] * xs, slabs + slot * os, 0, r->out[a + 1], scratch);                      \
            }                                                                                                                    \
            ft_combine_##T(to, os, slabs, os, index, r->kept[a], w, many);                                                       \
        }                                                                                                                        \
    }
FT_RESAMPLE(float, weight_f32)
FT_RESAMPLE(double, weight)
#endif
