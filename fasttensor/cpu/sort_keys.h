/* Sorting by order-preserving unsigned keys.
 *
 * Elements of at most four bytes (and 64-bit integers whose range in the row fits) become one word,
 * key in the upper half and position in the lower; others become a (key, position) pair. NaN is the
 * greatest value and -0 equals +0, as in PyTorch; descending order complements the key, so that equal
 * elements keep their order either way.
 */
#ifndef FT_SORT_KEYS_H
#define FT_SORT_KEYS_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sort_small.h"

#define FT_HIST (6 * 2048)
typedef struct { uint64_t k, i; } ft_pair;

#define E uint64_t
#define KEY(v) (v)
#define SFX(name) name##_word
#include "sort_body.h"
#undef E
#undef KEY
#undef SFX
#define E ft_pair
#define KEY(v) ((v).k)
#define SFX(name) name##_pair
#include "sort_body.h"
#undef E
#undef KEY
#undef SFX

static inline uint32_t ft_key_u8(uint8_t v) { return v; }
static inline uint32_t ft_key_i8(uint8_t v) { return v ^ 0x80u; }
static inline uint32_t ft_key_i16(uint16_t v) { return v ^ 0x8000u; }
static inline uint32_t ft_key_i32(uint32_t v) { return v ^ 0x80000000u; }
static inline uint32_t ft_key_h(uint16_t v, unsigned inf) {
    unsigned m = v & 0x7fff;
    return m > inf ? 0xffff : m == 0 ? 0x8000 : v & 0x8000 ? 0xffff & ~v : v | 0x8000u;
}
static inline uint32_t ft_key_f16(uint16_t v) { return ft_key_h(v, 0x7c00); }
static inline uint32_t ft_key_bf16(uint16_t v) { return ft_key_h(v, 0x7f80); }
static inline uint32_t ft_key_f32(uint32_t v) {
    uint32_t m = v & 0x7fffffffu, k = v ^ ((uint32_t)((int32_t)v >> 31) | 0x80000000u);
    k = m == 0 ? 0x80000000u : k;
    return m > 0x7f800000u ? 0xffffffffu : k;
}
static inline uint64_t ft_key_i64(uint64_t v) { return v ^ (1ull << 63); }
static inline uint64_t ft_key_f64(uint64_t v) {
    uint64_t m = v & ~(1ull << 63), k = v ^ ((uint64_t)((int64_t)v >> 63) | 1ull << 63);
    k = m == 0 ? 1ull << 63 : k;
    return m > 0x7ffull << 52 ? ~0ull : k;
}

/* Keys of n elements a step apart. */
#define FT_KEYS(S, T, K)                                                                       \
    static void keys_##S(const char *x, ptrdiff_t step, ptrdiff_t n, K flip, K *out) {         \
        if (step == sizeof(T)) for (ptrdiff_t i = 0; i < n; i++) out[i] = ft_key_##S(((const T *)x)[i]) ^ flip; \
        else for (ptrdiff_t i = 0; i < n; i++) out[i] = ft_key_##S(*(const T *)(x + i * step)) ^ flip; \
    }
FT_KEYS(u8, uint8_t, uint32_t)
FT_KEYS(i8, uint8_t, uint32_t)
FT_KEYS(i16, uint16_t, uint32_t)
FT_KEYS(i32, uint32_t, uint32_t)
FT_KEYS(f16, uint16_t, uint32_t)
FT_KEYS(bf16, uint16_t, uint32_t)
FT_KEYS(f32, uint32_t, uint32_t)
FT_KEYS(i64, uint64_t, uint64_t)
FT_KEYS(f64, uint64_t, uint64_t)
typedef void (*ft_keys32_fn)(const char *, ptrdiff_t, ptrdiff_t, uint32_t, uint32_t *);
typedef void (*ft_keys64_fn)(const char *, ptrdiff_t, ptrdiff_t, uint64_t, uint64_t *);
static const ft_keys32_fn FT_KEYS32[12] = {keys_u8, keys_u8, keys_i8, keys_i16, keys_i32, NULL, keys_f16, keys_bf16, keys_f32};
static const ft_keys64_fn FT_KEYS64[12] = {NULL, NULL, NULL, NULL, NULL, keys_i64, NULL, NULL, NULL, keys_f64};
/* Significant bits of a 32-bit key. */
static const int FT_KEY_BITS[12] = {8, 8, 8, 16, 32, 64, 16, 16, 32, 64, 0, 0};

