"""``torch.xpu``: Intel's GPUs, which are not supported. Programs ask whether they are there and what they hold, and get an answer;
requests for the device are errors of the types of PyTorch's builds without it."""
from collections import OrderedDict

from fasttensor.cuda.availability import require_device
from fasttensor.cuda.streams import StreamContext

default_generators = ()


def is_available():
    """False.

    >>> is_available()
    False
    """
    return False


def _answer(name, value, *parameters):
    """A function whose answer does not depend on its arguments."""
    def function(*args, **kwargs):
        if len(args) + len(kwargs) < len(parameters):
            raise TypeError(f"{name}() missing {len(parameters) - len(args)} required arguments: {', '.join(parameters[len(args):])}")
        return value() if isinstance(value, type) else value
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{value() if isinstance(value, type) else value}: there is no such device."
    return function


def _refusal(name, *parameters):
    """A function that cannot answer without the device."""
    def function(*args, **kwargs):
        if len(args) + len(kwargs) < len(parameters):
            raise TypeError(f"{name}() missing {len(parameters) - len(args)} required arguments: {', '.join(parameters[len(args):])}")
        require_device("xpu")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "An error: there is no such device."
    return function


_ANSWERS = {
    "is_initialized": False, "is_bf16_supported": False, "is_tf32_supported": False, "device_count": 0, "empty_cache": None, "seed": None,
    "seed_all": None, "get_rng_state_all": list, "get_arch_list": list, "get_gencode_flags": "", "memory_allocated": 0, "memory_reserved": 0,
    "max_memory_allocated": 0, "max_memory_reserved": 0, "memory_stats": OrderedDict, "memory_stats_as_nested_dict": dict,
    "memory_snapshot": list, "reset_peak_memory_stats": None, "reset_accumulated_memory_stats": None}
_ANSWERS_OF_ONE = {"manual_seed": "seed", "manual_seed_all": "seed", "set_rng_state": "new_state", "set_rng_state_all": "new_states"}
_REFUSALS = {
    "init": "", "current_device": "", "current_stream": "", "synchronize": "", "get_device_name": "", "get_device_capability": "",
    "get_device_properties": "", "get_per_process_memory_fraction": "", "get_rng_state": "", "initial_seed": "", "mem_get_info": "",
    "graph_pool_handle": "", "is_current_stream_capturing": "", "set_device": "device", "can_device_access_peer": "device peer",
    "set_per_process_memory_fraction": "fraction", "make_graphed_callables": "callables sample_args",
    "get_stream_from_external": "data_ptr", "change_current_allocator": "allocator", "use_mem_pool": "pool", "set_stream": "stream",
    "clock_rate": "", "device_memory_used": "", "memory_usage": "", "power_draw": "", "temperature": "", "utilization": ""}

for _name, _value in _ANSWERS.items():
    globals()[_name] = _answer(_name, _value)
for _name, _value in _ANSWERS_OF_ONE.items():
    globals()[_name] = _answer(_name, None, _value)
for _name, _value in _REFUSALS.items():
    globals()[_name] = _refusal(_name, *_value.split())


class Stream:
    """An order of operations; an error: there is no such device."""

    def __new__(cls, *args, **kwargs):
        require_device("xpu")


class Event(Stream):
    """A moment; an error: there is no such device."""


class MemPool(Stream):
    """A part of the device's memory; an error: there is no such device."""


class XPUGraph(Stream):
    """A recorded order of operations; an error: there is no such device."""


class graph:
    """A context that records operations; an error: there is no such device."""

    def __init__(self, xpu_graph, pool=None, stream=None):
        require_device("xpu")


class XPUPluggableAllocator:
    """Another allocator of the device's memory; an error: there is no such device."""

    def __init__(self, path_to_lib_file, alloc_fn_name, free_fn_name):
        require_device("xpu")


class device:
    """A context in which a device is the current one; None and negative numbers change nothing."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if self.idx is not None and not (isinstance(self.idx, int) and self.idx < 0):
            require_device("xpu")

    def __exit__(self, *_):
        return False


class device_of(device):
    """A context in which a tensor's device is the current one; tensors elsewhere change nothing."""

    def __init__(self, obj):
        super().__init__(None)


def stream(stream):
    """`StreamContext` of a stream; None changes nothing."""
    return StreamContext(stream)


__all__ = ["is_available", *_ANSWERS, *_ANSWERS_OF_ONE, *_REFUSALS, "Stream", "Event", "MemPool", "XPUGraph", "graph", "XPUPluggableAllocator",
           "device", "device_of", "stream", "StreamContext"]
