"""Saving and loading in PyTorch's file format: weights move between the libraries in both directions.

A file is a zip archive, nothing compressed: `data.pkl` holds the objects, with each tensor as
(storage, offset, sizes, strides), and `data/KEY` the bytes of a storage, which tensors share in the
file as they share it in memory. Loading runs no code from the file: `data.pkl` may name only what
`allowed` finds, which builds tensors, containers and numbers.
"""
import errno
import io
import mmap as _mmap
import os
import pickle
import struct
import sys
import tempfile
import zipfile
import zlib
from collections import OrderedDict
from types import FunctionType

from fasttensor._core import construct
from fasttensor._core.device import device as Device
from fasttensor._core.dtype import DTYPES, dtype as dtype_class
from fasttensor._core.storage import Storage, make_storage, storage_over
from fasttensor._core.tensor import Size, Tensor
from fasttensor.serialization_globals import (STORAGE_NAMES, Name, StorageType, add_safe_globals, allowed, clear_safe_globals,
                                              get_safe_globals, safe_globals)
from fasttensor.serialization_names import pytorch_name

__all__ = ["save", "load", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

DEFAULT_PROTOCOL = 2
FILE_LIKE, MAP_LOCATION = object, object       # PyTorch's names for annotations

ALIGNMENT = 64          # of storages in the file, so that they can be mapped into memory
_LEGACY_MAGIC = 0x1950a86a20f9469cfc6c

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

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages, self.keys, self.dtypes, self.names, self.kept = [], {}, {}, {}, []

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            obj = _Stored(obj, DTYPES["uint8"], "cpu")
            kind = "UntypedStorage"
        elif isinstance(obj, _Stored):
            kind = STORAGE_NAMES[obj.dtype.name]
        else:
            return None
        key = self.keys.get(id(obj.storage))
        if key is None:
            key = self.keys[id(obj.storage)] = str(len(self.storages))
            self.storages.append(obj.storage)
            self.dtypes[key] = kind
        elif self.dtypes[key] != kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types: "
                               f"{self.dtypes[key]} and {kind}. Clone one of them first.")
        return ("storage", self.name("torch", kind), key, obj.location, obj.storage.nbytes() // obj.dtype.itemsize)

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
    source = x.detach()
    if source.is_meta:
        arguments = (source.dtype, tuple(source.shape), tuple(source.stride()), x.requires_grad)
        return (_REBUILD_META, arguments) if type(x) is Tensor and not state else (_REBUILD_FROM_TYPE, (_REBUILD_META, type(x), arguments, state))
    if not source.is_cpu:
        source = source.cpu()
    arguments = (_Stored(source.untyped_storage(), source.dtype, str(x.device)), source.storage_offset(), tuple(source.shape),
                 tuple(source.stride()), x.requires_grad, OrderedDict())
    if type(x) is Tensor and not state:
        return _REBUILD_TENSOR, arguments
    return _REBUILD_FROM_TYPE, (_REBUILD_TENSOR, type(x), arguments, state)


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Save an object - tensors, containers, state_dicts, modules - to a path or a binary file.

    A path is replaced in one step once all is written, so that a crash never leaves half a file. Modules, optimizers and
    schedulers saved whole are named as PyTorch names them, and its ``load(weights_only=False)`` makes its own of them.

    >>> import fasttensor, io
    >>> f = io.BytesIO()
    >>> fasttensor.save({"w": fasttensor.ones(2)}, f)
    >>> fasttensor.load(io.BytesIO(f.getvalue()))
    {'w': tensor([1., 1.])}
    """
    if isinstance(f, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(f))
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~_umask()
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:      # a pipe or a device cannot be replaced
                return _write(obj, file, "archive", pickle_protocol)
        if not os.path.isdir(os.path.dirname(path)):
            raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".saving-")
        try:
            with os.fdopen(handle, "wb") as file:
                _write(obj, file, os.path.splitext(os.path.basename(path))[0] or "archive", pickle_protocol)
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    elif hasattr(f, "write"):
        _write(obj, f, "archive", pickle_protocol)
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
            _add(archive, f"{root}/data/{key}", memoryview(storage) if storage.nbytes() else b"")
        _add(archive, f"{root}/version", b"3\n")


def _add(archive, name, data):
    """One record, its data at a multiple of the alignment."""
    info = zipfile.ZipInfo(name)
    info.file_size = len(data)
    head = archive.fp.tell() + 30 + len(name.encode()) + 4 + (20 if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0)
    padding = -head % ALIGNMENT
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    with archive.open(info, "w") as record:
        record.write(data)


# --- loading ---

class _Reader(pickle._Unpickler):
    """An unpickler that finds only what `allowed` knows, and takes storages from the file. The Python
    version of the class: the C one trusts the lengths in a file and allocates what they say."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def load_build(self):
        made = self.stack[-2]
        if id(made) in self.named:
            raise pickle.UnpicklingError(f"the file changes the state of {made!r:.80}")
        super().load_build()

    def load_reduce(self):
        self._may_call(self.stack[-2])
        super().load_reduce()

    def _instantiate(self, kind, arguments):
        self._may_call(kind)
        super()._instantiate(kind, arguments)

    def _may_call(self, function):
        if self.named.get(id(function), (None, True))[1]:
            raise pickle.UnpicklingError(f"the file calls {getattr(function, '__qualname__', function)!r:.80}, which is not allowed")

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.REDUCE[0]] = load_reduce

    def __init__(self, file, storage_of, trusted):
        super().__init__(file, encoding="utf-8")
        self.storage_of, self.trusted = storage_of, trusted
        self.named = {}         # id of what the file named -> (itself, whether it is only a value)

    def find_class(self, module, name):
        found, value = allowed(module, name, self.trusted)
        self.named[id(found)] = found, value
        return found

    def persistent_load(self, pid):
        kind = pid[0].decode() if isinstance(pid[0], bytes) else pid[0]
        if kind != "storage" or len(pid) < 5 or not isinstance(pid[1], (StorageType, dtype_class)):
            raise pickle.UnpicklingError(f"load: the file refers to an unknown kind of record: {pid!r:.80}")
        return self.storage_of(*pid[1:])


