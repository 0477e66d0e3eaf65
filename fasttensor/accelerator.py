"""``torch.accelerator``: the GPU, where one can be used."""
from fasttensor import cuda, device

__all__ = ["current_accelerator", "is_available", "device_count", "current_device_index", "current_device_idx", "set_device_index", "set_device_idx",
           "device_index", "synchronize", "empty_cache", "memory_stats", "memory_allocated", "memory_reserved", "max_memory_allocated",
           "max_memory_reserved", "reset_peak_memory_stats", "reset_accumulated_memory_stats", "get_memory_info", "current_stream", "set_stream",
           "empty_host_cache", "get_device_capability"]


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


def _of_memory(name, text, *default):
    """A question about the accelerator's memory."""
    def function(*args):
        if len(args) > len(default):
            raise TypeError(f"{name}() takes {len(default)} positional arguments but {len(args)} were given")
        _require()
        return getattr(cuda, name)(*args)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + "; RuntimeError without an accelerator."
    return function


empty_cache = _of_memory("empty_cache", "Give cached memory back")
empty_host_cache = _of_memory("empty_host_cache", "Give cached pinned memory back")
memory_stats = _of_memory("memory_stats", "Statistics of the memory", None)
memory_allocated = _of_memory("memory_allocated", "Bytes in use", None)
memory_reserved = _of_memory("memory_reserved", "Bytes that are kept", None)
max_memory_allocated = _of_memory("max_memory_allocated", "The most bytes that were in use", None)
max_memory_reserved = _of_memory("max_memory_reserved", "The most bytes that were kept", None)
reset_peak_memory_stats = _of_memory("reset_peak_memory_stats", "Forget the maxima", None)
reset_accumulated_memory_stats = _of_memory("reset_accumulated_memory_stats", "Forget the sums", None)
get_device_capability = _of_memory("get_device_capability", "What the accelerator can do", None)


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
