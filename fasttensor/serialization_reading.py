"""Reading what `serialization` writes, and the format before it: an unpickler that finds only what is allowed, and the storages of a file."""
import errno
import io
import mmap as _mmap
import os
import pickle
import struct
import sys
import zipfile
import zlib

from fasttensor import serialization_options as options
from fasttensor._core import construct
from fasttensor._core.device import device as Device
from fasttensor._core.dtype import DTYPES, dtype as dtype_class
from fasttensor._core.storage import make_storage, storage_over
from fasttensor.serialization_globals import StorageType, allowed

__all__ = []

LEGACY_MAGIC, LEGACY_VERSION = 0x1950a86a20f9469cfc6c, 1001


def whole_line(file):
    """A line with its end; a file that is cut short inside of one would name something else."""
    line = file.readline()
    if not line.endswith(b"\n"):
        raise EOFError(f"a line is cut short: {line!r:.80}")
    return line


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
        self._file_readline = lambda: whole_line(file)
        self.storage_of, self.trusted = storage_of, trusted
        self.named = {}         # id of what the file named -> (itself, whether it is only a value)

    def find_class(self, module, name):
        found, value = allowed(module, name, self.trusted)
        self.named[id(found)] = found, value
        return found

    def persistent_load(self, pid):
        kind = pid[0].decode() if isinstance(pid[0], bytes) else pid[0]
        if kind == "module" and len(pid) == 4 and isinstance(pid[1], type):     # a class that find_class allowed, with its source
            return pid[1]
        if kind != "storage" or len(pid) < 5 or not isinstance(pid[1], (StorageType, dtype_class)):
            raise pickle.UnpicklingError(f"load: the file refers to an unknown kind of record: {pid!r:.80}")
        return self.storage_of(*pid[1:])


class Home:
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
        if options.packages and (found := options.restored(storage, location)) is not None:
            return found, None
        if location == "cpu" or location.startswith("meta"):
            return storage, None if location == "cpu" else location
        from fasttensor import cuda
        if not cuda.is_available():
            raise RuntimeError(f"Attempting to deserialize object on a CUDA device ({location}) but torch.cuda.is_available() is False. If you "
                               "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
                               "your storages to the CPU.")
        return storage, location


def read(file, name, home, trusted, mapped):
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
        if mapped:
            raise RuntimeError("load: mmap can only be used with files that torch.save(..., _use_new_zipfile_serialization=True) wrote: "
                               f"{name} has the format from before; load it without mmap, or save it again")
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
        order = options.endianness.name.lower() if options.endianness else "native"
        if root + "byteorder" in archive.namelist():
            order = archive.read(root + "byteorder").decode()
        swap = order not in ("native", sys.byteorder)
        access = _mmap.ACCESS_COPY if options.mapping == _mmap.MAP_PRIVATE else _mmap.ACCESS_WRITE
        whole = memoryview(_mmap.mmap(file.fileno(), 0, access=access)) if mapped else None
        found = {}

        def storage_of(kind, key, location, count, *rest):
            if key not in found:
                size = count * kind.itemsize
                info = archive.getinfo(f"{root}data/{key}")
                if info.file_size != size:
                    raise ValueError(f"storage {key} has {info.file_size} bytes, its tensors need {size}")
                if home.meta:           # nothing of it would be looked at
                    found[key] = construct.empty("load", (size,), DTYPES["uint8"], "meta").untyped_storage(), None
                elif options.skipping:
                    found[key] = home.place(make_storage(size), location)
                else:
                    found[key] = home.place(_bytes_of(archive, file, info, whole, kind.itemsize if swap else 1), location)
            return _typed(kind, *found[key])
        return _Reader(io.BytesIO(archive.read(pickled)), storage_of, trusted).load()


def _typed(kind, storage, where, later=None):
    """What the file's tensors are made of, and what stands in the result where a storage was saved on its own.

    where: the device that tensors move to, or None. later: a list of what is done once the bytes have been read, None where they have been.
    """
    from fasttensor.storage import TypedStorage
    made = TypedStorage(wrap_storage=storage, dtype=DTYPES[kind.name])
    made.where, made.later = where, later
    return made


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
    found, later = {}, []
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
        return _typed(kind, *home.place(found[key][1], location), later)

    if _Reader(file, storage_of, False).load() != LEGACY_MAGIC:
        raise ValueError("it starts with another number than PyTorch's files do")
    if _Reader(file, storage_of, False).load() != LEGACY_VERSION:
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
    for fill in later:
        fill()
    return result
