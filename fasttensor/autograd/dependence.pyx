"""Gradients that do not change with what they were computed from.

The gradient of relu is piecewise constant in its input, that of a mean over windows does not read the input at all. In a recorded
backward such a gradient still is a function of the input: it requires grad, and its own derivative is zero and not missing.
"""
from fasttensor._core.dtype cimport dtype_of
from fasttensor._core.tensor cimport Tensor, Node, alias
from fasttensor.autograd.recording cimport new_node, add_input, set_history, output_meta, is_node

cdef object _zeros = None           # the functional layer's, once it was needed


cdef Tensor depending(Node node, Tensor g, str label, object positions):
    """g, recorded as a function of what it depends on already and of the inputs of `node` at these positions, its derivative by which is zero."""
    cdef Node link = None
    cdef Tensor y
    cdef object e
    for i in positions:
        e = (<list>node.inputs)[i] if i < len(<list>node.inputs) else None
        if e is None or e is node:          # itself: the inner node of a write into a view, which is no part of the graph
            continue
        if link is None:
            link = new_node(constant_backward, label)
            add_input(link, g)
            if link.nrs is None:
                link.nrs = [0]
        link.inputs.append(e)
        link.nrs.append(node.nrs[i] if node.nrs is not None else 0)
    if link is None:
        return g
    y = alias(g)
    set_history(y, link, 0)
    return y


cdef object constant_backward(Node node, object grad):
    global _zeros
    cdef list found = [grad]
    cdef Tensor leaf
    cdef object shape, e
    if _zeros is None:
        from fasttensor import zeros as _zeros
    for e, nr in zip((<list>node.inputs)[1:], (<list>node.nrs)[1:]):
        if is_node(e):
            code, _, shape = output_meta(<Node>e, nr)
            found.append(None if shape is None else _zeros(shape, dtype=dtype_of(code), device=(<Tensor>grad).device))
        else:
            leaf = e
            found.append(_zeros(leaf.shape, dtype=dtype_of(leaf.code), device=leaf.device))
    return tuple(found)
