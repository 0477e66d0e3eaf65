"""Single elements: reading one as a Python number and storing a Python number as one."""
from cpython.complex cimport PyComplex_AsCComplex, Py_complex
from fasttensor._core.dtype cimport *

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline float ft_half_get(const char *p) { _Float16 h; memcpy(&h, p, 2); return (float)h; }
    static inline void ft_half_put(char *p, double v) { _Float16 h = (_Float16)v; memcpy(p, &h, 2); }
    static inline float ft_bf16_get(const char *p) {
        uint16_t h; uint32_t b; float f; memcpy(&h, p, 2); b = (uint32_t)h << 16; memcpy(&f, &b, 4); return f; }
    static inline void ft_bf16_put(char *p, float f) {   /* round to nearest, ties to even */
        uint32_t b; uint16_t h; memcpy(&b, &f, 4);
        if ((b & 0x7fffffffu) > 0x7f800000u) h = 0x7fc0; else h = (uint16_t)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
        memcpy(p, &h, 2); }
    """
    float ft_half_get(const char *p) noexcept nogil
    void ft_half_put(char *p, double v) noexcept nogil
    float ft_bf16_get(const char *p) noexcept nogil
    void ft_bf16_put(char *p, float v) noexcept nogil

cdef extern from "<stdint.h>":
    ctypedef signed char int8_t
    ctypedef short int16_t
    ctypedef int int32_t
    ctypedef long long int64_t


cdef object read_element(const char *p, int code):
    if code == FLOAT32:
        return (<const float *>p)[0]
    if code == FLOAT64:
        return (<const double *>p)[0]
    if code == INT64:
        return (<const int64_t *>p)[0]
    if code == INT32:
        return (<const int32_t *>p)[0]
    if code == BOOL:
        return p[0] != 0
    if code == UINT8:
        return (<const unsigned char *>p)[0]
    if code == INT8:
        return (<const int8_t *>p)[0]
    if code == INT16:
        return (<const int16_t *>p)[0]
    if code == FLOAT16:
        return ft_half_get(p)
    if code == BFLOAT16:
        return ft_bf16_get(p)
    if code == COMPLEX64:
        return complex((<const float *>p)[0], (<const float *>p)[1])
    return complex((<const double *>p)[0], (<const double *>p)[1])


cdef bint write_integer(char *p, int code, object value) except False:
    cdef int64_t v
    if isinstance(value, float):
        # as C converts where it is defined; NaN and infinity become the smallest integer
        v = <int64_t>value if -9.3e18 < value < 9.3e18 else <int64_t>(1ULL << 63)
    else:
        try:
            v = value
        except OverflowError:
            raise RuntimeError(f"value cannot be converted to type {dtype_of(code)} without overflow: {value}")
    if code == INT64:
        (<int64_t *>p)[0] = v
    elif code == INT32:
        (<int32_t *>p)[0] = <int32_t>v
    elif code == INT16:
        (<int16_t *>p)[0] = <int16_t>v
    elif code == INT8:
        (<int8_t *>p)[0] = <int8_t>v
    else:
        (<unsigned char *>p)[0] = <unsigned char>v
    return True


cdef bint write_element(char *p, int code, object value) except False:
    cdef Py_complex z
    if is_complex_code(code):
        # part by part: Cython's own conversion multiplies by i, which makes NaN of 0 + inf i
        z = PyComplex_AsCComplex(value)
        if code == COMPLEX64:
            (<float *>p)[0], (<float *>p)[1] = <float>z.real, <float>z.imag
        else:
            (<double *>p)[0], (<double *>p)[1] = z.real, z.imag
        return True
    if isinstance(value, complex):
        if value.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {dtype_of(code)} without overflow: {value}")
        value = value.real
    if code == BOOL:
        p[0] = 1 if value else 0
    elif code == FLOAT32:
        (<float *>p)[0] = <float><double>value
    elif code == FLOAT64:
        (<double *>p)[0] = value
    elif code == FLOAT16:
        ft_half_put(p, value)
    elif code == BFLOAT16:
        ft_bf16_put(p, <float><double>value)
    else:
        return write_integer(p, code, value)
    return True


cdef int scalar_code(object value) except -2:
    """The dtype of a Python (or numpy) number in PyTorch's eyes, -1 for anything else."""
    if isinstance(value, float):
        return default_float()
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64
    if isinstance(value, complex):
        return default_complex()
    kind = getattr(getattr(value, "dtype", None), "kind", "")       # numpy scalars
    if kind and getattr(value, "ndim", 1) == 0:
        return {"f": default_float(), "b": BOOL, "i": INT64, "u": INT64, "c": default_complex()}.get(kind, -1)
    if not isinstance(value, (str, bytes)) and hasattr(type(value), "__index__") and not hasattr(value, "shape"):
        return INT64
    return -1


def element(size_t address, dtype d):
    """The Python number at an address."""
    return read_element(<const char *>address, d.code)
