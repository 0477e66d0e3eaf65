"""What a saved file may name, and what the names stand for here.

`data.pkl` is a pickle, and a pickle calls what it names. These are the only callables that a file
can reach: builders of tensors and parameters, plain containers, dtypes.
"""
import contextlib
import pickle
import sys
from _codecs import encode
from collections import Counter, OrderedDict, defaultdict

from fasttensor._core import construct
from fasttensor._core.device import device as Device
from fasttensor._core.dtype import ALIASES, DTYPES
from fasttensor._core.tensor import Size, Tensor
from fasttensor.serialization_names import COLLATING, is_shared, pytorch_name

STORAGE_NAMES = {"float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
                 "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage",
                 "bool": "BoolStorage", "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage"}


class Name:
    """A function or type of PyTorch, by name: what a writer puts into a file."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise TypeError(f"{self.module}.{self.name} is only a name")


class StorageType:
    """The element type of a storage in a file."""

    def __init__(self, name):
        self.name = name

    @property
    def itemsize(self):
        """Bytes of one element."""
        return DTYPES[self.name].itemsize


def _tensor_v2(storage, offset, size, stride, requires_grad=False, backward_hooks=None, metadata=None):
    made = construct.over_storage(storage._untyped_storage, storage.dtype, size, stride, offset)
    for name in ("conj", "neg"):        # PyTorch's conjugates are views that say so; here they have memory of their own
        if (metadata or {}).get(name):
            made = _changed(made, name, storage.later)
    if storage.where is not None:
        made = made.to(storage.where)
    if requires_grad:
        made.requires_grad = True
    return made


def _changed(source, name, later):
    """The conjugate or negative of a tensor, computed now or, where `later` is a list, once its memory has been read."""
    made = construct.empty_strided(source.shape, source.stride(), source.dtype, source.device)
    values = made.detach()          # what is read later is filled in though the tensor may require grad by then

    def fill():
        values.copy_(getattr(source, name)())
    fill() if later is None else later.append(fill)
    return made


def _meta_tensor(dtype, size, stride, requires_grad):
    made = construct.empty_strided(size, stride, dtype, "meta")
    if requires_grad:
        made.requires_grad = True
    return made


def _tensor_v1(storage, offset, size, stride):
    return _tensor_v2(storage, offset, size, stride)


def _parameter(data, requires_grad, backward_hooks):
    from fasttensor.nn.parameter import Parameter
    return Parameter(data, requires_grad)


def _parameter_with_state(data, requires_grad, backward_hooks, state):
    return _with_state(_parameter(data, requires_grad, backward_hooks), state)


def _with_state(made, state):
    if isinstance(state, tuple):        # (__dict__, slots)
        state = {**(state[0] or {}), **(state[1] or {})}
    for name, value in (state or {}).items():
        if not str(name).startswith("_"):
            setattr(made, name, value)
    return made


def _from_type(function, new_type, arguments, state):
    made = function(*arguments)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    return _with_state(made, state)


def _bytearray(data=b"", *encoding):
    if not isinstance(data, (bytes, str, list)):
        raise ValueError(f"bytearray of {type(data).__name__}")
    return bytearray(data, *encoding)


def _layout(name):
    from fasttensor import strided
    return strided


def _parameter_class():
    from fasttensor.nn.parameter import Parameter
    return Parameter


_TABLE = {
    "torch._utils._rebuild_tensor_v2": _tensor_v2, "torch._utils._rebuild_tensor": _tensor_v1,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta_tensor,
    "torch._utils._rebuild_parameter": _parameter, "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _from_type, "torch.Size": Size, "torch.device": Device, "torch.Tensor": Tensor,
    "torch.serialization._get_layout": _layout, "collections.OrderedDict": OrderedDict, "collections.Counter": Counter,
    "collections.defaultdict": defaultdict, "_codecs.encode": encode, "torch.UntypedStorage": StorageType("uint8"),
    "torch.storage.UntypedStorage": StorageType("uint8"),
}
_TABLE.update(("builtins." + t.__name__, t) for t in (set, frozenset, complex, slice))
_TABLE.update(("__builtin__." + t.__name__, t) for t in (set, frozenset, complex, slice))
_TABLE["builtins.bytearray"] = _TABLE["__builtin__.bytearray"] = _bytearray
_TABLE.update(("torch." + name, d) for name, d in DTYPES.items())
_TABLE.update(("torch." + alias, DTYPES[name]) for alias, name in ALIASES.items())
_TABLE.update(("torch." + storage, StorageType(name)) for name, storage in STORAGE_NAMES.items())
_safe = []


def add_safe_globals(safe_globals):
    """Let files name these classes and functions: each as itself, or as (object, "its.name.in.files")."""
    _safe.extend(safe_globals)


def clear_safe_globals():
    """Forget what ``add_safe_globals`` added."""
    _safe.clear()


def get_safe_globals():
    """What ``add_safe_globals`` added."""
    return list(_safe)


@contextlib.contextmanager
def safe_globals(safe_globals):
    """``add_safe_globals`` for a block."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def _imported(module, name):
    """What the program itself has already imported under a name, or None."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def allowed(module, name, trusted):
    """The object that a file may mean by a name, and whether it is only a value, which the file must not call.

    pickle.UnpicklingError for any other name.
    """
    key = f"{module}.{name}"
    if key in _TABLE:
        return _TABLE[key], False
    if key in ("torch.nn.parameter.Parameter", "torch.nn.Parameter"):
        return _parameter_class(), False
    for entry in _safe:
        if isinstance(entry, tuple):
            value, known = entry[0], entry[1:]
        else:       # a class of this library has its own name here and PyTorch's in files
            value, known = entry, (f"{entry.__module__}.{entry.__qualname__}", ".".join(pytorch_name(entry) or ()))
        if key in known:
            return value, False
    if trusted:
        found = _of_program(module, name)
        if found is not None:
            return found
    raise pickle.UnpicklingError(f"Weights only load failed: the file names {key}, which is not allowed. " + _advice(module, name, trusted))


def _advice(module, name, trusted):
    """What to do about a file that names something else."""
    top, last = module.split(".")[0], name.split(".")[-1]
    if (top in sys.stdlib_module_names or top == "__builtin__") and (module, name) not in _HARMLESS:
        return (f"It is a part of Python that no saved tensors or modules need and that can do anything to your machine: do not trust the file. "
                f"(fasttensor.serialization.add_safe_globals([{last}]) would allow it nevertheless.)")
    if f"{module}.{name}" in _WITHOUT:
        return f"{_WITHOUT[f'{module}.{name}']} (docs/coverage.md). Convert it in PyTorch and save again."
    if trusted:
        return (f"weights_only=False accepts the classes and functions that this program has imported: import or define {module}.{name} before, "
                f"or declare what stands for it: fasttensor.serialization.add_safe_globals([(MyClass, \"{module}.{name}\")]).")
    ours = top in ("torch", "fasttensor") and _of_program(module, name) is not None
    known = f"fasttensor.nn.{last}" if ours and ".nn." in module else last
    return (f"It holds more than tensors and plain values. If you trust the file, load it with weights_only=False, or "
            f"{'' if ours else f'import {module}.{name} and '}declare it: fasttensor.serialization.add_safe_globals([{known}]).")


_WITHOUT = {
    "torch._utils._rebuild_sparse_tensor": "It holds a sparse tensor, and every tensor is strided here",
    "torch._utils._rebuild_nested_tensor": "It holds a nested tensor, and every tensor is strided here",
    "torch._utils._rebuild_qtensor": "It holds a quantized tensor, which this library does not have",
    "torch._utils._rebuild_tensor_v3": "It holds a tensor of a dtype beyond this library's twelve, such as uint16 or float8",
}
# Plain values of the standard library, which checkpoints hold: making one does nothing else.
_HARMLESS = {(module, name) for module, names in {
    "functools": "partial", "types": "SimpleNamespace", "datetime": "datetime date time timedelta timezone", "decimal": "Decimal",
    "fractions": "Fraction", "collections": "deque", "uuid": "UUID", "pathlib": "PosixPath PurePosixPath WindowsPath PureWindowsPath Path PurePath",
    "pathlib._local": "PosixPath PurePosixPath WindowsPath PureWindowsPath", "argparse": "Namespace",
    "builtins": "list dict tuple int float str bool bytes range", "__builtin__": "list dict tuple int float str bool bytes range xrange"}.items()
    for name in names.split()}


def _imported_or_builtin(module, name):
    from importlib import import_module
    if name == "xrange":
        return range
    return getattr(import_module(module.replace("__builtin__", "builtins").replace("pathlib._local", "pathlib")), name)


def _of_numpy(module, name):
    """Arrays, dtypes and scalars; numpy's other functions may read files."""
    import numpy
    if name in ("ndarray", "dtype") and module == "numpy":
        return getattr(numpy, name), False
    if name == "_reconstruct" and module.endswith("multiarray"):
        return _numpy_array, False
    if name == "scalar" and module.endswith("multiarray"):
        return _numpy_scalar, False
    if module == "numpy.dtypes":
        return getattr(numpy.dtypes, name, None), False
    found = getattr(numpy, name, None) if module == "numpy" else None
    return (found, False) if isinstance(found, type) and issubclass(found, numpy.generic) else None


