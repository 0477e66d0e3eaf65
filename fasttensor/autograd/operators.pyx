"""Python's operators on Tensors: the core's slots filled with table rows."""
from fasttensor._core.dtype cimport BOOL, FLOAT16
from fasttensor._core.tensor cimport Tensor, describe
from fasttensor._core.element cimport scalar_code
from fasttensor._core.dispatch cimport *
from fasttensor._core.foreign import from_array
from fasttensor.autograd.elementwise cimport call1, call2
from fasttensor.autograd.elementwise_inplace cimport inplace
from fasttensor.autograd.elementwise_grad import NAMESPACE

cdef extern from "elementwise.h":
    enum:
        FT_ADD, FT_SUB, FT_MUL, FT__DIV, FT_FLOOR_DIVIDE, FT_REMAINDER, FT_POW
        FT_BITWISE_AND, FT_BITWISE_OR, FT_BITWISE_XOR, FT_BITWISE_NOT, FT_BITWISE_LEFT_SHIFT, FT_BITWISE_RIGHT_SHIFT
        FT_LOGICAL_NOT, FT_LT, FT_LE, FT_EQ, FT_NE, FT_GT, FT_GE, FT_NEG, FT_ABS


cdef double ONE[4]
ONE[:] = [1.0, 1.0, 1.0, 1.0]


cdef object operator_with(int op, object a, object b):
    """NotImplemented for what is neither tensor nor number, so that Python asks the other operand."""
    if not (isinstance(a, Tensor) or scalar_code(a) >= 0) or not (isinstance(b, Tensor) or scalar_code(b) >= 0):
        return NotImplemented
    return call2(op, a, b, ONE, None)

cdef object add_slot(object a, object b):
    return operator_with(FT_ADD, a, b)
cdef object sub_slot(object a, object b):
    return operator_with(FT_SUB, a, b)
cdef object mul_slot(object a, object b):
    return operator_with(FT_MUL, a, b)
cdef object with_array(int op, object a, object b):
    """The same where PyTorch computes with a numpy array too: in comparisons for equality and as dividend."""
    cdef object result = operator_with(op, a, b), other = b if isinstance(a, Tensor) else a
    if result is NotImplemented and type(other).__module__ == "numpy" and hasattr(other, "__array_interface__"):
        try:
            other = from_array(other if other.flags.c_contiguous else other.copy(), False)
        except TypeError:                   # of text, for one: equal to no tensor
            return NotImplemented
        return operator_with(op, a, other) if isinstance(a, Tensor) else operator_with(op, other, b)
    return result

cdef object div_slot(object a, object b):
    return with_array(FT__DIV, a, b)
cdef object floordiv_slot(object a, object b):
    return operator_with(FT_FLOOR_DIVIDE, a, b)
cdef object mod_slot(object a, object b):
    return operator_with(FT_REMAINDER, a, b)
cdef object and_slot(object a, object b):
    return operator_with(FT_BITWISE_AND, a, b)
cdef object or_slot(object a, object b):
    return operator_with(FT_BITWISE_OR, a, b)
cdef object xor_slot(object a, object b):
    return operator_with(FT_BITWISE_XOR, a, b)
cdef object lshift_slot(object a, object b):
    return operator_with(FT_BITWISE_LEFT_SHIFT, a, b)
cdef object rshift_slot(object a, object b):
    return operator_with(FT_BITWISE_RIGHT_SHIFT, a, b)
cdef object lt_slot(object a, object b):
    return operator_with(FT_LT, a, b)
cdef object le_slot(object a, object b):
    return operator_with(FT_LE, a, b)
cdef object eq_slot(object a, object b):
    return with_array(FT_EQ, a, b)
cdef object ne_slot(object a, object b):
    return with_array(FT_NE, a, b)
cdef object gt_slot(object a, object b):
    return operator_with(FT_GT, a, b)
cdef object ge_slot(object a, object b):
    return operator_with(FT_GE, a, b)
cdef object neg_slot(object a):
    return call1(FT_NEG, a, NULL, None)
