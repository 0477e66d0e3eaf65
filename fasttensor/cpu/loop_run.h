/* How a contiguous body runs on operands of any stride, and on half types: block by block through buffers that stay in
 * the first-level cache. One body a dtype is then all the code that an operation needs, and strided operands are
 * computed by the same vector instructions as contiguous ones. Included once, by the generated table.c. */
#include <stdint.h>
#include <string.h>
#include "../_core/half.h"

#define FT_BLOCK_BYTES 2048
#define FT_MAX_OPERANDS 7

/* a repeated element, elements brought together and elements spread out each have a loop that the compiler knows best */
#define FT_MOVE(T) \
    if (ds != (ptrdiff_t)sizeof(T)) for (ptrdiff_t i = 0; i < n; i++) *(T *)(dst + i * ds) = *(const T *)(src + i * ss); \
    else if (ss) for (ptrdiff_t i = 0; i < n; i++) ((T *)dst)[i] = *(const T *)(src + i * ss); \
    else { const T v = *(const T *)src; for (ptrdiff_t i = 0; i < n; i++) ((T *)dst)[i] = v; } \
    break;
typedef struct { uint64_t a, b; } ft_pair;
static void ft_move(char *dst, ptrdiff_t ds, const char *src, ptrdiff_t ss, ptrdiff_t n, int size) {
    switch (size) {
        case 1: FT_MOVE(uint8_t)
        case 2: FT_MOVE(uint16_t)
        case 4: FT_MOVE(uint32_t)
        case 8: FT_MOVE(uint64_t)
        default: FT_MOVE(ft_pair)
    }
}

void ft_run_strided(ft_body body, int nops, const unsigned char *size, char **p, const ptrdiff_t *s, ptrdiff_t n,
                    const double *par) {
    _Alignas(64) char buffer[FT_MAX_OPERANDS][FT_BLOCK_BYTES];
    char *q[FT_MAX_OPERANDS];
    ptrdiff_t block = FT_BLOCK_BYTES;
    for (int k = 0; k < nops; k++) if (FT_BLOCK_BYTES / size[k] < block) block = FT_BLOCK_BYTES / size[k];
    if (block > n) block = n;
    for (int k = 1; k < nops; k++)
        if (s[k] == 0) ft_move(buffer[k], size[k], p[k], 0, block, size[k]);
    for (ptrdiff_t at = 0; at < n; at += block) {
        ptrdiff_t m = n - at < block ? n - at : block;
        for (int k = 0; k < nops; k++) {
            char *from = p[k] + at * s[k];
            q[k] = s[k] == size[k] ? from : buffer[k];
            if (k && s[k] && s[k] != size[k]) ft_move(buffer[k], size[k], from, s[k], m, size[k]);
        }
        body(q, m, par);
        if (s[0] != size[0]) ft_move(p[0] + at * s[0], s[0], buffer[0], size[0], m, size[0]);
    }
}

/* kind of an operand: the code of its dtype, 6 float16 or 7 bfloat16 (its body sees float), 0 a byte as it is. */
static void ft_widen(float *dst, const char *src, ptrdiff_t ss, ptrdiff_t n, int kind) {
    if (kind == 6) ft_f16_to_f32(dst, src, ss, n);
    else ft_bf16_to_f32(dst, src, ss, n);
}

void ft_run_half(ft_body body, int nops, const unsigned char *kind, char **p, const ptrdiff_t *s, ptrdiff_t n,
                 const double *par) {
    _Alignas(64) char buffer[FT_MAX_OPERANDS][FT_BLOCK_BYTES];
    char *q[FT_MAX_OPERANDS];
    ptrdiff_t block = FT_BLOCK_BYTES / 4;
    if (block > n) block = n;
    for (int k = 0; k < nops; k++) {
        q[k] = buffer[k];
        if (k == 0 || s[k]) continue;
        if (kind[k]) ft_widen((float *)buffer[k], p[k], 0, block, kind[k]);
        else ft_move(buffer[k], 1, p[k], 0, block, 1);
    }
    for (ptrdiff_t at = 0; at < n; at += block) {
        ptrdiff_t m = n - at < block ? n - at : block;
        for (int k = 1; k < nops; k++) {
            if (s[k] == 0) continue;
            if (kind[k]) ft_widen((float *)buffer[k], p[k] + at * s[k], s[k], m, kind[k]);
            else ft_move(buffer[k], 1, p[k] + at * s[k], s[k], m, 1);
        }
        body(q, m, par);
        if (kind[0] == 6) ft_f32_to_f16(p[0] + at * s[0], s[0], (const float *)buffer[0], m);
        else if (kind[0] == 7) ft_f32_to_bf16(p[0] + at * s[0], s[0], (const float *)buffer[0], m);
        else ft_move(p[0] + at * s[0], s[0], buffer[0], 1, m, 1);
    }
}
