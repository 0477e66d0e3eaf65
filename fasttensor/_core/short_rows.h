/* Rows of a few elements, many at a call. A loop costs about as much to call as to run on sixteen elements, and a plane
 * of short rows (a bias added to a narrow matrix, a column broadcast, a slice) would be mostly calls. So the rows of a
 * block are laid one after the other in a buffer that stays in the first-level cache - an operand that repeats its row
 * only once a plane - and the loop runs on the whole block. */
#ifndef FT_SHORT_ROWS_H
#define FT_SHORT_ROWS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FT_SHORT_ROW 256            /* elements of a row up to which a block pays */
#define FT_SHORT_MOVED 64           /* bytes of a row up to which it pays although an operand has to be filled in or moved at every row */
#define FT_SHORT_BYTES 4096         /* of one operand's block */
#define FT_SHORT_SPARE 64           /* a vector may be written past the block's end */
typedef void (*ft_short_loop)(char **p, const ptrdiff_t *s, ptrdiff_t n, const double *par);

/* n bytes, n at least 1: the two halves overlap where n is no power of two */
#define FT_ENDS(T) { T a, b; memcpy(&a, src, sizeof(T)); memcpy(&b, src + n - sizeof(T), sizeof(T)); \
        memcpy(dst, &a, sizeof(T)); memcpy(dst + n - sizeof(T), &b, sizeof(T)); return; }
typedef struct { uint64_t part[2]; } ft_short16;
typedef struct { uint64_t part[4]; } ft_short32;
static inline void ft_copy_row(char *dst, const char *src, ptrdiff_t n) {
    if (n > 64) { memcpy(dst, src, (size_t)n); return; }
    if (n >= 32) FT_ENDS(ft_short32)
    if (n >= 16) FT_ENDS(ft_short16)
    if (n >= 8) FT_ENDS(uint64_t)
    if (n >= 4) FT_ENDS(uint32_t)
    if (n >= 2) FT_ENDS(uint16_t)
    *dst = *src;
}

/* each row is one element, repeated: whole vectors are written, of which the next row overwrites what is too much */
#define FT_REPEAT_ROWS(T, BYTES) { \
        typedef T vec __attribute__((vector_size(BYTES), aligned(1))); \
        for (ptrdiff_t r = 0; r < rows; r++) { \
            const vec v = *(const T *)(src + r * across) - (vec){0}; \
            char *const row = dst + r * n * (ptrdiff_t)sizeof(T); \
            for (ptrdiff_t j = 0; j < n * (ptrdiff_t)sizeof(T); j += BYTES) *(vec *)(row + j) = v; \
        } }
#define FT_REPEAT_BOTH(T) if (n * (ptrdiff_t)sizeof(T) <= 16) FT_REPEAT_ROWS(T, 16) else FT_REPEAT_ROWS(T, 64) break;
static void ft_repeat_rows(char *dst, const char *src, ptrdiff_t across, ptrdiff_t n, ptrdiff_t rows, int size) {
    switch (size) {
        case 1: FT_REPEAT_BOTH(uint8_t)
        case 2: FT_REPEAT_BOTH(uint16_t)
        case 4: FT_REPEAT_BOTH(uint32_t)
        case 8: FT_REPEAT_BOTH(uint64_t)
        default:
            for (ptrdiff_t r = 0; r < rows; r++)
                for (ptrdiff_t j = 0; j < n; j++) memcpy(dst + (r * n + j) * size, src + r * across, (size_t)size);
    }
}

#define FT_MOVE_ROWS(T) \
    for (ptrdiff_t r = 0; r < rows; r++) \
        for (ptrdiff_t j = 0; j < n; j++) *(T *)(dst + r * d1 + j * d0) = *(const T *)(src + r * s1 + j * s0); \
    break;
static void ft_move_rows(char *dst, ptrdiff_t d0, ptrdiff_t d1, const char *src, ptrdiff_t s0, ptrdiff_t s1, ptrdiff_t n,
                         ptrdiff_t rows, int size) {
    if (d0 == size && s0 == size) {
        for (ptrdiff_t r = 0; r < rows; r++) ft_copy_row(dst + r * d1, src + r * s1, n * size);
        return;
    }
    switch (size) {
        case 1: FT_MOVE_ROWS(uint8_t)
        case 2: FT_MOVE_ROWS(uint16_t)
        case 4: FT_MOVE_ROWS(uint32_t)
        case 8: FT_MOVE_ROWS(uint64_t)
        default: FT_MOVE_ROWS(ft_short16)
    }
}

/* The rows of n elements at p (rows `across` bytes apart, elements s0), which `loop` takes in blocks. Returns 0, with
 * nothing done, where blocks would not pay (beside a form of the loop that takes many rows, `planes`, they do so less) or an
 * operand's element size is not known. The loop writes all elements of the result. */
static int ft_short_rows(ft_short_loop loop, int planes, int nop, char *const *p, const ptrdiff_t *s0, const ptrdiff_t *across,
                         const unsigned char *item, ptrdiff_t n, ptrdiff_t rows, const double *par) {
    _Alignas(64) char buffer[8][FT_SHORT_BYTES + FT_SHORT_SPARE];
    enum { FLAT, SAME, REPEATED, MOVED } kind[8];
    char *q[8];
    ptrdiff_t step[8], block;
    int widest = 1;
    if (rows < 4) return 0;
    for (int k = 0; k < nop; k++) {
        if (!item[k] && (s0[k] || across[k])) return 0;
        if (item[k] > widest) widest = item[k];
    }
    block = FT_SHORT_BYTES / (widest * n);
    if (block > rows) block = rows;
    if (block < 2) return 0;
    for (int k = 0; k < nop; k++) {
        const int size = item[k];
        step[k] = size;
        q[k] = buffer[k];
        if (across[k] == 0 && s0[k] == 0 && k) kind[k] = FLAT, step[k] = 0;
        else if (s0[k] == size && across[k] == n * size) kind[k] = FLAT;
        else if (k && across[k] == 0) {
            kind[k] = SAME;
            ft_move_rows(buffer[k], size, n * size, p[k], s0[k], 0, n, block, size);
        } else {
            if (n * size > FT_SHORT_MOVED - planes) return 0;
            kind[k] = k && s0[k] == 0 ? REPEATED : MOVED;
        }
    }
    for (ptrdiff_t r = 0; r < rows; r += block) {
        const ptrdiff_t m = rows - r < block ? rows - r : block;
        for (int k = 0; k < nop; k++) {
            char *const at = p[k] + r * across[k];
            if (kind[k] == FLAT) q[k] = at;
            else if (kind[k] == REPEATED) ft_repeat_rows(buffer[k], at, across[k], n, m, item[k]);
            else if (kind[k] == MOVED && k) ft_move_rows(buffer[k], item[k], n * item[k], at, s0[k], across[k], n, m, item[k]);
        }
        loop(q, step, m * n, par);
        if (kind[0] == MOVED) ft_move_rows(p[0] + r * across[0], s0[0], across[0], buffer[0], item[0], n * item[0], n, m, item[0]);
    }
    return 1;
}
#endif
