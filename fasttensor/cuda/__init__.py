"""The GPU device. Nothing of CUDA is imported before a GPU is asked for.

Without one, `is_available()` is False, questions about memory answer 0, and every request for the device says what is missing.
"""
from importlib import import_module

from .availability import Unavailable, _missing, _require

__all__ = ["is_available", "device_count", "current_device", "set_device", "synchronize", "init", "is_initialized", "is_bf16_supported",
           "is_tf32_supported", "get_arch_list", "get_gencode_flags", "device", "device_of", "get_device_name", "get_device_capability",
           "get_device_properties", "can_device_access_peer", "ipc_collect", "cudart", "current_blas_handle", "current_solver_handle",
           "get_sync_debug_mode", "set_sync_debug_mode", "utilization", "memory_usage", "temperature", "power_draw", "clock_rate",
           "device_memory_used"]

KERNELS = {}        # the kernel modules of this device: function name -> module below fasttensor.cuda

has_half, has_magma, default_generators, _initialized = True, False, (), False

# Names that live in submodules, as PyTorch has them; a submodule is imported when one of its names is used.
_SUBMODULES = ("amp", "comm", "graphs", "memory", "nccl", "nvtx", "profiler", "random", "streams", "tensor_types", "_utils")
_ELSEWHERE = {
    "random": "get_rng_state get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all initial_seed",
    "streams": "Stream ExternalStream Event StreamContext stream current_stream default_stream set_stream get_stream_from_external",
    "graphs": "CUDAGraph graph graph_pool_handle make_graphed_callables is_current_stream_capturing",
    "memory": "caching_allocator_alloc caching_allocator_delete caching_allocator_enable empty_cache get_allocator_backend "
              "get_per_process_memory_fraction host_memory_stats host_memory_stats_as_nested_dict list_gpu_processes max_memory_allocated "
              "max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached memory_reserved memory_snapshot memory_stats "
              "memory_stats_as_nested_dict memory_summary reset_accumulated_host_memory_stats reset_accumulated_memory_stats "
              "reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats "
              "set_per_process_memory_fraction OutOfMemoryError AcceleratorError CUDAPluggableAllocator MemPool use_mem_pool "
              "change_current_allocator",
    "tensor_types": " ".join(f"{kind}{form}" for kind in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
                             for form in ("Tensor", "Storage")) + " ComplexFloatStorage ComplexDoubleStorage",
    "_utils": "_get_device_index",
}
_PLACE = {name: module for module, names in _ELSEWHERE.items() for name in names.split()}
__all__ += [name for name in _PLACE if not name.startswith("_")]


def is_available():
    """Whether a GPU can be used.

    >>> import fasttensor as torch
    >>> torch.cuda.is_available() in (True, False)
    True
    """
    return _missing() is None


def device_count():
    """The number of GPUs that can be used."""
    return 1 if is_available() else 0


def is_initialized():
    """Whether a GPU was used in this process."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether there is a GPU that has bfloat16."""
    return is_available()


def is_tf32_supported():
    """Whether there is a GPU that has TF32."""
    return is_available()


def get_arch_list():
    """The kinds of GPU that kernels were compiled for beforehand: an empty list."""
    return []


def get_gencode_flags():
    """The compiler's flags for `get_arch_list`."""
    return ""


def init():
    """Look for the GPU now; an error that says what is missing without one."""
    _require()


_lazy_init = init


def _is_in_bad_fork():
    return False


def current_device():
    """The index of the current GPU; an error without one."""
    _require()
    return 0


def set_device(device):
    """Choose the current GPU; an error without one. Negative numbers do nothing."""
    index = import_module(__name__ + "._utils")._get_device_index(device, optional=True)
    if index >= 0:
        _require(index)


def synchronize(device=None):
    """Wait for the GPU; an error without one."""
    _require()


class device:
    """A context in which a GPU is the current one; None and negative numbers change nothing.

    >>> with device(None):
    ...     pass
    """

    def __init__(self, device):
        utilities = import_module(__name__ + "._utils")
        self.idx = -1 if device is None else utilities._get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            _require(self.idx)

    def __exit__(self, *_):
        return False


class device_of(device):
    """A context in which the GPU of a tensor is the current one; tensors elsewhere change nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def _needs_gpu(name, text, *required):
    """A function of this device that cannot answer without one."""
    def function(*args, **kwargs):
        if len(args) + len(kwargs) < len(required):
            raise TypeError(f"{name}() missing {len(required) - len(args)} required arguments: {', '.join(required[len(args):])}")
        _require()
        raise NotImplementedError(f"torch.cuda.{name} is not implemented")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + "; an error without a GPU."
    return function


get_device_name = _needs_gpu("get_device_name", "A GPU's name")
get_device_capability = _needs_gpu("get_device_capability", "A GPU's compute capability")
get_device_properties = _needs_gpu("get_device_properties", "A GPU's properties")
can_device_access_peer = _needs_gpu("can_device_access_peer", "Whether a GPU sees another one's memory", "device", "peer_device")
ipc_collect = _needs_gpu("ipc_collect", "Give back memory that other processes let go")
cudart = _needs_gpu("cudart", "The CUDA runtime")
current_blas_handle = _needs_gpu("current_blas_handle", "cuBLAS's handle")
current_solver_handle = _needs_gpu("current_solver_handle", "cuSOLVER's handle")
get_sync_debug_mode = _needs_gpu("get_sync_debug_mode", "What happens when an operation waits for the GPU")
set_sync_debug_mode = _needs_gpu("set_sync_debug_mode", "Choose what happens when an operation waits for the GPU", "debug_mode")


def _measured(name, text):
    def function(device=None):
        raise ModuleNotFoundError(f"torch.cuda.{name}: asking NVIDIA's management library is not supported; nvidia-smi shows the value")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + ": ModuleNotFoundError, as the management library is not used."
    return function


utilization = _measured("utilization", "How busy the GPU is")
memory_usage = _measured("memory_usage", "How busy the GPU's memory is")
temperature = _measured("temperature", "How warm the GPU is")
power_draw = _measured("power_draw", "The power that the GPU takes")
clock_rate = _measured("clock_rate", "The GPU's clock")
device_memory_used = _measured("device_memory_used", "The GPU's memory in use")


def __getattr__(name):
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in _PLACE:
        return getattr(import_module(f"{__name__}.{_PLACE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*globals(), *_SUBMODULES, *_PLACE]
