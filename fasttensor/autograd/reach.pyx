"""Which leaves a graph leads to."""
from fasttensor._core.tensor cimport Tensor, Node
from fasttensor.autograd.recording cimport edge, is_node


def reaches_beyond(tensors, own):
    """Whether the graph of the tensors leads to a leaf that is not among `own`.

    A transform asks it to know whether its result depends on anything outside that requires grad.
    """
    cdef set known = {id(t) for t in own}
    cdef set seen = set()
    cdef list stack = []
    cdef Node node
    for t in tensors:
        e = edge(<Tensor?>t)
        if e is not None:
            stack.append(e)
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if not is_node(e):
            if id(e) not in known:
                return True
            continue
        node = e
        for i in node.inputs:
            if i is not None:
                stack.append(i)
        if node.extra is not None and "fn" in node.extra:
            for i in (<Node>node.extra["fn"]).inputs:
                if i is not None:
                    stack.append(i)
    return False
