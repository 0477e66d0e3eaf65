/* The kernel for one element type FT_T: NAME(x), FT_LANES elements in a vector, FT_MASK, the integer of its size, and FT_IOTA,
 * the vector {0, 1, ...}. */
#define CV NAME(cv)
#define ALWAYS static inline __attribute__((always_inline))
#include "fft_vectors.h"
#include "fft_passes.h"
#include "fft_move.h"
#include "fft_lines.h"
#include "fft_single.h"
#include "fft_line.h"
#undef FT_T
#undef FT_MASK
#undef FT_LANES
#undef NAME
#undef FT_IOTA
#undef CV
#undef ALWAYS
