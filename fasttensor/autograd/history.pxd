# Views and in-place writes in the graph.
from fasttensor._core.tensor cimport Tensor, Node, backward_fn

cdef bint check_inference(Tensor x, str name) except False
cdef bint check_inplace(Tensor x, str name) except False
cdef bint rebase(Tensor x, Node node, int at=*) except False        # x was overwritten by node, whose input `at` (0) is x
cdef bint stays_leaf(Tensor x, Node node) except -1
cdef Node inplace_node(Tensor x, backward_fn run, str label)
cdef void mark_view(Tensor view, Tensor source)
cdef bint refresh(Tensor x) except False
cdef Tensor gather_view(Tensor x, tuple geometry)           # the view's elements out of a tensor like the base, differentiable
cdef Tensor scatter_view(Tensor g, tuple geometry)          # the transpose of gather_view
cdef tuple geometry_of(Tensor view, Tensor base)
cdef bint view_overlaps(Tensor view) noexcept
