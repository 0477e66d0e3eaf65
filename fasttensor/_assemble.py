"""Puts the public namespace together from the layers.

Little is imported for it: `_names`, written by tools/make_names.py, says which module provides which
public name and which method of Tensor, and the module is imported when one of its names is first used.
From then on its names stand in the namespace, and its methods in the class, as if it had been imported
at the start.
"""

import os
from importlib import import_module

from fasttensor import _names, autograd
from fasttensor._core import dispatch, dtype, parallel, storage
from fasttensor._core.device import device, get_default_device, set_default_device
from fasttensor._core.late import Late, LateProperty
from fasttensor._core.tensor import Size, Tensor
from fasttensor.autograd import copying, grad_mode, operators  # noqa: F401 - operators fills the core's slots
from fasttensor.autograd.api import tensor_backward

TABLE = "autograd.generated_functions"
# Lists of the families, and the table's namespaces that go with them.
KINDS = {"__all__": "torch", "NN_FUNCTIONAL": "nn.functional", "SPECIAL": "special", "LINALG": "linalg", "FFT": "fft"}
# Names that a module outside the families provides when they are first used.
LAZY = {
    "as_torch": "standin", "save": "serialization", "load": "serialization", "autocast": "amp", "summary": "utils.model_summary",
    "graph": "utils.graph_picture",
    **dict.fromkeys(("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype", "is_autocast_cache_enabled",
                     "set_autocast_cache_enabled", "clear_autocast_cache", "autocast_increment_nesting", "autocast_decrement_nesting",
                     "is_autocast_cpu_enabled", "set_autocast_cpu_enabled", "get_autocast_cpu_dtype", "set_autocast_cpu_dtype",
                     "get_autocast_gpu_dtype", "set_autocast_gpu_dtype"), "amp.settings"),
    "compile": "compiler", "vmap": "func", "fork": "jit", "wait": "jit", "to_dlpack": "utils.dlpack", "thread_safe_generator": "random", "GradScaler": "amp",
    "get_device_module": "accelerator", "PyTorchFileReader": "_C", "SymInt": "types", "SymFloat": "types", "SymBool": "types",
    "Future": "futures", "ScriptModule": "jit", "ScriptFunction": "jit",
    **dict.fromkeys(("TypedStorage", "Storage", "DoubleStorage", "FloatStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "IntStorage",
                     "ShortStorage", "CharStorage", "ByteStorage", "BoolStorage", "ComplexFloatStorage", "ComplexDoubleStorage"), "storage"),
    **dict.fromkeys(("is_anomaly_enabled", "is_anomaly_check_nan_enabled", "set_anomaly_enabled"), "autograd.anomaly"),
}


class layout:
    """How elements are kept; only ``strided`` exists here.

    >>> torch.ones(2).layout is torch.strided
    True
    """

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


def where(index):
    """{name: module} of an index {module: names}."""
    found = {}
    for module, names in index.items():
        found.update(dict.fromkeys(names.split(), module))
    return found


def listed(module, kind):
    """The functions that a module lists under `kind`, by name: a list of names or a dict; METHODS and HOOKS are dicts."""
    family = import_module("fasttensor." + module)
    if module == TABLE and kind in KINDS:
        return {name: f for name, f in family.NAMESPACES.get(KINDS[kind], {}).items() if name[0] != "_"}
    names = getattr(family, kind, ())
    return names if isinstance(names, dict) else {name: getattr(family, name) for name in names}


def take(module, kind, index, namespace):
    """Set in `namespace` what the index gives to a module; what stands there already stays."""
    names = listed(module, kind)
    for name in index[module].split():
        if name in names:
            namespace.setdefault(name, names[name])
    if dispatch.is_armed():
        dispatch.call_hook("gate_new", {name: names[name] for name in index[module].split() if name in names})


def gather(kind, namespace):
    """Set the names that the families list under `kind` in a module's namespace."""
    index = _names.NAMES[kind]
    for module in index:
        take(module, kind, index, namespace)
    namespace["__all__"] = sorted({*namespace.get("__all__", ()), *where(index)})


def gather_late(kind, namespace, package, others=None):
    """The same, but each family is imported when one of its names is first used.

    `others(name)` finds further attributes: None where there is no such.
    """
    index = _names.NAMES[kind]
    modules = where(index)

    def __getattr__(name):
        if name in modules:
            take(modules[name], kind, index, namespace)
            if name in namespace:
                return namespace[name]
        value = others(name) if others else None
        if value is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r} (docs/coverage.md lists what of PyTorch is missing)")
        namespace[name] = value
        return value

    namespace["__getattr__"] = __getattr__
    namespace["__dir__"] = lambda: sorted({*namespace, *modules})
    namespace["__all__"] = sorted({*namespace.get("__all__", ()), *modules})


def load_all(done=[]):
    """Import every family, for who looks into the namespaces instead of asking them for a name."""
    import fasttensor
    if done:
        return
    done.append(True)
    for space in (fasttensor, fasttensor.linalg, fasttensor.fft, fasttensor.special):
        for name in space.__all__:
            getattr(space, name)
    for name in dir(Tensor):
        getattr(Tensor, name, None)


