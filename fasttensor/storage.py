"""Storages: ``UntypedStorage`` are bytes, ``TypedStorage`` elements of one dtype over them."""
from fasttensor import get_default_dtype, tensor
from fasttensor._core.construct import over_storage
from fasttensor._core.dispatch import install
from fasttensor._core.dtype import DTYPES
from fasttensor._core.storage import Storage as UntypedStorage
from fasttensor._core.resizing import resizable, resize
from fasttensor._core.storage import make_storage

__all__ = ["TypedStorage", "UntypedStorage"]

NAMES = {"DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "LongStorage": "int64",
         "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
         "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}


def _bytes(store):
    return over_storage(store, DTYPES["uint8"], (store.nbytes(),), (1,))


def _fill(self, value):
    _bytes(self).fill_(value)
    return self


def _copy(self, source, non_blocking=None):
    _bytes(self).copy_(_bytes(source))
    return self


def _share(self):
    _bytes(self).share_memory_()
    return self


def _pin(self, device="cuda"):
    _bytes(self).pin_memory()
    return self


def _type(self, dtype=None, non_blocking=False):
    if dtype is not None:
        raise RuntimeError("UntypedStorage.type: bytes have no other type: make a TypedStorage(wrap_storage=...)")
    return "torch.storage.UntypedStorage"


# Methods of storages that are made of operations on tensors.
install(UntypedStorage, {
    "tolist": lambda self: list(self.tobytes()), "clone": lambda self: _bytes(self).clone().untyped_storage(), "cpu": lambda self: self,
    "fill_": _fill, "copy_": _copy, "share_memory_": _share, "element_size": lambda self: 1, "untyped": lambda self: self, "is_sparse": False,
    "is_cuda": property(lambda self: self.device_type == "cuda"), "device": property(lambda self: _bytes(self).device), "is_pinned":
    lambda self, device="cuda": False, "pin_memory": _pin,
    "resize_": resize, "resizable": resizable, "type": _type})


class TypedStorage:
    """Elements of one dtype in a storage.

    ``TypedStorage(n)``, ``TypedStorage([values])`` or ``TypedStorage(wrap_storage=untyped)``, with ``dtype=``.

    >>> import fasttensor as torch
    >>> torch.FloatStorage([1, 2]).tolist()
    [1.0, 2.0]
    """

    is_sparse = False
    _fixed = None       # the dtype of FloatStorage and the like

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None):
        name = type(self).__name__
        if self._fixed is not None and dtype is not None and dtype is not self._fixed:
            raise RuntimeError(f"{name}: 'dtype' cannot be specified, it is {self._fixed}")
        dtype = self._fixed or dtype or get_default_dtype()
        if wrap_storage is not None:
            if args:
                raise RuntimeError(f"{name}: No positional arguments should be given when using 'wrap_storage'")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"{name}: Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            self._untyped_storage = wrap_storage
        elif len(args) > 1:
            raise RuntimeError(f"{name}: Too many positional arguments: expected a size or a sequence, got {len(args)}")
        elif args and not isinstance(args[0], int):
            if not hasattr(args[0], "__iter__"):
                raise TypeError(f"{name}: Argument type not recognized: {type(args[0])}; give a size or a sequence of values")
            self._untyped_storage = tensor(list(args[0]), dtype=dtype).untyped_storage()
        else:
            self._untyped_storage = make_storage((args[0] if args else 0) * dtype.itemsize, False)
        self.dtype = dtype

    def _tensor(self):
        return over_storage(self._untyped_storage, self.dtype, (len(self),), (1,))

    @property
    def device(self):
        """Where the memory is."""
        return self._tensor().device

    is_cuda = property(lambda self: self.device.type == "cuda")
    filename = property(lambda self: None)

    def untyped(self):
        """The bytes."""
        return self._untyped_storage

    def __len__(self):
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    size = __len__

    def nbytes(self):
        """Size in bytes."""
        return self._untyped_storage.nbytes()

    def resize_(self, size):
        """Another number of elements; the first ones stay."""
        resize(self._untyped_storage, size * self.dtype.itemsize)

    def resizable(self):
        """Whether the memory is the storage's own."""
        return resizable(self._untyped_storage)

    def element_size(self):
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self):
        """Address of the first element."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of bounds for a storage of size {len(self)}")
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self).__name__} with {type(index).__name__}")
        self._tensor()[index] = tensor(value, dtype=self.dtype)

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as a list."""
        return self._tensor().tolist()

    def fill_(self, value):
        """Set every element."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Set the elements from another storage of as many elements."""
        if len(source) != len(self):
            raise RuntimeError(f"copy_: storages of {len(self)} and {len(source)} elements")
        self._tensor().copy_(source._tensor() if isinstance(source, TypedStorage) else tensor(list(source)))
        return self

    def clone(self):
        """A copy."""
        return _over(self._tensor().clone())

    cpu = clone

    def type(self, dtype=None, non_blocking=False):
        """The name of the type, or a copy as another one."""
        if dtype is None:
            return "torch." + storage_class(self.dtype).__name__
        kind = globals()[dtype.split(".")[-1]] if isinstance(dtype, str) else dtype
        return self._to(kind._fixed)

    def _to(self, dtype):
        return _over(self._tensor().to(dtype))

    def is_shared(self):
        """Whether processes share the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self):
        """Moves the memory to where processes can share it."""
        self._tensor().share_memory_()
        return self

    def pin_memory(self, device="cuda"):
        """This storage in page-locked memory; RuntimeError where there is no device."""
        _pin(self._untyped_storage)
        return self

    def is_pinned(self, device="cuda"):
        """False."""
        return False

    def pickle_storage_type(self):
        """The name in files."""
        return storage_class(self.dtype).__name__

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self.data_ptr() == other.data_ptr() and len(self) == len(other)

    __hash__ = object.__hash__

    def __reduce__(self):
        return _rebuild, (self._untyped_storage, self.dtype)

    def __repr__(self):
        rows = "".join(f" {value}\n" for value in self.tolist())
        return f"{rows}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


for _method, _dtype in (("double", "float64"), ("float", "float32"), ("half", "float16"), ("bfloat16", "bfloat16"), ("long", "int64"), ("int", "int32"),
                        ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"), ("complex_float", "complex64"),
                        ("complex_double", "complex128")):
    setattr(TypedStorage, _method, lambda self, _dtype=_dtype: self._to(DTYPES[_dtype]))


def _over(values):
    return TypedStorage(wrap_storage=values.untyped_storage(), dtype=values.dtype)


def _rebuild(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


class _Legacy(type):
    """Types such as FloatStorage: what they make is a TypedStorage, and those of their dtype belong to them."""

    def __call__(cls, *args, **kwargs):
        made = TypedStorage(*args, dtype=cls._fixed, **kwargs)
        return made

    def __instancecheck__(cls, x):
        return isinstance(x, TypedStorage) and x.dtype is cls._fixed


for _name, _dtype in NAMES.items():
    globals()[_name] = _Legacy(_name, (), {"_fixed": DTYPES[_dtype], "dtype": DTYPES[_dtype], "__module__": "fasttensor",
                                           "__doc__": f"Typed storage of {_dtype}."})


def storage_class(dtype):
    """The type of typed storage with a dtype."""
    return next(globals()[name] for name, element in NAMES.items() if DTYPES[element] is dtype)


def __getattr__(name):
    if name == "Storage":           # of the default dtype
        return storage_class(get_default_dtype())
    raise AttributeError(f"module 'fasttensor.storage' has no attribute {name!r}")


