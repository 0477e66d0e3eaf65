"""Gradients of a fused operation through a composite of differentiable ones."""
from fasttensor.autograd import grad
from fasttensor.autograd.rule import needs_history


def gradients_again(function, inputs, needs, grads):
    """The gradients of `function(*inputs)` for `grads`, as functions of both, one an input.

    A fused backward cannot be differentiated: where the graph is being created, the operation is
    computed anew of operations that can.
    """
    # Aliases: one input may be computed from another, whose gradient must not include the way through it.
    inputs = [t.view_as(t) if t is not None and need else t for t, need in zip(inputs, needs)]
    wanted = [t for t, need in zip(inputs, needs) if t is not None and need]
    outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    pairs = [(o, g) for o, g in zip(outputs, grads) if g is not None and needs_history(o)]
    if not wanted or not pairs:
        return (None,) * len(inputs)
    found = iter(grad([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True))
    return tuple(next(found) if t is not None and need else None for t, need in zip(inputs, needs))
