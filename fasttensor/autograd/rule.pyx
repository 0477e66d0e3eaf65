"""Structured operations: forward and backward as one class, recorded as one node.

A `Rule` is what `torch.autograd.Function` is for users, and users' Functions run on the same machinery;
the node itself is the `ctx`.
"""
from fasttensor._core.tensor cimport *
from fasttensor._core.dtype cimport is_float_code, is_complex_code, dtype_of
from fasttensor._core.dispatch cimport grad_enabled, set_grad_enabled_flag, inside_vmap, set_inside
from fasttensor._core.dispatch cimport hook as python_hook
from fasttensor._core.dispatch import install, set_hook
from fasttensor._core.storage import OutOfMemoryError
from fasttensor._core.dual cimport any_duals, dual_on, hidden
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history, set_saved, get_saved
from fasttensor.autograd.dependence cimport depending
from fasttensor.autograd.history cimport check_inference, rebase, stays_leaf, mark_view
from fasttensor.autograd.recording import pending

cdef dict LABELS = {}


class Rule:
    """An operation with `forward(ctx, *args)` and `backward(ctx, *grads)`, both static.

    backward returns one gradient (or None) for each argument of forward. `name` is the node's name
    (default: the class's name with "Backward0"), or `named(*args)` gives it where it depends on
    forward's arguments; `saves` has PyTorch's names of what is saved, in order; `view` says that the
    outputs share the first argument's memory; `depends` has the arguments on which the recorded gradients
    depend, in PyTorch's eyes, though their derivative by these is zero or missing in `backward`.
    """
    name = None
    named = None
    saves = ()
    view = False
    depends = ()


cdef str label_of(object rule, tuple args, bint user):
    cdef object label
    if user:                        # not kept here, where it would keep the class alive
        cls = rule.__dict__.get("_backward_cls")
        return rule.__name__ + "Backward" if cls is None else cls.__name__
    label = LABELS.get(rule)
    if label is None:
        if rule.named is not None:
            return rule.named(*args)
        label = LABELS[rule] = rule.name or rule.__name__ + "Backward0"
    return label


cdef object run_rule(object rule, tuple args, bint user):
    cdef Node node = None
    cdef bint need = False, before = grad_enabled()
    cdef list flags
    cdef object out, waiting = None
    if inside_vmap():
        out = _batched(rule, args, user)
        if out is not NotImplemented:
            return out
    if before:
        for a in args:
            if isinstance(a, Tensor) and requires(<Tensor>a):
                need = True
                break
    if user and any_duals() and dual_on():      # a user's forward may write before it says so
        python_hook("before_write")()
    if not need:
        node = fresh_node()
        node.rule, node.label, node.n_outputs, node.materialize = rule, "", 0, user
        node.needs_input_grad = (False,) * len(args)
        if user:
            python_hook("show_node")(node)
        set_grad_enabled_flag(False)
        try:
            out = forward_of(rule, node, args, user)
        finally:
            set_grad_enabled_flag(before)
        if user:
            out = unrecorded_outputs(args, out)
        return out
    node = new_node(rule_backward, label_of(rule, args, user))
    node.rule, node.materialize = rule, user
    if user:
        python_hook("show_node")(node)
    if any_duals() and dual_on():
        waiting = pending.pop()         # has no tangents before it is whole
    flags = []
    for a in args:
        if isinstance(a, Tensor):
            add_input(node, <Tensor>a)
            flags.append(node.inputs[len(flags)] is not None)
        else:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
            flags.append(False)
    node.needs_input_grad = tuple(flags)
    set_grad_enabled_flag(False)
    try:
        out = forward_of(rule, node, args, user)
    finally:
        set_grad_enabled_flag(before)
    if waiting is not None:
        pending.append(waiting)
    return attach(node, rule, args, out)


cdef object _batched = None


def set_batched_rule(function):
    """Provide what runs rules inside vmap: f(rule, args, user), NotImplemented where nothing is batched."""
    global _batched
    _batched = function


