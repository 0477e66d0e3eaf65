"""What programs set about files of tensors, and ask of one without loading it."""
import enum
import mmap
import pickle
import pickletools
import zipfile

from fasttensor._core import construct
from fasttensor._core.device import device as Device
from fasttensor._core.dtype import DTYPES

packages = []               # (priority, tagger, deserializer) in the order in which they are asked
_BUILT_IN = 10              # the priority of the CPU among them, as in PyTorch
endianness = None           # of files that do not say
mapping = mmap.MAP_PRIVATE
checksums = True
skipping = 0                # how many skip_data blocks are open


class SourceChangeWarning(Warning):
    """PyTorch's warning about modules whose source changed since they were saved whole; never given here."""


class LoadEndianness(enum.Enum):
    """The byte order of a file: this machine's, or a given one."""
    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness():
    """The byte order that files without a note of theirs are read in: a LoadEndianness, or None for this machine's."""
    return endianness


def set_default_load_endianness(endianness):
    """Set `get_default_load_endianness`; TypeError unless a LoadEndianness or None.

    >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.LITTLE)
    >>> torch.serialization.get_default_load_endianness().name
    'LITTLE'
    >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(f"set_default_load_endianness: expected a LoadEndianness or None, got {type(endianness).__name__}")
    globals()["endianness"] = endianness


def get_crc32_options():
    """Whether `save` was asked to note checksums of its records."""
    return checksums


def set_crc32_options(compute_crc32):
    """Accepted: records always have their checksums here, which zip's tools want."""
    globals()["checksums"] = bool(compute_crc32)


def get_default_mmap_options():
    """How `load(mmap=True)` maps files: mmap.MAP_PRIVATE (writes stay in memory) or mmap.MAP_SHARED (they reach the
    file, whose checksums they do not change: map it again, `load` without `mmap` takes it for damaged)."""
    return mapping


class set_default_mmap_options:
    """Set `get_default_mmap_options`, for good by a call or for a `with` block; ValueError for another flag.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags):
        global mapping
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError("set_default_mmap_options: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                             f"but got {flags}")
        self.before, mapping = mapping, flags

    def __enter__(self):
        return self

    def __exit__(self, *_):
        global mapping
        mapping = self.before


class skip_data:
    """Context: `save` leaves room for storages and writes zeros there, `load` makes storages and reads nothing into them.

    `materialize_fake_tensors` is accepted.

    >>> import io
    >>> f = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), f)
    >>> torch.load(io.BytesIO(f.getvalue()))
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        global skipping
        skipping += 1

    def __exit__(self, *_):
        global skipping
        skipping -= 1


def register_package(priority, tagger, deserializer):
    """Let a function name the place of storages when they are saved, and another bring them there when they are loaded.

    Args:
        priority: smaller ones are asked first; the CPU is asked at 10.
        tagger: of a storage, gives its place as a str, or None.
        deserializer: of a storage on the CPU and a place, gives the storage there, or None.
    """
    packages.append((priority, tagger, deserializer))
    packages.sort(key=lambda package: package[0])


def location_tag(storage):
    """The place of a storage that `save` writes: "cpu", or its device.

    >>> torch.serialization.location_tag(torch.ones(1).untyped_storage())
    'cpu'
    """
    return tag(storage, str(storage.device))


def tag(storage, place):
    """`place`, unless a registered package names another one first."""
    for priority, tagger, _ in packages:
        if priority > _BUILT_IN:
            break
        found = tagger(storage)
        if found is not None:
            return found
    return place


def restored(storage, location):
    """What the registered packages make of a storage that is saved from `location`, or None."""
    for priority, _, deserializer in packages:
        if location == "cpu" and priority > _BUILT_IN:
            return None
        found = deserializer(storage, location)
        if found is not None:
            return found
    return None


def default_restore_location(storage, location):
    """The storage at the place that `save` noted, as `load` without `map_location` puts it; RuntimeError where there is none such.

    >>> torch.serialization.default_restore_location(torch.ones(1).untyped_storage(), "cpu").nbytes()
    4
    """
    from fasttensor.serialization_reading import Home
    if (found := restored(storage, location)) is not None:
        return found
    if location.split(":")[0] not in ("cpu", "meta", "cuda"):
        raise RuntimeError(f"default_restore_location: don't know how to restore a storage saved from {location!r}; register_package can tell")
    storage, where = Home(None).place(storage, location)
    if where is None:
        return storage
    return construct.empty("default_restore_location", (storage.nbytes(),), DTYPES["uint8"], where).untyped_storage()


def validate_cuda_device(location):
    """The number of the GPU that a place like "cuda:1" names; RuntimeError where there is none."""
    from fasttensor import cuda
    device = Device(location)
    if not cuda.is_available():
        raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. Use load with "
                           "map_location=\"cpu\" to have the storages on the CPU.")
    if device.index is not None and device.index >= cuda.device_count():
        raise RuntimeError(f"Attempting to deserialize object on CUDA device {device.index} but torch.cuda.device_count() is "
                           f"{cuda.device_count()}. Use load with map_location to map the storages to an existing device.")
    return device.index or 0


def normalize_storage_type(storage_type):
    """The class of storages of its kind on the CPU: the one given, here."""
    return storage_type


def get_unsafe_globals_in_checkpoint(f):
    """The names in a file that `load` refuses unless `add_safe_globals` declares them, sorted; nothing of it is loaded.

    `f` is a path or a binary file; ValueError where it is not a zip file that `save` wrote.

    >>> import fractions, io
    >>> f = io.BytesIO()
    >>> torch.save({"half": fractions.Fraction(1, 2)}, f)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(f)
    ['fractions.Fraction']
    """
    from fasttensor.serialization_globals import allowed
    try:
        with zipfile.ZipFile(f) as archive:
            pickled = archive.read(next(name for name in archive.namelist() if name.split("/", 1)[-1] == "data.pkl"))
    except (zipfile.BadZipFile, StopIteration):
        raise ValueError(f"get_unsafe_globals_in_checkpoint: {f if isinstance(f, str) else 'the file'} is not a checkpoint that save wrote") from None
    unsafe = set()
    for module, name in _named(pickled):
        try:
            allowed(module, name, False)
        except pickle.UnpicklingError:
            unsafe.add(f"{module}.{name}")
    return sorted(unsafe)


def _named(pickled):
    """The (module, name) pairs that a pickle names."""
    texts, memo = [], {}
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name in ("GLOBAL", "INST"):
            yield tuple(argument.split(" ", 1))
        elif opcode.name == "STACK_GLOBAL":
            yield tuple(texts[-2:])
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = texts[-1] if texts else None
        elif opcode.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = texts[-1] if texts else None
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            texts.append(memo.get(argument))
        elif isinstance(argument, str):
            texts.append(argument)
