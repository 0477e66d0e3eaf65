/* The k first of a long row for keys of type K. Included once a key type, with K, KMAX, E, MAKE(key, i), RANK(e)
 * and SFX(name) defined; see sort_keys.h.
 *
 * Elements that cannot be among the first are dropped in a vectorised scan. What a first part of the row gives at once is
 * a good limit: each of 64 lanes has a least key, and at least k elements are not behind the k-th of those. Survivors are
 * sorted each time their buffer fills, which makes the limit stricter; of equal elements the earlier one stays. */
typedef void (*SFX(keys_fn))(const char *, ptrdiff_t, ptrdiff_t, K, K *);

/* A key that at least k of the n given ones do not exceed, k <= LANES / 2; KMAX where there is none. */
static K SFX(first_limit)(const K *keys, ptrdiff_t n, ptrdiff_t k) {
    enum { LANES = 64 };
    K least[LANES], first[LANES / 2];
    ptrdiff_t m = 0;
    memcpy(least, keys, sizeof least);
    for (ptrdiff_t at = LANES; at + LANES <= n; at += LANES)
        for (int i = 0; i < LANES; i++) least[i] = keys[at + i] < least[i] ? keys[at + i] : least[i];
    for (int i = 0; i < LANES; i++) {
        const K v = least[i];
        if (m == k && v >= first[k - 1]) continue;
        ptrdiff_t j = m < k ? m++ : k - 1;
        for (; j > 0 && v < first[j - 1]; j--) first[j] = first[j - 1];
        first[j] = v;
    }
    return first[k - 1];
}

/* Leaves the k first in order in `kept`, which has room for `cap` > k elements. */
static void SFX(topk)(SFX(keys_fn) load, const char *x, ptrdiff_t xs, ptrdiff_t n, ptrdiff_t k, K flip, int bits, E *kept, E *scratch,
                      ptrdiff_t cap, uint32_t *hist) {
    enum { BLOCK = 2048, STRIP = 32 };
    K block[BLOCK], limit = 0;
    ptrdiff_t m = 0;
    int limited = 0;
    for (ptrdiff_t at = 0; at < n; at += BLOCK) {
        const ptrdiff_t len = n - at < BLOCK ? n - at : BLOCK;
        load(x + at * xs, xs, len, flip, block);
        /* What lies behind the row's end is never below a limit. */
        for (ptrdiff_t i = len; i % STRIP; i++) block[i] = KMAX;
        if (at == 0 && k <= 32 && len >= 128) {
            limit = SFX(first_limit)(block, len, k);
            limited = limit != KMAX;
            limit += limited;           /* equal ones may be among the first */
        }
        for (ptrdiff_t b = 0; b < len; b += STRIP) {
            const ptrdiff_t end = len - b < STRIP ? len : b + STRIP;
            if (limited) {
                uint32_t some = 0;
                for (int i = 0; i < STRIP; i++) some |= block[b + i] < limit;
                if (!some) continue;
            }
            for (ptrdiff_t i = b; i < end; i++) {
                kept[m] = MAKE(block[i], at + i);
                m += !limited || block[i] < limit;
                if (m == cap) {
                    SFX(sort)(kept, scratch, m, bits, hist);
                    m = k;
                    limit = RANK(kept[k - 1]);
                    limited = 1;
                }
            }
        }
    }
    SFX(sort)(kept, scratch, m, bits, hist);
}

/* the next inclusion gives its own */
#undef K
#undef KMAX
#undef E
#undef KEY
#undef MAKE
#undef RANK
#undef SFX
