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


cdef extern from *:
    """
    /* what each dtype holds: integers exactly, floating point as doubles; a uint8 takes negative numbers modulo 256, as PyTorch has it */
    static const long long ft_least[6] = {0, -255, -128, -32768, -2147483647LL - 1, -9223372036854775807LL - 1};
    static const long long ft_most[6] = {1, 255, 127, 32767, 2147483647LL, 9223372036854775807LL};
    static const double ft_least_float[6] = {0, 0, -128, -32768, -2147483648.0, -9223372036854775808.0};
    static const double ft_largest[12] = {1, 255, 127, 32767, 2147483647.0, 9223372036854775808.0, 65504.0, 3.3895313892515355e38,
                                          3.4028234663852886e38, 1.7976931348623157e308, 3.4028234663852886e38, 1.7976931348623157e308};
    static inline int ft_holds(int code, double v) {
        if (code <= 5) return v >= ft_least_float[code] && v <= ft_largest[code];
        return v - v != 0 || (v >= -ft_largest[code] && v <= ft_largest[code]);          /* NaN and infinities are floating point */
    }
    """
    const long long ft_least[6]
    const long long ft_most[6]
    bint ft_holds(int code, double v) noexcept nogil

cdef extern from "Python.h":
    bint PyFloat_CheckExact(object o)
    bint PyLong_CheckExact(object o)
    double PyFloat_AS_DOUBLE(object o)
    object PyNumber_Index(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1
    double PyLong_AsDouble(object o) except? -1.0

cdef enum Kind:
    NONE = -1           # no number
    TRUTH = 0
    WHOLE = 1
    REAL = 2
    COMPLEX = 3

cdef struct Number:
    Kind kind
    int64_t whole
    bint unsigned       # `whole` are the bits of an integer from 2 ** 63 on
    double real, imag


cdef bint whole_number(object value, Number *n) except False:
    """An int of at most 64 bits; OverflowError beyond."""
    cdef int beyond = 0
    n.kind, n.unsigned = WHOLE, False
    n.whole = PyLong_AsLongLongAndOverflow(value, &beyond)
    if beyond == 0:
        n.real = <double>n.whole
        return True
    if beyond < 0:
        raise OverflowError(f"can't convert negative int to unsigned: numbers have at most 64 bits, got {value}")
    if value >= 1 << 64:
        raise OverflowError(f"int too big to convert: numbers have at most 64 bits, got {value}")
    n.unsigned, n.real = True, PyLong_AsDouble(value)
    n.whole = <int64_t>(value - (1 << 64))
    return True


cdef bint read_number(object value, Number *n) except False:
    """What Python or numpy takes for a number; the kind is NONE for anything else."""
    cdef Py_complex z
    n.unsigned, n.imag = False, 0
    if PyFloat_CheckExact(value):
        n.kind, n.real = REAL, PyFloat_AS_DOUBLE(value)
        return True
    if PyLong_CheckExact(value):
        return whole_number(value, n)
    if isinstance(value, bool):
        n.kind, n.whole = TRUTH, value is True
        n.real = <double>n.whole
        return True
    if isinstance(value, float):
        n.kind, n.real = REAL, value
        return True
    if isinstance(value, int):
        return whole_number(value, n)
    kind = "c" if isinstance(value, complex) else getattr(getattr(value, "dtype", None), "kind", "")
    n.kind = NONE
    if kind == "c" and getattr(value, "ndim", 0) == 0:
        z = PyComplex_AsCComplex(value)
        n.kind, n.real, n.imag = COMPLEX, z.real, z.imag
    elif kind:
        if getattr(value, "ndim", 1):
            return True
        if kind == "f" or kind == "b":          # PyTorch reads numpy's truth values as 0.0 and 1.0
            n.kind, n.real = REAL, float(value)
        elif kind == "i" or kind == "u":
            n.kind = WHOLE
            whole_number(int(value), n)
            if n.unsigned:
                raise TypeError(f"an integer is required: numpy's {value!r} needs 64 bits without a sign")
    elif not isinstance(value, (str, bytes)) and hasattr(type(value), "__index__") and not hasattr(value, "shape"):
        return whole_number(PyNumber_Index(value), n)
    return True


cdef int scalar_code(object value) except -2:
    """The dtype of a Python (or numpy) number in PyTorch's eyes, -1 for anything else."""
    cdef Number n
    if isinstance(value, float):
        return default_float()
    if isinstance(value, bool):
        return BOOL
    read_number(value, &n)
    return -1 if n.kind == NONE else INT64 if n.kind == WHOLE else default_float() if n.kind == REAL else default_complex() if n.kind == COMPLEX else BOOL


cdef bint fits(int code, Number *n) noexcept:
    """Whether a dtype holds a number, fractions of an integer left out."""
    if code == BOOL or n.kind == TRUTH:
        return True
    if n.kind == COMPLEX and (n.imag != 0) and not (is_complex_code(code) and ft_holds(code, n.imag)):
        return False
    if n.kind == WHOLE and code <= INT64:
        return not n.unsigned and ft_least[code] <= n.whole <= ft_most[code]
    return ft_holds(code, n.real)


cdef void store(char *p, int code, Number *n) noexcept:
    """As C converts where that is defined; NaN, infinities and what 64 bits do not hold become the smallest integer."""
    cdef int64_t v
    if is_complex_code(code):
        # part by part: Cython's own conversion multiplies by i, which makes NaN of 0 + inf i
        if code == COMPLEX64:
            (<float *>p)[0], (<float *>p)[1] = <float>n.real, <float>n.imag
        else:
            (<double *>p)[0], (<double *>p)[1] = n.real, n.imag
    elif code == FLOAT32:
        (<float *>p)[0] = <float>n.real
    elif code == FLOAT64:
        (<double *>p)[0] = n.real
    elif code == FLOAT16:
        ft_half_put(p, n.real)
    elif code == BFLOAT16:
        ft_bf16_put(p, <float>n.real)
    elif code == BOOL:
        p[0] = n.real != 0 or n.imag != 0
    else:
        if n.kind <= WHOLE:
            v = n.whole
        else:
            v = <int64_t>n.real if -9.223372036854775e18 <= n.real <= 9.223372036854775e18 else <int64_t>(1ULL << 63)
        if code == INT64:
            (<int64_t *>p)[0] = v
        elif code == INT32:
            (<int32_t *>p)[0] = <int32_t>v
        elif code == INT16:
            (<int16_t *>p)[0] = <int16_t>v
        else:
            p[0] = <char>v


cdef bint no_number(object value) except False:
    raise TypeError(f"must be a number, not {type(value).__name__}")


cdef bint write_element(char *p, int code, object value) except False:
    """A number as an element; RuntimeError where the dtype does not hold it."""
    cdef Number n
    read_number(value, &n)
    if n.kind == NONE:
        no_number(value)
    if not fits(code, &n):
        overflows(code, value)
    store(p, code, &n)
    return True


cdef bint write_operand(char *p, int code, object value) except False:
    """A number as an operand beside tensors: converted as C does it, so that integers wrap around and floats become infinite."""
    cdef Number n
    read_number(value, &n)
    if n.kind == NONE:
        no_number(value)
    store(p, code, &n)
    return True


cdef bint overflows(int code, object value) except False:
    raise RuntimeError(f"value cannot be converted to type {dtype_of(code).name} without overflow: {value}")


cdef bint check_number(int code, object value) except False:
    """RuntimeError where the dtype does not hold a number, TypeError where it is none."""
    cdef char buffer[16]
    return write_element(buffer, code, value)


def plain_number(value):
    """A bool, int, float or complex from Python's and numpy's numbers and from tensors without dimensions or history; None for anything else."""
    cdef Number n
    read_number(value, &n)
    if n.kind == WHOLE:
        return value if PyLong_CheckExact(value) else n.whole
    if n.kind == COMPLEX:
        return complex(n.real, n.imag)
    if n.kind == NONE:
        return value.item() if getattr(value, "ndim", 1) == 0 and getattr(value, "requires_grad", True) is False else None
    return n.whole != 0 if n.kind == TRUTH else n.real


def check_holds(dtype d not None, value):
    """RuntimeError where a dtype does not hold a number, TypeError where it is none."""
    return check_number(d.code, value)


def element(size_t address, dtype d):
    """The Python number at an address."""
    return read_element(<const char *>address, d.code)
