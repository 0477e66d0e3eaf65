from fasttensor._core.tensor cimport Tensor

cdef Tensor select_at(Tensor x, int dim, Py_ssize_t index)
cdef Tensor slice_at(Tensor x, int dim, Py_ssize_t start, Py_ssize_t length, Py_ssize_t step)
