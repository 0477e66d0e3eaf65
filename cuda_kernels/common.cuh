/* What every kernel shares: element types, loads and stores, loops over elements, layouts.
 *
 * Compile with the folders of scalar.h and of this file on the include path:
 *     nvcc -I fasttensor/_core -I cuda_kernels -arch=sm_90 -cubin cuda_kernels/generated/elementwise.cu
 */
#ifndef FT_COMMON_CUH
#define FT_COMMON_CUH

#ifndef INFINITY /* NVRTC has no math.h */
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

#include "complex.cuh"
typedef ft_complex<float> ft_c64;
typedef ft_complex<double> ft_c128;
#include "scalar.h"
#include "complex_math.cuh"

struct ft_f16 { unsigned short bits; };
struct ft_bf16 { unsigned short bits; };

static __device__ __forceinline__ float ft_f16_value(unsigned short h) {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    unsigned int sign = (h & 0x8000u) << 16, rest = h & 0x7FFFu;
    if (rest >= 0x7C00u) return __int_as_float((int)(sign | 0x7F800000u | (rest & 0x3FFu) << 13));
    float magnitude = rest < 0x400u ? (float)rest * 5.9604644775390625e-8f
                                    : __int_as_float((int)((rest << 13) + 0x38000000u));
    return sign ? -magnitude : magnitude;
#endif
}
static __device__ __forceinline__ unsigned short ft_f16_bits(float f) {
#ifdef __CUDA_ARCH__
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    unsigned int u = (unsigned int)__float_as_int(f), sign = u >> 16 & 0x8000u, a = u & 0x7FFFFFFFu;
    if (a > 0x7F800000u) return (unsigned short)(sign | 0x7E00u);
    if (a >= 0x477FF000u) return (unsigned short)(sign | 0x7C00u);
    /* subnormal results: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits */
    if (a < 0x38800000u)
        return (unsigned short)(sign | (unsigned int)(__float_as_int(__int_as_float((int)a) + 0.5f) - 0x3F000000));
    return (unsigned short)(sign | (a - 0x38000000u + 0xFFFu + (a >> 13 & 1u)) >> 13);
#endif
}

template <class T> static __device__ __forceinline__ T ft_load(T v) { return v; }
static __device__ __forceinline__ float ft_load(ft_f16 v) { return ft_f16_value(v.bits); }
static __device__ __forceinline__ float ft_load(ft_bf16 v) { return __int_as_float((int)v.bits << 16); }
template <class T> static __device__ __forceinline__ ft_complex<T> ft_load_conj(ft_complex<T> v) {
    return ft_complex<T>(v.re, -v.im);
}

template <class T, class V> static __device__ __forceinline__ void ft_store(T *p, V v) { *p = (T)v; }
static __device__ __forceinline__ void ft_store(ft_f16 *p, float v) { p->bits = ft_f16_bits(v); }
static __device__ __forceinline__ void ft_store(ft_bf16 *p, float v) {
    unsigned int u = (unsigned int)__float_as_int(v);
    p->bits = (unsigned short)(v != v ? 0x7FC0u : (u + 0x7FFFu + (u >> 16 & 1u)) >> 16);
}

/* A loop over n elements by a grid of any size. */
#define FT_EACH(i, n) \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
         i += (long long)gridDim.x * blockDim.x)

/* Sizes, innermost first, and strides in elements by operand (0: the result); 0 broadcasts. */
#define FT_MAX_DIMS 8
#define FT_MAX_OPERANDS 7
struct ft_layout {
    long long ndim;
    long long size[FT_MAX_DIMS];
    long long stride[FT_MAX_OPERANDS][FT_MAX_DIMS];
};
template <int OPERANDS>
static __device__ __forceinline__ void ft_offsets(const ft_layout &l, long long i, long long *at) {
    for (int k = 0; k < OPERANDS; k++) at[k] = 0;
    for (int d = 0; d < l.ndim; d++) {
        long long rest = i / l.size[d], here = i - rest * l.size[d];
        for (int k = 0; k < OPERANDS; k++) at[k] += here * l.stride[k][d];
        i = rest;
    }
}
#endif
