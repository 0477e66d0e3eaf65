/* Scalar functions of the operation table, one name a dtype: exp_f32(x), floor_divide_i64(a, b), sqrt_c64(z).
 *
 * The same text compiles as C (CPU loops) and as CUDA C++ (kernels). Half types compute in f32.
 *     y[i] = tanh_f32(x[i]);
 */
#ifndef FT_SCALAR_H
#define FT_SCALAR_H

typedef unsigned char ft_bool;
typedef unsigned char ft_u8;
typedef signed char ft_i8;
typedef short ft_i16;
typedef int ft_i32;
typedef long long ft_i64;
typedef unsigned int ft_u32;
typedef unsigned long long ft_u64;
typedef float ft_f32;
typedef double ft_f64;

#ifdef __CUDACC__
#define FT_FN static __device__ __forceinline__
#define FT_BIG static __device__ __noinline__
#else
#include <math.h>
#include <complex.h>
#include <string.h>
#include <stddef.h>
#define FT_FN static inline __attribute__((always_inline, unused))
#define FT_BIG static __attribute__((noinline, unused))
typedef float _Complex ft_c64;
typedef double _Complex ft_c128;
#endif

#include "scalar_real.h"
#include "scalar_int.h"
#include "scalar_complex.h"
#include "scalar_tables.h"
#include "scalar_bessel_tables.h"
#include "scalar_bessel.h"
#include "scalar_gamma.h"
#include "scalar_polynomial.h"
#include "scalar_gamma_fast.h"
#endif
