"""`Function`: operations that users write with their own backward."""

import functools
import inspect

from fasttensor._core.dispatch import _set_grad_enabled
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.grad_mode import OFF
from fasttensor.autograd.rule import apply_function, needs_history

__all__ = ["Function", "FunctionCtx", "once_differentiable", "Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """The name of old programs for tensors that take part in autograd: what it makes are tensors, and all tensors belong to it.

    ``Variable(data, requires_grad=False)`` is a tensor over the memory of `data`, without its history. Raises RuntimeError for integers that
    would require grad.

    >>> import fasttensor as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(torch.ones(2), torch.autograd.Variable)
    True
    """

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if data is None:
            from fasttensor import empty
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: data must be a Tensor, not {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


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
    _defaults = ()      # what `apply` adds for arguments of forward that are left out, where setup_context would miss them

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.vjp is not Function.vjp:
            if cls.backward is Function.backward:
                cls.backward = staticmethod(cls.vjp)
            elif "vjp" in cls.__dict__:
                cls.backward = staticmethod(_both)
        if cls.setup_context is not None:
            places = list(inspect.signature(cls.forward).parameters.values())
            cls._defaults = tuple(p.default for p in places if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY)

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be instantiated: call {type(self).__name__}.apply(...)")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record the operation; arguments may be named, and those that forward has defaults for left out."""
        if kwargs or len(args) < len(cls._defaults):
            return _apply_named(cls, args, kwargs)
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

    vjp = backward      # another name, which a Function may define instead


def _both(ctx, *grads):
    raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them.")


def _apply_named(cls, args, kwargs):
    """`apply` with names or defaults: all of them are arguments of setup_context; without one, names are forward's own business."""
    if cls.setup_context is not None:
        bound = inspect.signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        return apply_function(cls, *bound.args)
    named = type(cls.__name__, (cls,), {"forward": staticmethod(lambda ctx, *given: cls.forward(ctx, *given, **kwargs))})
    return apply_function(named, *args)


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