def _numpy_array(kind, shape, code):
    import numpy
    if kind is not numpy.ndarray or shape not in ((0,), [0]):
        raise ValueError(f"an array of class {kind!r:.80}")
    return numpy.ndarray(shape, code)


def _numpy_scalar(dtype, content=b""):
    import numpy
    if not isinstance(dtype, numpy.dtype) or dtype.hasobject:
        raise ValueError(f"a scalar of dtype {dtype!r:.80}")
    if isinstance(content, str):        # as bytes of protocol 2 are read
        content = content.encode("latin1")
    return numpy.frombuffer(content, dtype, 1)[0]


def _method(module, name):
    """A method of a module, which is how hooks are written, or a scheduler's function; getattr itself would reach anything."""
    from types import FunctionType, MethodType
    from fasttensor.nn import Module
    from fasttensor.optim.lr_scheduler import CyclicLR
    if module is CyclicLR and isinstance(CyclicLR.__dict__.get(name), staticmethod):
        return getattr(CyclicLR, name)
    found = getattr(type(module), name, None) if isinstance(name, str) else None
    if not isinstance(module, Module) or not isinstance(found, FunctionType):
        raise pickle.UnpicklingError(f"Weights only load failed: the file takes attribute {name!r:.80} of a {type(module).__name__}, which is "
                                     "not allowed: only methods of modules are.")
    return MethodType(found, module)


