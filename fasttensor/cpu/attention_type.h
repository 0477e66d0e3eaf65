/* The kernels of one type T; included by attention_kernels.h, which defines T and what differs between the types. */
#include "attention_softmax.h"
#include "attention_blocks.h"
#include "attention_backward.h"
#undef T
#undef FT_INT
#undef NAME
#undef FT_LANES
#undef FT_MANTISSA
#undef FT_ROUND
#undef FT_LOWEST
#undef FT_POWERS
#undef FT_LOG
#undef FT_ONE
#undef FT_MAX
#undef FT_SCALE
#undef FT_HUGE
