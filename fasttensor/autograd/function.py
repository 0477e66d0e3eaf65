"""`Function`: operations that users write with their own backward."""

import functools

from fasttensor._core.dispatch import _set_grad_enabled
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.grad_mode import OFF
from fasttensor.autograd.rule import apply_function, needs_history

__all__ = ["Function", "FunctionCtx", "once_differentiable", "Variable"]

Variable = Tensor


class FunctionCtx:
    """What `ctx` offers: save_for_backward, saved_tensors, needs_input_grad, mark_dirty,
    mark_non_differentiable, set_materialize_grads, and any attribute that is set on it."""


class Function(FunctionCtx):
    """An operation with its own gradient.

    Subclasses define static ``forward(ctx, *args)`` (or ``forward(*args)`` and
    ``setup_context(ctx, inputs, output)``) and ``backward(ctx, *grads)``, which returns a gradient, or None,
    for each argument of forward; users call ``apply``.

    >>> import fasttensor as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    setup_context = None
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be instantiated: call {type(self).__name__}.apply(...)")

    @classmethod
    def apply(cls, *args):
        """Run forward and record the operation."""
        return apply_function(cls, *args)

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result; to be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def jvp(ctx, *tangents):
        """Compute the results' tangents from the arguments' ones; may be overridden for forward mode.

        A Function without it gets its tangents from `backward`, which must then be differentiable.
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def backward(ctx, *grads):
        """Compute the gradients of forward's arguments; to be overridden."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function"
                                  " to use it with backward mode AD.")


def once_differentiable(function):
    """Decorator for a backward that cannot be differentiated again."""
    @functools.wraps(function)
    def wrapped(ctx, *grads):
        before = _set_grad_enabled(OFF)
        try:
            made = function(ctx, *grads)
        finally:
            _set_grad_enabled(before)
        if not needs_history(*grads) and not needs_history(*(t for t in ctx.saved if t is not None)):
            return made
        parts = made if isinstance(made, tuple) else (made,)
        return tuple(Once.apply(g, *grads) if isinstance(g, Tensor) else g for g in parts)
    return wrapped


class Once(Function):
    """What marks the results of a backward that cannot be differentiated."""

    @staticmethod
    def forward(ctx, result, *sources):
        return result.detach()

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
