/* The k largest of a row, largest first, for keys of type K; included once a type with K and SFX(name) defined.
 *
 * Equal keys come in the order in which PyTorch's selection leaves them, which is that of the C++ library's partial_sort and nth_element followed by
 * sort: a heap where few are wanted, else partitions around a median of three (Musser, "Introspective Sorting and Selection Algorithms", 1997),
 * with insertion for short ranges. Draws without replacement depend on it, since what has no weight is all equal.
 * NaN comes before every number. Ranges are [lo, hi). */
typedef struct { K key; int64_t at; } SFX(item);

static inline int SFX(before)(const SFX(item) *a, const SFX(item) *b) {
    return (a->key != a->key && b->key == b->key) || a->key > b->key;
}

static inline void SFX(swap)(SFX(item) *a, SFX(item) *b) {
    const SFX(item) t = *a;
    *a = *b;
    *b = t;
}

/* --- a heap with the last of its items at the root --- */

/* Fills the hole with the later child all the way down, then lets v rise from there. */
static void SFX(sift)(SFX(item) *heap, ptrdiff_t hole, ptrdiff_t n, SFX(item) v) {
    const ptrdiff_t top = hole;
    while (2 * hole + 2 < n) {
        ptrdiff_t child = 2 * hole + 2;
        if (SFX(before)(&heap[child], &heap[child - 1])) child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (2 * hole + 2 == n) {
        heap[hole] = heap[n - 1];
        hole = n - 1;
    }
    while (hole > top && SFX(before)(&heap[(hole - 1) / 2], &v)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = v;
}

/* The k first of n items, as a heap in front. */
static void SFX(heap_first)(SFX(item) *x, ptrdiff_t k, ptrdiff_t n) {
    for (ptrdiff_t i = k / 2 - 1; i >= 0; i--) SFX(sift)(x, i, k, x[i]);
    for (ptrdiff_t i = k; i < n; i++)
        if (SFX(before)(&x[i], &x[0])) {
            const SFX(item) v = x[i];
            x[i] = x[0];
            SFX(sift)(x, 0, k, v);
        }
}

static void SFX(heap_order)(SFX(item) *x, ptrdiff_t k) {
    for (ptrdiff_t n = k - 1; n > 0; n--) {
        const SFX(item) v = x[n];
        x[n] = x[0];
        SFX(sift)(x, 0, n, v);
    }
}

/* --- partitions --- */

static void SFX(insert)(SFX(item) *x, ptrdiff_t lo, ptrdiff_t hi) {
    for (ptrdiff_t i = lo + 1; i < hi; i++) {
        const SFX(item) v = x[i];
        ptrdiff_t j = i;
        for (; j > lo && SFX(before)(&v, &x[j - 1]); j--) x[j] = x[j - 1];
        x[j] = v;
    }
}

/* Parts [lo, hi) around the median of its second, middle and last item, which moves to the front; where the second part begins. */
static ptrdiff_t SFX(part)(SFX(item) *x, ptrdiff_t lo, ptrdiff_t hi) {
    SFX(item) *const a = x + lo + 1, *const b = x + lo + (hi - lo) / 2, *const c = x + hi - 1, *pivot = x + lo;
    if (SFX(before)(a, b)) SFX(swap)(pivot, SFX(before)(b, c) ? b : SFX(before)(a, c) ? c : a);
    else SFX(swap)(pivot, SFX(before)(a, c) ? a : SFX(before)(b, c) ? c : b);
    ptrdiff_t i = lo + 1, j = hi;
    for (;; i++) {
        while (SFX(before)(&x[i], pivot)) i++;
        j--;
        while (SFX(before)(pivot, &x[j])) j--;
        if (i >= j) return i;
        SFX(swap)(&x[i], &x[j]);
    }
}

static int SFX(depth)(ptrdiff_t n) {
    int d = 0;
    for (; n > 1; n >>= 1) d += 2;
    return d;
}

/* Puts into place k the item that belongs there, with none behind it in front of it. */
static void SFX(select)(SFX(item) *x, ptrdiff_t k, ptrdiff_t n) {
    ptrdiff_t lo = 0, hi = n;
    for (int depth = SFX(depth)(n); hi - lo > 3; depth--) {
        if (depth == 0) {               /* partitions that do not halve: what is left is too much for more of them */
            SFX(heap_first)(x + lo, k + 1 - lo, hi - lo);
            SFX(swap)(&x[lo], &x[k]);
            return;
        }
        const ptrdiff_t cut = SFX(part)(x, lo, hi);
        if (cut <= k) lo = cut;
        else hi = cut;
    }
    SFX(insert)(x, lo, hi);
}

static void SFX(order_parts)(SFX(item) *x, ptrdiff_t lo, ptrdiff_t hi, int depth) {
    while (hi - lo > 16) {
        if (depth-- == 0) {
            SFX(heap_first)(x + lo, hi - lo, hi - lo);
            SFX(heap_order)(x + lo, hi - lo);
            return;
        }
        const ptrdiff_t cut = SFX(part)(x, lo, hi);
        SFX(order_parts)(x, cut, hi, depth);
        hi = cut;
    }
}

/* The places of the k largest of n items, 0 < k <= n; reorders the items. */
static void SFX(first_places)(SFX(item) *x, ptrdiff_t n, ptrdiff_t k, int64_t *out) {
    if (k <= n / 64) {
        SFX(heap_first)(x, k, n);
        SFX(heap_order)(x, k);
    } else {
        SFX(select)(x, k - 1, n);
        SFX(order_parts)(x, 0, k - 1, SFX(depth)(k - 1));
        SFX(insert)(x, 0, k - 1);
    }
    for (ptrdiff_t i = 0; i < k; i++) out[i] = x[i].at;
}

#undef K
#undef SFX
