"""A tensor's place in the graph: detaching, requiring grad, hooks, subclasses."""
import weakref

from fasttensor._core.tensor cimport Tensor, Node, alias, set_geometry, BATCHED
from fasttensor._core.dispatch import install
from fasttensor.autograd.recording cimport requires, edge, new_node, add_input, set_history
from fasttensor._core.dispatch cimport inference_enabled
from fasttensor.autograd.copying cimport identity_backward
from fasttensor.autograd.history cimport mark_view
from fasttensor.autograd.batched cimport as_batched, wrap
from fasttensor.autograd.checks import flag
from fasttensor.autograd.rule import node_hooks, retain_on


def detach(self):
    """The same memory without history: the result does not require grad, and writes to one are seen in the other.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.detach(x * 2)
    tensor([2., 2.])
    """
    cdef Tensor x = <Tensor?>self
    if x.dev == BATCHED:
        return wrap(detach(as_batched(x).value), as_batched(x).level)
    return alias(x)


def relabel(self, label):
    """Call the operation that gave a tensor by another name, before a program sees its node; returns the tensor."""
    cdef Tensor x = <Tensor?>self
    if x.dev != BATCHED and x.node is not None:
        x.node.label = label
    return x


def detach_(self):
    """Cut this tensor from its history, in place. Raises RuntimeError for a view, whose base would go on recording.

    >>> x = torch.ones(2, requires_grad=True) * 2
    >>> x.detach_().is_leaf
    True
    """
    cdef Tensor x = <Tensor?>self
    if x.dev == BATCHED:
        detach_(as_batched(x).value)
        return x
    if x.base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    x.node, x.needs_grad, x.nr = None, False, 0
    return x


def requires_grad_(self, requires_grad=True):
    """Set whether operations on this leaf are recorded; returns the tensor.

    Raises RuntimeError for dtypes without gradients (integers and bool), and where history would be lost.

    >>> torch.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    if requires_grad is not True and requires_grad is not False:
        flag("requires_grad_", "requires_grad", requires_grad)
    self.requires_grad = requires_grad
    return self


class RemovableHandle:
    """Removes a hook: ``handle.remove()``, or at the end of a ``with`` block."""
    next_id = 0

    def __init__(self, hooks, hook):
        self.hooks = weakref.ref(hooks) if not isinstance(hooks, dict) else (lambda: hooks)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        hooks[self.id] = hook

    def remove(self):
        """Take the hook away; nothing happens when it is gone already."""
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_hook(self, hook):
    """Call ``hook(grad)`` whenever this tensor's gradient is computed; what it returns, if not None, takes the gradient's place.

    Returns a handle with ``remove()``. Raises RuntimeError for a tensor that does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    cdef Tensor x = <Tensor?>self
    if x.dev == BATCHED:
        raise RuntimeError("vmap: register_hook: hooks on batched tensors are not supported")
    if not requires(x):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    e = edge(x)
    if e is not x:
        return RemovableHandle(node_hooks(e, ("hooks", x.nr)), hook)
    return RemovableHandle(leaf_hooks(x, "hooks"), hook)


cdef dict leaf_hooks(Tensor x, str kind):
    if x.meta is None:
        x.meta = {}
    return (<dict>x.meta).setdefault(kind, {})


def register_post_accumulate_grad_hook(self, hook):
    """Call ``hook(tensor)`` after a gradient was accumulated into this leaf's ``grad``; returns a handle with ``remove()``.

    Raises RuntimeError for a tensor that does not require grad or is no leaf.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print("gradient", leaf.grad))
    >>> x.sum().backward()
    gradient tensor([1., 1.])
    """
    cdef Tensor x = <Tensor?>self
    if not x.needs_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(leaf_hooks(x, "post_hooks"), hook)


def retain_grad(self):
    """Keep the gradient of this non-leaf tensor in ``grad`` too. Raises RuntimeError for a tensor that does not require grad.

    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    cdef Tensor x = <Tensor?>self
    if x.dev == BATCHED:
        raise RuntimeError("vmap: retain_grad: batched tensors keep no gradient")
    if not requires(x):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    e = edge(x)
    if e is not x:
        retain_on(e, x.nr, weakref.ref(x))
        if x.meta is None:
            x.meta = {}
        x.meta["retains_grad"] = True


def retains_grad(self):
    """Whether a non-leaf tensor keeps its gradient: see ``retain_grad``.

    >>> torch.ones(2, requires_grad=True).mul(2).retains_grad
    False
    """
    return bool((<Tensor?>self).meta is not None and (<Tensor>self).meta.get("retains_grad"))


def node_register_hook(node, hook):
    """Call ``hook(grad_inputs, grad_outputs)`` after the node ran."""
    return RemovableHandle(node_hooks(node, "posthooks"), hook)


def node_register_prehook(node, hook):
    """Call ``hook(grad_outputs)`` before the node runs."""
    return RemovableHandle(node_hooks(node, "prehooks"), hook)


def make_subclass(cls, data, requires_grad=False):
    """A tensor of a subclass over the memory of `data`."""
    cdef Tensor x = <Tensor?>data
    if x.dev == BATCHED:
        return data
    cdef Tensor t = Tensor.__new__(cls)         # past a __new__ of the subclass, which may call this
    set_geometry(t, x.rank, x.sizes, x.steps)
    t.store, t.ptr, t.offset, t.code, t.dev = x.store, x.ptr, x.offset, x.code, x.dev
    t.inference = x.inference
    if requires_grad:
        t.requires_grad = True
    return t


def adopt_history(Tensor x not None, Tensor other not None):
    """Give x the history of another tensor."""
    if other.node is not None:
        set_history(x, other.node, other.nr)


def as_subclass(self, cls):
    """This tensor, with its memory and history, as an instance of the subclass `cls` of Tensor.

    >>> class Named(torch.Tensor): pass
    >>> type(torch.ones(2).as_subclass(Named)).__name__
    'Named'
    """
    cdef Tensor x = <Tensor?>self
    t = make_subclass(cls, x)
    cdef Node node
    if requires(x):
        node = new_node(identity_backward, "AliasBackward0")
        add_input(node, x)
        set_history(<Tensor>t, node, 0)
    if x.dev != BATCHED and not inference_enabled():
        mark_view(<Tensor>t, x)
    return t


install(Node, {"register_hook": node_register_hook, "register_prehook": node_register_prehook})

METHODS = {
    "detach": detach, "detach_": detach_, "requires_grad_": requires_grad_, "register_hook": register_hook, "retain_grad": retain_grad,
    "retains_grad": property(retains_grad), "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    "as_subclass": as_subclass, "_make_subclass": staticmethod(make_subclass),
}
