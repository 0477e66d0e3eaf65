"""Forward mode over the recorded graph: tangents of results from tangents of what they were computed of.

Every operation has a derivative rule for reverse mode, and every rule can be differentiated again. g(u) = vjp(u) of
one node is linear in u, and its own vjp is the node's Jacobian-vector product (Townsend 2017, "A new trick for
calculating Jacobian vector products"). So tangents go through the graph node by node, oldest first, each node once;
a user's Function that has a ``jvp`` is asked for it instead.
"""
from fasttensor._core.dtype cimport dtype_of, is_float_code, is_complex_code
from fasttensor._core.device cimport device_of
from fasttensor._core.tensor cimport Tensor, Node, alias, describe
from fasttensor._core.dispatch cimport grad_enabled, set_grad_enabled_flag
from fasttensor._core.dual cimport dual_on, set_dual_on, hidden, set_hidden
from fasttensor.autograd.recording cimport edge, new_node, add_input, set_history, output_meta, requires, is_node
from fasttensor.autograd.history cimport mark_view
from fasttensor.autograd.accumulate cimport fitting
from fasttensor.autograd.recording import last_node, leads_beyond_duals, pending
from fasttensor.autograd.engine import products_above


cdef object pass_on(Node node, object grad):
    return grad


def dual_of(Tensor x not None, tangent, dict memo):
    """The memory of x as a new tensor whose node has this tangent in `memo`."""
    cdef Tensor t = alias(x)
    cdef Node node = new_node(pass_on, "MakeDualBackward0")
    add_input(node, x)
    set_history(t, node, 0)
    if requires(x):
        mark_view(t, x)
    memo[id(node)] = (node, (tangent,))
    return t


def primal_of(Tensor x not None, dict memo):
    """x without its tangent; it keeps its history for gradients."""
    cdef Tensor t = alias(x)
    cdef Node node
    if edge(x) is not None and x.requires_grad:
        node = new_node(pass_on, "Identity")
        add_input(node, x)
        set_history(t, node, 0)
        memo[id(node)] = (node, None)
    return t


def tangents_of(list tensors, dict memo, dict leaves, create):
    """The tensors' tangents, None where there is none.

    memo: {id of node: (node, its outputs' tangents or None)}, which is filled; leaves: {id of leaf: tangent}.
    create: whether tangents are recorded; None for those that depend on something that requires grad.
    """
    cdef list found = []
    cdef tuple parts
    for t in tensors:
        e = edge(<Tensor?>t)
        if e is None:
            found.append(None)
        elif is_node(e):
            fill(<Node>e, memo, leaves, create)
            parts = memo[id(e)][1]
            found.append(None if parts is None else parts[(<Tensor>t).nr])
        else:
            found.append(leaves.get(id(e)))
    return found


cdef fill(Node root, dict memo, dict leaves, object create):
    """Tangents of all nodes that lead to `root`."""
    # A node waits below its inputs; those of a view that was written to may be younger than itself.
    cdef list stack = [root]
    cdef set seen = set()
    cdef Node node
    while stack:
        node = stack.pop()
        if id(node) in memo:
            continue
        if id(node) in seen:
            memo[id(node)] = (node, of_node(node, memo, leaves, create))
            continue
        seen.add(id(node))
        stack.append(node)
        for e in node.inputs:
            if is_node(e) and id(e) not in memo:
                stack.append(e)


cdef tuple of_node(Node node, dict memo, dict leaves, object create):
    cdef list given = []
    cdef Py_ssize_t i
    cdef bint some = False
    cdef object t
    for i in range(len(node.inputs)):
        e = node.inputs[i]
        t = None
        if is_node(e):
            parts = memo[id(e)][1]
            if parts is not None:
                t = (<tuple>parts)[node.nrs[i] if node.nrs is not None else 0]
        elif e is not None:
            t = leaves.get(id(e))
        given.append(t)
        some |= t is not None
    if not some:
        return None
    if create is None:
        create = not hidden() and grad_enabled() and (leads_beyond_duals(node) or any([t is not None and t.requires_grad for t in given]))
    cdef bint was_on = grad_enabled(), was_hidden = hidden(), was_dual = dual_on()
    set_dual_on(False)
    set_hidden(False)
    set_grad_enabled_flag(True)
    try:
        if node.materialize and getattr(node.rule, "jvp", None) is not None and is_own(node.rule):
            made = by_jvp(node, given)
        else:
            made = transposed(node, given, bool(create))
    finally:
        set_dual_on(was_dual)
        set_hidden(was_hidden)
        set_grad_enabled_flag(was_on)
    if not create:
        made = tuple([None if t is None else t.detach() for t in made])
    return made


cdef bint is_own(object rule):
    from fasttensor.autograd.function import Function
    return rule.jvp is not Function.jvp


