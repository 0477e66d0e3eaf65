"""What the sweep does at its edges: hooks, freeing what was saved, leaves' gradients, anomaly checks."""
from cpython.ref cimport PyObject
from fasttensor._core.dtype cimport dtype_of, is_complex_code
from fasttensor._core.element cimport write_element
from fasttensor._core.layout cimport layout_on, same_order
from fasttensor._core.tensor cimport BATCHED, CPU, Node, Tensor, describe, is_dense, new_like, new_tensor, same_shape
from fasttensor._core.dispatch cimport grad_enabled, copy_into, dispatches, dispatching, set_inside
from fasttensor.autograd.recording cimport shrink_to, fits_output, output_meta, is_node


cdef Tensor one_like(Tensor root):
    """The gradient that a scalar starts with."""
    cdef Tensor seed
    if root.dev != CPU:
        from fasttensor import ones_like        # the public one: classes and modes are asked for it
        return ones_like(root.detach())
    seed = new_tensor(root.rank, root.sizes, root.code, CPU)
    write_element(seed.ptr, seed.code, 1.0)
    return seed


cdef tuple check_seed(Tensor root, object g, str name):
    if g is None:
        if root.count != 1:
            raise RuntimeError(f"{name}: grad can be implicitly created only for scalar outputs, got {describe(root)}: pass the"
                               " gradient, or reduce with .sum() or .mean() first")
        if is_complex_code(root.code):
            raise RuntimeError(f"{name}: grad can be implicitly created only for real scalar outputs but got {dtype_of(root.code)}")
        return one_like(root), root.nr
    if not isinstance(g, Tensor):
        raise TypeError(f"{name}: gradients can be either Tensors or None, but got {type(g).__name__}")
    if not same_shape(root, <Tensor>g):
        raise RuntimeError(f"{name}: Mismatch in shape: grad_output {describe(g)} has another shape than output {describe(root)}")
    if is_complex_code((<Tensor>g).code) != is_complex_code(root.code):
        raise RuntimeError(f"{name}: For complex Tensors, both grad_output and output are required to have the same dtype, got"
                           f" {describe(g)} for {describe(root)}")
    if (<Tensor>g).code != root.code:
        g = g.to(dtype_of(root.code))
    return g, root.nr


cdef release(Node node):
    """Free what a node saved, as its backward ran for the last time."""
    if node.saved is not None:
        node.saved, node.released = None, True
    if node.label == "torch::autograd::CopySlices":
        (<Node>node.extra["fn"]).saved, (<Node>node.extra["fn"]).released = None, True


cdef object run_hooks(object hooks, object g, str what):
    if hooks:
        for hook in list(hooks.values()):
            got = hook(g)
            if got is not None:
                check_hook(what, <Tensor>g, got)
                g = got
    return g


cdef check_hook(str what, Tensor g, object got):
    """A hook may give other values, not another shape, dtype or device."""
    cdef Tensor t
    if not isinstance(got, Tensor):
        raise TypeError(f"{what}: a gradient hook must return a Tensor or None, not {type(got).__name__}")
    t = got
    if t.code != g.code or t.dev != g.dev:
        raise RuntimeError(f"{what}: hook has changed the type of value (was {describe(g)} got {describe(t)})")
    if not same_shape(t, g):
        raise RuntimeError(f"{what}: hook has changed the size of value (was {describe(g)} got {describe(t)})")


cdef Tensor fitting(Node node, Py_ssize_t i, Tensor g, object target, int nr):
    """The gradient that a node gives for its input i in that input's shape and dtype: summed where it was
    broadcast, converted, or refused."""
    cdef Tensor leaf
    cdef int code, dev
    cdef object shape
    if dispatches(g):
        shape = output_meta(<Node>target, nr)[2] if is_node(target) else (<Tensor>target).shape
        return g if shape is None or tuple(g.shape) == tuple(shape) else asked_sum_to(g, shape)
    if is_node(target):
        if nr == 0 and (<Node>target).metas is None:
            if fits_output(<Node>target, g):
                return g
            if (<Node>target).out_rank < 0:
                return g
        code, dev, shape = output_meta(<Node>target, nr)
        if shape is None:
            return g
    else:
        leaf = target
        if leaf.code == g.code and leaf.dev == g.dev and same_shape(leaf, g):
            return g
        code, dev, shape = leaf.code, leaf.dev, leaf.shape
    if tuple(g.shape) != tuple(shape):
        if not expands_to(shape, g):
            raise RuntimeError(f"Function {node.label} returned an invalid gradient at index {i} - got {describe(g)} but expected shape"
                               f" compatible with {list(shape)}")
        g = shrink_to(g, tuple(shape))
    if g.dev != dev and not stands_for_another(target):
        raise RuntimeError(f"Function {node.label} returned an invalid gradient at index {i} - expected device {dev} but got {describe(g)}"
                           f" on {g.device}")
    if g.code != code:
        if is_complex_code(g.code) and not is_complex_code(code):
            g = g.real
        g = g.to(dtype_of(code))
    return g


cdef object asked_sum_to(Tensor g, object shape):
    cdef int inside = set_inside(0)
    try:
        return g.sum_to_size(shape)
    finally:
        set_inside(inside)


cdef bint stands_for_another(object target):
    """Whether an edge leads to a tensor that only wraps what it computes with."""
    if is_node(target):
        return (<Node>target).extra is not None and "wraps" in (<Node>target).extra
    return dispatches(target)


