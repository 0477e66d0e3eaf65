from fasttensor._core.tensor cimport Tensor, Node

cdef Tensor depending(Node node, Tensor g, str label, object positions)
