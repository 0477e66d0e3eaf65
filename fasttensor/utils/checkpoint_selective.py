"""Selective checkpoints: a policy names the operations whose results are kept, so that backward does not compute them again for
themselves; the rest is recomputed up to the last value that is needed, and not at all where nothing else is."""
import contextlib
import enum

import fasttensor as ft
from fasttensor.functional import interpose

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS"]

SAC_IGNORED_OPS = frozenset("detach dim size stride numel is_contiguous storage_offset device".split())
# One operation here where PyTorch's library has a smaller one inside, which policies name.
INSIDE = {"linear": ("addmm", "mm"), "matmul": ("mm", "bmm", "mv", "dot"), "conv2d": ("convolution",), "conv1d": ("convolution",),
          "conv3d": ("convolution",), "scaled_dot_product_attention": ("_scaled_dot_product_flash_attention_for_cpu",), "softmax": ("_softmax",),
          "log_softmax": ("_log_softmax",), "layer_norm": ("native_layer_norm",), "batch_norm": ("native_batch_norm",)}


class CheckpointPolicy(enum.Enum):
    """What a selective checkpoint may do with an operation's result."""
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy is told beside the operation: whether this is the recomputation (never), and the operation's result."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def inner_name(name, inputs):
    """The name of PyTorch's operation that does the work of a composite one with these arguments."""
    tensors = [t for t in inputs if isinstance(t, ft.Tensor)]
    if name == "linear":
        return "addmm" if len(tensors) > 2 else "mm"
    if name == "matmul" and len(tensors) == 2:
        ranks = tuple(t.dim() for t in tensors)
        return {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm"}.get(ranks, "bmm" if min(ranks) > 1 else "mv")
    return INSIDE[name][0] if name in INSIDE else name


class Deciding:
    """The forward context: hears operations, asks the policy, and keeps what is to be kept."""

    def __init__(self, policy):
        self.policy = policy
        self.kept = {}          # id of a storage -> the result over it
        self.open = []          # (placeholder, tensor) that operations under way have saved
        self.depth = 0

    def __enter__(self):
        interpose.listen(self)
        return self

    def __exit__(self, *exc):
        interpose.stop_listening(self)
        self.kept, self.open = {}, []

    def saved(self, placeholder, tensor):
        """A tensor is saved for backward: at once where it is a kept result, else it may become one when its operation ends."""
        if id(tensor.untyped_storage()) in self.kept:
            placeholder.value = tensor.detach()
        elif self.depth:
            self.open.append((placeholder, tensor))

    def before(self, name, inputs):
        self.depth += 1
        return name, inputs

    def after(self, token, result):
        self.depth -= 1
        name, inputs = token
        results = [r for r in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(r, ft.Tensor)]
        if results and name not in SAC_IGNORED_OPS and self.keeps(name, inputs, result):
            for r in results:
                self.kept[id(r.untyped_storage())] = r.detach()
            for placeholder, tensor in self.open:
                if id(tensor.untyped_storage()) in self.kept:
                    placeholder.value = tensor.detach()
        if not self.depth:
            self.open = []

    def keeps(self, name, inputs, result):
        depth, self.depth = self.depth, 0
        try:
            answer = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), operator(inner_name(name, inputs), inputs), *inputs)
        finally:
            self.depth = depth
        if isinstance(answer, bool):
            return answer
        return answer in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD)


def operator(name, args):
    """The overload of ``torch.ops.aten.NAME`` for these arguments; the name itself where there is no such."""
    try:
        return getattr(ft.ops.aten, name).default_of(args)
    except AttributeError:
        return name


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts of a checkpoint's ``context_fn`` that keep some results.

    policy_fn_or_list: ``f(context, operator, *args)`` that returns a `CheckpointPolicy`, or a list of operators of ``torch.ops.aten`` whose
    results are kept. Operations are heard as they are called: ``linear`` is ``aten.addmm`` (``aten.mm`` without bias), ``matmul``
    ``aten.mm`` or ``aten.bmm``. Kept results are not written again, so that allow_cache_entry_mutation has no effect.

    >>> import functools
    >>> from fasttensor.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda t: (t @ t).exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        listed = list(policy_fn_or_list)
        for op in listed:
            if not hasattr(op, "__name__"):
                raise ValueError(f"Expected op in `op_list` to be an operator of torch.ops.aten but got: {op} of type {type(op)}.")

        def policy(context, op, *args):
            wanted = op in listed or getattr(op, "overloadpacket", None) in listed
            return CheckpointPolicy.MUST_SAVE if wanted else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return Deciding(policy), contextlib.nullcontext()
