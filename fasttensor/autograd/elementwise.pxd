# The driver of the operation table: promotion, broadcasting, out= and recording.
from fasttensor._core.tensor cimport Tensor

cdef struct Scalars:            # operands that are numbers, stored in the computing dtype
    char value[3][16]

cdef object call1(int op, object x, const double *par, object out)
cdef object call2(int op, object a, object b, const double *par, object out)
cdef object call3(int op, object a, object b, object c, const double *par, object out)
cdef Tensor differentiable_cast(Tensor x, int code)
cdef int result_code(object a, object b, object c, int mask) except -1
cdef int operation_code(int op, object a, object b, object c) except -1
cdef int computing_code(int op, int code) noexcept nogil
cdef object operand(int op, object x, int position, int code, void *buffer, bint mask)
cdef bint keeps_number(int op) noexcept
cdef Tensor half_with_number(int op, Tensor x, object b, const double *par)
cdef bint halves_with_number(int op, Tensor y, Tensor x, Tensor z, object c, const double *par) except False