cdef object told(object error, str name, object args):
    """An error of memory that could not be had, with the operation and its tensors in front."""
    if getattr(error, "told", None) is None:
        error.args = (f"{name}({', '.join([describe(a) for a in args if isinstance(a, Tensor)])}): {error}",)
        error.told = name
    return error


cdef object forward_of(object rule, Node node, tuple args, bint user):
    if user and hasattr(rule, "setup_context") and rule.setup_context is not None:
        out = rule.forward(*args)
        rule.setup_context(node, args, out)
        return out
    try:
        return rule.forward(node, *args)
    except OutOfMemoryError as error:
        raise told(error, rule.__name__, args)


cdef object unrecorded_outputs(tuple args, object out):
    """An input that is returned as it is becomes a new tensor, as when recorded."""
    if isinstance(out, Tensor):
        for a in args:
            if a is out:
                return alias(<Tensor>out) if not getattr(out, "_dirty", False) else out
    return out


cdef object attach(Node node, object rule, tuple args, object out):
    """Give the outputs their history."""
    cdef bint single = isinstance(out, Tensor)
    cdef list outs = [out] if single else list(out)
    cdef Tensor t
    cdef int k
    cdef dict extra = node.extra if node.extra is not None else {}
    cdef tuple dirty = extra.get("dirty", ())
    cdef tuple fixed = extra.get("non_differentiable", ())
    node.n_outputs = len(outs)
    if len(outs) > 1 or node.materialize:
        node.out_meta = []
    for k in range(len(outs)):
        if not isinstance(outs[k], Tensor):
            if node.out_meta is not None:
                node.out_meta.append(None)
            continue
        t = outs[k]
        if node.out_meta is not None:
            node.out_meta.append((t.shape, dtype_of(t.code), t.device))
        if not (is_float_code(t.code) or is_complex_code(t.code)) or is_in(t, fixed):
            if is_in(t, args) and not is_in(t, dirty):
                outs[k] = alias(t)
            continue
        if is_in(t, dirty):
            if len(outs) > 1 and t.base is not None:
                raise RuntimeError(f"{node.label}: cannot write in place to a view and return several outputs")
            if len(outs) == 1 and t.base is not None:
                rebase(t, node, [a is t for a in args].index(True))
            elif not stays_leaf(t, node):
                set_history(t, node, k)
            continue
        if is_in(t, args) or t.node is not None or t.needs_grad:
            t = alias(t)
            outs[k] = t
        set_history(t, node, k)
        if rule.view if hasattr(rule, "view") else False:
            mark_view(t, <Tensor>args[0])
    if node.saved is not None:
        set_saved(node, node.saved)
    return outs[0] if single else tuple(outs)


cdef bint is_in(object t, tuple values):
    for v in values:
        if v is t:
            return True
    return False


cdef object rule_backward(Node node, object grad):
    cdef object got
    cdef Py_ssize_t n = len(node.inputs)
    if node.released:
        get_saved(node)
    if node.materialize:
        grad = filled(node, grad)
    cdef int inside
    if node.materialize:            # a user's, whose calls classes are asked for
        inside = set_inside(0)
        try:
            got = node.rule.backward(node, *<tuple>grad) if type(grad) is tuple else node.rule.backward(node, grad)
        finally:
            set_inside(inside)
    else:
        try:
            got = node.rule.backward(node, *<tuple>grad) if type(grad) is tuple else node.rule.backward(node, grad)
        except OutOfMemoryError as error:
            raise told(error, node.label, grad if type(grad) is tuple else (grad,))
    if type(got) is not tuple:
        got = tuple(got) if type(got) is list else (got,)
    if len(<tuple>got) != n:
        if len(<tuple>got) > n and all(g is None for g in got[n:]):
            got = got[:n]
        elif len(<tuple>got) < n and not node.materialize:
            got = got + (None,) * (n - len(<tuple>got))
        else:
            raise RuntimeError(f"function {node.label} returned an incorrect number of gradients (expected {n}, got {len(<tuple>got)})")
    if node.materialize:
        check_types(node, got)
    elif grad_enabled() and node.rule.depends:
        label = node.label.removesuffix("0") + "Backward0"
        got = tuple([None if g is None else depending(node, <Tensor?>g, label, node.rule.depends) for g in <tuple>got])
    return got


