"""Puts the public namespace together from the layers, and finds heavy parts when they are first used."""

from importlib import import_module

from fasttensor import autograd
from fasttensor._core import dispatch, dtype, parallel, storage
from fasttensor._core.device import device, get_default_device, set_default_device
from fasttensor._core.tensor import Size, Tensor
from fasttensor.autograd import copying, generated_functions, grad_mode, operators, tensor_hooks  # noqa: F401 - operators fills the core's slots
from fasttensor.functional import FAMILIES

# Subpackages that are imported when they are first named.
SUBPACKAGES = ("nn", "optim", "utils", "linalg", "fft", "signal", "special", "cuda", "random", "serialization", "amp", "distributions", "func",
               "backends", "testing", "jit", "onnx", "profiler", "hub", "version", "types", "compiler", "library", "overrides",
               "functional", "masked", "multiprocessing", "cpu", "array_api", "storage", "return_types", "futures", "accelerator", "mps", "xpu",
               "torch_version", "__config__", "__future__", "distributed", "_C")
# Names that a module provides when they are first used.
LAZY = {"as_torch": "standin", "save": "serialization", "load": "serialization", "Generator": "functional.random", "default_generator": "functional.random",
        "manual_seed": "functional.random", "seed": "functional.random", "initial_seed": "functional.random",
        "is_anomaly_enabled": "autograd.anomaly", "is_anomaly_check_nan_enabled": "autograd.anomaly",
        "set_anomaly_enabled": "autograd.anomaly", "autocast": "amp", "summary": "utils.model_summary", "graph": "utils.graph_picture",
        **dict.fromkeys(("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype",
                         "is_autocast_cache_enabled", "set_autocast_cache_enabled", "clear_autocast_cache",
                         "autocast_increment_nesting", "autocast_decrement_nesting", "is_autocast_cpu_enabled",
                         "set_autocast_cpu_enabled", "get_autocast_cpu_dtype", "set_autocast_cpu_dtype", "get_autocast_gpu_dtype",
                         "set_autocast_gpu_dtype"), "amp.settings"),
        "compile": "compiler", "fork": "jit", "wait": "jit",
        **dict.fromkeys(("TypedStorage", "Storage", "DoubleStorage", "FloatStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "IntStorage",
                         "ShortStorage", "CharStorage", "ByteStorage", "BoolStorage", "ComplexFloatStorage", "ComplexDoubleStorage"), "storage")}


class layout:
    """How elements are kept; only ``strided`` exists here."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


strided = layout("strided")
# Programs compare a tensor's layout with these; no tensor has them.
OTHER_LAYOUTS = {name: layout(name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")}
dispatch.set_hook("strided", strided)


def families():
    """The modules of public functions, in order."""
    from importlib.util import find_spec
    return [import_module("fasttensor.functional." + name) for name in FAMILIES if find_spec("fasttensor.functional." + name)]


def gather(kind, namespace):
    """Set the names that each family lists under `kind` (SPECIAL, LINALG, FFT, NN_FUNCTIONAL: names, or names and functions)."""
    names = {}
    for family in families():
        listed = getattr(family, kind, ())
        names.update(listed if isinstance(listed, dict) else {name: getattr(family, name) for name in listed})
    namespace.update(names)
    namespace["__all__"] = sorted(set(namespace.get("__all__", ())) | set(names))


def fill(namespace):
    """Set every public name of `fasttensor`, and install Tensor's methods."""
    names = {
        "Tensor": Tensor, "Size": Size, "device": device, "dtype": dtype.dtype, "autograd": autograd, "layout": layout, "strided": strided, **OTHER_LAYOUTS,
        "get_default_device": get_default_device, "set_default_device": set_default_device, "UntypedStorage": storage.Storage,
        "memory_stats": storage.memory_stats, "reset_peak_memory_stats": storage.reset_peak_memory_stats,
        "empty_cache": storage.empty_cache, "set_num_threads": parallel.set_num_threads, "get_num_threads": parallel.get_num_threads,
        "get_default_dtype": dtype.get_default_dtype, "set_default_dtype": dtype.set_default_dtype,
        "promote_types": dtype.promote_types, "can_cast": dtype.can_cast,
        **dtype.DTYPES, **{alias: dtype.DTYPES[name] for alias, name in dtype.ALIASES.items()},
    }
    names.update((name, getattr(grad_mode, name)) for name in grad_mode.__all__)
    names.update((name, getattr(copying, name)) for name in
                 ("memory_format", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
    names["legacy_contiguous_format"] = copying.contiguous_format
    methods = {}
    names.update((name, function) for name, function in generated_functions.NAMESPACES["torch"].items() if name[0] != "_")
    methods.update(generated_functions.METHODS)
    for family in families():
        names.update((name, getattr(family, name)) for name in family.__all__)
        methods.update(family.METHODS)
    from fasttensor.autograd.api import tensor_backward
    methods["backward"] = tensor_backward
    dispatch.install(Tensor, methods)
    namespace.update(names)
    namespace["__all__"] = sorted(names)

    def __getattr__(name):
        value = None
        if name in SUBPACKAGES:
            try:
                value = import_module("fasttensor." + name)
            except ModuleNotFoundError as error:
                if error.name != "fasttensor." + name:
                    raise
        elif name in LAZY:
            value = getattr(import_module("fasttensor." + LAZY[name]), name)
        elif name.startswith("_foreach_"):
            value = getattr(import_module("fasttensor._foreach"), name)
        if value is None:
            raise AttributeError(f"module 'fasttensor' has no attribute {name!r} (docs/coverage.md lists what of PyTorch is missing)")
        namespace[name] = value
        return value

    namespace["__getattr__"] = __getattr__
    namespace["__dir__"] = lambda: sorted({*namespace, *SUBPACKAGES, *LAZY})
