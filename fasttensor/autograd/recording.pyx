"""How operations are recorded.

An edge of the graph leads to the Node that made a tensor, or to the leaf Tensor itself, which
spares leaves a node of their own. Saved outputs are kept as detached aliases, so that the graph
has no cycles and is freed by reference counting.
"""
from fasttensor._core.dtype cimport is_float_code, is_complex_code
from fasttensor._core.tensor cimport Tensor, Node, backward_fn, alias, fresh_node, describe, wrote, BATCHED
from fasttensor._core.dispatch cimport hook, grad_enabled, set_grad_enabled_flag, inference_enabled
from fasttensor._core.dispatch import set_hook
from _weakref import ref
from fasttensor._core.dual cimport dual_on, hidden, any_duals
from fasttensor.autograd.history cimport refresh

cdef unsigned long _sequence = 0
cdef bint anomaly = False           # in anomaly mode
cdef object _place = None           # says where the program is: provided by anomaly mode
cdef list _saved_hooks = []         # stack of (pack, unpack), or a message that forbids saving
pending = []                        # the nodes of a level of dual numbers whose tangents nobody asked for so far
cdef object _sum_to = None          # the functional layer's, once it was needed


cdef bint requires(Tensor x) noexcept:
    return x.needs_grad or (x.base is not None and x.base.needs_grad and not x.inference)


cdef object edge(Tensor x):
    if x.base is not None:
        if not requires(x):
            return None
        refresh(x)
        if x.node is None and not x.needs_grad:     # a view made in no_grad mode: no gradient reaches the base
            return None
    elif not x.needs_grad:
        return None
    if x.dev == BATCHED:
        raise RuntimeError(f"vmap: an operation on {describe(x)} has no form for batched tensors")
    return x if x.node is None else x.node


cdef Node new_node(backward_fn run, str label):
    global _sequence
    cdef Node node = fresh_node()
    _sequence += 1
    node.run, node.label, node.seq, node.inputs = run, label, _sequence, []
    if anomaly:
        node.extra = {"place": _place()}
    if any_duals() and dual_on():
        pending.append(ref(node))
        if hidden():
            node.extra = dict(node.extra or (), hidden=True)
    return node


cdef bint add_input(Node node, Tensor x) except False:
    cdef object e = edge(x)
    node.inputs.append(e)
    if x.nr != 0 and e is not None and e is not x:
        if node.nrs is None:
            node.nrs = [0] * (len(node.inputs) - 1)
        node.nrs.append(x.nr)
    elif node.nrs is not None:
        node.nrs.append(0)
    return True


cdef void set_history(Tensor out, Node node, int nr):
    out.node, out.nr, out.needs_grad = node, nr, True
    describe_output(node, out, nr)


cdef void describe_output(Node node, Tensor out, int nr):
    """Keep an output's shape, dtype and device, which its gradient must have."""
    cdef int d
    if nr == 0 and node.metas is None and out.rank <= 8:
        node.out_rank, node.out_code, node.out_dev = out.rank, out.code, out.dev
        for d in range(out.rank):
            node.out_sizes[d] = out.sizes[d]
        return
    if node.metas is None:
        node.metas = [(node.out_code, node.out_dev, tuple([node.out_sizes[d] for d in range(node.out_rank)])) if node.out_rank >= 0 else None]
    while len(node.metas) <= nr:
        node.metas.append(None)
    node.metas[nr] = (out.code, out.dev, tuple([out.sizes[d] for d in range(out.rank)]))


cdef bint fits_output(Node node, Tensor g) noexcept:
    """Whether g has the shape, dtype and device of the node's only output."""
    cdef int d
    if node.out_rank != g.rank or node.out_code != g.code or node.out_dev != g.dev:
        return False
    for d in range(g.rank):
        if node.out_sizes[d] != g.sizes[d]:
            return False
    return True


cdef tuple output_meta(Node node, int nr):
    """(code, device, shape) of an output; shape None where it was not recorded."""
    cdef int d
    if node.metas is not None:
        return node.metas[nr] if nr < len(node.metas) and node.metas[nr] is not None else (0, 0, None)
    if nr or node.out_rank < 0:
        return (0, 0, None)
    return (node.out_code, node.out_dev, tuple([node.out_sizes[d] for d in range(node.out_rank)]))


