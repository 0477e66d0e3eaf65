"""``torch.mps``: Apple's GPUs, which are not supported; programs ask whether they are there."""
__all__ = ["is_available", "device_count", "synchronize", "empty_cache", "manual_seed", "seed", "current_allocated_memory",
           "driver_allocated_memory", "set_per_process_memory_fraction"]


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def synchronize():
    """RuntimeError: there is no such device."""
    raise RuntimeError("mps: this library does not support Apple's GPUs: use device 'cpu'")


def empty_cache():
    """Nothing to give back."""


def manual_seed(seed):
    """Nothing to seed."""


def seed():
    """Nothing to seed."""


def current_allocated_memory():
    """0."""
    return 0


driver_allocated_memory = current_allocated_memory


def set_per_process_memory_fraction(fraction):
    """Accepted."""
