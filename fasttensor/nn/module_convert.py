"""Moving a Module to other devices and dtypes."""
import warnings

import fasttensor as ft

from .parameter import Parameter

_NUMBERS = {float: ft.float64, complex: ft.complex128}      # Python's types as dtypes


def parse_to(args, kwargs):
    """(device, dtype, non_blocking, memory_format) of the forms that `to` takes."""
    device = dtype = None
    non_blocking = False
    rest = list(args)
    if rest and isinstance(rest[0], ft.Tensor):
        device, dtype = rest[0].device, rest[0].dtype
        rest.pop(0)
    elif rest and isinstance(rest[0], ft.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (isinstance(rest[0], ft.dtype) or rest[0] is None):
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if not isinstance(non_blocking, (bool, type(None))) or not (device is None or isinstance(device, (str, int, ft.device))):
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"to() received an invalid combination of arguments - got ({kinds}), but expected (device, dtype, non_blocking, copy), "
                        "(dtype, non_blocking, copy) or (tensor, non_blocking, copy)")
    unknown = set(kwargs) - {"device", "dtype", "non_blocking", "copy", "memory_format", "tensor", "other"}
    if unknown or len(rest) > 1:
        raise TypeError(f"to() received an invalid combination of arguments: {args} {kwargs}")
    other = kwargs.get("tensor", kwargs.get("other"))
    if other is not None:
        device, dtype = other.device, other.dtype
    device = kwargs.get("device", device)
    dtype = kwargs.get("dtype", dtype)
    non_blocking = kwargs.get("non_blocking", non_blocking)
    return (None if device is None else ft.device(device)), dtype, non_blocking, kwargs.get("memory_format")


class ConvertMixin:
    def _apply(self, fn, recurse=True):
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, p in self._parameters.items():
            if p is None:
                continue
            # The object stays the same, so that optimizers that hold it see the change.
            with ft.no_grad():
                value = fn(p)
                same_device = value.device.type == p.device.type
                grad = p.grad
                if same_device or p.device.type != "meta":
                    p.data = value
                else:
                    p = Parameter(value, p.requires_grad)
                    self._parameters[name] = p
                if grad is not None:
                    moved = fn(grad)
                    moved.requires_grad_(grad.requires_grad)
                    p.grad = None
                    p.grad = moved
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        return self

    def to(self, *args, **kwargs):
        """Move parameters and buffers: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`; returns self.

        Only floating and complex tensors change their dtype.

        >>> nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        args = [_NUMBERS.get(a, a) if isinstance(a, type) else a for a in args]
        if isinstance(kwargs.get("dtype"), type):
            kwargs["dtype"] = _NUMBERS.get(kwargs["dtype"], kwargs["dtype"])
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is not None and dtype.is_complex:
            warnings.warn("Complex modules: not all layers and losses have a meaning, or a gradient, for complex parameters and buffers",
                          stacklevel=2)

        def convert(t):
            new = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else None
            extra = {}
            if memory_format is not None and t.dim() in (4, 5):
                extra["memory_format"] = memory_format
            if t.device.type == "meta" and device is not None and device.type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                                          "torch.nn.Module.to() when moving module from meta to a different device.")
            return t.to(device if device is not None else t.device, new if new is not None else t.dtype,
                        non_blocking, **extra)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Move to a device without copying the values."""
        return self._apply(lambda t: ft.empty_like(t, device=device), recurse=recurse)

    def cpu(self):
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def xpu(self, device=None):
        """An error: Intel's GPUs are not supported."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device=None):
        """An error: Graphcore's processors are not supported."""
        return self._apply(lambda t: t.ipu(device))

    def cuda(self, device=None):
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def type(self, dst_type):
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def _floating(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Convert floating parameters and buffers to float32."""
        return self._floating(ft.float32)

    def double(self):
        """Convert floating parameters and buffers to float64."""
        return self._floating(ft.float64)

    def half(self):
        """Convert floating parameters and buffers to float16."""
        return self._floating(ft.float16)

    def bfloat16(self):
        """Convert floating parameters and buffers to bfloat16."""
        return self._floating(ft.bfloat16)

    def share_memory(self):
        """Move parameters and buffers to memory that other processes can map."""
        return self._apply(lambda t: t.share_memory_())
