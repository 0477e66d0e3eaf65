"""Views and in-place writes in the graph.

In-place writes give a tensor a new node. Written through a view, the base's history changes:
the base gets a CopySlices node, and the views' own nodes are made again when they are next asked for.
"""
from _weakref import ref

from libc.string cimport memset
from fasttensor._core.dtype cimport ITEMSIZE
from fasttensor._core.tensor cimport Tensor, Node, backward_fn, new_tensor, new_like, new_view, describe, CPU
from fasttensor._core.dispatch cimport grad_enabled, set_grad_enabled_flag, inference_enabled, copy_into
from fasttensor._core.dispatch cimport hook
from fasttensor._core.dual cimport dual_on, hidden
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history

# A geometry is (sizes, steps, offset relative to the base's first element, base sizes, base steps or
# None when contiguous, extent): what it takes to cut the view out of a base and to put it back.
cdef tuple geometry_of(Tensor view, Tensor base):
    cdef int d
    cdef Py_ssize_t extent = 1, k
    for d in range(base.rank):
        extent += (base.sizes[d] - 1) * base.steps[d] if base.sizes[d] else 0
    k = view.offset - base.offset
    cdef Py_ssize_t reach = k + 1
    for d in range(view.rank):
        reach += (view.sizes[d] - 1) * view.steps[d] if view.sizes[d] else 0
    if reach > extent:
        extent = reach
    return (tuple([view.sizes[d] for d in range(view.rank)]), tuple([view.steps[d] for d in range(view.rank)]),
            k, tuple([base.sizes[d] for d in range(base.rank)]),
            None if base.contig else tuple([base.steps[d] for d in range(base.rank)]), extent)


cdef Tensor strided(Tensor x, tuple sizes, tuple steps, Py_ssize_t offset):
    """The view of x's storage with this geometry, offset counted from x's first element."""
    cdef Py_ssize_t s[64]
    cdef Py_ssize_t t[64]
    cdef int d, rank = len(sizes)
    for d in range(rank):
        s[d], t[d] = sizes[d], steps[d]
    return new_view(x, rank, s, t, x.offset + offset)


cdef Tensor zeros_for(Tensor g, tuple geometry):
    """Zeros with the base's geometry, over memory that reaches as far as the base and view do, before the base too (as_strided)."""
    cdef Py_ssize_t before = max(0, -<Py_ssize_t>geometry[2]), extent = before + <Py_ssize_t>geometry[5]
    cdef Tensor flat = new_tensor(1, &extent, g.code, g.dev)
    cdef tuple sizes = geometry[3]
    cdef tuple steps = geometry[4]
    if flat.dev == CPU:
        memset(flat.ptr, 0, flat.count * ITEMSIZE[flat.code])
    else:
        flat.zero_()
    if steps is None:
        steps = contiguous_steps(sizes)
    return strided(flat, sizes, steps, before)


cdef tuple contiguous_steps(tuple sizes):
    cdef list steps = []
    cdef Py_ssize_t run = 1
    for n in reversed(sizes):
        steps.append(run)
        run *= n if n > 1 else 1
    return tuple(steps[::-1])


cdef Tensor gather_view(Tensor x, tuple geometry):
    """The view's elements out of a tensor shaped like the base."""
    cdef Tensor source = x, out
    cdef Node node
    cdef tuple base_steps = geometry[4] if geometry[4] is not None else contiguous_steps(geometry[3])
    # a view may lie in front of, behind or between the base's elements, where x has no memory, or anything in it
    cdef bint matches = geometry[2] >= 0 and geometry[5] <= x.count
    cdef int d
    for d in range(x.rank):
        if x.steps[d] != base_steps[d] and x.sizes[d] != 1:
            matches = False
    if not matches:                 # laid out otherwise: bring it into the base's layout first
        source = zeros_for(x, geometry)
        copy_into(source, x)
    out = strided(source, geometry[0], geometry[1], geometry[2])
    source = new_like(out, out.code)      # a copy, since the caller may go on to add into it
    copy_into(source, out)
    out = source
    if grad_enabled() and requires(x):
        node = new_node(gather_backward, "AsStridedBackward0")
        add_input(node, x)
        node.out_meta = geometry
        set_history(out, node, 0)
    return out


cdef object gather_backward(Node node, object grad):
    return scatter_view(<Tensor>grad, <tuple>node.out_meta)


