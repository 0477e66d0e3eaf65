# Slots through which the core reaches operations that higher layers provide.
from fasttensor._core.tensor cimport Tensor

cdef enum:
    SLOT_ADD = 0
    SLOT_SUB
    SLOT_MUL
    SLOT_TRUEDIV
    SLOT_FLOORDIV
    SLOT_MOD
    SLOT_POW
    SLOT_MATMUL
    SLOT_AND
    SLOT_OR
    SLOT_XOR
    SLOT_LSHIFT
    SLOT_RSHIFT
    SLOT_LT
    SLOT_LE
    SLOT_EQ
    SLOT_NE
    SLOT_GT
    SLOT_GE
    SLOT_IADD
    SLOT_ISUB
    SLOT_IMUL
    SLOT_ITRUEDIV
    SLOT_IFLOORDIV
    SLOT_IMOD
    SLOT_IPOW
    SLOT_IAND
    SLOT_IOR
    SLOT_IXOR
    SLOT_ILSHIFT
    SLOT_IRSHIFT
    SLOT_GETITEM
    N_BINARY_SLOTS
    SLOT_NEG = 0
    SLOT_ABS
    SLOT_INVERT
    SLOT_POS
    N_UNARY_SLOTS

ctypedef object (*binary_slot)(object a, object b)
ctypedef object (*unary_slot)(object a)
# dst[...] = src, any strides and dtypes, same shape after broadcasting src; no gradient history
ctypedef bint (*copy_slot)(Tensor dst, Tensor src) except False

cdef binary_slot *binary_slots() noexcept
cdef unary_slot *unary_slots() noexcept
cdef void set_copy(int dev, copy_slot f) noexcept
cdef bint copy_into(Tensor dst, Tensor src) except False
cdef bint internal_overlap(Tensor x) noexcept
cdef bint grad_enabled() noexcept nogil
cdef void set_grad_enabled_flag(bint on) noexcept nogil
cdef bint inference_enabled() noexcept nogil
cdef bint inside_vmap() noexcept nogil
cdef void enter_vmap(int change) noexcept nogil
cdef void set_inference_flag(bint on) noexcept nogil
cdef object hook(str name)           # Python-level hooks: repr, setitem, item ...
cdef object find_hook(str name)      # None where nothing provides it

# __torch_function__: `armed` is 0 until a subclass, a class with the method or a mode is met
cdef int armed
cdef bint overridden(object x) noexcept
cdef bint dispatches(object x) noexcept
cdef bint dispatching() noexcept
cdef object ask_protocol(str name, tuple args)
cdef int set_inside(int on) noexcept
cdef bint meet_class(object cls) except False
