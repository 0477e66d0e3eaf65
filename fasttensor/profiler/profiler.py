"""The profiler that programs use, and what happens to its records."""

import json
import os
import socket
import time
import warnings

from .chrome import write_trace
from .events import events_of
from .recorder import Recorder, record_function
from .schedule import ProfilerAction, ProfilerActivity

__all__ = ["profile", "tensorboard_trace_handler"]

RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def _always(step):
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """An ``on_trace_ready`` that writes each trace into a folder, named as TensorBoard's profiler plugin expects.

    Raises RuntimeError where the folder cannot be made.
    """
    def handler(prof):
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")))
    return handler


class profile:
    """Records the operations that run inside: times, and memory, shapes, stacks and counts where asked for.

    activities: CPU here; a GPU that is not there is ignored with a warning. schedule: a function from `schedule(...)`; without one
    everything is recorded. on_trace_ready(prof) is called after each recorded cycle and at the end. record_shapes,
    profile_memory, with_stack, with_flops: what else to record. Call `step()` after each step of the program.
    Operations have PyTorch's names, such as aten::linear; the backward of one is named like its node, such as AddmmBackward0.

    >>> model, x = nn.Linear(8, 2), torch.ones(4, 8)
    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     model(x).sum().backward()
    >>> averages = prof.key_averages()
    >>> sorted(a.key for a in averages if a.key in ("aten::linear", "AddmmBackward0"))
    ['AddmmBackward0', 'aten::linear']
    >>> text = averages.table(sort_by="self_cpu_time_total", row_limit=10)
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None,
                 acc_events=False, use_cuda=None, custom_trace_id_callback=None):
        self.activities = {ProfilerActivity.CPU} if activities is None else set(activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found: pass activities=[ProfilerActivity.CPU]")
        if self.activities - {ProfilerActivity.CPU} or use_cuda:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            self.activities = {ProfilerActivity.CPU}
        self.schedule, self.record_steps = schedule or _always, schedule is not None
        if not callable(self.schedule):
            raise TypeError(f"profile: schedule must be a function, as torch.profiler.schedule(...) makes, not {type(schedule).__name__}")
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.record_shapes, self.profile_memory, self.with_stack, self.with_flops = record_shapes, profile_memory, with_stack, with_flops
        self.with_modules = with_modules
        self.recorder, self.kept, self.collecting = None, None, True
        self.metadata = {}
        self.step_num, self.current_action, self.step_range = 0, ProfilerAction.NONE, None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begin with step 0."""
        self._turn(self.schedule(self.step_num))
        self._open_step()

    def stop(self):
        """End, and hand a trace that is being recorded to on_trace_ready."""
        self._close_step()
        saving = self.current_action in RECORDING
        self._turn(ProfilerAction.NONE)
        if saving and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self):
        """Say that the next step of the program begins."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        after = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._turn(ProfilerAction.NONE)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        elif before is ProfilerAction.RECORD and after not in RECORDING:
            warnings.warn("Incorrect schedule: RECORD followed by " + after.name, stacklevel=2)
        self._turn(after)
        self._open_step()

    def _open_step(self):
        if self.record_steps and self.current_action in RECORDING:
            self.step_range = record_function(f"ProfilerStep#{self.step_num}")
            self.step_range.__enter__()

    def _close_step(self):
        if self.step_range is not None:
            self.step_range.__exit__(None, None, None)
            self.step_range = None

    def _turn(self, action):
        """Go over to what `action` needs."""
        listening = self.current_action is not ProfilerAction.NONE
        if action is ProfilerAction.NONE:
            if listening:
                self.recorder.stop()
                if self.current_action in RECORDING:
                    self._keep()
        else:
            if not listening:
                self.recorder = Recorder(self.record_shapes, self.profile_memory, self.with_stack, self.with_flops)
                self.recorder.start()
            if action in RECORDING and self.current_action is ProfilerAction.WARMUP:
                self.recorder.clear()
        self.current_action = action

    def _keep(self):
        made = events_of(self.recorder)
        if self.acc_events and self.kept is not None:
            made[:0] = self.kept
        self.kept, self.recorder = made, None

    def toggle_collection_dynamic(self, enable, activities=None):
        """Stop recording for a while, or go on."""
        if self.recorder is not None and enable != self.collecting:
            self.collecting = enable
            if enable:
                began = self.recorder.began
                self.recorder.start()
                self.recorder.began = began
            else:
                self.recorder.stop()

    def events(self):
        """The events of the last recorded cycle. RuntimeError while nothing was recorded yet."""
        if self.kept is None:
            raise RuntimeError("Profiler didn't finish running: there are no events before the end of the block or of a recorded cycle")
        return self.kept

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The events summed by name, and by input shapes (needs record_shapes) or stacks (needs with_stack)."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path):
        """Write a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open; compressed where the path ends in .gz."""
        extra = {"record_shapes": int(self.record_shapes), "profile_memory": int(self.profile_memory), "with_stack": int(self.with_stack),
                 "with_flops": int(self.with_flops), **self.metadata}
        write_trace(path, self.events(), extra)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write stacks with times for a flame graph (needs with_stack)."""
        self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None):
        """Write [times in microseconds, bytes in use since the start] as JSON (needs profile_memory)."""
        if not self.profile_memory:
            raise ValueError("export_memory_timeline: profile_memory=True is required")
        times, sizes, used = [], [], 0
        for event in self.events():
            if event.cpu_parent is None:
                used += event.cpu_memory_usage
                times.append(event.time_range.end)
                sizes.append(used)
        with open(path, "w") as file:
            json.dump([times, sizes], file)

    def add_metadata(self, key, value):
        """A text that the trace file holds under `key`."""
        self.metadata[key] = str(value)

    def add_metadata_json(self, key, value):
        """A JSON value, given as text, that the trace file holds under `key`."""
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