cdef Tensor scatter_view(Tensor g, tuple geometry):
    """The transpose of gather_view: zeros shaped like the base with g added at the view."""
    cdef Tensor base = zeros_for(g, geometry)
    cdef Tensor view = strided(base, geometry[0], geometry[1], geometry[2])
    cdef Node node
    if view_overlaps(view):
        add_overlapping(view, g)
    else:
        copy_into(view, g)
    if grad_enabled() and requires(g):
        node = new_node(scatter_backward, "AsStridedScatterBackward0")
        add_input(node, g)
        node.out_meta = geometry
        set_history(base, node, 0)
    if geometry[4] is not None and view_overlaps(base):
        # only as_strided comes here: elements of one place share its gradient
        return base * shares_of(base, geometry)
    return base


cdef Tensor shares_of(Tensor base, tuple geometry):
    """One over the number of the base's elements that lie at each element's place."""
    cdef Tensor count = zeros_for(base, geometry)
    add_overlapping(count, base.detach() * 0 + 1)
    return 1 / count


cdef object scatter_backward(Node node, object grad):
    cdef tuple geometry = <tuple>node.out_meta
    cdef Tensor total
    if geometry[4] is not None:
        total = zeros_for(<Tensor>grad, geometry)
        if view_overlaps(total) and not grad_enabled():
            add_overlapping(total, <Tensor>grad)
            return gather_view(total, geometry)
    return gather_view(<Tensor>grad, geometry)


cdef bint view_overlaps(Tensor view) noexcept:
    """Whether several indices of the view may mean one element: dimensions sorted by stride must nest."""
    cdef int d, e
    cdef Py_ssize_t reach
    for d in range(view.rank):
        if view.sizes[d] <= 1:
            continue
        if view.steps[d] == 0:
            return True
        reach = 0
        for e in range(view.rank):
            if e != d and view.sizes[e] > 1 and (view.steps[e] < view.steps[d] or (view.steps[e] == view.steps[d] and e > d)):
                reach += (view.sizes[e] - 1) * view.steps[e]
        if reach >= view.steps[d]:
            return True
    return False


cdef add_overlapping(Tensor view, Tensor g):
    """view += g where elements of the view coincide: one pass for each index of an overlapping dimension."""
    cdef int d, widest = -1
    cdef Py_ssize_t i
    if not view_overlaps(view):
        before = grad_enabled()
        set_grad_enabled_flag(False)
        try:
            view.add_(g)
        finally:
            set_grad_enabled_flag(before)
        return
    for d in range(view.rank):      # the dimension of smallest stride resolves first
        if view.sizes[d] > 1 and (widest < 0 or view.sizes[d] < view.sizes[widest]):
            widest = d
    for i in range(view.sizes[widest]):
        add_overlapping(drop_dim(view, widest, i), drop_dim(g, widest, i))


cdef Tensor drop_dim(Tensor x, int dim, Py_ssize_t index):
    cdef Py_ssize_t s[64]
    cdef Py_ssize_t t[64]
    cdef int d, k = 0
    for d in range(x.rank):
        if d != dim:
            s[k], t[k] = x.sizes[d], x.steps[d]
            k += 1
    return new_view(x, k, s, t, x.offset + index * x.steps[dim])


cdef void mark_view(Tensor view, Tensor source):
    """Remember which tensor a differentiable view belongs to. Call after its node is set."""
    cdef Tensor base = source if source.base is None else source.base
    view.base = base
    view.base_seq = base.node.seq if base.node is not None else 0


cdef bint refresh(Tensor x) except False:
    """Make a view's node again when its base got a new history."""
    cdef Tensor base = x.base
    cdef unsigned long now = base.node.seq if base.node is not None else 0
    cdef Node node
    # a base that detach_() has cut off leaves its views their history
    if now == x.base_seq or base.node is None or x.rank > 63:
        return True
    if of_no_grad(x):
        raise RuntimeError(f"A view was created in no_grad mode ({describe(x)}) and its base or another view of its base has been modified inplace"
                           " with grad mode enabled: do both inside or both outside of no_grad, or clone() the view")
    node = new_node(gather_backward, "AsStridedBackward0")
    add_input(node, base)
    node.out_meta = geometry_of(x, base)
    set_history(x, node, 0)
    x.base_seq = now
    return True


cdef inline bint of_no_grad(Tensor x) noexcept:
    """Whether it is a view without a node of a tensor that had one."""
    return x.node is None and x.base is not None and x.base_seq != 0 and x.base.needs_grad


cdef bint check_inference(Tensor x, str name) except False:
    if x.inference and not inference_enabled():
        raise RuntimeError(f"{name}: Inplace update to inference tensor {describe(x)} outside InferenceMode is not allowed."
                           " You can make a clone to get a normal tensor before doing inplace update.")
    return True