class SavedHooks:
    """A value that the user's pack hook made, with the hook that turns it back, and where the tensor's gradient
    goes: (edge, output number), None for an edge without gradient; of an output of the node itself, a number."""
    __slots__ = ("value", "unpack", "history")

    def __init__(self, value, unpack, history):
        self.value, self.unpack, self.history = value, unpack, history


cdef object identity_backward(Node node, object grad):
    return grad


cdef object unpacked(Node node, object saved):
    """What the unpack hook gives, with the history of the tensor that was saved."""
    cdef object value = saved.unpack(saved.value), history = saved.history
    cdef Tensor t
    cdef Node link
    if not isinstance(value, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(value).__name__}")
    if history is None or not grad_enabled():
        return value
    t = alias(<Tensor>value)
    if type(history) is int:
        set_history(t, node, history)
    elif is_node(history[0]):
        set_history(t, history[0], history[1])
    else:
        # a leaf is its own end of the graph: the unpacked tensor leads to it
        link = new_node(identity_backward, "AliasBackward0")
        link.inputs.append(history[0])
        set_history(t, link, 0)
    return t


cdef bint set_saved(Node node, tuple values) except False:
    cdef Tensor t
    cdef unsigned long total = 0
    cdef object v
    cdef int i = 0
    cdef list kept = None
    for v in values:
        if v is not None:
            t = <Tensor>v
            if t.node is node:
                # an output: keep its memory, not its history
                if kept is None:
                    kept = list(values)
                kept[i] = alias(t)
                node.saved_output |= 1 << i
                if t.nr:
                    (<Tensor>kept[i]).nr = t.nr
            if t.store is not None:
                t.store.watched = True
                total += t.store.version
            if t.inference and not inference_enabled():
                raise RuntimeError(f"{node.label}: inference tensors cannot be saved for backward. To work around you can"
                                   " make a clone to get a normal tensor and use it in autograd.")
        i += 1
    node.saved = values if kept is None else tuple(kept)
    node.saved_version = total
    if _saved_hooks:
        pack_saved(node)
    return True


cdef object history_of(Node node, Tensor t, int i):
    cdef object e
    if (node.saved_output >> i) & 1:
        return t.nr if is_float_code(t.code) or is_complex_code(t.code) else None
    e = edge(t)
    return None if e is None else (e, t.nr)


cdef pack_saved(Node node):
    """Hand what a node saves to the innermost pack hook."""
    cdef list values = list(node.saved)
    cdef int i
    pack = _saved_hooks[len(_saved_hooks) - 1]
    if isinstance(pack, str):
        raise RuntimeError(pack)
    before = grad_enabled()
    set_grad_enabled_flag(False)
    try:
        for i, v in enumerate(values):
            # numbers among the operands of a row are no tensors of the program's
            if v is not None and not (node.op >= 0 and (node.saved_output >> (NUMBERS + i)) & 1):
                pack_one(node, values, i, pack[0], pack[1])
    finally:
        set_grad_enabled_flag(before)
    node.saved = tuple(values)


cdef pack_one(Node node, list values, int i, pack, unpack):
    cdef Tensor t = values[i]
    values[i] = SavedHooks(pack(t), unpack, history_of(node, t, i))
    node.saved_output &= ~(1 << i)
    if t.store is not None:
        node.saved_version -= t.store.version


def hook_saved(Node node not None, int i, pack, unpack):
    """Give one saved tensor its hooks; without any, what is kept of it now."""
    cdef list values
    if pack is None:
        return node.saved[i].value if type(node.saved[i]) is SavedHooks else node.saved[i]
    if node.saved is not None and type(node.saved[i]) is SavedHooks:
        raise RuntimeError(f"{node.label}: Calling register_hooks on a saved tensor whose hooks have already been set. "
                           "Only one pair of hooks is allowed at a time.")
    get_saved(node)                 # whether it is still there, and as it was
    if node.saved[i] is None:
        raise RuntimeError(f"{node.label}: Calling register_hooks on a saved tensor with value None is forbidden")
    values = list(node.saved)
    pack_one(node, values, i, pack, unpack)
    node.saved = tuple(values)
    return None


