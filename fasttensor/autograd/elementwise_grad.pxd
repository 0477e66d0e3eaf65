# Recording of table rows, shared by the out-of-place and in-place drivers.
from fasttensor._core.tensor cimport Tensor, Node
from fasttensor.cpu.elementwise cimport ft_op

cdef bint record(int op, int code, Tensor y, Tensor x, Tensor z, Tensor w, void *sx, void *sz, void *sw, const double *par) except False
cdef Tensor kept(Tensor x, void *value, int code, bint mask)
cdef object elementwise_backward(Node node, object grad)
cdef Tensor empty_as(Tensor x, int code)
cdef tuple par_tuple(const ft_op *row, const double *par)
cdef str label_of(int op, Tensor x, Tensor z, Tensor w)
