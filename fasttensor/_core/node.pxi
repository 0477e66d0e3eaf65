# What every recorded operation is, and the little of it that each call asks for. Part of tensor.pyx.
cdef tuple (*read_saved)(Node)


cdef void set_saved_reader(tuple (*reader)(Node)) noexcept:
    """Provide what checks and returns a node's saved tensors."""
    global read_saved
    read_saved = reader


@cython.trashcan(True)
cdef class Node:
    """One recorded operation of the graph: what ``Tensor.grad_fn`` gives.

    >>> isinstance((torch.ones(1, requires_grad=True) * 2).grad_fn, torch.autograd.graph.Node)
    True
    """

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


cdef bint check_gradient(Tensor self, object value) except False:
    """Raise unless the value can be the tensor's ``grad``."""
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if not same_shape(self, <Tensor>value):
        raise RuntimeError(f"assigned grad has data of a different size: {describe(value)} for {describe(self)}")
    if (<Tensor>value).code != self.code:
        raise RuntimeError(f"assigned grad has data of a different type: {describe(value)} for {describe(self)}")
    if (<Tensor>value).dev != self.dev:
        raise RuntimeError(f"assigned grad has data located on a different device than {describe(self)}")
    return True


cdef bint ask_gradients(Tensor self, bint on) except False:
    """Set whether operations on a leaf are recorded."""
    if on and not (is_float_code(self.code) or is_complex_code(self.code)):
        raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, got {describe(self)}")
    if self.node is not None:
        if not on:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed"
                               " variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
        return True
    if on and self.inference and not inference_enabled():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    self.needs_grad = on
    return True


cdef Tensor same_memory(Tensor self):
    """The tensor's memory under a storage of its own, which counts its own writes."""
    cdef Tensor t = alias(self)
    if self.store is not None:
        t.store = shared_storage(self.store)
    return t


cdef bint take_memory(Tensor self, Tensor value) except False:
    """`self.data = value`: show its memory, counting writes to it from where this tensor's count was."""
    if self.node is None and self.needs_grad and not (is_float_code(value.code) or is_complex_code(value.code)):
        raise RuntimeError(f"data set to a tensor that requires gradients must be floating point or complex dtype, got {describe(value)}")
    set_geometry(self, value.rank, value.sizes, value.steps)
    if value is not self:
        self.store = value.store if value.store is None else adopted_storage(value.store, 0 if self.store is None else self.store.version)
    self.ptr, self.offset = value.ptr, value.offset
    self.code, self.dev = value.code, value.dev
    return True