cdef bint check_inplace(Tensor x, str name) except False:
    check_inference(x, name)
    if x.store is not None and x.store.read_only:
        raise RuntimeError(f"{name}: {describe(x)} shows memory that is not writable (a read-only array or buffer): clone() it first")
    if not grad_enabled():
        return True
    if dual_on():
        hook("before_write")()
        if hidden():
            return True
    if x.needs_grad and x.node is None:
        raise RuntimeError(f"{name}: a leaf Variable that requires grad ({describe(x)}) is being used in an in-place operation;"
                           " use torch.no_grad() around it, or an out-of-place operation")
    if x.base is not None and x.base.needs_grad and x.base.node is None:
        raise RuntimeError(f"{name}: a view of a leaf Variable that requires grad ({describe(x.base)}) is being used in an in-place"
                           " operation; use torch.no_grad() around it, or clone() the leaf first")
    if of_no_grad(x):
        raise RuntimeError(f"{name}: A view was created in no_grad mode ({describe(x)}) and is being modified inplace with grad mode enabled. Given"
                           " that this use case is ambiguous and error-prone, it is forbidden: do both inside or both outside of no_grad,"
                           " or clone() the view.")
    return True


cdef Node inplace_node(Tensor x, backward_fn run, str label):
    """A node for an operation that overwrites x, with x's present history as input 0."""
    cdef Node node = new_node(run, label)
    add_input(node, x)
    return node


cdef bint stays_leaf(Tensor x, Node node) except -1:
    """Whether a leaf was written under no_grad inside a level of dual numbers: it stays a leaf, which cannot have a tangent."""
    cdef Tensor leaf = x if x.base is None else x.base
    if not hidden() or leaf.node is not None or not leaf.needs_grad:
        return False
    if hook("has_tangent")(node):
        raise RuntimeError(f"{node.label}: a tangent is written into a leaf that requires grad ({describe(leaf)}), under no_grad: use detach() or"
                           " clone() of the leaf")
    return True


cdef bint rebase(Tensor x, Node node, int at=0) except False:
    cdef Tensor base
    cdef Node slices
    if stays_leaf(x, node):
        return True
    if x.base is None:
        set_history(x, node, 0)
        keep_retaining(x)
        return True
    base = x.base
    slices = new_node(copy_slices_backward, "torch::autograd::CopySlices")
    add_input(slices, base)
    slices.inputs.extend(without(node.inputs, at))
    if node.nrs is not None or slices.nrs is not None:
        slices.nrs = [slices.nrs[0] if slices.nrs is not None else 0] + (
            without(node.nrs, at) if node.nrs is not None else [0] * (len(node.inputs) - 1))
    slices.out_meta = geometry_of(x, base)
    slices.extra = dict(slices.extra or {}, fn=node, at=at)
    # only the other inputs stay with the inner node, which the engine never sees
    node.inputs[at] = None
    set_history(base, slices, 0)
    keep_retaining(base)
    refresh(x)
    return True


cdef list without(list values, int at):
    return values[:at] + values[at + 1:]


cdef keep_retaining(Tensor x):
    """A tensor that retains its gradient does so for its new history too."""
    if x.meta is not None and x.meta.get("retains_grad"):
        if x.node.extra is None:
            x.node.extra = {}
        x.node.extra[("retain", x.nr)] = ref(x)


cdef object copy_slices_backward(Node node, object grad):
    """The base's gradient is the incoming one with the view's part replaced by what the inner
    operation gives back for its own input; the rest goes to the inner operation's other inputs."""
    cdef Node fn = node.extra["fn"]
    cdef tuple geometry = node.out_meta
    cdef Tensor g = grad, part, result, mine
    cdef object grads
    cdef int at = node.extra["at"]
    part = gather_view(g, geometry)
    fn.needs_input_grad = (True,) * len(fn.inputs) if fn.needs_input_grad is None else fn.needs_input_grad
    fn.inputs[at] = fn              # only so that the rule computes it
    try:
        grads = fn.run(fn, part)
    finally:
        fn.inputs[at] = None
    if not isinstance(grads, tuple):
        grads = (grads,)
    mine = grads[at]
    if grad_enabled() and requires(g):
        result = g - scatter_view(part, geometry)
        if mine is not None:
            result = result + scatter_view(mine, geometry)
    else:
        result = zeros_for(g, geometry)
        copy_into(result, g)
        mine_view = strided(result, geometry[0], geometry[1], geometry[2])
        if mine is not None:
            copy_into(mine_view, mine)
        else:
            mine_view.zero_()
    return (result, *grads[:at], *grads[at + 1:])
