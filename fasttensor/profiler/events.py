"""The events of a profile: one by one, and averaged over those of one name."""

from collections import defaultdict
from enum import Enum
from operator import attrgetter

from .table import format_time, table

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "events_of"]


class DeviceType(Enum):
    """Where an event ran."""
    CPU = 0
    CUDA = 1


class Interval:
    """Start and end in microseconds since the profile began."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start


def _shown(name):
    return property(lambda self: format_time(getattr(self, name)))


class Times:
    """Times in microseconds that follow from totals; nothing runs on a GPU here."""
    device_time = device_time_total = self_device_time_total = 0
    cuda_time = cuda_time_total = self_cuda_time_total = 0
    device_memory_usage = self_device_memory_usage = cuda_memory_usage = self_cuda_memory_usage = 0

    @property
    def cpu_time(self):
        """Mean time of a call, with what it called."""
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str, cpu_time_total_str, self_cpu_time_total_str = _shown("cpu_time"), _shown("cpu_time_total"), _shown("self_cpu_time_total")
    device_time_str, device_time_total_str = _shown("device_time"), _shown("device_time_total")


class FunctionEvent(Times):
    """One operation or named range."""
    count, node_id, is_async, is_remote, is_legacy, scope, overload_name = 1, -1, False, False, False, 0, ""
    device_type, device_index = DeviceType.CPU, 0

    def __init__(self, span, number, began):
        self.id, self.name, self.thread = number, span.name, span.thread
        self.time_range = Interval((span.start - began) / 1e3, (span.end - began) / 1e3)
        self.cpu_children, self.cpu_parent, self.kernels = [], None, []
        self.input_shapes, self.concrete_inputs = span.shapes or [], []
        self.input_types, self.stack = span.kinds or [], span.stack or []
        self.cpu_memory_usage, self.flops = span.memory, span.flops
        self.sequence_nr, self.is_user_annotation = span.sequence, span.kind == "user"
        self.is_backward = span.kind == "backward"
        self.trace_name = self.name

    @property
    def key(self):
        return self.name

    @property
    def cpu_time_total(self):
        """Time with what it called."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        """Time without what it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        """Bytes allocated less bytes freed, without what it called."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f}"
                f" end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread}"
                f" input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>")


class FunctionEventAvg(Times):
    """The sum over events of one key."""
    node_id, is_async, is_remote, is_legacy, scope, overload_name = -1, False, False, False, 0, ""
    device_type = DeviceType.CPU

    def __init__(self):
        self.key, self.count, self.input_shapes, self.stack, self.flops = None, 0, None, None, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.cpu_children, self.cpu_parent, self.is_user_annotation = None, None, None

    def add(self, other):
        """Add an event, or another sum of the same key."""
        if self.key is None:
            self.key, self.input_shapes, self.stack = other.key, other.input_shapes, other.stack
            self.cpu_parent, self.cpu_children, self.is_user_annotation = other.cpu_parent, other.cpu_children, other.is_user_annotation
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise TypeError(f"FunctionEventAvg.add: expected an event, got {type(other).__name__}")
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}"
                f" input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>")


class EventList(list):
    """Events, or their averages, as a list that prints as a table."""

    def __init__(self, *args, profile_memory=False, with_flops=False, began=0):
        super().__init__(*args)
        self._profile_memory, self._with_flops, self._began = profile_memory, with_flops, began

    def _like(self, items):
        return EventList(items, profile_memory=self._profile_memory, with_flops=self._with_flops, began=self._began)

    def __str__(self):
        return self.table()

    @property
    def self_cpu_time_total(self):
        """Time of everything, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80,
              header=None, top_level_events_only=False, time_unit=None):
        """A text table.

        sort_by: an attribute such as "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "count" (largest first),
        or None. row_limit: -1 for all. top_level_events_only leaves out what other events called. time_unit: "us", "ms", "s"
        or None for what fits. Raises AttributeError for an unknown attribute.
        """
        events = self
        if sort_by is not None:
            for event in self[:1]:
                if not hasattr(event, sort_by):
                    raise AttributeError(f"table: events have no attribute {sort_by!r} to sort by; try 'cpu_time_total',"
                                         " 'self_cpu_time_total', 'cpu_memory_usage', 'self_cpu_memory_usage' or 'count'")
            events = self._like(sorted(self, key=attrgetter(sort_by), reverse=True))
        if top_level_events_only:
            events = self._like([event for event in events if event.cpu_parent is None])
        return table(events, self.self_cpu_time_total, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width,
                     header, self._profile_memory, self._with_flops, time_unit)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums over events of one name, and of one set of input shapes or one stack where that is asked for."""
        sums = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n:
                key += event.stack[:group_by_stack_n]
            sums[tuple(key)].add(event)
        for made in sums.values():
            made.stack = (made.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                made.input_shapes = ""
        return self._like(sums.values())

    def total_average(self):
        """The sum over everything."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key, total.input_shapes = "Total", ""
        return total

    def export_chrome_trace(self, path):
        """Write the events as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open."""
        from .chrome import write_trace
        write_trace(path, self)

    def export_stacks(self, path, metric):
        """Write "function;function;... time" lines for flame graphs; metric: "self_cpu_time_total"."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}, got {metric!r}")
        sums = defaultdict(int)
        for event in self:
            if event.stack:
                line = ";".join([frame.replace(" ", "_").replace(";", "_") for frame in reversed(event.stack)] + [event.name.replace(" ", "_")])
                sums[line] += int(getattr(event, metric))
        with open(path, "w") as file:
            file.writelines(f"{line} {value}\n" for line, value in sums.items() if value > 0)

    @staticmethod
    def supported_export_stacks_metrics():
        return ["self_cpu_time_total"]


def events_of(recorder):
    """The events of a recorder that has stopped."""
    made = {}
    events = EventList(profile_memory=recorder.profile_memory, with_flops=recorder.with_flops, began=recorder.began)
    for number, span in enumerate(list(recorder.spans)):
        if span.end is None:            # another thread began it while the recorder stopped
            span.end = max(span.start, recorder.ended)
        event = made[id(span)] = FunctionEvent(span, number, recorder.began)
        parent = made.get(id(span.parent)) if span.parent is not None else None
        if parent is not None:
            event.cpu_parent = parent
            parent.cpu_children.append(event)
        events.append(event)
    return events
