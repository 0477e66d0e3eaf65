"""Settings of the process that PyTorch's programs read and set.

Results here never depend on the number of threads and matrix products of float32 are computed in float32, so
that most of these only remember what they were told.
"""
import warnings

from fasttensor._core.dtype import DTYPES, set_default_dtype
from fasttensor._core.parallel import get_num_threads
from fasttensor.functional.convert import _Legacy

__all__ = ["set_float32_matmul_precision", "get_float32_matmul_precision", "set_num_interop_threads", "get_num_interop_threads",
           "use_deterministic_algorithms", "are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled",
           "set_deterministic_debug_mode", "get_deterministic_debug_mode", "set_warn_always", "is_warn_always_enabled",
           "set_default_tensor_type", "set_flush_denormal", "init_num_threads", "has_lapack", "has_mkl", "has_openmp", "has_spectral",
           "is_vulkan_available", "compiled_with_cxx11_abi"]
METHODS = {}

has_lapack = has_openmp = has_spectral = True
has_mkl = False

PRECISIONS = ("highest", "high", "medium")
MODES = ("default", "warn", "error")
_state = {"precision": "highest", "interop": None, "deterministic": 0, "warn_always": False}


def set_float32_matmul_precision(precision):
    """'highest', 'high' or 'medium': remembered, with a warning for anything else; float32 products are computed in float32 always.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in PRECISIONS:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect.",
                      stacklevel=2)
        return
    _state["precision"] = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision was told last.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _state["precision"]


def set_num_interop_threads(num):
    """The threads for independent operations, of which there is always one here: remembered only.

    Raises RuntimeError for numbers below 1, and at a second call.

    >>> try:
    ...     torch.set_num_interop_threads(0)
    ... except RuntimeError:
    ...     print("at least 1")
    at least 1
    """
    if num <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {num}")
    if _state["interop"] is not None:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads called")
    _state["interop"] = int(num)


def get_num_interop_threads():
    """What set_num_interop_threads was told, or the number of threads.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return get_num_threads() if _state["interop"] is None else _state["interop"]


def init_num_threads():
    """Nothing to do: threads are started when they are first needed.

    >>> torch.init_num_threads()
    """


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Remembered: every algorithm here is deterministic.

    >>> torch.use_deterministic_algorithms(False)
    """
    _state["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled():
    """Whether use_deterministic_algorithms(True) was called.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _state["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled():
    """Whether use_deterministic_algorithms was called with warn_only=True.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _state["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode):
    """'default' (0), 'warn' (1) or 'error' (2): see use_deterministic_algorithms. RuntimeError for other values, TypeError for other types.

    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _state["deterministic"] = debug_mode


def get_deterministic_debug_mode():
    """0, 1 or 2: see set_deterministic_debug_mode.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return _state["deterministic"]


def set_warn_always(b):
    """Remembered: whether warnings of the library are repeated is up to Python's warning filters.

    >>> torch.set_warn_always(False)
    """
    _state["warn_always"] = bool(b)


def is_warn_always_enabled():
    """What set_warn_always was told.

    >>> torch.is_warn_always_enabled()
    False
    """
    return _state["warn_always"]


def set_default_tensor_type(t):
    """The default dtype from a type such as torch.DoubleTensor, or its name.

    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    name = t.split(".")[-1] if isinstance(t, str) else getattr(t, "__name__", "")
    by_name = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16"}
    full = t if isinstance(t, str) else f"{getattr(t, '__module__', '')}.{name}"
    if ".cuda." in full:
        raise TypeError(f"set_default_tensor_type(): type {full} not available: use torch.set_default_dtype and torch.set_default_device")
    if not isinstance(t, (str, _Legacy)):
        raise TypeError(f"set_default_tensor_type(): invalid type object: {t!r}; give a type such as torch.FloatTensor")
    if name not in by_name:
        raise TypeError(f"set_default_tensor_type(): only floating-point types are supported as the default type, got {t}")
    set_default_dtype(DTYPES[by_name[name]])


def set_flush_denormal(mode):
    """Whether subnormal numbers become zero; not supported, since it changes arithmetic of the whole process.

    Returns False for True, as PyTorch does on processors without the mode, and True for False.

    >>> torch.set_flush_denormal(False)
    True
    """
    return not mode


def is_vulkan_available():
    """False: there is no such backend.

    >>> torch.is_vulkan_available()
    False
    """
    return False


def compiled_with_cxx11_abi():
    """True: there is no C++ that could have another one.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True