cdef object abs_slot(object a):
    return call1(FT_ABS, a, NULL, None)
cdef object invert_slot(object a):
    if (<Tensor>a).code >= FLOAT16:
        raise TypeError(f"~ (operator.invert) is only implemented on integer and bool tensors, got {describe(a)}")
    return call1(FT_LOGICAL_NOT if (<Tensor>a).code == BOOL else FT_BITWISE_NOT, a, NULL, None)
cdef object pos_slot(object a):
    if (<Tensor>a).code == BOOL:
        raise RuntimeError(f"the + operator is not defined for {describe(a)}")
    return a
cdef object pow_slot(object a, object b):
    if scalar_code(a) < 0 and not isinstance(a, Tensor) or scalar_code(b) < 0 and not isinstance(b, Tensor):
        return NotImplemented
    return NAMESPACE["pow"](a, b)
cdef object written(int op, object a, object b):
    """In place; NotImplemented likewise, upon which Python takes the operator that makes a new tensor, or the other operand's."""
    if not isinstance(b, Tensor) and scalar_code(b) < 0:
        return NotImplemented
    return inplace(op, a, b, None, ONE)

cdef object iadd_slot(object a, object b):
    return written(FT_ADD, a, b)
cdef object isub_slot(object a, object b):
    return written(FT_SUB, a, b)
cdef object imul_slot(object a, object b):
    return written(FT_MUL, a, b)
cdef object idiv_slot(object a, object b):
    return written(FT__DIV, a, b)
cdef object ifloordiv_slot(object a, object b):
    return written(FT_FLOOR_DIVIDE, a, b)
cdef object imod_slot(object a, object b):
    return written(FT_REMAINDER, a, b)
cdef object ipow_slot(object a, object b):
    return written(FT_POW, a, b)
cdef object iand_slot(object a, object b):
    return written(FT_BITWISE_AND, a, b)
cdef object ior_slot(object a, object b):
    return written(FT_BITWISE_OR, a, b)
cdef object ixor_slot(object a, object b):
    return written(FT_BITWISE_XOR, a, b)
cdef object ilshift_slot(object a, object b):
    return written(FT_BITWISE_LEFT_SHIFT, a, b)
cdef object irshift_slot(object a, object b):
    return written(FT_BITWISE_RIGHT_SHIFT, a, b)

cdef binary_slot *_b = binary_slots()
_b[SLOT_ADD], _b[SLOT_SUB], _b[SLOT_MUL], _b[SLOT_TRUEDIV] = add_slot, sub_slot, mul_slot, div_slot
_b[SLOT_FLOORDIV], _b[SLOT_MOD], _b[SLOT_POW] = floordiv_slot, mod_slot, pow_slot
_b[SLOT_AND], _b[SLOT_OR], _b[SLOT_XOR], _b[SLOT_LSHIFT], _b[SLOT_RSHIFT] = and_slot, or_slot, xor_slot, lshift_slot, rshift_slot
_b[SLOT_LT], _b[SLOT_LE], _b[SLOT_EQ], _b[SLOT_NE], _b[SLOT_GT], _b[SLOT_GE] = lt_slot, le_slot, eq_slot, ne_slot, gt_slot, ge_slot
_b[SLOT_IADD], _b[SLOT_ISUB], _b[SLOT_IMUL], _b[SLOT_ITRUEDIV] = iadd_slot, isub_slot, imul_slot, idiv_slot
_b[SLOT_IFLOORDIV], _b[SLOT_IMOD], _b[SLOT_IPOW] = ifloordiv_slot, imod_slot, ipow_slot
_b[SLOT_IAND], _b[SLOT_IOR], _b[SLOT_IXOR], _b[SLOT_ILSHIFT], _b[SLOT_IRSHIFT] = iand_slot, ior_slot, ixor_slot, ilshift_slot, irshift_slot
cdef unary_slot *_u = unary_slots()
_u[SLOT_NEG], _u[SLOT_ABS], _u[SLOT_INVERT], _u[SLOT_POS] = neg_slot, abs_slot, invert_slot, pos_slot
