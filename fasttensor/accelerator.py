"""``torch.accelerator``: the GPU, where one can be used."""
from fasttensor import cuda, device

__all__ = ["current_accelerator", "is_available", "device_count", "current_device_index", "current_device_idx", "set_device_index", "set_device_idx",
           "device_index", "synchronize", "empty_cache", "memory_stats", "memory_allocated", "memory_reserved", "max_memory_allocated",
           "max_memory_reserved", "reset_peak_memory_stats", "reset_accumulated_memory_stats", "get_memory_info", "current_stream", "set_stream"]


def _require():
    if not cuda.is_available():
        raise RuntimeError("torch.accelerator: Cannot access accelerator device when none is available: use device 'cpu'")


def is_available():
    """Whether there is an accelerator.

    >>> import fasttensor as torch
    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return cuda.is_available()


def current_accelerator(check_available=False):
    """The accelerator's device, or None."""
    return device("cuda") if cuda.is_available() else None


def device_count():
    """The number of accelerators."""
    return cuda.device_count()


def current_device_index():
    """The index of the current accelerator; RuntimeError without one."""
    _require()
    return cuda.current_device()


def set_device_index(device):
    """Choose the current accelerator; RuntimeError without one."""
    _require()
    cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """A context in which an accelerator, or with None no other one, is the current one."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        if self.device is not None:
            self.former = current_device_index()
            set_device_index(self.device)

    def __exit__(self, *_):
        if self.device is not None:
            set_device_index(self.former)


def synchronize(device=None, /):
    """Wait for the accelerator; RuntimeError without one."""
    _require()
    cuda.synchronize(device)


def current_stream(device=None, /):
    """The accelerator's current stream; RuntimeError without one."""
    _require()
    return cuda.current_stream(device)


def set_stream(stream):
    """Choose the accelerator's current stream; RuntimeError without one."""
    _require()
    cuda.set_stream(stream)


def empty_cache():
    """Give cached memory of the accelerator back; nothing to do without one."""
    cuda.empty_cache()


def memory_stats(device_index=None, /):
    """Statistics of the accelerator's memory: empty without one."""
    return {}


def memory_allocated(device_index=None, /):
    """Bytes of the accelerator's memory in use."""
    return cuda.memory_allocated()


def max_memory_allocated(device_index=None, /):
    """The most bytes that were in use."""
    return cuda.max_memory_allocated()


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def reset_peak_memory_stats(device_index=None, /):
    """Nothing to reset without an accelerator."""


reset_accumulated_memory_stats = reset_peak_memory_stats


def get_memory_info(device_index=None, /):
    """(free, total) bytes; RuntimeError without an accelerator."""
    _require()
    return cuda.mem_get_info(device_index)


def get_device_module(device=None):
    """The module of a device, or of its name: ``torch.cpu`` or ``torch.cuda``; of the accelerator, or else the CPU, without one."""
    import fasttensor
    kind = ("cuda" if cuda.is_available() else "cpu") if device is None else fasttensor.device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"get_device_module: no module for device {device!r}; 'cpu' and 'cuda' have one")
    return getattr(fasttensor, kind)
