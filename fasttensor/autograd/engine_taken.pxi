# Nodes whose backward `__torch_dispatch__` takes over; included in engine.pyx.

cdef bint holds_wrapper(object g):
    """Whether a gradient's class takes over operations."""
    if type(g) is tuple:
        for part in <tuple>g:
            if dispatches(part):
                return True
        return False
    return dispatches(g)


cdef object taken_over(Node node, object g):
    """A node's backward as an operation that modes and classes are asked for."""
    cdef int inside
    if node.materialize:            # a user's: its operations are
        return node.run(node, g)
    inside = set_inside(0)
    try:
        return core_hook("dispatch_node")(node, g, run_plainly)
    finally:
        set_inside(inside)


def run_plainly(Node node, g):
    """A node's backward itself."""
    cdef int inside = set_inside(1)
    try:
        return node.run(node, g)
    finally:
        set_inside(inside)
