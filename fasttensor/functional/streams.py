"""``torch.Stream`` and ``torch.Event`` of any device. On the CPU everything has happened when a call returns."""
import contextlib
import time

from fasttensor._core.device import device as device_class
from fasttensor.cuda.availability import require_device

__all__ = ["Stream", "Event"]


def _device(value):
    found = device_class("cpu" if value is None else value)
    if found.type != "cpu":
        require_device(found.type, found.index)
    return found


class Stream(contextlib.AbstractContextManager):
    """An order of operations on a device; the CPU has one.

    >>> Stream("cpu").query()
    True
    """

    def __init__(self, device=None, priority=0):
        self.device = _device(device)
        self.stream_id = self.device_index = 0
        self.device_type = 0

    def query(self):
        """Whether everything has happened: True."""
        return True

    def synchronize(self):
        """Nothing to wait for."""

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def wait_event(self, event):
        """Nothing to wait for."""

    def record_event(self, event=None):
        """An event, or the one given, that has happened."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __exit__(self, *_):
        return None


class Event:
    """A moment on a device; with ``enable_timing=True`` the times between two can be asked for.

    >>> first, second = Event("cpu", enable_timing=True), Event("cpu", enable_timing=True)
    >>> first.record(), second.record()
    (None, None)
    >>> first.elapsed_time(second) >= 0
    True
    """

    def __init__(self, device=None, enable_timing=False, blocking=False, interprocess=False):
        self.device = _device(device)
        self.event_id = 0
        self._timing, self._time = enable_timing, None

    def record(self, stream=None):
        """Set the moment to now."""
        self._time = time.perf_counter()

    def query(self):
        """Whether the moment has come: True."""
        return True

    def wait(self, stream=None):
        """Nothing to wait for."""

    def synchronize(self):
        """Nothing to wait for."""

    def elapsed_time(self, end_event):
        """Milliseconds from this moment to another; RuntimeError where they were not recorded or have no timing."""
        if not (self._timing and end_event._timing) or self._time is None or end_event._time is None:
            raise RuntimeError("Event.elapsed_time: both events need enable_timing=True and to be recorded")
        return 1000 * (end_event._time - self._time)
