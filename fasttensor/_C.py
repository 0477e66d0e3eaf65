"""The few names of PyTorch's compiled module that libraries over it call."""
import contextlib
import importlib
import zipfile

import fasttensor
from fasttensor._core.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass, _disabled_torch_function_impl, asking, modes_entered  # noqa: F401
from fasttensor.autograd.recording import set_version

__all__ = []


def _log_api_usage_once(event):
    """Nothing is logged."""


class _autograd:
    """What PyTorch's optimizers call of its autograd."""

    @staticmethod
    def _unsafe_set_version_counter(tensors, versions):
        """Say how many writes each tensor's memory has seen."""
        for t, version in zip(tensors, versions):
            set_version(t, version)


def _get_tracing_state():
    """None: nothing is traced."""
    return None


class _KeyNames(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class DispatchKey(metaclass=_KeyNames):
    """The names of PyTorch's dispatch keys, which say nothing here."""


class DispatchKeySet(frozenset):
    """A set of dispatch keys."""

    def __new__(cls, key):
        return super().__new__(cls, [key] if isinstance(key, str) else key)

    def __or__(self, other):
        return DispatchKeySet(frozenset(self) | frozenset(other))


class _ExcludeDispatchKeyGuard(contextlib.AbstractContextManager):
    """A context without effect: there are no dispatch keys."""

    def __init__(self, keys):
        self.keys = keys

    def __exit__(self, *_):
        return None


class PyTorchFileReader:
    """The records of a file that `torch.save` wrote, a zip archive, by their names in its folder.

    >>> import io
    >>> file = io.BytesIO()
    >>> fasttensor.save([1, 2], file)
    >>> "data.pkl" in PyTorchFileReader(file).get_all_records()
    True
    """

    def __init__(self, file):
        self._archive = zipfile.ZipFile(file)
        self._folder = self._archive.namelist()[0].partition("/")[0] + "/"

    def get_all_records(self):
        """The names of the records."""
        return [name.removeprefix(self._folder) for name in self._archive.namelist()]

    def has_record(self, name):
        """Whether there is a record of this name."""
        return self._folder + name in self._archive.namelist()

    def get_record(self, name):
        """The bytes of a record. Raises RuntimeError where there is none."""
        try:
            return self._archive.read(self._folder + name)
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor over the memory of `numel` elements that a record holds."""
        return fasttensor.frombuffer(bytearray(self.get_record(name)), dtype=dtype, count=numel) if numel else fasttensor.empty(0, dtype=dtype)


def _are_functorch_transforms_active():
    """Whether the thread is inside a vmap."""
    from fasttensor.autograd.batched import is_inside
    return is_inside()


def _is_torch_function_enabled():
    """Whether classes' ``__torch_function__`` are called in this thread."""
    return asking() == 0


def _is_torch_function_mode_enabled():
    """Whether a TorchFunctionMode is entered in this thread."""
    return asking() < 2 and bool(modes_entered())


class _Functions:
    """The functions of a namespace under the names of PyTorch's compiled ones: ``_C._linalg.linalg_det``."""

    def __init__(self, space):
        self._fx_namespace = space

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        place = importlib.import_module("fasttensor." + self._fx_namespace)
        return getattr(place, name.removeprefix(self._fx_namespace + "_"))


def _len_torch_function_stack():
    """How many TorchFunctionModes are entered in this thread."""
    return len(modes_entered())


def __getattr__(name):
    if name == "_TensorMeta":       # the class of Tensor
        return type(fasttensor.Tensor)
    if name == "_functorch":
        from fasttensor.standin import functorch_core
        return functorch_core
    if name == "_AutoDispatchBelowAutograd":
        from fasttensor.library import below_autograd
        return below_autograd
    if name in ("FunctionSchema", "Argument"):
        from fasttensor import library_schema
        return getattr(library_schema, name)
    if name == "_nn":
        from fasttensor.standin import compiled_nn
        return compiled_nn
    if name in ("_linalg", "_fft", "_special"):
        return _Functions(name[1:])
    if name in ("Generator", "Size", "device", "dtype", "layout", "memory_format"):
        return getattr(fasttensor, name)
    raise AttributeError(f"module 'fasttensor._C' has no attribute {name!r}: it is PyTorch's private module (docs/coverage.md)")