/* Scratch for rows of n elements. */
typedef struct {
    ptrdiff_t n;
    uint64_t low;                 /* subtracted from 64-bit keys that fit a word */
    uint32_t *hist;
    void *keys;                   /* n uint32 or uint64 */
    ft_pair *pairs, *pairs2;
    uint64_t *words, *words2;     /* the same memory as the pairs */
} ft_scratch;

static int ft_scratch_open(ft_scratch *s, ptrdiff_t n) {
    s->n = n;
    s->hist = malloc(FT_HIST * sizeof(uint32_t) + (size_t)n * (8 + 32) + 64);
    if (!s->hist) return 0;
    s->pairs = (ft_pair *)(s->hist + FT_HIST);
    s->pairs2 = s->pairs + n;
    s->keys = s->pairs2 + n;
    s->words = (uint64_t *)s->pairs;
    s->words2 = (uint64_t *)s->pairs2;
    return 1;
}
static void ft_scratch_close(ft_scratch *s) { free(s->hist); }

/* Loads a row as words (returns the key's bits) or as pairs (returns 0). */
static int ft_load(ft_scratch *s, int code, const char *x, ptrdiff_t step, ptrdiff_t n, int descending) {
    if (FT_KEYS32[code] && n <= 0xffffffffll) {
        int shift = 64 - FT_KEY_BITS[code];
        uint32_t *k = s->keys;
        FT_KEYS32[code](x, step, n, 0, k);
        uint32_t flip = !descending ? 0 : FT_KEY_BITS[code] == 32 ? ~0u : (1u << FT_KEY_BITS[code]) - 1;
        for (ptrdiff_t i = 0; i < n; i++) s->words[i] = (uint64_t)(k[i] ^ flip) << shift | (uint64_t)i;
        return FT_KEY_BITS[code];
    }
    uint64_t *k = s->keys, low = ~0ull, high = 0, flip = descending ? ~0ull : 0;
    FT_KEYS64[code](x, step, n, flip, k);
    for (ptrdiff_t i = 0; i < n; i++) { low = k[i] < low ? k[i] : low; high = k[i] > high ? k[i] : high; }
    if (high - low <= 0xffffffffull && n <= 0xffffffffll) {
        int bits = 0;
        s->low = low;
        while (bits < 32 && (high - low) >> bits) bits += 8;
        bits = bits ? bits : 8;
        for (ptrdiff_t i = 0; i < n; i++) s->words[i] = (k[i] - low) << (64 - bits) | (uint64_t)i;
        return bits;
    }
    for (ptrdiff_t i = 0; i < n; i++) { s->pairs[i].k = k[i]; s->pairs[i].i = (uint64_t)i; }
    return 0;
}

/* The position of a word: below the key's bits, at least 32 of them. */
static inline int64_t ft_word_index(uint64_t w, int bits) { return (int64_t)(w & (bits > 32 ? 0xffffffffull : ~0ull >> bits)); }

#define FT_EMIT(NAME, T) \
    static void emit_##NAME(char *v, ptrdiff_t vs, const char *x, ptrdiff_t xs, const char *ix, ptrdiff_t is, ptrdiff_t n) { \
        for (ptrdiff_t i = 0; i < n; i++) *(T *)(v + i * vs) = *(const T *)(x + *(const int64_t *)(ix + i * is) * xs);  \
    }
