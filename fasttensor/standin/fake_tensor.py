"""PyTorch's tensors without values: shapes, dtypes, strides and a device, which operations compute."""
import contextlib

import fasttensor as torch
from fasttensor.utils import _pytree
from fasttensor.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorConverter", "FakeTensorMode",
           "UnsupportedFakeTensorException", "is_fake", "maybe_get_fake_mode", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):
    """An operation that a fake tensor cannot have."""


class DynamicOutputShapeException(RuntimeError):
    """The shape of a result depends on values."""


class DataDependentOutputException(RuntimeError):
    """A result is a value."""


class FakeTensor(torch.Tensor):
    """A tensor on a device, without values: what operations on it give is fake too. ``FakeTensorMode`` makes it."""

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=device,
                                                   requires_grad=elem.requires_grad)
        made._elem, made.fake_mode, made.fake_device, made.constant = elem.detach(), fake_mode, torch.device(device), constant
        return made

    def __init__(self, *args, **kwargs):
        super().__init__()

    @staticmethod
    def from_tensor(t, fake_mode):
        """``fake_mode.from_tensor(t)``."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents=None):
        grad = ", requires_grad=True" if self.requires_grad else ""
        return f"FakeTensor(..., {f'device={str(self.fake_device)!r}, ' if self.fake_device.type != 'cpu' else ''}size={tuple(self.shape)}" + \
            (f", dtype={self.dtype}" if self.dtype is not torch.get_default_dtype() else "") + f"{grad})"

    def tolist(self):
        """DataDependentOutputException: there are no values."""
        raise DataDependentOutputException(f"tolist of {self!r}: there are no values")

    numpy = item = tolist

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        mode = next(t.fake_mode for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, FakeTensor))
        return mode.run(func, args, kwargs or {})


class FakeTensorMode(TorchDispatchMode):
    """A block in which tensors are made without values, and in which operations compute shapes only.

    Args:
        allow_non_fake_inputs: take tensors with values among the arguments, of which only the shape counts; an error otherwise.
        others: accepted.

    >>> from fasttensor.standin.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     x = torch.randn(2, 3) @ torch.ones(3, 4)
    >>> x
    FakeTensor(..., size=(2, 4))
    """

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None, export=False):
        super().__init__()
        self.allow_non_fake_inputs, self.shape_env, self.static_shapes = allow_non_fake_inputs, shape_env, True

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A fake tensor of the same form, device and class of leaf."""
        if isinstance(tensor, FakeTensor):
            return tensor
        with _without_modes():
            elem = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta").requires_grad_(tensor.requires_grad)
            return FakeTensor(self, elem, tensor.device)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.run(func, args, kwargs or {})

    def run(self, func, args, kwargs):
        """An operator on fake tensors."""
        name = func.overloadpacket.__name__
        leaves = _pytree.tree_leaves((args, kwargs))
        if name == "_local_scalar_dense":
            raise DataDependentOutputException(str(func))
        devices = [t.fake_device if isinstance(t, FakeTensor) else t.device for t in leaves if isinstance(t, torch.Tensor) and t.dim()]
        devices = devices or [t.fake_device if isinstance(t, FakeTensor) else t.device for t in leaves if isinstance(t, torch.Tensor)]
        if not self.allow_non_fake_inputs and any(isinstance(t, torch.Tensor) and not isinstance(t, FakeTensor) and t.dim() for t in leaves):
            if any(isinstance(t, FakeTensor) for t in leaves):
                raise AssertionError(f"Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                     f"'allow_non_fake_inputs'. Found in {func}")
        device = torch.device(kwargs.get("device") or (devices[0] if devices else torch.get_default_device()))
        args, kwargs = _pytree.tree_map(_meta, (tuple(args), dict(kwargs)))
        if "device" in kwargs or not devices:
            kwargs["device"] = torch.device("meta")
        with _without_modes():
            try:
                out = func(*args, **kwargs)
            except NotImplementedError as error:
                raise DynamicOutputShapeException(f"{func}: {error}") from error
            return _pytree.tree_map(lambda t: FakeTensor(self, t, device) if isinstance(t, torch.Tensor) and t.is_meta else t, out)


def _meta(value):
    if isinstance(value, FakeTensor):
        return value._elem
    if isinstance(value, torch.Tensor) and not value.is_meta:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta") if value.dim() else value.detach().to("meta")
    return value


@contextlib.contextmanager
def _without_modes():
    from fasttensor.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        yield


class FakeTensorConverter:
    """``FakeTensorMode.from_tensor`` under the name of PyTorch's converter."""

    def from_real_tensor(self, fake_mode, t, *args, **kwargs):
        """``fake_mode.from_tensor(t)``."""
        return fake_mode.from_tensor(t)


def is_fake(x):
    """Whether a tensor has no values."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t):
    """The mode of a fake tensor, or None."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block in which tensors have values; gives the FakeTensorMode that was entered, or None."""
    entered = next((m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, FakeTensorMode)), None)
    with _without_modes():
        yield entered
