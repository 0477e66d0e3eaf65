# What every recorded operation is, and the little of it that each call asks for. Part of tensor.pyx.
cdef tuple (*read_saved)(Node)


cdef void set_saved_reader(tuple (*reader)(Node)) noexcept:
    """Provide what checks and returns a node's saved tensors."""
    global read_saved
    read_saved = reader


@cython.trashcan(True)
cdef class Node:
    """One recorded operation of the graph."""

    def name(self):
        """PyTorch's name of the operation's gradient, e.g. ``AddBackward0``."""
        return self.label

    # What rules say and ask at every call is here; the autograd layer installs the rest.
    def save(self, *tensors):
        """Keep tensors for backward: inputs, intermediates or outputs (None where there is none)."""
        self.saved = tensors

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, where `saved_tensors` gives them back."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self.saved = tensors

    @property
    def saved_tensors(self):
        """The tensors that were kept, as they are now; RuntimeError where one was overwritten or freed."""
        return read_saved(self)

    def __repr__(self):
        return f"<{self.label} object at {<size_t><void *>self:#x}>"


cdef object shown(Node node):
    """The node as a program gets to see it: of a class that has the operation's name (autograd/node_classes)."""
    if node is not None and type(node) is Node:
        hook("show_node")(node)
    return node


def give_class(Node node not None, cls):
    """Make a node an instance of a class derived from Node that adds no fields; the last reference's end makes it a plain one again."""
    ft_give_class(node, cls)


def show_node(Node node):
    """See `shown`."""
    return shown(node)
