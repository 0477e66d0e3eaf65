"""``torch.xpu``: Intel's GPUs, which are not supported; programs ask whether they are there."""
__all__ = ["is_available", "device_count", "current_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "is_initialized", "is_bf16_supported", "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved",
           "reset_peak_memory_stats", "init", "get_device_name", "set_device"]

_ABSENT = "xpu: this library does not support Intel's GPUs: use device 'cpu'"


def is_available():
    """False."""
    return False


is_initialized = is_bf16_supported = is_available


def device_count():
    """0."""
    return 0


def init():
    """RuntimeError: there is no such device."""
    raise RuntimeError(_ABSENT)


def current_device():
    """RuntimeError: there is no such device."""
    raise RuntimeError(_ABSENT)


def synchronize(device=None):
    """RuntimeError: there is no such device."""
    raise RuntimeError(_ABSENT)


def get_device_name(device=None):
    """RuntimeError: there is no such device."""
    raise RuntimeError(_ABSENT)


def set_device(device):
    """RuntimeError: there is no such device."""
    raise RuntimeError(_ABSENT)


def empty_cache():
    """Nothing to give back."""


def manual_seed(seed):
    """Nothing to seed."""


manual_seed_all = manual_seed


def seed():
    """Nothing to seed."""


seed_all = seed


def memory_allocated(device=None):
    """0."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device=None):
    """Nothing to reset."""
