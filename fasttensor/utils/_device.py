"""``torch.utils._device``: the default device as a mode, for code that names PyTorch's."""
import functools

import fasttensor
from fasttensor.overrides import TorchFunctionMode

__all__ = ["DeviceContext", "device_decorator", "set_device"]


@functools.cache
def _device_constructors():
    """The functions that make tensors and take ``device=``."""
    names = ("empty empty_permuted empty_strided ones arange bartlett_window blackman_window eye full fft.fftfreq fft.rfftfreq hamming_window"
             " hann_window kaiser_window linspace logspace zeros rand randn randint randperm range scalar_tensor tensor as_tensor"
             " tril_indices triu_indices asarray")
    return {functools.reduce(getattr, name.split("."), fasttensor) for name in names.split()}


class DeviceContext(TorchFunctionMode):
    """Inside, functions that make tensors make them on a device.

    >>> with DeviceContext("cpu"):
    ...     torch.zeros(1).device
    device(type='cpu')
    """

    def __init__(self, device):
        self.device = fasttensor.device(device)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device, func):
    """`func`, run inside of a device's context."""
    return set_device(device)(func)


def set_device(device):
    """A decorator: the function makes its tensors on a device."""
    def decorate(func):
        @functools.wraps(func)
        def run(*args, **kwargs):
            with fasttensor.device(device):
                return func(*args, **kwargs)
        return run
    return decorate
