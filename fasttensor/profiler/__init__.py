"""Where the time and the memory of a program go, operation by operation."""

from .events import DeviceType
from .legacy import kineto_available
from .profiler import profile, tensorboard_trace_handler
from .recorder import record_function
from .schedule import ProfilerAction, ProfilerActivity, schedule, supported_activities

__all__ = ["profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity", "kineto_available",
           "DeviceType", "record_function"]