_LATE = ("fasttensor.optim.lr_scheduler", "fasttensor.utils.hooks", "fasttensor.utils.data.distributed", "fasttensor.utils.data.dataloader",
         "fasttensor.distributions.transforms",
         "fasttensor.amp.grad_scaler", "fasttensor.return_types", "fasttensor.torch_version")


def _of_graphs(module, name):
    """What traced modules are saved with, for a program that has torch.fx: their code comes from the file, so that it must be trusted."""
    found = _imported(module, name)
    if name == "reduce_graph_module" or isinstance(found, type) and name in ("Tracer", "immutable_list", "immutable_dict", "TensorMetadata"):
        return (found, False) if found is not None else None
    return None


def _of_program(module, name):
    """A class or function that is already imported, and whether it is only a value; PyTorch's own stand for ours.

    Instances of the program's classes are made without calling the class: only enumerations need that.
    """
    from importlib import import_module
    import enum
    top = module.split(".")[0]
    if (module, name) in _HARMLESS:
        return _imported_or_builtin(module, name), False
    if top == "numpy":
        return _of_numpy(module, name)
    if name == "getattr" and top in ("builtins", "__builtin__"):
        return _method, False
    if top in ("torch", "fasttensor"):
        functional = import_module("fasttensor.nn").functional
        ours = "fasttensor" + module[len(top):]
        key = (ours, name)
        if ours.startswith("fasttensor.fx."):
            return _of_graphs(ours, name)
        for part in _LATE:      # read before the program used them
            if ours.startswith(part[:16]):
                import_module(part)
        found = _imported(ours, name)
        if found is None and ".nn." in ours:
            found = _imported("fasttensor.nn", name) or _imported("fasttensor.nn.hooks", name)
        if key == ("fasttensor._C", "Generator"):
            found = import_module("fasttensor").Generator
        if isinstance(found, type):
            # Others open files or start processes, or are merely imported by one of our modules, as zipfile.ZipFile is.
            return (found, False) if is_shared(found) else None
        if key[0] in ("fasttensor.utils.data._utils.collate", "fasttensor.utils.data.collate") and name in COLLATING:
            return getattr(import_module("fasttensor.utils.data.collate"), name), True
        if key == ("fasttensor.amp.grad_scaler", "_refresh_per_optimizer_state"):
            return found, True
        # Activations are attributes of modules. Other functions stay out: some open or write files.
        pure = getattr(functional, name, None) or getattr(sys.modules["fasttensor.autograd.generated_functions"], name, None)
        return None if pure is None or name.startswith("_") else (pure, True)
    found = _imported(module, name)
    if found is None or top in sys.stdlib_module_names:
        return None
    if getattr(found, "__module__", None) != module or getattr(found, "__qualname__", None) != name:
        return None         # what a module merely imports is not meant by its name
    if isinstance(found, type):
        return found, not issubclass(found, (enum.Enum, Tensor))
    return (found, True) if callable(found) else None
