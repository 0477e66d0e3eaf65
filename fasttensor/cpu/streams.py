"""``torch.cpu``: what programs ask of a device, where everything has happened when a call returns."""
import contextlib

__all__ = ["is_available", "is_initialized", "device_count", "current_device", "set_device", "synchronize", "current_stream", "stream", "Stream",
           "StreamContext", "Event", "get_capabilities"]


class Stream:
    """The order of operations, of which there is one."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def record_event(self):
        """An event that has happened."""
        return Event()

    def wait_event(self, event):
        """Nothing to wait for."""


class Event:
    """A moment, which is always past."""

    def query(self):
        """True."""
        return True

    def record(self, stream=None):
        """Nothing to record."""

    def synchronize(self):
        """Nothing to wait for."""

    def wait(self, stream=None):
        """Nothing to wait for."""


class StreamContext(contextlib.AbstractContextManager):
    """A context in which a stream is the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __exit__(self, *_):
        return None


_stream = Stream()


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """'cpu'."""
    return "cpu"


def set_device(device):
    """Accepted: there is one CPU."""


def synchronize(device=None):
    """Nothing to wait for."""


def current_stream(device=None):
    """The only stream."""
    return _stream


def stream(stream):
    """A context in which a stream is the current one."""
    return StreamContext(stream)


def get_capabilities():
    """The processor's vector instructions and number of cores."""
    import os
    import platform
    try:
        with open("/proc/cpuinfo") as file:
            flags = set(next((line for line in file if line.startswith("flags")), "").split())
    except OSError:
        flags = set()
    names = ("sse4_1", "sse4_2", "avx", "avx2", "avx512f", "avx512bw", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16", "f16c", "fma")
    return {"architecture": platform.machine(), "num_cores": os.cpu_count(), **{name: name in flags for name in names}}
