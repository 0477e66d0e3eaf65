"""Conditions that programs test: ``torch._check``, ``torch._assert`` and their kin."""
from fasttensor._core import dispatch
from fasttensor._core.tensor import Tensor

__all__ = ["_assert", "_assert_async", "_check", "_check_with", "_check_index", "_check_value", "_check_type", "_check_not_implemented",
           "_check_tensor_all", "_check_is_size"]


def _check_with(error_type, cond, message=None):
    """Raise an error of a type, with what `message` returns as its text, unless `cond` is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        if message is not None and not callable(message):
            raise TypeError("message must be a callable")
        raise error_type("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request"
                         " to PyTorch.)" if message is None else str(message()))


def _check(cond, message=None):
    """RuntimeError unless `cond` is true."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError unless `cond` is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError unless `cond` is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError unless `cond` is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError unless `cond` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of a bool tensor are true."""
    if not isinstance(cond, Tensor) or cond.dtype.name != "bool":
        raise TypeError(f"cond must be a bool tensor, but got {cond.dtype if isinstance(cond, Tensor) else type(cond)}")
    _check_with(RuntimeError, bool(cond.all()), message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless an int is a size: not negative, and no more than `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _assert(condition, message):
    """AssertionError with the message unless the condition holds."""
    if type(condition) is not bool and dispatch.asks_of((condition,)):
        return dispatch.ask_for(_assert, (condition,), (condition, message), {})
    if not condition:
        raise AssertionError(message)
    return None


def _assert_async(input, assert_msg=None):
    """RuntimeError where a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