cdef tuple get_saved(Node node):
    cdef unsigned long total = 0
    cdef object v
    cdef Tensor t
    cdef tuple values = node.saved
    cdef bint hooked = False
    if values is None:
        if node.released:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have"
                f" already been freed): {node.label}'s saved values were freed by the first backward. Specify"
                " retain_graph=True if you need to backward through the graph a second time.")
        return ()
    for v in values:
        if v is not None:
            if type(v) is SavedHooks:
                hooked = True
                continue
            t = <Tensor>v
            if t.store is not None:
                total += t.store.version
    if total != node.saved_version:
        raise_modified(node)
    if hooked or node.saved_output and grad_enabled():
        values = tuple([unpacked(node, v) if type(v) is SavedHooks else restore(node, v, i) if grad_enabled() else v
                        for i, v in enumerate(values)])
    return values


cdef object restore(Node node, object v, int i):
    """A saved output with its history, for a backward that is itself recorded."""
    cdef Tensor t, u
    if not (node.saved_output >> i) & 1:
        return v
    t = v
    if not (is_float_code(t.code) or is_complex_code(t.code)):
        return t
    u = alias(t)
    set_history(u, node, t.nr)
    return u


cdef raise_modified(Node node):
    cdef Tensor t
    line = ""
    for v in node.saved:
        if isinstance(v, Tensor):
            t = <Tensor>v
            if t.store is not None and t.store.writer is not None:
                line = f"; the last write was at {t.store.writer}"
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{node.label} saved {', '.join(describe(v) for v in node.saved if isinstance(v, Tensor))}, which was written afterwards{line}."
        " Use an out-of-place operation there, or clone() the tensor first.")


# --- shrinking broadcast gradients ---
cdef Tensor shrink(Tensor g, int rank, const Py_ssize_t *sizes):
    """Sum g over the dimensions along which an operand of these sizes was broadcast."""
    cdef int d, lead = g.rank - rank
    cdef list dims = []
    for d in range(g.rank):
        if d < lead or (sizes[d - lead] == 1 and g.sizes[d] != 1):
            dims.append(d)
    if not dims:
        return g
    global _sum_to
    if _sum_to is None:
        _sum_to = hook("sum_to")        # differentiable: f(g, dims, sizes)
    return _sum_to(g, tuple(dims), tuple([sizes[d] for d in range(rank)]))


cdef Tensor shrink_to(Tensor g, tuple sizes):
    cdef Py_ssize_t s[64]
    cdef int d
    for d in range(len(sizes)):
        s[d] = sizes[d]
    return shrink(g, len(sizes), s)


def count_write(Tensor x not None):
    """Count a write to the tensor's memory that no operation made."""
    wrote(x)


def set_version(Tensor x not None, unsigned long version):
    """Say how many writes the tensor's memory has seen."""
    if x.store is not None:
        x.store.version = version


def last_node():
    """The number of the newest node; later ones have larger numbers."""
    return _sequence


def leads_beyond_duals(Node node):
    """Whether the node's history reaches a leaf, not dual numbers alone; what was recorded under no_grad does not."""
    cdef list stack = [node]
    cdef dict extra
    while stack:
        node = stack[len(stack) - 1]
        extra = node.extra if node.extra is not None else {}
        if "leads" not in extra:
            node.extra = extra
            extra["leads"] = False
            if extra.get("hidden"):
                stack.pop()
                continue
            for e in node.inputs:
                if e is not None and not is_node(e):
                    extra["leads"] = True
            if not extra["leads"] and any([is_node(e) for e in node.inputs]):
                extra["leads"] = None           # its inputs are judged first
                stack.extend([e for e in node.inputs if is_node(e)])
                continue
        elif extra["leads"] is None:
            extra["leads"] = any([is_node(e) and bool((<Node>e).extra["leads"]) for e in node.inputs])
        stack.pop()
    return extra["leads"]


def for_gradients(Tensor x):
    """False where the only history it has is for tangents of dual numbers."""
    if x.base is not None and (x.needs_grad or x.base.needs_grad):
        edge(x)
    return x.node is None or leads_beyond_duals(x.node)


def view_node(Tensor x):
    """The node of a view, made again if its base was overwritten."""
    edge(x)
    return x.node


def set_anomaly(bint on, place=None):
    """Switch anomaly mode; `place()` says where operations are called. Returns what it was."""
    global anomaly, _place
    cdef bint before = anomaly
    anomaly = on
    if place is not None:
        _place = place
    return before


def anomaly_enabled():
    return bool(anomaly)


def push_saved_hooks(hooks):
    """hooks: (pack, unpack), or a text with which saving is refused."""
    _saved_hooks.append(hooks)


def pop_saved_hooks():
    _saved_hooks.pop()


set_hook("view_node", view_node)
set_hook("for_gradients", for_gradients)
