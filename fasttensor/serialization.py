"""Saving and loading in PyTorch's file format: weights move between the libraries in both directions.

A file is a zip archive, nothing compressed: `data.pkl` holds the objects, with each tensor as
(storage, offset, sizes, strides), and `data/KEY` the bytes of a storage, which tensors share in the
file as they share it in memory. Loading runs no code from the file: `data.pkl` may name only what
`allowed` finds, which builds tensors, containers and numbers.
"""
import io
import os
import pickle
import struct
import sys
import tempfile
import zipfile
from collections import OrderedDict
from types import FunctionType

from fasttensor._core.device import device as Device
from fasttensor._core.dtype import DTYPES, dtype as dtype_class
from fasttensor._core.storage import Storage
from fasttensor._core.tensor import Size, Tensor
from fasttensor.serialization_globals import (STORAGE_NAMES, Name, StorageType, add_safe_globals, clear_safe_globals,  # noqa: F401 - a public name
                                              get_safe_globals, safe_globals)
from fasttensor.serialization_names import pytorch_name
from fasttensor import serialization_options as options
from fasttensor.serialization_options import (LoadEndianness, SourceChangeWarning, default_restore_location,  # noqa: F401 - public names
                                              get_crc32_options, get_default_load_endianness, get_default_mmap_options,
                                              get_unsafe_globals_in_checkpoint, location_tag, normalize_storage_type, register_package,
                                              set_crc32_options, set_default_load_endianness, set_default_mmap_options, skip_data,
                                              validate_cuda_device)
from fasttensor.serialization_reading import LEGACY_MAGIC, LEGACY_VERSION, Home, read

