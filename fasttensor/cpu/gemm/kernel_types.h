/* What a register-tile kernel is, for those who call one through a pointer: see kernels.h. */
#ifndef FT_GEMM_KERNEL_TYPES_H
#define FT_GEMM_KERNEL_TYPES_H
#include <stddef.h>

#ifndef FT_NUM
#define FT_NUM
typedef union { float f; double d; unsigned long long u; } ft_num;
#endif

/* Strides are in elements of the computing type (D and C) or of the stored type (A, B). */
typedef struct {
  const void *a, *b, *d;       /* d NULL: beta is not read, so that NaN in D does not count */
  void *c;
  ptrdiff_t ars, acs, ldb, crs, ccs, drs, dcs;
  ft_num alpha, beta;
  int relu;
  int plain;                   /* C and D have unit column strides */
  int turned;                  /* C and D have unit row strides; of real kernels with `turns` */
} ft_tile;

typedef struct {
  int mr, nr;
  int lanes;                   /* panels of B are a multiple of this wide, nr at most */
  int partial;                 /* rows of B may end within a vector, also where they are not packed */
  int stored, computed;        /* bytes of an element of A and B, and of C and of packed panels */
  int turns;                   /* tiles can be stored transposed at full speed */
  void (*pack)(void *dst, ptrdiff_t width, const void *src, ptrdiff_t ws, ptrdiff_t ks, ptrdiff_t w, ptrdiff_t k);
  void (*run)(const ft_tile *t, ptrdiff_t k, ptrdiff_t m, ptrdiff_t n);
  /* rows of A times rows of B, both contiguous along k: C[i, j] = sum_p A[i, p] B[j, p]; NULL where absent */
  void (*dot)(const ft_tile *t, ptrdiff_t k, ptrdiff_t m, ptrdiff_t n);
} ft_kernel;
#endif
