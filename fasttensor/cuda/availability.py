"""Whether a GPU can be used here, and the error where not."""

__all__ = ["Unavailable"]


class Unavailable(AssertionError, RuntimeError):
    """A device was asked for that cannot be used. PyTorch's builds for the CPU raise AssertionError, its others RuntimeError."""


def _missing():
    """What keeps a GPU from being used here, or None."""
    import ctypes
    from importlib.util import find_spec

    from fasttensor.cuda import KERNELS
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
    """Raise an error that says what is missing; return where a GPU can be used."""
    reason = _missing()
    if reason is not None:
        raise Unavailable(f"CUDA device requested, but {reason}: use device 'cpu', or see docs/architecture.md for what the GPU device needs")


def require_device(kind, index=None):
    """The same for a device of any type but the CPU."""
    if kind == "cuda":
        return _require(index)
    if kind in ("xpu", "mtia"):
        raise Unavailable(f"device {kind!r} requested, which this library does not support: use device 'cpu'")
    raise NotImplementedError(f"device {kind!r} requested, which this library does not support: use device 'cpu'")
