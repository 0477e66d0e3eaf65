/* One call: transforms of all lines of an array along one dimension. */
#ifndef FT_FFT_JOB_H
#define FT_FFT_JOB_H
#include "fft_plan.h"

enum { FT_C2C, FT_R2C, FT_R2C_FULL, FT_C2R };       /* FULL: both halves of the spectrum of real values */
enum { FT_FFT_DIMS = 64, FT_FFT_WIDEST = 16 };

typedef void (*ft_fft_body)(void *context, ptrdiff_t begin, ptrdiff_t end);

typedef struct ft_fft {
    const void *x;
    void *y;
    ptrdiff_t n, sx, sy;                /* of the transform's real or complex values; strides in elements */
    int kind, forward, weighted;        /* weighted: R2C doubles what stands for two, C2R halves it */
    double scale;
    int rank;                           /* of the lines */
    ptrdiff_t size[FT_FFT_DIMS], xs[FT_FFT_DIMS], ys[FT_FFT_DIMS];
    ptrdiff_t lines;
    int whole_rows;                     /* blocks of lanes do not go beyond the lines' last dimension */
    const struct ft_fft_plan *plan;
    char *lane_room, *line_room;        /* scratch: of each thread, and of each line under way */
    size_t lane_bytes, line_bytes;
    ptrdiff_t buffer;                   /* elements of each of a thread's two buffers; the plan's may grow meanwhile */
    void (*parallel)(ptrdiff_t n, ptrdiff_t grain, ft_fft_body body, void *context);
    int (*thread)(void);
} ft_fft;

/* What transforms of n values of one kind need: `lanes` or `line`, for a block of lanes or one line at a time, and the factors
 * of real transforms. */
typedef struct ft_fft_plan {
    ptrdiff_t n, points;                /* points: n, or half of it for real values */
    double block_cost, line_cost;
    void *lanes, *line, *turns;
    ptrdiff_t lane_room;                /* vectors of two buffers */
    size_t line_bytes;
    ft_arena arena;
} ft_fft_plan;

static void ft_serial(ptrdiff_t n, ptrdiff_t grain, ft_fft_body body, void *context) { if (n) body(context, 0, n); }
static int ft_first_thread(void) { return 0; }

/* The lines of a block: offsets in elements. */
typedef struct {
    int lanes, x_adjacent, y_adjacent;
    ptrdiff_t xo[FT_FFT_WIDEST], yo[FT_FFT_WIDEST];
} ft_block;

/* Whether to go line by line: there are few of them, or they are long. */
static int ft_fft_line_by_line(const ft_fft *g, const ft_fft_plan *f, ptrdiff_t blocks, int item)
{
    double line = f->line_cost;
    const ptrdiff_t steps[2] = {g->sx, g->sy};
    for (int k = 0; k < 2; k++)
        if (steps[k] != 1) line += g->n * (g->n * steps[k] * item < (1 << 19) ? 6 : 40);
    return g->lines * line < blocks * f->block_cost;
}

static ptrdiff_t ft_fft_blocks(const ft_fft *g, int width)
{
    if (!g->whole_rows) return (g->lines + width - 1) / width;
    const ptrdiff_t last = g->size[g->rank - 1];
    return g->lines / last * ((last + width - 1) / width);
}

static void ft_fft_offsets(const ft_fft *g, ptrdiff_t line, int rank, ptrdiff_t *x, ptrdiff_t *y)
{
    *x = *y = 0;
    for (int d = rank - 1; d >= 0; d--) {
        const ptrdiff_t i = line % g->size[d];
        line /= g->size[d];
        *x += i * g->xs[d];
        *y += i * g->ys[d];
    }
}

static void ft_fft_find(const ft_fft *g, ptrdiff_t block, int width, ft_block *b)
{
    if (g->whole_rows) {
        const int d = g->rank - 1;
        const ptrdiff_t blocks = (g->size[d] + width - 1) / width, first = block % blocks * width;
        ptrdiff_t x, y;
        ft_fft_offsets(g, block / blocks, d, &x, &y);
        b->lanes = g->size[d] - first < width ? (int)(g->size[d] - first) : width;
        b->x_adjacent = g->xs[d] == 1;
        b->y_adjacent = g->ys[d] == 1;
        for (int l = 0; l < b->lanes; l++) b->xo[l] = x + (first + l) * g->xs[d], b->yo[l] = y + (first + l) * g->ys[d];
    } else {
        const ptrdiff_t first = block * width;
        b->lanes = g->lines - first < width ? (int)(g->lines - first) : width;
        b->x_adjacent = b->y_adjacent = 0;
        for (int l = 0; l < b->lanes; l++) ft_fft_offsets(g, first + l, g->rank, &b->xo[l], &b->yo[l]);
    }
    for (int l = b->lanes; l < width; l++) b->xo[l] = b->xo[0], b->yo[l] = b->yo[0];
}
#endif