def public(module):
    """Whether a module is one that programs name: __config__ is, _assemble is not."""
    return module[0] != "_" or module == "_C" or (module[:2] == "__" and module not in ("__init__", "__main__"))


def subpackages(folder):
    """The modules of a folder."""
    with os.scandir(folder) as entries:
        found = [e.name.removesuffix(".py") for e in entries
                 if e.name.endswith(".py") or os.path.isfile(os.path.join(e.path, "__init__.py"))]
    return [name for name in found if public(name)]


def install_methods():
    """Put into Tensor what stands for its methods until they are used."""
    methods, properties = where(_names.METHODS), where(_names.PROPERTIES)
    modules = {**methods, **properties}
    names = {}
    for name, module in modules.items():
        names.setdefault(module, []).append(name)

    def load(name):
        module = modules[name]
        found = listed(module, "METHODS")
        # what a program has put in place of a method stays
        dispatch.install(Tensor, {n: found[n] for n in names[module] if n in found and isinstance(vars(Tensor).get(n), (Late, LateProperty))})
        if dispatch.is_armed():
            dispatch.call_hook("gate_new", {n: found[n] for n in names[module] if n in found})
        if name not in found:
            raise AttributeError(f"{module} does not provide Tensor.{name}: run tools/make_names.py")
        return found[name]

    dispatch.allow_attributes(Tensor)
    dispatch.make_dict_writable(Tensor)
    dispatch.install(Tensor, {
        **{name: Late(load, name) for name in methods}, **{name: LateProperty(load, name) for name in properties},
        "backward": tensor_backward, "__torch_function__": classmethod(dispatch.torch_function),
        "__torch_dispatch__": dispatch._disabled_torch_dispatch_impl})


# In `repr`, messages and pickles compiled classes go by the names that programs use.
for _kind in (Tensor, dtype.dtype, device):
    dispatch.set_type_name(_kind, b"fasttensor." + _kind.__name__.encode())
dispatch.set_type_name(storage.Storage, b"fasttensor.storage.UntypedStorage")
Size.__module__ = layout.__module__ = copying.memory_format.__module__ = "fasttensor"


def fill(namespace):
    """Set every public name of `fasttensor`, and install Tensor's methods."""
    names = {
        "Tensor": Tensor, "Size": Size, "device": device, "dtype": dtype.dtype, "autograd": autograd, "layout": layout, "strided": strided, **OTHER_LAYOUTS,
        "get_default_device": get_default_device, "set_default_device": set_default_device, "UntypedStorage": storage.Storage, "StorageBase": storage.Storage,
        "memory_stats": storage.memory_stats, "reset_peak_memory_stats": storage.reset_peak_memory_stats,
        "empty_cache": storage.empty_cache, "set_num_threads": parallel.set_num_threads, "get_num_threads": parallel.get_num_threads,
        "get_default_dtype": dtype.get_default_dtype, "set_default_dtype": dtype.set_default_dtype,
        "promote_types": dtype.promote_types, "can_cast": dtype.can_cast,
        **dtype.DTYPES, **dtype.OTHERS, "chalf": dtype.OTHERS["complex32"], **{alias: dtype.DTYPES[name] for alias, name in dtype.ALIASES.items()},
    }
    names.update((name, getattr(grad_mode, name)) for name in grad_mode.__all__)
    names.update((name, getattr(copying, name)) for name in
                 ("memory_format", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
    names["legacy_contiguous_format"] = copying.contiguous_format
    for name in where(_names.NAMES["__all__"]):
        names.pop(name, None)       # a family's wins
    namespace.update(names)
    namespace["__all__"] = list(names)
    folder, hooks = os.path.dirname(__file__), where(_names.HOOKS)

    def there(module):
        path = os.path.join(folder, *module.split("."))
        return os.path.isfile(os.path.join(path, "__init__.py")) or os.path.isfile(path + ".py")

    def others(name):
        if name in LAZY and there(LAZY[name]):
            return getattr(import_module("fasttensor." + LAZY[name]), name)
        if public(name) and there(name):
            return import_module("fasttensor." + name)
        if name.startswith("_foreach_"):
            return getattr(import_module("fasttensor._foreach"), name)
        if name[0] == "_" and name[:2] != "__":         # torch._dynamo: private modules of PyTorch that have a counterpart
            place = import_module("fasttensor.standin.finder").PLACES.get("torch." + name)
            return place and import_module(place)
        return None

    gather_late("__all__", namespace, "fasttensor", others)
    known = namespace["__dir__"]
    namespace["__dir__"] = lambda: sorted({*known(), *subpackages(folder), *filter(lambda name: there(LAZY[name]), LAZY)})
    dispatch.set_finder(lambda name: name in hooks and dispatch.add_hooks(listed(hooks[name], "HOOKS")))
    install_methods()
