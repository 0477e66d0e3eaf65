# The driver of the operation table: promotion, broadcasting, out=, in-place and recording.
from fasttensor._core.tensor cimport Tensor

cdef object call1(int op, object x, const double *par, object out)
cdef object call2(int op, object a, object b, const double *par, object out)
cdef object call3(int op, object a, object b, object c, const double *par, object out)
cdef object inplace(int op, object self, object b, object c, const double *par)
cdef Tensor differentiable_cast(Tensor x, int code)
cdef int result_code(object a, object b, object c, int mask) except -1
cdef Tensor write_out(Tensor out, Tensor value)