FT_EMIT(1, uint8_t)
FT_EMIT(2, uint16_t)
FT_EMIT(4, uint32_t)
FT_EMIT(8, uint64_t)
static inline void ft_emit(int itemsize, char *v, ptrdiff_t vs, const char *x, ptrdiff_t xs, const char *ix, ptrdiff_t is, ptrdiff_t n) {
    (itemsize == 1 ? emit_1 : itemsize == 2 ? emit_2 : itemsize == 4 ? emit_4 : emit_8)(v, vs, x, xs, ix, is, n);
}

/* Values of sorted 32-bit words, from the keys: fetching them through the positions misses the cache on long rows. */
static void ft_decode32(const ft_scratch *s, int code, const char *x, ptrdiff_t xs, ptrdiff_t n, uint32_t flip, char *v, ptrdiff_t vs) {
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t k = (uint32_t)(s->words[i] >> 32) ^ flip, value = k ^ 0x80000000u;
        if (code == 8) {
            value = k >> 31 ? value : ~k;
            /* Zeros have lost their sign and NaNs their bits. */
            if (k == 0x80000000u || k == 0xffffffffu) value = *(const uint32_t *)(x + (uint32_t)s->words[i] * xs);
        }
        *(uint32_t *)(v + i * vs) = value;
    }
}

/* One row sorted: values to v, positions to ix. */
static void ft_sort_row(ft_scratch *s, int code, int itemsize, const char *x, ptrdiff_t xs, ptrdiff_t n, int descending,
                        char *v, ptrdiff_t vs, char *ix, ptrdiff_t is) {
    int bits = ft_load(s, code, x, xs, n, descending);
    if (bits) {
        sort_word(s->words, s->words2, n, bits, s->hist);
        for (ptrdiff_t i = 0; i < n; i++) *(int64_t *)(ix + i * is) = ft_word_index(s->words[i], bits);
        if (code == 4 || code == 8) ft_decode32(s, code, x, xs, n, descending ? ~0u : 0, v, vs);
        else if (code == 5)
            for (ptrdiff_t i = 0; i < n; i++)
                *(uint64_t *)(v + i * vs) = ((s->words[i] >> (64 - bits)) + s->low) ^ (descending ? ~0ull : 0) ^ (1ull << 63);
        else ft_emit(itemsize, v, vs, x, xs, ix, is, n);
    } else {
        sort_pair(s->pairs, s->pairs2, n, 64, s->hist);
        for (ptrdiff_t i = 0; i < n; i++) *(int64_t *)(ix + i * is) = (int64_t)s->pairs[i].i;
        ft_emit(itemsize, v, vs, x, xs, ix, is, n);
    }
}

static void ft_load_small(ft_scratch *s, int code, const char *x, ptrdiff_t step, ptrdiff_t n, int descending, ft_item *out) {
    int bits = ft_load(s, code, x, step, n, descending);
    for (ptrdiff_t i = 0; i < n; i++) { out[i].k = bits ? s->words[i] >> (64 - bits) : s->pairs[i].k; out[i].i = i; }
}

/* A row in the order that PyTorch leaves equal elements in without stable=True; 0 where its sort would change its method. */
static int ft_sort_ties(ft_scratch *s, int code, int itemsize, const char *x, ptrdiff_t xs, ptrdiff_t n, int descending,
                        char *v, ptrdiff_t vs, char *ix, ptrdiff_t is) {
    ft_item *items = (ft_item *)s->pairs2;
    ft_load_small(s, code, x, xs, n, descending, items);
    if (!ft_small_sort(items, n)) return 0;
    for (ptrdiff_t i = 0; i < n; i++) *(int64_t *)(ix + i * is) = items[i].i;
    ft_emit(itemsize, v, vs, x, xs, ix, is, n);
    return 1;
}

