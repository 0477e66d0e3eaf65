"""Tensors with the shape, dtype and device of another one."""
from fasttensor._core.dispatch import backend
from fasttensor.functional.creation import empty_like, must_be_tensor, need_pinning, number, only_strided

__all__ = ["zeros_like", "ones_like", "full_like"]
METHODS = {}


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Zeros with the shape, dtype and device of ``input``.

    >>> torch.zeros_like(torch.tensor([1, 2]))
    tensor([0, 0])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("zeros_like", layout)
    must_be_tensor("zeros_like", input)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    backend(made).zero_(made)
    if requires_grad:
        made.requires_grad = True
    return made


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Ones with the shape and, unless given, the dtype and device of ``input``.

    >>> torch.ones_like(torch.tensor([3, 4]))
    tensor([1, 1])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("ones_like", layout)
    must_be_tensor("ones_like", input)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    backend(made).fill_(made, 1)
    if requires_grad:
        made.requires_grad = True
    return made


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """One value everywhere, with the shape and, unless given, the dtype and device of ``input``.

    Raises RuntimeError where an integer dtype cannot hold the value, TypeError where that is no number.

    >>> torch.full_like(torch.tensor([3, 4]), 7)
    tensor([7, 7])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("full_like", layout)
    must_be_tensor("full_like", input)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    backend(made).fill_(made, number("full_like", "fill_value", fill_value))
    if requires_grad:
        made.requires_grad = True
    return made


HOOKS = {"derivative.zeros_like": zeros_like}      # a constant, whatever the gradient is
