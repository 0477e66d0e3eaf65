"""The state of autocast in this thread, by device: functions of ``fasttensor`` itself, as in PyTorch."""

import fasttensor as ft

from .casting import state, update

__all__ = ["is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype", "is_autocast_cache_enabled",
           "set_autocast_cache_enabled", "clear_autocast_cache", "autocast_increment_nesting", "autocast_decrement_nesting",
           "is_autocast_cpu_enabled", "set_autocast_cpu_enabled", "get_autocast_cpu_dtype", "set_autocast_cpu_dtype",
           "get_autocast_gpu_dtype", "set_autocast_gpu_dtype"]

KNOWN = ("cpu", "cuda", "mps", "xpu", "mtia", "maia", "hpu", "ipu", "xla", "privateuseone")


def check_device(device_type):
    """The name of a device that autocast knows of; RuntimeError for any other."""
    if not isinstance(device_type, str):
        raise TypeError(f"autocast: expected a device type as a string such as 'cpu', not {type(device_type).__name__}")
    kind = device_type.partition(":")[0]
    if kind == "meta":
        raise RuntimeError("autocast: unsupported device type 'meta': its tensors hold no values to convert")
    if kind not in KNOWN:
        raise RuntimeError(f"Expected one of {', '.join(KNOWN)} device type at start of device string: {device_type}")
    return kind


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on in this thread for a device; without an argument for the GPU, as in PyTorch.

    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return bool(state.enabled.get(check_device(device_type)))


def set_autocast_enabled(device_type, enabled=None):
    """Switch autocast for a device on or off, without a block; with one argument for the GPU."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    state.enabled[check_device(device_type)] = bool(enabled)
    update()


def get_autocast_dtype(device_type):
    """The lower precision of a device: bfloat16 on the CPU and float16 on a GPU unless it was set.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return state.dtype.get(check_device(device_type), ft.bfloat16)


def set_autocast_dtype(device_type, dtype):
    """Set the lower precision of a device."""
    if not isinstance(dtype, ft.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    state.dtype[check_device(device_type)] = dtype


def is_autocast_cache_enabled():
    """Whether converted weights are kept until the outermost block ends."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled):
    """Say whether converted weights are kept until the outermost block ends."""
    state.cache_enabled = bool(enabled)


def clear_autocast_cache():
    """Forget the converted weights."""
    state.cache.clear()


def autocast_increment_nesting():
    """Enter one more block; returns how many are open."""
    state.nesting += 1
    update()
    return state.nesting


def autocast_decrement_nesting():
    """Leave a block; returns how many are open."""
    state.nesting = max(state.nesting - 1, 0)
    update()
    return state.nesting


def is_autocast_cpu_enabled():
    """`is_autocast_enabled` for the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """`set_autocast_enabled` for the CPU."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """`get_autocast_dtype` of the CPU."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """`set_autocast_dtype` of the CPU."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """`get_autocast_dtype` of the GPU."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """`set_autocast_dtype` of the GPU."""
    set_autocast_dtype("cuda", dtype)