__all__ = ["save", "load", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

DEFAULT_PROTOCOL = 2
FILE_LIKE, MAP_LOCATION = object, object       # PyTorch's names for annotations

ALIGNMENT = 64          # of storages in the file, so that they can be mapped into memory

ITEMSIZES = {kind: DTYPES[name].itemsize for name, kind in STORAGE_NAMES.items()} | {"UntypedStorage": 1}

_REBUILD_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_META = Name("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_FROM_TYPE = Name("torch._tensor", "_rebuild_from_type_v2")


# --- saving ---

class _Stored:
    """A storage as elements of one dtype, on its way into the file."""

    def __init__(self, storage, dtype, location):
        self.storage, self.dtype, self.location = storage, dtype, location


class _Writer(pickle._Pickler):
    """A pickler that names PyTorch's functions and types, and sets storages aside. The Python
    version of the class, because the C one insists on importing what it names."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol, legacy=False):
        super().__init__(file, protocol)
        self.legacy, self.modules = legacy, set()
        self.storages, self.keys, self.dtypes, self.names, self.kept = [], {}, {}, {}, []

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            obj = _Stored(obj, DTYPES["uint8"], options.tag(obj, "cpu"))
            kind = "ByteStorage" if self.legacy else "UntypedStorage"       # PyTorch's reader of the format before fails for the latter
        elif isinstance(obj, _Stored):
            kind = STORAGE_NAMES[obj.dtype.name]
        elif self.legacy and isinstance(obj, type):
            return self.module_class(obj)
        else:
            return None
        memory = (obj.storage.data_ptr() or id(obj.storage), obj.storage.nbytes())      # a parameter's `data` is another storage over the same memory
        key = self.keys.get(memory)
        if key is None:
            key = self.keys[memory] = str(len(self.storages))
            self.storages.append(obj.storage)
            self.dtypes[key] = kind
        elif self.dtypes[key] != kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types: "
                               f"{self.dtypes[key]} and {kind}. Clone one of them first.")
        made = ("storage", self.name("torch", kind), key, obj.location, obj.storage.nbytes() // obj.dtype.itemsize)
        return (*made, None) if self.legacy else made       # the format before could say here that it is a part of another storage

    def module_class(self, kind):
        """The format before names a class of modules together with its source; None for other classes and where that was said."""
        import inspect
        from fasttensor.nn import Module
        if not issubclass(kind, Module) or kind in self.modules:
            return None
        self.modules.add(kind)
        try:        # of the library's own classes PyTorch has another source, which it would warn about
            found = (None, None) if pytorch_name(kind) else (inspect.getsourcefile(kind), inspect.getsource(kind))
        except (OSError, TypeError):
            found = None, None
        return ("module", kind, *found)

    def name(self, module, name):
        return self.names.setdefault((module, name), Name(module, name))

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            made = _reduce_tensor(obj)
            self.kept.append(made)          # the pickler's memo goes by id: nothing may be freed meanwhile
            return made
        if isinstance(obj, dtype_class):
            return obj.name
        if isinstance(obj, Size):
            return self.name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, Device):
            return self.name("torch", "device"), (str(obj),)
        return NotImplemented

    def save_global(self, obj, name=None):
        if isinstance(obj, dtype_class):
            obj = self.name("torch", obj.name)
        elif obj is Tensor:
            obj = self.name("torch", "Tensor")
        elif not isinstance(obj, Name) and (found := pytorch_name(obj)) is not None:
            obj = self.name(*found)
        if not isinstance(obj, Name):
            return super().save_global(obj, name)
        if id(obj) in self.memo:
            return self.write(self.get(self.memo[id(obj)][0]))
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[Name] = dispatch[FunctionType] = save_global


def _reduce_tensor(x):
    """What is written for a tensor: a function's name and its arguments."""
    state = {k: v for k, v in x.__dict__.items() if not k.startswith("_")}
    if type(x).__module__ == "fasttensor.nn.parameter" and type(x).__name__ == "Parameter":
        if state:
            return _REBUILD_PARAMETER_STATE, (x.data, x.requires_grad, OrderedDict(), state)
        return _REBUILD_PARAMETER, (x.data, x.requires_grad, OrderedDict())
    if hasattr(type(x), "cls_to_become"):      # a parameter or buffer without a shape: its class and flags, no memory
        return x.__reduce_ex__(2)
    source = x.detach()
    if source.is_meta:
        arguments = (source.dtype, tuple(source.shape), tuple(source.stride()), x.requires_grad)
        return (_REBUILD_META, arguments) if type(x) is Tensor and not state else (_REBUILD_FROM_TYPE, (_REBUILD_META, type(x), arguments, state))
    if not source.is_cpu:
        source = source.cpu()
    storage = source.untyped_storage()
    arguments = (_Stored(storage, source.dtype, options.tag(storage, str(x.device))), source.storage_offset(), tuple(source.shape),
                 tuple(source.stride()), x.requires_grad, OrderedDict())
    if type(x) is Tensor and not state:
        return _REBUILD_TENSOR, arguments
    return _REBUILD_FROM_TYPE, (_REBUILD_TENSOR, type(x), arguments, state)


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Save an object - tensors, containers, state_dicts, modules - to a path or a binary file.

    A path is replaced in one step once all is written, so that a crash never leaves half a file. Modules, optimizers and
    schedulers saved whole are named as PyTorch names them, and its ``load(weights_only=False)`` makes its own of them.
    ``_use_new_zipfile_serialization=False`` writes PyTorch's format from before 1.6, pickles followed by the storages' bytes.

    >>> import fasttensor, io
    >>> f = io.BytesIO()
    >>> fasttensor.save({"w": fasttensor.ones(2)}, f)
    >>> fasttensor.load(io.BytesIO(f.getvalue()))
    {'w': tensor([1., 1.])}
    """
    write = _write if _use_new_zipfile_serialization else _write_legacy
    if isinstance(f, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(f))
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~_umask()
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:      # a pipe or a device cannot be replaced
                return write(obj, file, "archive", pickle_protocol)
        if not os.path.isdir(os.path.dirname(path)):
            raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".saving-")
        try:
            with os.fdopen(handle, "wb") as file:
                write(obj, file, os.path.splitext(os.path.basename(path))[0] or "archive", pickle_protocol)
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    elif hasattr(f, "write"):
        write(obj, f, "archive", pickle_protocol)
    else:
        raise TypeError(f"save: expected a path or a file with write(), got {type(f).__name__}")


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write(obj, file, root, protocol):
    pickled = io.BytesIO()
    writer = _Writer(pickled, protocol)
    writer.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _add(archive, f"{root}/data.pkl", pickled.getbuffer())
        _add(archive, f"{root}/.format_version", b"1")
        _add(archive, f"{root}/.storage_alignment", str(ALIGNMENT).encode())
        _add(archive, f"{root}/byteorder", sys.byteorder.encode())
        for key, storage in enumerate(writer.storages):
            content = bytes(storage.nbytes()) if options.skipping else memoryview(storage) if storage.nbytes() else b""
            _add(archive, f"{root}/data/{key}", content)
        _add(archive, f"{root}/version", b"3\n")


def _write_legacy(obj, file, root, protocol):
    about = {"protocol_version": LEGACY_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": {"short": 2, "int": 4, "long": 4}}
    for value in (LEGACY_MAGIC, LEGACY_VERSION, about):
        pickle.dump(value, file, protocol)
    writer = _Writer(file, protocol, legacy=True)
    writer.dump(obj)
    pickle.dump(list(writer.dtypes), file, protocol)
    for storage, kind in zip(writer.storages, writer.dtypes.values()):
        file.write(struct.pack("<q", storage.nbytes() // ITEMSIZES[kind]))
        file.write(bytes(storage.nbytes()) if options.skipping else memoryview(storage) if storage.nbytes() else b"")


def _add(archive, name, data):
    """One record, its data at a multiple of the alignment."""
    info = zipfile.ZipInfo(name)
    info.file_size = len(data)
    head = archive.fp.tell() + 30 + len(name.encode()) + 4 + (20 if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0)
    padding = -head % ALIGNMENT
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    with archive.open(info, "w") as record:
        record.write(data)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what ``save`` of this library or of PyTorch wrote.

    Args: ``f`` a path or a seekable binary file; ``map_location`` a device, a dict of locations or a function
    ``(storage, location) -> storage``; ``mmap=True`` maps storages of a path into memory instead of reading
    them, so that their checksums are not looked at;
    ``weights_only=False`` also accepts classes and functions that the program has imported, outside the standard library, or
    declared with ``add_safe_globals``; it makes objects of them without calling what a file names.

    Raises RuntimeError for a damaged file and pickle.UnpicklingError for one that names anything else.
    """
    trusted = weights_only is False
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if isinstance(f, (str, os.PathLike)):
        shared = mmap and options.mapping != options.mmap.MAP_PRIVATE
        with open(f, "r+b" if shared else "rb") as file:
            return read(file, os.fspath(f), Home(map_location), trusted, bool(mmap))
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(f"load: expected a path or a file with read() and seek(), got {type(f).__name__}: read it into an io.BytesIO first")
    return read(f, getattr(f, "name", "the file"), Home(map_location), trusted, False)
