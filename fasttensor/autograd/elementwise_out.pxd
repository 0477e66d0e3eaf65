# `out=` of elementwise operations.
from fasttensor._core.tensor cimport Tensor

cdef object into_out(int op, int nin, object a, object b, object c, const double *par, object out)
cdef Tensor write_out(Tensor out, Tensor value)
