# Products whose recording is compiled.
cpdef object try_linear(x, w, bias)
