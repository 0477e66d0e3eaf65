"""Forward-mode differentiation by dual numbers: tensors with a tangent that goes along through operations.

Duals are recorded like tensors that require grad, whose history then also says how tangents go: `unpack_dual` takes
them through it, from where `make_dual` put them, and remembers what it found (`autograd/tangents`, where the
formula is). So every operation with a gradient has a tangent too. What is recorded is kept until the level is left.

Inside a level gradients are dual numbers themselves: ``autograd.grad`` of a dual gives a gradient with a tangent, a
Hessian-vector product. Under ``no_grad`` tangents pass, under ``inference_mode`` they do not.
"""
from _thread import _local
from collections import namedtuple

from fasttensor._core.dispatch import Mode, _set_dual, set_hook
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.recording import pending
from fasttensor.autograd.tangents import dual_of, node_tangent, primal_of, settle, tangents_of

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_state = _local()       # memo: what is known of nodes in the open level


class UnpackedDualTensor(namedtuple("UnpackedDualTensor", ["primal", "tangent"])):
    """What `unpack_dual` returns: the tensor ``primal``, and its ``tangent`` or None.

    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> fwAD.unpack_dual(torch.ones(1))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """


def _memo():
    return getattr(_state, "memo", None)


def enter_dual_level():
    """Open a level in which duals can be made, and return its number. RuntimeError where one is open.

    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> fwAD.enter_dual_level()
    0
    >>> fwAD.exit_dual_level()
    """
    if _memo() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _state.memo = {}
    _set_dual(True)
    return 0


def exit_dual_level(*, level=None):
    """Leave the level; its duals become ordinary tensors. RuntimeError where none is open, or another `level` is named.

    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.exit_dual_level(level=level)
    """
    if level not in (None, 0) or _memo() is None:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _state.memo = None
    pending.clear()
    _set_dual(False)


def _check(tensor, what):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"make_dual(): {what} must be a Tensor, not {type(tensor).__name__}")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected {what} to be floating point or complex, but got: {tensor.dtype}")


def make_dual(tensor, tangent, *, level=None):
    """The memory of `tensor` with a tangent of its shape, a dual number for the open level.

    Raises RuntimeError outside of a level, for a tangent of another shape and for a tensor that is dual already.

    >>> import fasttensor as torch
    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """
    memo = _memo()
    if memo is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if level not in (None, 0):
        raise RuntimeError(f"make_dual: level {level} is not open, only 0 is")
    _check(tensor, "primal")
    _check(tangent, "tangent")
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not"
                           f" supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}.")
    if tensor.is_floating_point() and tangent.is_complex():
        raise RuntimeError(f"make_dual: a tangent of {tangent.dtype} for a tensor of {tensor.dtype}, which is real")
    batch = getattr(tensor, "level", None)
    if batch is not None or getattr(tangent, "level", None) is not None:
        raise RuntimeError("make_dual: duals are not supported inside vmap: use torch.func.jvp there")
    if tangents_of([tensor], memo, {}, None)[0] is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.")
    return dual_of(tensor, tangent, memo)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor; the tangent is None for one that is no dual number, and outside of levels.

    Raises RuntimeError where the history that leads to `tensor` was freed, or what it saved was overwritten.

    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor([4.])
    """
    memo = _memo()
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    if memo is None or getattr(tensor, "level", None) is not None:
        return UnpackedDualTensor(tensor, None)
    tangent, = tangents_of([tensor], memo, {}, None)
    if tangent is not None and not tangent.is_leaf:
        tangent = primal_of(tangent, memo)
    return UnpackedDualTensor(primal_of(tensor, memo), tangent)


set_hook("before_write", lambda: settle(_memo()))
set_hook("has_tangent", lambda node: node_tangent(node, _memo()))


class dual_level(Mode):
    """Context: a level in which duals can be made and unpacked; they have no tangents after it.

    >>> import fasttensor as torch
    >>> import fasttensor.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(torch.zeros(()), torch.tensor(3.)).sin()
    ...     fwAD.unpack_dual(y)
    UnpackedDualTensor(primal=tensor(0.), tangent=tensor(3.))
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level(level=0)
