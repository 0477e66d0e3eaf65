cdef object inplace(int op, object self, object b, object c, const double *par)
