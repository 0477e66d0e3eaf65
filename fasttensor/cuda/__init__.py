"""The GPU device. Nothing of CUDA is imported before a GPU is asked for.

Without one, `is_available()` is False and every request for the device says what is missing.
"""

__all__ = ["is_available", "device_count", "current_device", "synchronize", "manual_seed", "manual_seed_all", "empty_cache",
           "is_initialized", "memory_allocated", "max_memory_allocated"]

KERNELS = {}        # the kernel modules of this device: function name -> module below fasttensor.cuda


def _missing():
    """What keeps a GPU from being used here, or None."""
    import ctypes
    from importlib.util import find_spec
    if find_spec("pycuda") is None:
        return "PyCUDA is not installed (pip install pycuda)"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "the NVIDIA driver (libcuda.so.1) is not installed"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return "the driver finds no GPU"
    if not KERNELS:
        return "this build of fasttensor has no GPU kernels"
    return None


def _require(index=None):
    """Raise RuntimeError that says what is missing; return where a GPU can be used."""
    reason = _missing()
    if reason is not None:
        raise RuntimeError(f"CUDA device requested, but {reason}: use device 'cpu', or see docs/architecture.md for what the GPU device needs")


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


def current_device():
    """The index of the current GPU; RuntimeError without one."""
    _require()
    return 0


def synchronize(device=None):
    """Wait for the GPU; RuntimeError without one."""
    _require()


def manual_seed(seed):
    """Seed the GPU's generator; nothing to do without a GPU."""


def manual_seed_all(seed):
    """Seed every GPU's generator; nothing to do without a GPU."""


def empty_cache():
    """Give cached GPU memory back; nothing to do without a GPU."""


def memory_allocated(device=None):
    """Bytes of GPU memory in use."""
    return 0


def max_memory_allocated(device=None):
    """The most bytes of GPU memory that were in use."""
    return 0


def __getattr__(name):
    if name == "amp":
        from importlib import import_module
        return import_module(__name__ + ".amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
