"""Control flow that depends on values, as functions: cond and while_loop."""
from fasttensor._core.tensor import Tensor, description

__all__ = ["cond", "while_loop"]
METHODS = {}


def truth(name, value):
    """A bool, or a tensor of one bool, as a bool."""
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(f"{name}: Expected pred to be bool or single-element tensor, but got {description(value)}.")
        return bool(value)
    if not isinstance(value, (bool, int, float)):
        raise RuntimeError(f"{name}: Expected pred to be bool or tensor, but got {value!r}.")
    return bool(value)


def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` where `pred` is true, ``false_fn(*operands)`` otherwise; gradients pass through the one that ran.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.zeros(1),))
    tensor([1.])
    """
    chosen = truth("cond", pred)
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: Expect operands to be a tuple of tensors, but got {type(operands).__name__}.")
    return (true_fn if chosen else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """``carried_inputs = body_fn(*carried_inputs)`` while ``cond_fn(*carried_inputs)`` is true; returns the last ones.

    >>> torch.while_loop(lambda x: x < 5, lambda x: (x * 2,), (torch.tensor(1),))
    (tensor(8),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: Expect carried_inputs to be a tuple or list, got {type(carried_inputs).__name__}")
    carried = tuple(carried_inputs)
    while truth("while_loop", cond_fn(*carried)):
        made = body_fn(*carried)
        made = (made,) if isinstance(made, Tensor) else tuple(made)
        if len(made) != len(carried):
            raise RuntimeError(f"while_loop: body_fn must return as many values as it takes: {len(carried)}, but it returned {len(made)}")
        carried = made
    return carried
