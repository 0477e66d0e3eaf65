"""Hooks on what operations save for backward, and multi-tensor gradient hooks (PyTorch's ``autograd.graph``)."""

from fasttensor._core.tensor import Node
from fasttensor.autograd.recording import pop_saved_hooks, push_saved_hooks

__all__ = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook", "Node",
           "GradientEdge", "get_gradient_edge"]


class saved_tensors_hooks:
    """Context: each tensor saved inside goes through `pack`, and `unpack` of that gives it back in backward.

    >>> import fasttensor as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = x.exp()
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        push_saved_hooks((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc):
        pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Context: what is saved inside waits in the CPU's memory."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks:
    """Context: saving inside raises RuntimeError with this text."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        push_saved_hooks(self.error_message)

    def __exit__(self, *exc):
        pop_saved_hooks()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call ``fn(grads)`` once all (mode "all"), or ``fn(grad)`` once any, of the tensors' gradients are computed."""
    tensors = list(tensors)
    grads = [None] * len(tensors)
    state = {"seen": 0}

    def make(i):
        def hook(g):
            if mode == "any":
                if state["seen"] == 0:
                    fn(g)
                state["seen"] = (state["seen"] + 1) % len(tensors)
                return
            grads[i] = g
            state["seen"] += 1
            if state["seen"] == len(tensors):
                fn(list(grads))
                state["seen"] = 0
                grads[:] = [None] * len(tensors)
        return hook

    handles = [t.register_hook(make(i)) for i, t in enumerate(tensors)]

    class Handle:
        def remove(self):
            for h in handles:
                h.remove()
    return Handle()


class GradientEdge(tuple):
    """A node and an output number of it."""

    def __new__(cls, node, output_nr):
        return super().__new__(cls, (node, output_nr))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def get_gradient_edge(tensor):
    """Where in the graph this tensor's gradient arrives."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(tensor.grad_fn, tensor.output_nr)
