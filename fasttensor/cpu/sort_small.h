/* Selection in rows of at most FT_SMALL elements, and sorting of small ones, by partitioning around a median of three.
 *
 * Which of several equal elements is chosen is not specified, but programs compare indices with PyTorch's.
 * On short rows, where ties are likely to be looked at, the order of the exchanges is therefore that of the
 * algorithms PyTorch uses: quickselect for kthvalue, introspective selection and sorting for topk; and in rows of
 * some thousand elements of one or two bytes, which are mostly ties, introspective sorting for sort.
 */
#ifndef FT_SORT_SMALL_H
#define FT_SORT_SMALL_H
#include <stddef.h>
#include <stdint.h>

enum { FT_SMALL = 63 };
typedef struct { uint64_t k; int64_t i; } ft_item;

static inline void ft_swap(ft_item *a, ft_item *b) { ft_item t = *a; *a = *b; *b = t; }

/* Position of the element of rank k. */
static int64_t ft_small_kth(ft_item *a, ptrdiff_t n, ptrdiff_t k) {
    ptrdiff_t low = 0, high = n - 1;
    while (high > low + 1) {
        ft_swap(a + low + (high - low) / 2, a + low + 1);
        if (a[low + 1].k > a[high].k) ft_swap(a + low + 1, a + high);
        if (a[low].k > a[high].k) ft_swap(a + low, a + high);
        if (a[low + 1].k > a[low].k) ft_swap(a + low + 1, a + low);
        ptrdiff_t i = low + 1, j = high;
        const uint64_t pivot = a[low].k;
        for (;;) {
            do i++; while (a[i].k < pivot);
            do j--; while (a[j].k > pivot);
            if (j < i) break;
            ft_swap(a + i, a + j);
        }
        ft_swap(a + low, a + j);
        if (j <= k) low = i;
        if (j >= k) high = j - 1;
    }
    if (high == low + 1 && a[low].k > a[high].k) ft_swap(a + low, a + high);
    return a[k].i;
}

static void ft_small_insertion(ft_item *a, ptrdiff_t n) {
    for (ptrdiff_t i = 1; i < n; i++) {
        ft_item v = a[i];
        ptrdiff_t j = i;
        for (; j > 0 && v.k < a[j - 1].k; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

/* Splits a[0..n) around the median of its second, middle and last element: the start of the upper part. */
static ptrdiff_t ft_small_split(ft_item *a, ptrdiff_t n) {
    ft_item *x = a + 1, *y = a + n / 2, *z = a + n - 1, *middle;
    if (x->k < y->k) middle = y->k < z->k ? y : x->k < z->k ? z : x;
    else middle = x->k < z->k ? x : y->k < z->k ? z : y;
    ft_swap(a, middle);
    ptrdiff_t i = 1, j = n;
    for (;;) {
        while (a[i].k < a[0].k) i++;
        do j--; while (a[j].k > a[0].k);
        if (i >= j) return i;
        ft_swap(a + i, a + j);
        i++;
    }
}

/* Splits down to 16 elements, at most `depth` times one inside another: 0 where that does not do. */
static int ft_small_splits(ft_item *a, ptrdiff_t n, int depth) {
    while (n > 16) {
        if (!depth--) return 0;
        ptrdiff_t cut = ft_small_split(a, n);
        if (!ft_small_splits(a + cut, n - cut, depth)) return 0;
        n = cut;
    }
    return 1;
}
static int ft_small_sort(ft_item *a, ptrdiff_t n) {
    int depth = 0;
    for (ptrdiff_t m = n; m > 1; m /= 2) depth += 2;
    if (!ft_small_splits(a, n, depth)) return 0;
    ft_small_insertion(a, n);
    return 1;
}

/* The k least elements in order at the front of a. */
static void ft_small_topk(ft_item *a, ptrdiff_t n, ptrdiff_t k) {
    ptrdiff_t first = 0, last = n;
    if (k == 0) return;
    while (last - first > 3) {
        ptrdiff_t cut = first + ft_small_split(a + first, last - first);
        if (cut <= k - 1) first = cut;
        else last = cut;
    }
    ft_small_insertion(a + first, last - first);
    if (!ft_small_sort(a, k - 1)) ft_small_insertion(a, k - 1);
}
#endif
