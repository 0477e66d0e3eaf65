/* Stable radix sort and selection of elements E ordered by KEY (64 bits, of which the top `bits`
 * matter). Included once an element type, with E, KEY and SFX(name) defined. */

static void SFX(insertion)(E *a, ptrdiff_t n) {
    for (ptrdiff_t i = 1; i < n; i++) {
        E v = a[i];
        ptrdiff_t j = i;
        while (j > 0 && KEY(v) < KEY(a[j - 1])) { a[j] = a[j - 1]; j--; }
        a[j] = v;
    }
}

/* Least significant digit first; a digit that all elements share costs only its histogram. */
static inline __attribute__((always_inline)) void SFX(radix)(E *a, E *t, ptrdiff_t n, int bits, const int width, uint32_t *hist) {
    const int size = 1 << width, passes = (bits + width - 1) / width, low = 64 - passes * width;
    const uint64_t mask = (uint64_t)size - 1;
    E *from = a, *to = t;
    memset(hist, 0, sizeof(uint32_t) * size * passes);
    /* `low` is negative where the digits overhang the key: shift left instead. */
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t k = KEY(a[i]);
        for (int p = 0; p < passes; p++) {
            int s = low + p * width;
            hist[p * size + ((s < 0 ? k << -s : k >> s) & mask)]++;
        }
    }
    for (int p = 0; p < passes; p++) {
        uint32_t *h = hist + p * size, sum = 0;
        int s = low + p * width;
        if (h[(s < 0 ? KEY(from[0]) << -s : KEY(from[0]) >> s) & mask] == (uint32_t)n) continue;
        for (int d = 0; d < size; d++) { uint32_t c = h[d]; h[d] = sum; sum += c; }
        for (ptrdiff_t i = 0; i < n; i++) {
            uint64_t k = KEY(from[i]);
            to[h[(s < 0 ? k << -s : k >> s) & mask]++] = from[i];
        }
        E *swap = from; from = to; to = swap;
    }
    if (from != a) memcpy(a, from, n * sizeof(E));
}

/* Sorts a[0..n); t is scratch of the same length, hist holds FT_HIST counters. */
static void SFX(sort)(E *a, E *t, ptrdiff_t n, int bits, uint32_t *hist) {
    if (n <= 48) SFX(insertion)(a, n);
    else if (n < 16384 || bits <= 16) SFX(radix)(a, t, n, bits, 8, hist);
    else SFX(radix)(a, t, n, bits, 11, hist);
}

/* The element of rank k (0-based) in stable order. Reorders a. */
static E SFX(select)(E *a, ptrdiff_t n, ptrdiff_t k) {
    for (int shift = 56; shift >= 0; shift -= 8) {
        if (n <= 48) break;
        uint32_t h[256] = {0};
        ptrdiff_t below = 0, m = 0;
        unsigned digit = 0;
        for (ptrdiff_t i = 0; i < n; i++) h[KEY(a[i]) >> shift & 255]++;
        while (below + h[digit] <= k) below += h[digit++];
        if (h[digit] == (uint32_t)n) continue;
        for (ptrdiff_t i = 0; i < n; i++) {
            E v = a[i];
            a[m] = v;
            m += (KEY(v) >> shift & 255) == digit;
        }
        n = m;
        k -= below;
    }
    /* Past the last digit all keys are equal and the order is that of the row. */
    if (n <= 48) SFX(insertion)(a, n);
    return a[k];
}
