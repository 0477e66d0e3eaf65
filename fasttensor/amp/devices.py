"""``torch.cpu.amp`` and ``torch.cuda.amp``: the names from before the device was an argument."""

import functools
import warnings

import fasttensor as ft

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["names"]


def _old(name, device):
    warnings.warn(f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
                  FutureWarning, stacklevel=3)


class _CpuAutocast(autocast):
    """`torch.autocast` for the CPU."""

    def __init__(self, enabled=True, dtype=ft.bfloat16, cache_enabled=True):
        _old("autocast", "cpu")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class _CudaAutocast(autocast):
    """`torch.autocast` for the GPU."""

    def __init__(self, enabled=True, dtype=ft.float16, cache_enabled=True):
        _old("autocast", "cuda")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class _CpuScaler(GradScaler):
    """`torch.amp.GradScaler` for the CPU."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _old("GradScaler", "cpu")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class _CudaScaler(GradScaler):
    """`torch.amp.GradScaler` for the GPU."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _old("GradScaler", "cuda")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _named(cls, name):
    cls.__name__ = cls.__qualname__ = name
    return cls


_CPU = {"autocast": _named(_CpuAutocast, "autocast"), "GradScaler": _named(_CpuScaler, "GradScaler")}
_CUDA = {"autocast": _named(_CudaAutocast, "autocast"), "GradScaler": _named(_CudaScaler, "GradScaler"),
         "custom_fwd": functools.partial(custom_fwd, device_type="cuda"), "custom_bwd": functools.partial(custom_bwd, device_type="cuda")}


def names(device):
    """What ``torch.cpu.amp`` or ``torch.cuda.amp`` offers, by name.

    >>> sorted(names("cpu"))
    ['GradScaler', 'autocast']
    """
    return _CPU if device == "cpu" else _CUDA
