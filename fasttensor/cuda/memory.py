"""``torch.cuda.memory``: the GPU's memory, of which nothing is in use here."""
from collections import OrderedDict

from .availability import _require

__all__ = ["caching_allocator_alloc", "caching_allocator_delete", "caching_allocator_enable", "empty_cache", "get_allocator_backend",
           "get_per_process_memory_fraction", "set_per_process_memory_fraction", "mem_get_info", "list_gpu_processes", "memory_summary",
           "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "host_memory_stats", "host_memory_stats_as_nested_dict",
           "memory_allocated", "memory_reserved", "memory_cached", "max_memory_allocated", "max_memory_reserved", "max_memory_cached",
           "reset_peak_memory_stats", "reset_peak_host_memory_stats", "reset_accumulated_memory_stats", "reset_accumulated_host_memory_stats",
           "reset_max_memory_allocated", "reset_max_memory_cached", "CUDAPluggableAllocator", "MemPool", "use_mem_pool",
           "change_current_allocator"]


def memory_allocated(device=None):
    """Bytes of GPU memory in use.

    >>> memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device=None):
    """The most bytes of GPU memory that were in use."""
    return 0


def memory_reserved(device=None):
    """Bytes of GPU memory that are kept."""
    return 0


def max_memory_reserved(device=None):
    """The most bytes of GPU memory that were kept."""
    return 0


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def memory_stats(device=None):
    """Statistics by name: none without a GPU."""
    return OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """Statistics in nested dicts: none without a GPU."""
    return {}


def host_memory_stats():
    """Statistics of pinned memory: none without a GPU."""
    return OrderedDict()


def host_memory_stats_as_nested_dict():
    """Statistics of pinned memory in nested dicts: none without a GPU."""
    return {}


def reset_peak_memory_stats(device=None):
    """Nothing to reset without a GPU."""


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_peak_host_memory_stats():
    """Nothing to reset without a GPU."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


def empty_cache():
    """Give cached GPU memory back; nothing to do without a GPU."""


def caching_allocator_enable(value=True):
    """Whether freed memory is kept for later; no effect without a GPU."""


def list_gpu_processes(device=None):
    """A text that lists the GPU's processes."""
    return "NVIDIA's management library is not used; nvidia-smi lists the processes"


def memory_summary(device=None, abbreviated=False):
    """A table of the GPU's memory; an error without one."""
    _require()


def memory_snapshot(mempool_id=None, include_traces=True):
    """The GPU's blocks of memory; an error without one."""
    _require()


def mem_get_info(device=None):
    """(free, total) bytes; an error without a GPU."""
    _require()


def get_allocator_backend():
    """The name of the GPU's allocator; an error without one."""
    _require()


def get_per_process_memory_fraction(device=None):
    """The share of the GPU's memory that this process may take; an error without one."""
    _require()


def set_per_process_memory_fraction(fraction, device=None):
    """Limit the share of the GPU's memory that this process may take; an error without one."""
    _require()


def caching_allocator_alloc(size, device=None, stream=None):
    """A block of the GPU's memory; an error without one."""
    _require()


def caching_allocator_delete(mem_ptr):
    """Free a block of the GPU's memory; an error without one."""
    _require()


def change_current_allocator(allocator):
    """Choose another allocator of the GPU's memory; an error without one."""
    _require()


def _record_memory_history(enabled="all", *args, **kwargs):
    _require()


class CUDAPluggableAllocator:
    """Another allocator of the GPU's memory; an error without one."""

    def __init__(self, path_to_so_file, alloc_fn_name, free_fn_name):
        _require()


class MemPool:
    """A part of the GPU's memory; an error without one."""

    def __init__(self, *args, **kwargs):
        _require()


class use_mem_pool:
    """A context in which memory comes from a pool."""

    def __init__(self, pool, device=None):
        self.pool = pool

    def __enter__(self):
        _require()

    def __exit__(self, *_):
        return False


def __getattr__(name):
    if name in ("OutOfMemoryError", "AcceleratorError"):
        import fasttensor
        return getattr(fasttensor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
