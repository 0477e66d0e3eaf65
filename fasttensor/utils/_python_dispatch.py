"""``torch.utils._python_dispatch``: modes that take over operations below autograd.

>>> import fasttensor as torch
>>> class Logged(TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Logged():
...     x = torch.ones(2) + 1
aten.ones.default
aten.add.Tensor
"""
import contextlib

from fasttensor import Tensor
from fasttensor._core import dispatch

__all__ = ["TorchDispatchMode", "BaseTorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "transform_subclass",
           "return_and_correct_aliasing"]


class TorchDispatchMode:
    """A context in which ``__torch_dispatch__(self, func, types, args, kwargs)`` is called for every operation.

    `func` is an operator of ``torch.ops.aten``. While the method runs the mode is left, so that it may call operators; modes entered
    outside of it are asked then. Gradients are off in it: what it returns gets its history afterwards.
    """
    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}: a TorchDispatchMode defines __torch_dispatch__(self, func, types, args=(), kwargs=None)")

    def __enter__(self):
        dispatch.push_dispatch_mode(self)
        return self

    def __exit__(self, kind, error, trace):
        dispatch.pop_dispatch_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """An object of the class, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """False: it is a program's."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    return (dispatch.dispatch_modes_entered() or [None])[-1]


def _get_current_dispatch_mode_stack():
    return dispatch.dispatch_modes_entered()


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    mode = dispatch.set_aside_mode()
    try:
        yield mode
    finally:
        dispatch.put_back_mode(mode)


@contextlib.contextmanager
def _disable_current_modes():
    modes = [dispatch.set_aside_mode() for _ in dispatch.dispatch_modes_entered()]
    try:
        yield modes[::-1]
    finally:
        for mode in reversed(modes):
            dispatch.put_back_mode(mode)


def is_traceable_wrapper_subclass(t):
    """Whether a tensor says with ``__tensor_flatten__`` and ``__tensor_unflatten__`` which tensors it wraps."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same of a class."""
    return (issubclass(t, Tensor) and t.__torch_dispatch__ is not Tensor.__torch_dispatch__
            and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__"))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor of the same class around ``callback(name, tensor)`` of each tensor that `t` wraps."""
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(parts, context, t.size() if outer_size is None else outer_size,
                                        t.stride() if outer_stride is None else outer_stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a handler returns: for an operator that writes into its first argument that argument, else `out`."""
    name = func.overloadpacket.__name__
    if "out" in (kwargs or {}):
        return kwargs["out"]
    return args[0] if name[-1] == "_" and name[:2] != "__" else out
