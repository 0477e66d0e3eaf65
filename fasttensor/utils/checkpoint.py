"""Checkpoints: what a part of a model saves for backward is dropped and computed again when backward needs it."""

import contextlib
import itertools
import warnings

import fasttensor as ft
from fasttensor.autograd import Function
from fasttensor.autograd.engine import selecting

from .checkpoint_recompute import CheckpointError, recomputed_later, set_checkpoint_early_stop
from .checkpoint_selective import SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = ["checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "check_backward_validity", "detach_variable",
           "get_device_states", "set_device_states", "noop_context_fn", "set_checkpoint_early_stop", "DefaultDeviceType",
           "set_checkpoint_debug_enabled", "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS"]

_debug = None       # what set_checkpoint_debug_enabled said


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Context: every checkpoint inside keeps a log of its operations for error messages (True), or none does (False).

    None leaves it to the checkpoints' ``debug``.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(False):
    ...     torch.utils.checkpoint.checkpoint(torch.sin, torch.zeros(1), use_reentrant=False)
    tensor([0.])
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


class DefaultDeviceType:
    """The device whose random state is kept when the arguments are on the CPU only."""
    _default = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default


def detach_variable(inputs):
    """A tuple's tensors cut off from the graph, each requiring grad as before.

    >>> torch.utils.checkpoint.detach_variable((torch.ones(1, requires_grad=True), 2))
    (tensor([1.], requires_grad=True), 2)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    made = []
    for value in inputs:
        if isinstance(value, ft.Tensor):
            cut = value.detach()
            cut.requires_grad = value.requires_grad
            value = cut
        made.append(value)
    return tuple(made)


def check_backward_validity(inputs):
    """Warn when no input requires grad, since a reentrant checkpoint then gives no gradients at all."""
    if not any(value.requires_grad for value in inputs if isinstance(value, ft.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args):
    """The devices other than the CPU on which the tensors are, and their random states."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Set what `get_device_states` gave."""
    if devices:
        raise RuntimeError(f"set_device_states: there is no device {devices[0]!r} whose random state could be set")


def noop_context_fn():
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class Surroundings:
    """What the recomputation must find as forward found it: the random state and autocast."""

    def __init__(self, preserve_rng_state):
        self.rng = ft.get_rng_state() if preserve_rng_state else None
        self.autocast = {"device_type": "cpu", "enabled": ft.is_autocast_enabled("cpu"), "dtype": ft.get_autocast_dtype("cpu"),
                         "cache_enabled": ft.is_autocast_cache_enabled()}

    @contextlib.contextmanager
    def again(self):
        """Context for the recomputation; the random state of the outside is as before when it ends."""
        outside = None if self.rng is None else ft.get_rng_state()
        if self.rng is not None:
            ft.set_rng_state(self.rng)
        try:
            with ft.autocast(**self.autocast):
                yield
        finally:
            if outside is not None:
                ft.set_rng_state(outside)


class CheckpointFunction(Function):
    """The reentrant checkpoint: forward runs without a graph, backward runs it again with one and sweeps that."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, Surroundings(preserve_rng_state)
        ctx.places = [i for i, value in enumerate(args) if isinstance(value, ft.Tensor)]
        ctx.others = [None if isinstance(value, ft.Tensor) else value for value in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with ft.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if selecting():
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs`"
                               " parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call"
                               " .backward() without passing the `inputs` argument.")
        inputs = list(ctx.others)
        for place, value in zip(ctx.places, ctx.saved_tensors):
            inputs[place] = value
        inputs = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), ft.enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, ft.Tensor) else outputs
        recorded = [(output, grad) for output, grad in zip(outputs, grads) if isinstance(output, ft.Tensor) and output.requires_grad]
        if not recorded:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        ft.autograd.backward([output for output, _ in recorded], [grad for _, grad in recorded])
        return (None, None, *(value.grad if isinstance(value, ft.Tensor) else None for value in inputs))


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False, early_stop=True,
               **kwargs):
    """``function(*args, **kwargs)``, whose intermediate values are computed again in backward in place of being kept.

    use_reentrant False (recommended): `function` runs as usual, and the values are computed again when backward first asks
    for one of them, only as far as needed (early_stop). It takes keyword arguments and nested structures, and works with
    ``autograd.grad`` and inside other checkpoints. True: `function` runs without a graph, and backward runs it a second
    time; at least one argument must require grad.
    preserve_rng_state (True): dropout draws the same numbers again. Autocast is as in forward too.
    context_fn() gives two contexts, for forward and for the recomputation. determinism_check "default" compares shapes,
    dtypes and devices of what is saved, "none" does not. debug logs operations for the error.
    Raises CheckpointError when the recomputation saves other tensors than forward did.

    >>> from fasttensor.utils.checkpoint import checkpoint
    >>> layer = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    >>> x = torch.ones(2, 4, requires_grad=True)
    >>> checkpoint(layer, x, use_reentrant=False).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 4])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended;"
                      " True, which is taken now, is what older programs expect.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    contexts = context_fn()
    if not isinstance(contexts, tuple) or len(contexts) != 2:
        raise TypeError("checkpoint: context_fn() must return a tuple of two context managers")
    if not ft.is_grad_enabled():
        return function(*args, **kwargs)
    return recomputed_later(function, args, kwargs, contexts, Surroundings(preserve), determinism_check == "default",
                            debug if _debug is None else _debug, early_stop)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A sequence of modules or functions in `segments` parts, each but the last a checkpoint.

    functions: an nn.Sequential or a list. Returns what applying them one after the other returns.

    >>> from fasttensor.utils.checkpoint import checkpoint_sequential
    >>> layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
    >>> checkpoint_sequential(layers, 3, torch.ones(1, 4, requires_grad=True), use_reentrant=False).shape
    torch.Size([1, 4])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly."
                      " use_reentrant=False is recommended; True, which is taken now, is what older programs expect.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if segments < 1:
        raise ValueError(f"checkpoint_sequential: segments must be at least 1, got {segments}")
    functions = list(functions.children()) if isinstance(functions, ft.nn.Sequential) else list(functions)

    def part(start, end):
        def forward(value):
            for function in itertools.islice(functions, start, end):
                value = function(value)
            return value
        return forward

    size = max(len(functions) // segments, 1)
    start = 0
    while start + size < len(functions) and start // size < segments - 1:
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return part(start, len(functions))(input)