class _Home:
    """Where storages go: the caller's map_location applied to the location in the file."""

    def __init__(self, map_location):
        self.map = map_location
        self.meta = isinstance(map_location, (str, Device)) and Device(map_location).type == "meta"

    def place(self, storage, location):
        """The storage, and the device that its tensors move to, or None."""
        if callable(self.map):
            moved = self.map(storage, location)
            return (storage, None) if moved is None else (moved, None)
        if isinstance(self.map, dict):
            location = self.map.get(location, location)
        elif self.map is not None:
            location = str(Device(self.map))
        if location == "cpu" or location.startswith("meta"):
            return storage, None if location == "cpu" else location
        from fasttensor import cuda
        if not cuda.is_available():
            raise RuntimeError(f"Attempting to deserialize object on a CUDA device ({location}) but torch.cuda.is_available() is False. If you "
                               "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
                               "your storages to the CPU.")
        return storage, location


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what ``save`` of this library or of PyTorch wrote.

    Args: ``f`` a path or a seekable binary file; ``map_location`` a device, a dict of locations or a function
    ``(storage, location) -> storage``; ``mmap=True`` maps storages of a path into memory instead of reading them;
    ``weights_only=False`` also accepts classes and functions that the program has imported, outside the standard library, or
    declared with ``add_safe_globals``; it makes objects of them without calling what a file names.

    Raises RuntimeError for a damaged file and pickle.UnpicklingError for one that names anything else.
    """
    trusted = weights_only is False
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, os.fspath(f), _Home(map_location), trusted, bool(mmap))
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(f"load: expected a path or a file with read() and seek(), got {type(f).__name__}: read it into an io.BytesIO first")
    return _load(f, getattr(f, "name", "the file"), _Home(map_location), trusted, False)


def _load(file, name, home, trusted, mapped):
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    try:
        if head[:2] == b"PK":
            return _load_zip(file, home, trusted, mapped)
        if not head:
            raise EOFError("it is empty")
        if head[:1] != b"\x80":
            raise ValueError(f"it starts with {head!r}, neither as a zip archive nor as a pickle")
        return _load_legacy(file, home, trusted)
    except zipfile.BadZipFile as error:
        size = file.seek(0, os.SEEK_END) - start
        short = "the list of records at its end is missing, as when it was copied or downloaded in part; " if "not a zip file" in str(error) else ""
        raise RuntimeError(f"load: {name} is damaged, or not a file that save wrote ({short}{size} bytes; {error})") from error
    except (EOFError, KeyError, IndexError, ValueError, struct.error, zlib.error, MemoryError, AttributeError,
            TypeError, RecursionError, UnicodeDecodeError, NotImplementedError, OverflowError) as error:
        raise RuntimeError(f"load: {name} is damaged, or not a file that save wrote ({type(error).__name__}: {error})") from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise RuntimeError(f"load: {name} is damaged, or not a file that save wrote (a record begins before the file)") from error
    except pickle.UnpicklingError as error:
        if "is not allowed" in str(error) or not str(error):
            raise
        raise RuntimeError(f"load: {name} is damaged, or not a file that save wrote ({error})") from error


def _load_zip(file, home, trusted, mapped):
    with zipfile.ZipFile(file) as archive:
        pickled = next((n for n in archive.namelist() if n.split("/", 1)[-1] == "data.pkl"), None)
        if pickled is None:
            raise ValueError("it has no data.pkl" + (": TorchScript archives cannot be loaded" if any("code/" in n for n in archive.namelist()) else ""))
        root = pickled[:-len("data.pkl")]
        swap = root + "byteorder" in archive.namelist() and archive.read(root + "byteorder").decode() != sys.byteorder
        whole = memoryview(_mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)) if mapped else None
        found = {}

        def storage_of(kind, key, location, count, *rest):
            if key not in found:
                size = count * kind.itemsize
                info = archive.getinfo(f"{root}data/{key}")
                if info.file_size != size:
                    raise ValueError(f"storage {key} has {info.file_size} bytes, its tensors need {size}")
                if home.meta:           # nothing of it would be looked at
                    found[key] = construct.empty("load", (size,), DTYPES["uint8"], "meta").untyped_storage(), None
                else:
                    found[key] = home.place(_bytes_of(archive, file, info, whole, kind.itemsize if swap else 1), location)
            storage, where = found[key]
            return StorageType(kind.name, storage, where)
        return _Reader(io.BytesIO(archive.read(pickled)), storage_of, trusted).load()


def _bytes_of(archive, file, info, whole, swapped):
    """A record as a storage: mapped, or read straight into its memory."""
    if info.file_size == 0:
        return make_storage(0)
    if info.compress_type != zipfile.ZIP_STORED:
        return storage_over(bytearray(archive.read(info)))
    before = file.tell()
    file.seek(info.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04" or len(header) < 30:
        raise zipfile.BadZipFile(f"no record at the place of {info.filename}")
    start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
    if whole is not None and swapped == 1:
        file.seek(before)
        if start + info.file_size > len(whole):
            raise EOFError(f"{info.filename} ends beyond the end of the file")
        return storage_over(whole[start:start + info.file_size])
    storage = make_storage(info.file_size, False)
    view = memoryview(storage).cast("B")
    file.seek(start)
    got = file.readinto(view) if hasattr(file, "readinto") else _read_into(file, view)
    file.seek(before)
    if got != info.file_size:
        raise EOFError(f"{info.filename} is cut short: {got} of {info.file_size} bytes")
    if zlib.crc32(view) != info.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for {info.filename}: its bytes changed since they were written")
    if swapped > 1:
        data = bytearray(view)
        for k in range(swapped):
            view[k::swapped] = data[swapped - 1 - k::swapped]
    return storage


def _read_into(file, view):
    data = file.read(len(view))
    view[:len(data)] = data
    return len(data)


def _load_legacy(file, home, trusted):
    """The format before zip archives: pickles one after another, then the storages' bytes."""
    found = {}
    start = file.tell()
    room = file.seek(0, os.SEEK_END)
    file.seek(start)

    def storage_of(kind, key, location, count, view=None):
        if view is not None:
            raise ValueError("views of storages in the oldest format are not supported: save again with a newer PyTorch")
        if key not in found:
            if not 0 <= count * kind.itemsize <= room:
                raise ValueError(f"storage {key} of {count} elements in a file of {room} bytes")
            found[key] = (kind, make_storage(count * kind.itemsize), location)
        storage, where = home.place(found[key][1], location)
        return StorageType(kind.name, storage, where)

    if _Reader(file, storage_of, False).load() != _LEGACY_MAGIC:
        raise ValueError("it starts with another number than PyTorch's files do")
    if _Reader(file, storage_of, False).load() != 1001:
        raise ValueError("its format has another version")
    _Reader(file, storage_of, False).load()         # sizes of C's types on the machine that wrote it
    result = _Reader(file, storage_of, trusted).load()
    for key in _Reader(file, storage_of, False).load():
        kind, storage, _ = found[key]
        count, = struct.unpack("<q", file.read(8))
        if count * kind.itemsize != storage.nbytes():
            raise ValueError(f"storage {key} has {count} elements, its tensors need {storage.nbytes() // kind.itemsize}")
        if storage.nbytes() and _read_into(file, memoryview(storage).cast("B")) != storage.nbytes():
            raise EOFError(f"storage {key} is cut short")
    return result
