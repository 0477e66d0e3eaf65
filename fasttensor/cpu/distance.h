/* Distances of rows: kinds, and the loops for both element types. */
#ifndef FT_DISTANCE_H
#define FT_DISTANCE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "scalar.h"

enum { FT_COUNT, FT_ABSOLUTE, FT_EUCLID, FT_GREATEST, FT_POWER };      /* p = 0, 1, 2, infinity, any other */
static int ft_distance_kind(double p) {
    return p == 0 ? FT_COUNT : p == 1 ? FT_ABSOLUTE : p == 2 ? FT_EUCLID : p == (double)INFINITY ? FT_GREATEST : FT_POWER;
}

#define T float
#define INT int32_t
#define F(name) name##_f32
#define SFX(name) name##_float
#include "distance_loops.h"
#undef T
#undef INT
#undef F
#undef SFX
#define T double
#define INT int64_t
#define F(name) name##_f64
#define SFX(name) name##_double
#include "distance_loops.h"
#undef T
#undef INT
#undef F
#undef SFX

typedef struct {
    ptrdiff_t item, block;      /* bytes of an element; rows of a packed block */
    void (*pack)(const void *x, ptrdiff_t rows, ptrdiff_t m, void *to);
    void (*forward)(const void *a, const void *packed, ptrdiff_t rows, ptrdiff_t m, double p, void *out);
    void (*backward)(const void *a, const void *packed, const void *g, const void *y, ptrdiff_t rows, ptrdiff_t m, double p, void *sums);
    void (*gather)(void *sums, ptrdiff_t m, void *to);
    void (*finish)(void *y, const void *na, const void *nb, ptrdiff_t rows, ptrdiff_t n);
} ft_distance;
static const ft_distance FT_DISTANCE[2] = {
    {4, BLOCK_float, pack_float, forward_float, backward_float, gather_float, finish_float},
    {8, BLOCK_double, pack_double, forward_double, backward_double, gather_double, finish_double},
};
#endif
