"""Gradients of operators as calls in a graph."""
from fasttensor import ops
from fasttensor.functional.aten_gradients import FORMULAS
from fasttensor.functional.dispatching import gradient_operator

__all__ = ["FORMULAS", "operator_gradient", "operator_named"]

_known = {}


def operator_named(name):
    """The operator that prints as a name: "aten.add.Tensor"."""
    space, packet, overload = name.split(".")
    return getattr(getattr(getattr(ops, space), packet), overload)


def operator_gradient(name, grads, *args, **kwargs):
    """The gradients of an operator's call: one for each tensor among its arguments, None for those without.

    Args:
        name: of the operator, as it prints.
        grads: one for each floating-point output, None for those that nothing depends on.
        args, kwargs: what it was called with; it runs again, as a graph keeps no values.

    >>> import fasttensor as torch
    >>> from fasttensor.fx.experimental.gradients import operator_gradient
    >>> operator_gradient("aten.sin.default", [torch.ones(1)], torch.zeros(1))
    (tensor([1.]),)
    """
    if name not in _known:
        _known[name] = gradient_operator(operator_named(name))._function
    return _known[name](list(grads), *args, **kwargs)