cdef bint expands_to(object shape, Tensor g):
    """Whether a tensor of this shape broadcasts to g's."""
    cdef Py_ssize_t lead = g.rank - len(shape), d
    if lead < 0:
        return False
    for d in range(len(shape)):
        if shape[d] != 1 and shape[d] != g.sizes[d + lead]:
            return False
    return True


cdef object before_node(Node node, object g):
    """Hooks of the tensors that the node made, retained gradients, and the node's own prehooks."""
    cdef dict extra = node.extra
    cdef int k
    cdef Tensor t
    if "hidden" in extra:       # recorded for tangents, under no_grad
        return None
    for k in range(node.n_outputs):
        hooks = extra.get(("hooks", k))
        retain = extra.get(("retain", k))
        if hooks is None and retain is None:
            continue
        part = g if node.n_outputs == 1 else g[k]
        if part is None:
            continue
        part = run_hooks(hooks, part, node.label)
        if retain is not None:
            t = retain()
            if t is not None and t.node is node:
                accumulate_retained(t, part)
        if node.n_outputs == 1:
            g = part
        else:
            g[k] = part
    for hook in list((extra.get("prehooks") or {}).values()):
        got = hook(tuple(g) if node.n_outputs > 1 else (g,))
        if got is not None:
            parts = list(got) if isinstance(got, (tuple, list)) else [got]
            before = list(g) if node.n_outputs > 1 else [g]
            if len(parts) != len(before):
                raise RuntimeError(f"{node.label}: a prehook must return {len(before)} gradients, got {len(parts)}")
            for old, new in zip(before, parts):
                if old is not None and new is not None:
                    check_hook(node.label, <Tensor>old, new)
            g = parts if node.n_outputs > 1 else parts[0]
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


cdef object place_of(Node node):
    return None if node.extra is None else (<dict>node.extra).get("place")


cdef check_anomaly(Node node, object grads):
    """In anomaly mode: refuse gradients that hold NaN."""
    from fasttensor.autograd.anomaly import check_gradients
    check_gradients(node.label, place_of(node), grads if type(grads) is tuple else (grads,))


cdef explain_error(Node node):
    """In anomaly mode: say where the operation was called whose backward just raised."""
    from fasttensor.autograd.anomaly import explain
    explain(node.label, place_of(node))


cdef accumulate_retained(Tensor t, object g):
    t.grad_ = g


cdef bint fits_leaf(Tensor g, Tensor leaf) noexcept:
    """Whether a gradient lies in memory as its leaf does, or contiguously where the leaf has holes or overlaps."""
    return (g.contig if leaf.contig or not is_dense(leaf) else same_order(g, leaf)) or g.dev == BATCHED


cdef Tensor as_leaf_lies(Tensor g, Tensor leaf):
    """Memory for a leaf's gradient, not written yet."""
    return new_like(g, g.code) if leaf.contig or not is_dense(leaf) else layout_on(leaf, g.code, g.dev)


cdef bint exclusively_ours(Tensor g, Tensor leaf) noexcept:
    """Whether nothing but the sweep holds this gradient or its memory, so that a leaf may keep it as it is."""
    return fits_leaf(g, leaf) and (<PyObject *>g).ob_refcnt <= 3 and g.base is None and (<PyObject *>g.store).ob_refcnt == 1 \
        and g.store.length <= <size_t>(g.nbytes + 64)


cdef object summed(Tensor old, Tensor g, bint create):
    """old + g, in old's memory where the caller's reference is the only one to it and it is this library's own."""
    if dispatching():
        return asked_sum(old, g)
    if not create and (<PyObject *>old).ob_refcnt == 1 and (<PyObject *>old.store).ob_refcnt == 1 and old.store.capacity \
            and old.contig and not old.needs_grad and old.base is None and old.code == g.code and type(old) is Tensor \
            and type(g) is Tensor and same_shape(old, g):
        return old.__iadd__(g)
    return asked_sum(old, g) if dispatches(old) or dispatches(g) else old + g


cdef object asked_sum(Tensor old, Tensor g):
    cdef int inside = set_inside(0)
    try:
        return old + g
    finally:
        set_inside(inside)


cdef object asked_copy(Tensor g):
    cdef int inside = set_inside(0)
    try:
        return g.clone()
    finally:
        set_inside(inside)


cdef accumulate_grad(Tensor leaf, Tensor g, bint create):
    cdef Tensor old, fresh
    if dispatches(g) or dispatches(leaf.grad_):
        leaf.grad_ = g if leaf.grad_ is None else asked_sum(leaf.grad_, g)
        return
    if leaf.grad_ is None:
        if create:
            if fits_leaf(g, leaf):
                leaf.grad_ = g if g.node is not None else g.clone()
            else:
                leaf.grad_ = as_leaf_lies(g, leaf).copy_(g)
        elif exclusively_ours(g, leaf):
            leaf.grad_ = g
        elif dispatching():
            leaf.grad_ = asked_copy(g)
        else:
            fresh = as_leaf_lies(g, leaf)
            copy_into(fresh, g)
            leaf.grad_ = fresh
        return
    old = leaf.grad_
    if dispatching():
        leaf.grad_ = asked_sum(old, g)
    elif create or grad_enabled():
        leaf.grad_ = old + g
    else:
        old.add_(g)
