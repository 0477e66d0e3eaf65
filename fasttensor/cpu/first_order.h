/* The k least of a row's items in order, with equal ones as PyTorch's selection leaves them in rows of any length.
 *
 * That is the order of the C++ library's partial_sort, a heap, where few are wanted, else of nth_element and sort: the partitions of sort_small.h, and a
 * heap again where they do not halve what is left (Musser, "Introspective Sorting and Selection Algorithms", 1997). Draws without replacement depend on
 * it, since what has no weight is all equal. */
#ifndef FT_FIRST_ORDER_H
#define FT_FIRST_ORDER_H
#include <string.h>
#include "sort_small.h"

/* Fills the hole in a heap, whose root is its last item, with the later child all the way down, then lets v rise from there. */
static void ft_sift(ft_item *heap, ptrdiff_t hole, ptrdiff_t n, ft_item v) {
    const ptrdiff_t top = hole;
    while (2 * hole + 2 < n) {
        ptrdiff_t child = 2 * hole + 2;
        if (heap[child].k < heap[child - 1].k) child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (2 * hole + 2 == n) {
        heap[hole] = heap[n - 1];
        hole = n - 1;
    }
    while (hole > top && heap[(hole - 1) / 2].k < v.k) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = v;
}

/* The k first of n items, as a heap in front. */
static void ft_heap_first(ft_item *a, ptrdiff_t k, ptrdiff_t n) {
    for (ptrdiff_t i = k / 2 - 1; i >= 0; i--) ft_sift(a, i, k, a[i]);
    for (ptrdiff_t i = k; i < n; i++)
        if (a[i].k < a[0].k) {
            const ft_item v = a[i];
            a[i] = a[0];
            ft_sift(a, 0, k, v);
        }
}

static void ft_heap_order(ft_item *a, ptrdiff_t k) {
    for (ptrdiff_t n = k - 1; n > 0; n--) {
        const ft_item v = a[n];
        a[n] = a[0];
        ft_sift(a, 0, n, v);
    }
}

static int ft_depth(ptrdiff_t n) {
    int depth = 0;
    for (; n > 1; n /= 2) depth += 2;
    return depth;
}

static void ft_order_parts(ft_item *a, ptrdiff_t n, int depth) {
    while (n > 16) {
        if (!depth--) {
            ft_heap_first(a, n, n);
            ft_heap_order(a, n);
            return;
        }
        const ptrdiff_t cut = ft_small_split(a, n);
        ft_order_parts(a + cut, n - cut, depth);
        n = cut;
    }
}

/* Puts at place k the item that belongs there, none behind it in front of it. */
static void ft_select(ft_item *a, ptrdiff_t k, ptrdiff_t n) {
    ptrdiff_t first = 0, last = n;
    for (int depth = ft_depth(n); last - first > 3; depth--) {
        if (depth == 0) {
            ft_heap_first(a + first, k + 1 - first, last - first);
            ft_swap(a + first, a + k);
            return;
        }
        const ptrdiff_t cut = first + ft_small_split(a + first, last - first);
        if (cut <= k) first = cut;
        else last = cut;
    }
    ft_small_insertion(a + first, last - first);
}

/* The places of the k least of n items, 0 < k <= n; reorders the items. */
static void ft_first_places(ft_item *a, ptrdiff_t n, ptrdiff_t k, int64_t *out) {
    if (k <= n / 64) {
        ft_heap_first(a, k, n);
        ft_heap_order(a, k);
    } else {
        ft_select(a, k - 1, n);
        ft_order_parts(a, k - 1, ft_depth(k - 1));
        ft_small_insertion(a, k - 1);
    }
    for (ptrdiff_t i = 0; i < k; i++) out[i] = a[i].i;
}

/* A key that grows as a number that is not negative falls; NaN comes first. */
static inline uint64_t ft_falling_key(double v) {
    uint64_t bits;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    return v == v ? ~bits : 0;
}
#endif