cdef check_types(Node node, tuple grads):
    for i in range(len(grads)):
        if grads[i] is not None and not isinstance(grads[i], Tensor):
            raise TypeError(f"function {node.label} returned a gradient at position {i} that is a {type(grads[i]).__name__}: expected Tensor or None")


cdef object filled(Node node, object grad):
    """Zeros for outputs that received no gradient, as users' Functions expect."""
    from fasttensor.functional.creation import zeros
    cdef tuple parts = grad if type(grad) is tuple else (grad,)
    if node.extra is not None and node.extra.get("materialize") is False:
        return grad
    found = tuple([zeros(m[0], dtype=m[1], device=m[2]) if g is None and m is not None else g for g, m in zip(parts, node.out_meta)])
    return found if type(grad) is tuple else found[0]


def apply(rule, *args):
    """Run a Rule; its Tensors among `args` are the differentiable inputs."""
    return run_rule(rule, args, False)


def apply_function(rule, *args):
    """Run a user's autograd.Function."""
    return run_rule(rule, args, True)


def recording():
    """Whether operations are recorded now; inside backward: whether the graph is being created."""
    return grad_enabled()


def needs_history(*tensors):
    """Whether an operation on these tensors would be recorded."""
    if not grad_enabled():
        return False
    for t in tensors:
        if isinstance(t, Tensor) and requires(<Tensor>t):
            return True
    return False


# --- what a rule or Function sees of its node as ctx ---
def _save_for_forward(Node self, *tensors):
    """Keep tensors for ``jvp``, where `saved_tensors` gives them back."""
    for t in tensors:
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_forward can only save variables, but argument is of type {type(t).__name__}")
    _note(self, "forward", tensors)


cdef tuple saved_of(Node node):
    if node.extra is not None and "in_jvp" in node.extra:
        return node.extra.get("forward", ())
    return get_saved(node)


def _note(Node self, str key, value):
    if self.extra is None:
        self.extra = {}
    self.extra[key] = value


def _mark_dirty(Node self, *tensors):
    """Say which inputs forward writes to; they must also be returned."""
    if any_duals() and dual_on():
        python_hook("before_write")()
    for t in tensors:
        check_inplace_input(self, t)
    _note(self, "dirty", tensors)
    for t in tensors:
        wrote(<Tensor>t)


cdef check_inplace_input(Node node, object t):
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_dirty can only take Tensors, not {type(t).__name__}")
    check_inference(<Tensor>t, node.label or "in-place operation")
    if node.n_outputs and (<Tensor>t).needs_grad and (<Tensor>t).node is None and not hidden():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _mark_non_differentiable(Node self, *tensors):
    """Say which outputs have no gradient."""
    _note(self, "non_differentiable", tensors)


def _set_materialize_grads(Node self, value):
    """Whether backward gets zeros (True) or None for outputs without a gradient."""
    _note(self, "materialize", bool(value))


cdef dict hooks_of(Node node, object key):
    if node.extra is None:
        node.extra = {}
    return node.extra.setdefault(key, {})


def node_hooks(Node node, key):
    """The ordered hooks of a node: "prehooks", "posthooks", or ("hooks", output number)."""
    return hooks_of(node, key)


def retain_on(Node node, int nr, reference):
    """Ask the sweep to keep the gradient of a non-leaf tensor."""
    if node.extra is None:
        node.extra = {}
    node.extra[("retain", nr)] = reference


install(Node, {
    "saved": Node.saved_tensors, "saved_variables": Node.saved_tensors, "metadata": property(lambda node: hooks_of(node, "metadata")),
    "save_for_forward": _save_for_forward, "mark_dirty": _mark_dirty, "mark_non_differentiable": _mark_non_differentiable,
    "set_materialize_grads": _set_materialize_grads,
})


def show_node(Node node):
    """Fetches what gives nodes their classes."""
    from fasttensor.autograd import node_classes
    node_classes.show(node)


set_saved_reader(saved_of)
set_hook("show_node", show_node)
