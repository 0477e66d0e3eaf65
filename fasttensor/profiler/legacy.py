"""``torch.autograd.profiler``: the profiler from before ``torch.profiler``, and markers for NVIDIA's and Intel's tools."""

import warnings

from .events import DeviceType, EventList, FunctionEvent, FunctionEventAvg, events_of
from .recorder import Recorder, record_function
from .table import format_memory, format_time

__all__ = ["profile", "record_function", "emit_nvtx", "emit_itt", "EventList", "FunctionEvent", "FunctionEventAvg", "DeviceType",
           "format_memory", "format_time", "kineto_available", "NAMES"]


class profile:
    """Records the operations inside; `table`, `key_averages` and the others show them afterwards.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(3).exp()
    >>> [event.name for event in prof.function_events]
    ['aten::ones', 'aten::exp']
    """

    def __init__(self, enabled=True, *, use_cpu=True, use_cuda=False, use_device=None, record_shapes=False, with_flops=False,
                 profile_memory=False, with_stack=False, with_modules=False, use_kineto=False, **other):
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.enabled, self.entered, self.function_events = enabled, False, None
        self.recorder = Recorder(record_shapes, profile_memory, with_stack, with_flops)

    def __enter__(self):
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            self.recorder.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self.recorder.stop()
            self.function_events = events_of(self.recorder)
        return False

    def _events(self):
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running: its events are there after the block")
        return self.function_events

    def __repr__(self):
        return "<unfinished profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self):
        return "<unfinished profile>" if self.function_events is None else str(self.function_events)

    def table(self, *args, **kwargs):
        """As `EventList.table`."""
        return self._events().table(*args, **kwargs)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """As `EventList.key_averages`."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self):
        """The sum over all events."""
        return self._events().total_average()

    def export_chrome_trace(self, path):
        """Write a trace for Perfetto or chrome://tracing."""
        self._events().export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write stacks with times for a flame graph."""
        self._events().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self):
        """Time of everything, in microseconds."""
        return self._events().self_cpu_time_total


class _Markers:
    """A context that would mark each operation for another program's profiler, which is not there."""
    reason = ""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            warnings.warn(f"torch.autograd.profiler.{type(self).__name__} has no effect: {self.reason}; torch.profiler.profile records"
                          " operations on the CPU", stacklevel=2)
        return self

    def __exit__(self, *exc):
        return False


class emit_nvtx(_Markers):
    """No effect: NVTX ranges need CUDA's tools. Warns, and runs what is inside."""
    reason = "NVTX ranges are drawn by NVIDIA's profilers, and no GPU is in use"


class emit_itt(_Markers):
    """No effect: ITT tasks need Intel's tools. Warns, and runs what is inside."""
    reason = "ITT tasks are drawn by Intel VTune, which this library does not link"


def kineto_available():
    """Whether PyTorch's Kineto records; here operations are always recorded by this library itself."""
    return True


NAMES = {name: globals()[name] for name in __all__ if name != "NAMES"}
