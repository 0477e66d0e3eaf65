# Recording operations: edges and saved values.
from fasttensor._core.tensor cimport Tensor, Node, backward_fn

cdef extern from *:
    """
    /* nodes that a program has seen are of classes derived from Node, one step below it */
    #define FT_IS_NODE(o, cls) (Py_TYPE(o) == (PyTypeObject *)(cls) || Py_TYPE(o)->tp_base == (PyTypeObject *)(cls))
    """
    bint FT_IS_NODE(object e, object cls) noexcept

cdef inline bint is_node(object e) noexcept:
    return FT_IS_NODE(e, Node)

cdef bint requires(Tensor x) noexcept
cdef object edge(Tensor x)                                  # Node, leaf Tensor or None
cdef Node new_node(backward_fn run, str label)
cdef bint add_input(Node node, Tensor x) except False       # appends x's edge (None when not required)
cdef void set_history(Tensor out, Node node, int nr)
cdef bint set_saved(Node node, tuple values) except False   # Tensors, outputs included, or None
cdef tuple get_saved(Node node)                             # checks the versions; outputs get their history
cdef Tensor shrink(Tensor g, int rank, const Py_ssize_t *sizes)
cdef Tensor shrink_to(Tensor g, tuple sizes)
cdef void describe_output(Node node, Tensor out, int nr)
cdef bint fits_output(Node node, Tensor g) noexcept
cdef tuple output_meta(Node node, int nr)
cdef enum:
    NUMBERS = 24                    # from this bit on `saved_output` of a table row says which operands were numbers
cdef bint anomaly
