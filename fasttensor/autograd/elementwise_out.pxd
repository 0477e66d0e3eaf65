# `out=` of elementwise operations.

cdef object into_out(int op, int nin, object a, object b, object c, const double *par, object out)
