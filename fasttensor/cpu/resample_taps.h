/* Tables of a resampling along one dimension: output i is the sum of weight[e] * x[index[e]] over the entries
 * e = start[i] .. start[i + 1] - 1. For rows the same entries lie in lanes as well: the k-th entry of 16 outputs in a
 * vector, with `base` the first input of the 16 and lane indices counted from there, where they span 32 inputs at most. */
#ifndef FT_RESAMPLE_TAPS_H
#define FT_RESAMPLE_TAPS_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef struct {
    ptrdiff_t n, size, span;    /* outputs, inputs, and how far the entries of one output lie apart, plus 1 */
    int32_t *start, *index;
    double *weight;
    float *weight_f32;
    int taps, near, copies;     /* lanes' entries (0: none), whether `base` serves, whether every output is one input */
    int32_t *lane, *base;
    float *lane_weight;
    uint16_t *present;
} ft_taps;

static void ft_taps_free(ft_taps *t) {
    free(t->start), free(t->index), free(t->weight), free(t->weight_f32), free(t->lane), free(t->base), free(t->lane_weight), free(t->present);
    memset(t, 0, sizeof *t);
}

/* Room for n outputs with `count` entries; 0 without memory. */
static int ft_taps_room(ft_taps *t, ptrdiff_t n, ptrdiff_t size, ptrdiff_t count) {
    memset(t, 0, sizeof *t);
    t->n = n, t->size = size;
    t->start = malloc((n + 1) * sizeof *t->start);
    t->index = malloc((count + 1) * sizeof *t->index);
    t->weight = malloc((count + 1) * sizeof *t->weight);
    return t->start && t->index && t->weight;
}

/* Entries into lanes. An output that is short of entries repeats an input, so that its vector stays near, and is masked. */
static int ft_taps_lanes(ft_taps *t) {
    const ptrdiff_t n = t->n, blocks = (n + 15) / 16, count = t->start[n];
    int most = 0;
    t->copies = 1, t->span = 1;
    if (!(t->weight_f32 = malloc((count + 1) * sizeof(float)))) return 0;
    for (ptrdiff_t e = 0; e < count; e++) t->weight_f32[e] = (float)t->weight[e];
    for (ptrdiff_t i = 0; i < n; i++) {
        const int many = t->start[i + 1] - t->start[i];
        int32_t low = INT32_MAX, high = 0;
        if (many > most) most = many;
        if (many != 1 || t->weight[t->start[i]] != 1.0) t->copies = 0;
        for (ptrdiff_t e = t->start[i]; e < t->start[i + 1]; e++) {
            if (t->index[e] < low) low = t->index[e];
            if (t->index[e] > high) high = t->index[e];
        }
        if (many && high - low + 1 > t->span) t->span = high - low + 1;
    }
    if (most == 0 || most * n > 2 * count + 256) return 1;
    t->taps = most, t->near = 1;
    t->lane = malloc(most * blocks * 16 * sizeof(int32_t));
    t->base = malloc(most * blocks * sizeof(int32_t));
    t->lane_weight = malloc(most * blocks * 16 * sizeof(float));
    t->present = malloc(most * blocks * sizeof(uint16_t));
    if (!t->lane || !t->base || !t->lane_weight || !t->present) return 0;
    for (int k = 0; k < most; k++)
        for (ptrdiff_t b = 0; b < blocks; b++) {
            int32_t *lane = t->lane + (k * blocks + b) * 16, low = INT32_MAX, high = 0;
            float *weight = t->lane_weight + (k * blocks + b) * 16;
            unsigned present = 0;
            for (int j = 0; j < 16; j++) {
                const ptrdiff_t i = b * 16 + j;
                lane[j] = -1, weight[j] = 0;
                if (i >= n || t->start[i] + k >= t->start[i + 1]) continue;
                lane[j] = t->index[t->start[i] + k];
                weight[j] = (float)t->weight[t->start[i] + k];
                present |= 1u << j;
                if (lane[j] < low) low = lane[j];
                if (lane[j] > high) high = lane[j];
            }
            if (!present) low = high = 0;
            for (int j = 0; j < 16; j++)
                if (lane[j] < 0) lane[j] = low;
            t->present[k * blocks + b] = (uint16_t)present;
            t->base[k * blocks + b] = low;
            if (high - low >= 32) t->near = 0;
        }
    if (t->near)
        for (ptrdiff_t v = 0; v < most * blocks; v++)
            for (int j = 0; j < 16; j++) t->lane[v * 16 + j] -= t->base[v];
    return 1;
}

/* The transpose: which outputs an input goes to, in ascending order. */
static int ft_taps_transpose(const ft_taps *t, ft_taps *back) {
    const ptrdiff_t count = t->start[t->n];
    if (!ft_taps_room(back, t->size, t->n, count)) return 0;
    memset(back->start, 0, (t->size + 1) * sizeof(int32_t));
    for (ptrdiff_t e = 0; e < count; e++) back->start[t->index[e] + 1]++;
    for (ptrdiff_t i = 0; i < t->size; i++) back->start[i + 1] += back->start[i];
    int32_t *at = malloc((t->size + 1) * sizeof(int32_t));
    if (!at) return 0;
    memcpy(at, back->start, (t->size + 1) * sizeof(int32_t));
    for (ptrdiff_t i = 0; i < t->n; i++)
        for (ptrdiff_t e = t->start[i]; e < t->start[i + 1]; e++) {
            back->index[at[t->index[e]]] = (int32_t)i;
            back->weight[at[t->index[e]]++] = t->weight[e];
        }
    free(at);
    return ft_taps_lanes(back);
}
#endif
