"""``torch.mps``: Apple's GPUs, which are not supported; programs ask whether they are there."""
from contextlib import contextmanager

__all__ = ["is_available", "device_count", "synchronize", "empty_cache", "manual_seed", "seed", "current_allocated_memory",
           "driver_allocated_memory", "recommended_max_memory", "set_per_process_memory_fraction", "get_rng_state", "set_rng_state",
           "compile_shader", "load_metallib", "Event", "profile"]


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def manual_seed(seed):
    """Nothing to seed."""
    int(seed)


def set_rng_state(new_state):
    """RuntimeError: there is no such device."""
    _absent("set_rng_state")


def set_per_process_memory_fraction(fraction):
    """RuntimeError for a fraction of a device's memory: there is none. TypeError and ValueError for what is no fraction."""
    if not isinstance(fraction, float):
        raise TypeError("mps.set_per_process_memory_fraction: Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 2:
        raise ValueError(f"mps.set_per_process_memory_fraction: Invalid fraction value: {fraction}. Allowed range: 0~2")
    _absent("set_per_process_memory_fraction")


def compile_shader(source):
    """RuntimeError: there is no such device."""
    _absent("compile_shader")


def load_metallib(source):
    """RuntimeError: there is no such device."""
    _absent("load_metallib")


class Event:
    """A moment on the device; RuntimeError: there is none."""

    def __init__(self, enable_timing=False):
        _absent("Event")


@contextmanager
def profile(mode="interval", wait_until_completed=False):
    """A context that is recorded; RuntimeError: there is no such device."""
    _absent("profile")
    yield


def _absent(name):
    raise RuntimeError(f"mps.{name}: this library does not support Apple's GPUs: use device 'cpu'")


def _refusal(name):
    def function():
        _absent(name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "RuntimeError: there is no such device."
    return function


synchronize, empty_cache, seed = _refusal("synchronize"), _refusal("empty_cache"), _refusal("seed")
current_allocated_memory, driver_allocated_memory = _refusal("current_allocated_memory"), _refusal("driver_allocated_memory")
recommended_max_memory, get_rng_state = _refusal("recommended_max_memory"), _refusal("get_rng_state")
