"""Hooks on what operations save for backward, and multi-tensor gradient hooks (PyTorch's ``autograd.graph``)."""

from typing import NamedTuple

from fasttensor._core.tensor import Node, Tensor
from fasttensor.autograd.node_classes import accumulator_of
from fasttensor.autograd.recording import count_write, pop_saved_hooks, push_saved_hooks

__all__ = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook", "Node",
           "GradientEdge", "get_gradient_edge", "allow_mutation_on_saved_tensors", "increment_version",
           "set_warn_on_accumulate_grad_stream_mismatch"]


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
    """Context: what is saved inside for backward waits in the CPU's memory.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x.exp().sum()
    >>> y.backward()
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks:
    """Context: hooks on saved tensors inside raise RuntimeError with this text.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     y = torch.ones(2)
    """

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        push_saved_hooks(self.error_message)

    def __exit__(self, *exc):
        pop_saved_hooks()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call ``fn(grads)`` once all (mode "all"), or ``fn(grad)`` once any, of the tensors' gradients are computed; returns a handle.

    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (2 * x + 3 * y).backward()
    [tensor([2.]), tensor([3.])]
    """
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


class GradientEdge(NamedTuple):
    """A node and an output number of it: where in the graph a tensor's gradient arrives.

    >>> torch.autograd.graph.get_gradient_edge(torch.ones(1, requires_grad=True) * 2).output_nr
    0
    """

    node: Node
    output_nr: int
    ownership_token: object | None = None


def get_gradient_edge(tensor):
    """Where in the graph this tensor's gradient arrives; of a leaf, its AccumulateGrad. RuntimeError for one that does not require grad.

    >>> edge = torch.autograd.graph.get_gradient_edge(torch.ones(1, requires_grad=True) * 2)
    >>> edge.node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(accumulator_of(tensor) if tensor.grad_fn is None else tensor.grad_fn, tensor.output_nr)


class allow_mutation_on_saved_tensors:
    """Context: what is saved for backward may be written afterwards; backward uses the values from before.

    Saved tensors are copied when they are saved. Both forward and backward must run inside, else RuntimeError.

    >>> import fasttensor as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y ** 2).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __enter__(self):
        self.open = True
        push_saved_hooks((self._pack, self._unpack))
        return self

    def __exit__(self, *exc):
        self.open = False
        pop_saved_hooks()

    def _pack(self, tensor):
        return tensor.detach().clone()

    def _unpack(self, kept):
        if not self.open:
            raise RuntimeError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally"
                               " recorded.")
        return kept

    def clear(self):
        """Forget nothing: copies belong to the graph, and go with it."""


def increment_version(tensor):
    """Say that a tensor's memory, or that of each of several tensors, was written by other means than tensor operations.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        count_write(t)


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Nothing: gradients are added by one stream of work.

    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
