"""Profiles as traces in Chrome's JSON format."""

import gzip
import json
import os

__all__ = ["write_trace"]

CATEGORY = {True: "user_annotation", False: "cpu_op"}


def trace_events(events):
    """The list of trace events: processes and threads, a complete event each, arrows from forward to backward."""
    pid = os.getpid()
    base = getattr(events, "_began", 0) / 1e3
    made = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}}]
    for thread in dict.fromkeys(event.thread for event in events):
        made.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": f"thread {thread}"}})
    forward = {}
    allocated = 0
    memory = getattr(events, "_profile_memory", False)
    for event in events:
        start = base + event.time_range.start
        arguments = {"External id": event.id}
        if event.sequence_nr >= 0:
            arguments["Sequence number"] = event.sequence_nr
        if event.input_shapes:
            arguments["Input Dims"], arguments["Input type"] = event.input_shapes, event.input_types
        if event.stack:
            arguments["Call stack"] = ";".join(event.stack)
        if event.flops:
            arguments["FLOPs"] = event.flops
        if memory:
            arguments["Bytes"] = event.cpu_memory_usage
        made.append({"ph": "X", "cat": CATEGORY[event.is_user_annotation], "name": event.name, "pid": pid, "tid": event.thread, "ts": start,
                     "dur": event.time_range.elapsed_us(), "args": arguments})
        if event.sequence_nr >= 0:
            arrow = {"id": event.sequence_nr, "cat": "fwdbwd", "name": "fwdbwd", "pid": pid, "tid": event.thread, "ts": start}
            if not event.is_backward:
                forward[event.sequence_nr] = arrow
            elif event.sequence_nr in forward:
                made += [{"ph": "s", **forward.pop(event.sequence_nr)}, {"ph": "f", "bp": "e", **arrow}]
        if memory and event.cpu_parent is None:
            allocated += event.cpu_memory_usage
            made.append({"ph": "C", "name": "memory", "pid": pid, "tid": 0, "ts": start + event.time_range.elapsed_us(),
                         "args": {"bytes since the start": allocated}})
    return made


def write_trace(path, events, metadata=None):
    """Write a trace; compressed where the path ends in .gz."""
    path = os.fspath(path)
    content = {"schemaVersion": 1, "deviceProperties": [], **(metadata or {}), "displayTimeUnit": "ms",
               "traceEvents": trace_events(events), "traceName": path}
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "wt") as file:
        json.dump(content, file)
