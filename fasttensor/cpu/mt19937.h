/* The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), in blocks of 624 words.
 *
 *     ft_mt m; ft_mt_seed(&m, 42);
 *     ft_mt_fill(&m, words, 1000);              untempered words of the sequence
 *     uint32_t r = ft_temper(words[0]);         the generator's first output
 *
 * Words are handed out untempered because the recurrence is the only serial part: tempering goes
 * into the loops that turn words into numbers, and those run in parallel. */
#ifndef FT_MT19937_H
#define FT_MT19937_H
#include <stdint.h>
#include <string.h>

#define FT_MT_N 624
#define FT_MT_M 397

typedef struct {
    uint32_t state[FT_MT_N];
    uint64_t seed;
    int32_t left;       /* words left in the block, plus one */
    uint32_t next;      /* index of the next word */
} ft_mt;

static inline uint32_t ft_temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Two consecutive words as one number, the first word on top. */
static inline uint64_t ft_temper64(const uint32_t *w) {
    return ((uint64_t)ft_temper(w[0]) << 32) | ft_temper(w[1]);
}

static inline uint32_t ft_mt_twist(uint32_t u, uint32_t v, uint32_t far) {
    return far ^ (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (-(v & 1u) & 0x9908b0dfu);
}

static inline void ft_mt_seed(ft_mt *m, uint64_t seed) {
    m->seed = seed;
    m->state[0] = (uint32_t)seed;
    for (uint32_t j = 1; j < FT_MT_N; j++)
        m->state[j] = 1812433253u * (m->state[j - 1] ^ (m->state[j - 1] >> 30)) + j;
    m->left = 1;
    m->next = 0;
}

/* Words [n, 2n) of a sequence whose words [0, n) are at `old`; `now` may be `old` itself. The
 * nearest word that an iteration needs from this block lies 227 back, far beyond a vector. */
static inline void ft_mt_block(const uint32_t *old, uint32_t *now) {
    int j;
#pragma GCC ivdep
    for (j = 0; j < FT_MT_N - FT_MT_M; j++)
        now[j] = ft_mt_twist(old[j], old[j + 1], old[j + FT_MT_M]);
#pragma GCC ivdep
    for (j = FT_MT_N - FT_MT_M; j < 2 * (FT_MT_N - FT_MT_M); j++)
        now[j] = ft_mt_twist(old[j], old[j + 1], now[j - (FT_MT_N - FT_MT_M)]);
#pragma GCC ivdep
    for (j = 2 * (FT_MT_N - FT_MT_M); j < FT_MT_N - 1; j++)
        now[j] = ft_mt_twist(old[j], old[j + 1], now[j - (FT_MT_N - FT_MT_M)]);
    now[j] = ft_mt_twist(old[j], now[0], now[j - (FT_MT_N - FT_MT_M)]);
}

/* The next n untempered words. Whole blocks are made in place, one from the block before it. */
static inline void ft_mt_fill(ft_mt *m, uint32_t *out, int64_t n) {
    int64_t have = m->left - 1;
    if (have > n)
        have = n;
    memcpy(out, m->state + m->next, (size_t)have * 4);
    m->next += (uint32_t)have;
    m->left -= (int32_t)have;
    out += have;
    n -= have;
    if (n <= 0)
        return;
    const uint32_t *old = m->state;
    for (; n >= FT_MT_N; n -= FT_MT_N, out += FT_MT_N) {
        ft_mt_block(old, out);
        old = out;
    }
    if (old != m->state)
        memcpy(m->state, old, sizeof m->state);
    m->left = 1;
    m->next = FT_MT_N;
    if (n > 0) {
        ft_mt_block(m->state, m->state);
        memcpy(out, m->state, (size_t)n * 4);
        m->left = (int32_t)(FT_MT_N - n + 1);
        m->next = (uint32_t)n;
    }
}

static inline uint32_t ft_mt_next(ft_mt *m) {
    if (m->left <= 1) {
        ft_mt_block(m->state, m->state);
        m->left = FT_MT_N + 1;
        m->next = 0;
    }
    m->left--;
    return ft_temper(m->state[m->next++]);
}

static inline uint64_t ft_mt_next64(ft_mt *m) {
    uint64_t top = ft_mt_next(m);
    return (top << 32) | ft_mt_next(m);
}

/* Uniform in [0, 1), 53 bits. */
static inline double ft_mt_uniform(ft_mt *m) {
    return (double)(ft_mt_next64(m) & 0x1fffffffffffffull) * 0x1p-53;
}
#endif