cdef Tensor zeros_at(Node node, int nr):
    """Zeros shaped like an output; None for one that has no gradient."""
    from fasttensor.functional.creation import zeros
    code, dev, shape = output_meta(node, nr)
    if shape is None or not (is_float_code(code) or is_complex_code(code)):
        return None
    return zeros(shape, dtype=dtype_of(code), device=device_of(dev))


cdef Tensor one_more(Tensor u):
    return None if u is None else u.add_(1)


cdef tuple by_jvp(Node node, list given):
    """The tangents that a user's ``jvp`` gives; arguments that have none get zeros where they are recorded."""
    cdef Py_ssize_t i
    materialize = node.extra is None or node.extra.get("materialize") is not False
    for i in range(len(given)):
        e = node.inputs[i]
        if given[i] is None and e is not None and materialize:
            given[i] = zeros_at(<Node>e, node.nrs[i] if node.nrs is not None else 0) if is_node(e) else e.detach() * 0
    forward = node.extra is not None and "forward" in node.extra
    if forward:
        node.extra["in_jvp"] = True
    try:
        made = node.rule.jvp(node, *given)
    finally:
        if forward:
            del node.extra["in_jvp"]
    made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    if len(made) != node.n_outputs:
        raise RuntimeError(f"{node.rule.__name__}.jvp returned an incorrect number of tangents (expected {node.n_outputs}, got {len(made)})")
    for i in range(len(made)):
        if made[i] is not None and not isinstance(made[i], Tensor):
            raise TypeError(f"{node.rule.__name__}.jvp: expected Tensor or None for output {i}, got {type(made[i]).__name__}")
        like = zeros_at(node, i)
        if made[i] is not None and like is not None and made[i].shape != like.shape:
            raise RuntimeError(f"{node.rule.__name__}.jvp: the tangent of output {i} is {describe(made[i])}, expected shape {tuple(like.shape)}")
    return made


cdef tuple transposed(Node node, list given, bint create):
    """The tangents by the vjp of the node's vjp."""
    # the point does not matter to what is linear; 1, as some rules take the logarithm of the gradient
    cdef list outs = [one_more(zeros_at(node, k)) for k in range(node.n_outputs)], used, sources = [], seeds = []
    cdef unsigned long floor
    cdef Py_ssize_t i
    cdef Tensor g
    used = [u for u in outs if u is not None]
    if not used:
        return (None,) * node.n_outputs
    for u in used:
        u.requires_grad = True
    floor = last_node()
    grads = node.run(node, tuple(outs) if node.n_outputs > 1 else outs[0])
    if type(grads) is not tuple:
        grads = (grads,)
    for i in range(len(given)):
        if given[i] is None or i >= len(<tuple>grads) or grads[i] is None:
            continue
        e = node.inputs[i]
        g = fitting(node, i, <Tensor?>grads[i], e, node.nrs[i] if node.nrs is not None else 0)
        if not requires(g):
            # linear in u and independent of it: zero, unless its history was lost on the way
            if node.materialize:
                check_zero_rule(node)
            continue
        sources.append(g)
        t = given[i]
        seeds.append(t if (<Tensor>t).code == g.code else t.to(dtype_of(g.code)))
    found = iter(products_above(sources, used, seeds, floor, create) if sources else [None] * len(used))
    made = []
    for u in outs:
        got = None if u is None else next(found)
        made.append(None if u is None else u.detach() * 0 if got is None else got)
    return tuple(made)


cdef check_zero_rule(Node node):
    """A Function whose backward is not recorded has no tangents, unless its gradients are zero."""
    cdef list ones = [one_more(zeros_at(node, k)) for k in range(node.n_outputs)]
    grads = node.run(node, tuple(ones) if node.n_outputs > 1 else ones[0])
    for g in grads if type(grads) is tuple else (grads,):
        if g is not None and bool((g != 0).any()):
            raise NotImplementedError(f"{node.rule.__name__}: You must implement the jvp function for custom autograd.Function to use it with"
                                      " forward mode AD: its backward is not differentiable")


def settle(dict memo):
    """Find the tangents of all that was recorded so far, whose saved values are about to be overwritten."""
    cdef object node
    cdef bint was_on = grad_enabled()
    set_grad_enabled_flag(True)         # off inside of a rule, whose caller may still want gradients of tangents
    try:
        while pending:
            node = pending.pop()()
            if node is not None:
                fill(<Node>node, memo, {}, None)
    finally:
        set_grad_enabled_flag(was_on)


def node_tangent(Node node, dict memo):
    """Whether a node's outputs have tangents."""
    cdef bint some = False
    for e in node.inputs:
        if is_node(e):
            fill(<Node>e, memo, {}, None)
            some |= memo[id(e)][1] is not None
    return some
