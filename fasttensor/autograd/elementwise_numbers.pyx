"""Numbers among the arguments of elementwise operations, checked as PyTorch checks them before they are converted to the computing dtype."""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport Tensor
from fasttensor._core.element cimport check_number, scalar_code, write_element, write_operand
from fasttensor._core.element import plain_number
from fasttensor.cpu.elementwise cimport table, ft_op, FT_FITS_DTYPE, FT_FITS_COMPUTING, FT_FITS_NARROW
from fasttensor.autograd.elementwise cimport call2, computing_code, operation_code
from fasttensor.autograd.elementwise_refusals cimport name_of

cdef const ft_op *rows = table()

cdef extern from "elementwise.h":
    enum:
        FT_MUL


cdef inline int wide(int code) noexcept:
    """The dtype in which the loops have numbers and parameters."""
    return FLOAT32 if FLOAT16 <= code <= BFLOAT16 else code


cdef bint number_operand(int op, char *p, int code, int position, object value) except False:
    """A number as an operand of the computing dtype."""
    cdef int how = rows[op].fits
    if how and position > 1:
        if how == FT_FITS_NARROW and code <= INT64 and value < 0:
            raise RuntimeError(f"{name_of(op)}: Integers to negative integer powers are not allowed, got the number {value} for {dtype_of(code).name}:"
                               " convert with .float()")
        if how == FT_FITS_DTYPE and not FLOAT16 <= code <= BFLOAT16 or how == FT_FITS_NARROW and code <= BFLOAT16:
            return write_element(p, code, value)
        if how == FT_FITS_COMPUTING:
            check_number(wide(code), value)
    return write_operand(p, code, value)


cdef bint check_factor(str name, str key, object value, int code, bint narrows) except False:
    """PyTorch's rules for alpha: bool for bool, whole for whole numbers, complex for complex ones; where a factor `narrows` it loses its fraction instead."""
    if isinstance(value, bool) and code != BOOL and not narrows:
        raise RuntimeError(f"{name}: Boolean {key} only supported for Boolean results, got a result of {dtype_of(code).name}")
    if isinstance(value, float) and code <= INT64 and not narrows:
        raise RuntimeError(f"{name}: For integral input tensors, argument {key} must not be a floating point number, got {value} for a result of"
                           f" {dtype_of(code).name}")
    if isinstance(value, complex) and code < COMPLEX64 and not narrows:
        raise RuntimeError(f"{name}: For non-complex input tensors, argument {key} must not be a complex number, got {value} for a result of"
                           f" {dtype_of(code).name}")
    return True


def check_alpha(str name, str key, value, dtype d not None, bint narrows=False, bint half=True):
    """A factor of a product as a Python number; RuntimeError where the result's dtype does not take it, TypeError where it is no number.

    `narrows`: fractions of integers are dropped; `half`: half types must hold it, not float32."""
    cdef object number = plain_number(value)
    if number is None:
        raise TypeError(f"{name}(): argument '{key}' must be Number, not {type(value).__name__}")
    check_factor(name, key, number, d.code, narrows)
    check_number(d.code if half else wide(d.code), number)
    if isinstance(number, complex) and d.code < COMPLEX64:
        number = number.real
    if d.code == BOOL:
        return number != 0
    return int(number) if d.code <= INT64 and isinstance(number, float) else number


cdef object factored(int op, str key, object value, object operand, object a, object b, object c, bint negated, double *par):
    """The operand that a factor belongs to: the factor becomes the row's parameter where a double holds it, and is multiplied in otherwise."""
    cdef int code
    cdef bint narrows = rows[op].nin == 3
    cdef object number = plain_number(value)
    if number is None:
        raise TypeError(f"{name_of(op)}(): argument '{key}' must be Number, not {type(value).__name__}")
    for x in (a, b, c):
        if x is not None and not isinstance(x, Tensor) and scalar_code(x) < 0:
            return operand          # which the driver refuses
    code = computing_code(op, operation_code(op, a, b, c))
    if rows[op].loop[code] == NULL:
        return operand
    check_factor(name_of(op), key, number, code, narrows)
    check_number(wide(code) if narrows else code, -number if negated and not isinstance(number, bool) else number)
    if isinstance(number, complex) and code < COMPLEX64:
        number = number.real
    if isinstance(number, complex) or (isinstance(number, int) and code == INT64 and not -9007199254740992 <= number <= 9007199254740992):
        if isinstance(operand, Tensor) or isinstance(number, complex):
            return call2(FT_MUL, operand, number, NULL, None) if isinstance(operand, Tensor) else operand * number
    par[0] = number
    return operand


cdef double fitting(int op, double value, object given, object x, int how) except? -1.0:
    """A parameter that the computing dtype must hold: in the width of the loops, or in its own."""
    cdef int code
    if not isinstance(x, Tensor):
        return value
    code = computing_code(op, (<Tensor>x).code)
    if rows[op].loop[code] != NULL and (code < FLOAT16 or not -60000 <= value <= 60000):
        check_number(code if how == FT_FITS_DTYPE else wide(code), given)
        if code == UINT8 and value < 0:         # which its bytes hold modulo 256
            return value + 256
    return value
