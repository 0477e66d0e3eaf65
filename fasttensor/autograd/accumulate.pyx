"""What the sweep does at its edges: hooks, freeing what was saved, leaves' gradients, anomaly checks."""
from cpython.ref cimport PyObject
from fasttensor._core.tensor cimport Tensor, Node, new_like
from fasttensor._core.dispatch cimport grad_enabled, copy_into


cdef release(Node node):
    """Free what a node saved, as its backward ran for the last time."""
    if node.saved is not None:
        node.saved, node.released = None, True
    if node.label == "CopySlices":
        (<Node>node.extra["fn"]).saved, (<Node>node.extra["fn"]).released = None, True


cdef object run_hooks(object hooks, object g, str what):
    if hooks:
        for hook in list(hooks.values()):
            got = hook(g)
            if got is not None:
                if not isinstance(got, Tensor):
                    raise TypeError(f"{what}: a gradient hook must return a Tensor or None, not {type(got).__name__}")
                g = got
    return g


cdef object after_node(Node node, object grads, object g):
    hooks = (<dict>node.extra).get("posthooks")
    if hooks:
        ins = grads if type(grads) is tuple else (grads,)
        outs = g if type(g) is tuple else (g,)
        for hook in list(hooks.values()):
            got = hook(ins, outs)
            if got is not None:
                ins = got if isinstance(got, tuple) else (got,)
        return ins
    return grads


cdef check_anomaly(Node node, object grads):
    for g in grads if type(grads) is tuple else (grads,):
        if g is not None and bool(g.isnan().any()):
            where = (node.extra or {}).get("traceback")
            raise RuntimeError(f"Function '{node.label}' returned nan values in its backward."
                               + (f" Traceback of the forward call that caused it:\n{where}" if where else ""))


cdef accumulate_retained(Tensor t, object g):
    t.grad_ = g


cdef bint exclusively_ours(Tensor g) noexcept:
    """Whether nothing but the sweep holds this gradient or its memory, so that a leaf may keep it as it is."""
    return g.contig and (<PyObject *>g).ob_refcnt <= 3 and g.base is None and (<PyObject *>g.store).ob_refcnt == 1 \
        and g.store.length <= <size_t>(g.nbytes + 64)


cdef accumulate_grad(Tensor leaf, Tensor g, bint create):
    cdef Tensor old, fresh
    if leaf.grad_ is None:
        if create:
            leaf.grad_ = g if g.node is not None else g.clone()
        elif exclusively_ours(g):
            leaf.grad_ = g
        else:
            fresh = new_like(g, g.code)
            copy_into(fresh, g)
            leaf.grad_ = fresh
        return
    old = leaf.grad_
    if create or grad_enabled():
        leaf.grad_ = old + g
    else:
        old.add_(g)