/* Position of the element of rank k, ascending. `stable`: of equal elements the one in its place. */
static int64_t ft_select_row(ft_scratch *s, int code, const char *x, ptrdiff_t xs, ptrdiff_t n, ptrdiff_t k, int stable) {
    if (n <= FT_SMALL && !stable) {
        ft_item items[FT_SMALL];
        ft_load_small(s, code, x, xs, n, 0, items);
        return ft_small_kth(items, n, k);
    }
    int bits = ft_load(s, code, x, xs, n, 0);
    return bits ? ft_word_index(select_word(s->words, n, k), bits) : (int64_t)select_pair(s->pairs, n, k).i;
}

#define K uint32_t
#define KMAX 0xffffffffu
#define E uint64_t
#define KEY(v) (v)
#define MAKE(key, i) ((uint64_t)(key) << 32 | (uint64_t)(i))
#define RANK(e) ((uint32_t)((e) >> 32))
#define SFX(name) name##_word
#include "sort_topk.h"
#define K uint64_t
#define KMAX (~0ull)
#define E ft_pair
#define KEY(v) ((v).k)
#define MAKE(key, at) ((ft_pair){(key), (uint64_t)(at)})
#define RANK(e) ((e).k)
#define SFX(name) name##_pair
#include "sort_topk.h"

/* Positions of the k first of a row in order. */
static void ft_topk_row(ft_scratch *s, int code, const char *x, ptrdiff_t xs, ptrdiff_t n, ptrdiff_t k, int descending,
                        char *ix, ptrdiff_t is) {
    if (n <= FT_SMALL) {
        ft_item items[FT_SMALL];
        ft_load_small(s, code, x, xs, n, descending, items);
        ft_small_topk(items, n, k);
        for (ptrdiff_t i = 0; i < k; i++) *(int64_t *)(ix + i * is) = items[i].i;
        return;
    }
    /* The limit is only as good as the last sort: small k re-sort often, which insertion makes cheap. */
    const ptrdiff_t cap = k + (k / 2 > 24 ? k / 2 : 24);
    int bits;
    if (cap * 2 > n || n > 0xffffffffll) {
        bits = ft_load(s, code, x, xs, n, descending);
        if (bits) sort_word(s->words, s->words2, n, bits, s->hist);
        else sort_pair(s->pairs, s->pairs2, n, 64, s->hist);
    } else if (FT_KEYS32[code]) {
        const uint32_t flip = !descending ? 0 : FT_KEY_BITS[code] == 32 ? ~0u : (1u << FT_KEY_BITS[code]) - 1;
        bits = 32;
        topk_word(FT_KEYS32[code], x, xs, n, k, flip, 32, s->words, s->words2, cap, s->hist);
    } else {
        bits = 0;
        topk_pair(FT_KEYS64[code], x, xs, n, k, descending ? ~0ull : 0, 64, s->pairs, s->pairs2, cap, s->hist);
    }
    for (ptrdiff_t i = 0; i < k; i++)
        *(int64_t *)(ix + i * is) = bits ? ft_word_index(s->words[i], bits) : (int64_t)s->pairs[i].i;
}

/* First position that holds a NaN, or -1. */
static ptrdiff_t ft_first_nan(ft_scratch *s, int code, const char *x, ptrdiff_t xs, ptrdiff_t n, ptrdiff_t *count) {
    ptrdiff_t first = -1, total = 0;
    if (code < 6) { *count = 0; return -1; }
    if (FT_KEYS32[code]) {
        uint32_t *k = s->keys, nan = FT_KEY_BITS[code] == 16 ? 0xffff : ~0u;
        FT_KEYS32[code](x, xs, n, 0, k);
        for (ptrdiff_t i = 0; i < n; i++) total += k[i] == nan;
        for (ptrdiff_t i = 0; total && first < 0; i++) if (k[i] == nan) first = i;
    } else {
        uint64_t *k = s->keys;
        FT_KEYS64[code](x, xs, n, 0, k);
        for (ptrdiff_t i = 0; i < n; i++) total += k[i] == ~0ull;
        for (ptrdiff_t i = 0; total && first < 0; i++) if (k[i] == ~0ull) first = i;
    }
    *count = total;
    return first;
}
#endif
