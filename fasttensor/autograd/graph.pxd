# Recording operations: edges, saved values, in-place history.
from fasttensor._core.tensor cimport Tensor, Node, backward_fn

cdef bint requires(Tensor x) noexcept
cdef object edge(Tensor x)                                  # Node, leaf Tensor or None
cdef Node new_node(backward_fn run, str label)
cdef bint add_input(Node node, Tensor x) except False       # appends x's edge (None when not required)
cdef void set_history(Tensor out, Node node, int nr)
cdef bint set_saved(Node node, tuple values) except False   # Tensors, outputs included, or None
cdef tuple get_saved(Node node)                             # checks the versions; outputs get their history
cdef bint check_inplace(Tensor x, str name) except False
cdef bint rebase(Tensor x, Node node) except False          # x was overwritten by node, whose input 0 is x
cdef Node inplace_node(Tensor x, backward_fn run, str label)
cdef void mark_view(Tensor view, Tensor source)
cdef Tensor shrink(Tensor g, int rank, const Py_ssize_t *sizes)
cdef Tensor shrink_to(Tensor g, tuple sizes)
cdef Tensor gather_view(Tensor x, tuple geometry)           # x.as_strided, differentiable; geometry: see graph.pyx
cdef tuple geometry_of(Tensor view, Tensor base)
cdef Tensor scatter_view(Tensor g, tuple geometry)          # the transpose of gather_view
