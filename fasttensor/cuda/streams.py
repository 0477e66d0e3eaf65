"""``torch.cuda.streams``: orders of operations on a GPU, and moments in them."""
from .availability import _require

__all__ = ["Stream", "ExternalStream", "Event", "StreamContext", "stream", "current_stream", "default_stream", "set_stream",
           "get_stream_from_external"]


class Stream:
    """An order of operations on a GPU; an error without one."""

    def __new__(cls, device=None, priority=0, **kwargs):
        _require()


class ExternalStream(Stream):
    """A stream that another library made."""

    def __new__(cls, stream_ptr, device=None, **kwargs):
        _require()


class Event:
    """A moment in a stream; an error without a GPU."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        _require()


class StreamContext:
    """A context in which a stream is the current one; None changes nothing.

    >>> with StreamContext(None):
    ...     pass
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            _require()

    def __exit__(self, *_):
        return None


def stream(stream):
    """`StreamContext` of a stream."""
    return StreamContext(stream)


def current_stream(device=None):
    """The current stream; an error without a GPU."""
    _require()


def default_stream(device=None):
    """The stream that is there from the beginning; an error without a GPU."""
    _require()


def set_stream(stream):
    """Choose the current stream; None changes nothing."""
    if stream is not None:
        _require()


def get_stream_from_external(data_ptr, device=None):
    """A stream that another library made; an error without a GPU."""
    _require()
