from fasttensor._core.tensor cimport Tensor, Node, backward_fn

cdef bint recorded(Tensor x) noexcept
cdef Tensor finish_view(Tensor view, Tensor x, backward_fn run, str label, object meta)
cdef tuple sizes_of(Tensor x)
# a part of x's elements as a view
cdef Tensor cut(Tensor x, int rank, const Py_ssize_t *sizes, const Py_ssize_t *steps, Py_ssize_t offset, str label, tuple geometry)
cdef Tensor index_space(Tensor x)   # where elements share memory: a tensor of their sizes to cut in the same way
cdef Tensor reshape_to(Tensor x, tuple shape)
cdef object shape_argument(tuple args, str name, str argument=*)
cdef object reshape_backward(Node node, object grad)
cdef object expand_backward(Node node, object grad)
