"""Tensors to and from other objects: lists, numpy arrays, DLPack, pickles, copies; Tensor's constructor."""

from fasttensor._core import construct, dlpack, export
from fasttensor._core.device import device as Device
from fasttensor._core.dispatch import is_grad_enabled
from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.storage import Storage
from fasttensor._core.tensor import Tensor, description
from fasttensor.functional.creation import empty
from fasttensor.functional.data import tensor


# --- numbers and lists ---

def tolist(self):
    """The values as nested lists, one level a dimension; a Python number for a 0-d tensor.

    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return export.to_list(self)


# --- numpy ---

_asarray = None        # numpy's, once it was needed: importing numpy is most of a short program's start


def numpy(self, *, force=False):
    """A numpy array over the same memory: writes to one are seen by the other.

    ``force=True`` detaches and copies from the GPU first. Raises RuntimeError for a tensor that
    requires grad and TypeError for one that is not in the CPU's memory, or bfloat16, which numpy lacks.

    >>> torch.tensor([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    global _asarray
    if _asarray is None:
        from numpy import asarray as _asarray
    if force:
        self = self.detach().cpu()
    if self.requires_grad and is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not self.is_cpu:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    if self.dtype.name == "bfloat16":
        raise TypeError("Got unsupported ScalarType BFloat16: numpy has no such type, convert with .float() first")
    # a view of its own, so that resizing this tensor cannot free what the array shows
    return _asarray(memoryview(self.detach()))


def __array__(self, dtype=None, copy=None):
    """What ``numpy.asarray`` calls."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"Unable to avoid copy while creating an array of {dtype} from {description(self)}: use numpy.asarray()")
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(self, array, context=None, return_scalar=False):
    """What numpy's functions return for a tensor argument."""
    from fasttensor.functional.data import from_numpy
    if array.dtype == bool:
        array = array.astype("uint8")
    return from_numpy(array if array.ndim else array.reshape(()))       # where it is a number, as an array without dimensions


# --- DLPack ---

def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule over this tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(dl_device) != dlpack.device_pair(self):
        raise BufferError(f"__dlpack__: cannot export a tensor on {self.device} to DLPack device {tuple(dl_device)}: move it first")
    if self.is_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    source = self.clone() if copy else self.detach()
    return dlpack.export(source, max_version is not None and max_version[0] >= 1, bool(copy))


def __dlpack_device__(self):
    """DLPack's device type (``torch.utils.dlpack.DLDeviceType``) and number.

    >>> torch.ones(2).__dlpack_device__()
    (<DLDeviceType.kDLCPU: 1>, 0)
    """
    from fasttensor.functional.dlpack_devices import DLDeviceType

    kind, number = dlpack.device_pair(self)
    return DLDeviceType(kind), number


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of another library's array, or of a DLPack capsule.

    ``copy=True`` copies; ``device`` moves the result. Raises RuntimeError for a capsule that was used before, ValueError where ``copy=False``
    and the device is another one.

    >>> import numpy
    >>> torch.from_dlpack(numpy.array([1, 2]))
    tensor([1, 2])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        try:
            capsule = ext_tensor.__dlpack__(max_version=(1, 0))
        except TypeError:       # a producer of the protocol's first version
            capsule = ext_tensor.__dlpack__()
    else:
        capsule = ext_tensor
    made = dlpack.take(capsule)
    if device is not None and made.device != Device(device):
        if copy is False:
            raise ValueError(f"from_dlpack: moving from {made.device} to {device} needs a copy, but copy=False was given")
        return made.to(device)
    return made.clone() if copy else made


def to_dlpack(tensor):
    """A DLPack capsule over a tensor's memory."""
    return __dlpack__(tensor, stream=None)


# --- pickles and copies ---

def rebuild_tensor(storage, dtype, offset, size, stride, requires_grad, kind, attributes):
    """The tensor that a pickle describes."""
    return finished(construct.over_storage(storage, dtype, size, stride, offset), requires_grad, kind, attributes)


def rebuild_meta(dtype, size, stride, requires_grad, kind, attributes):
    """The same for a meta tensor, which has no memory to share."""
    return finished(construct.empty_strided(size, stride, dtype, "meta"), requires_grad, kind, attributes)


def finished(made, requires_grad, kind, attributes):
    if kind is not Tensor:
        made = Tensor._make_subclass(kind, made)
    if requires_grad:
        made.requires_grad = True
    for name, value in (attributes or {}).items():
        setattr(made, name, value)
    return made


def __reduce_ex__(self, protocol):
    """Pickling: memory shared by several tensors of one pickle is stored once."""
    if self.is_meta:
        return rebuild_meta, (self.dtype, tuple(self.shape), tuple(self.stride()), self.requires_grad, type(self), dict(self.__dict__) or None)
    source = self.detach().cpu() if not self.is_cpu else self
    return rebuild_tensor, (source.untyped_storage(), self.dtype, source.storage_offset(), tuple(source.shape), tuple(source.stride()),
                            self.requires_grad, type(self), dict(self.__dict__) or None)


def __deepcopy__(self, memo):
    """A copy of a leaf, its gradient and attributes; views of one storage share one copy of it.

    Raises RuntimeError for a tensor that a recorded operation made.
    """
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
                           "Use .detach().clone() for a copy of the values of " + description(self) + ".")
    if id(self) in memo:
        return memo[id(self)]
    import copy
    if self.is_cpu:
        storage = self.untyped_storage()
        if id(storage) not in memo:
            memo[id(storage)] = construct.copy_storage(storage)
            memo.setdefault(id(memo), []).append(storage)      # keeps the id taken
        made = construct.over_storage(memo[id(storage)], self.dtype, tuple(self.shape), tuple(self.stride()), self.storage_offset())
    else:
        made = self.detach().clone()
    if type(self) is not Tensor:
        made = Tensor._make_subclass(type(self), made)
    if self.requires_grad:
        made.requires_grad = True
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    for name, value in self.__dict__.items():
        setattr(made, name, copy.deepcopy(value, memo))
    memo[id(self)] = made
    return made


# --- the constructor ---

def _construct(self, args, kwargs):
    """Tensor(), Tensor(2, 3), Tensor([1, 2]): sizes, or values, in the default floating-point type."""
    device = kwargs.pop("device", None)
    if len(args) == 1 and isinstance(args[0], Tensor):
        made = args[0].detach()         # of any dtype, unlike FloatTensor(x)
    else:
        made = legacy(get_default_dtype(), args, device)
    if kwargs:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(kwargs))}'")
    construct.become(self, made)


def legacy(dtype, args, device=None):
    """What the old constructors make of their arguments: sizes when they are ints, else values."""
    if not args:
        return empty(0, dtype=dtype, device=device)
    if len(args) == 1 and not isinstance(args[0], int):
        data = args[0]
        if type(data).__name__ == "Size" and isinstance(data, tuple):
            return empty(data, dtype=dtype, device=device)
        if isinstance(data, Storage):
            return construct.over_storage(data, dtype, (data.nbytes() // dtype.itemsize,), (1,))
        if isinstance(data, Tensor):
            if data.dtype is not dtype:
                raise TypeError(f"expected {dtype} (got {data.dtype})")
            return data.detach()
        if isinstance(data, (float, complex)):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__}): tensor({data}) makes a tensor of a number")
        return tensor(data, dtype=dtype, device=device)
    return empty(*args, dtype=dtype, device=device)


class _Legacy(type):
    """Types such as FloatTensor: constructors of one dtype, to which tensors of that dtype belong."""

    def __call__(cls, *args, device=None):
        return legacy(DTYPES[cls.element], args, device)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.is_cpu and x.dtype.name == cls.element


LEGACY_DOC = """Constructor of {element} tensors on the CPU from sizes (ints) or values (a sequence); tensors of that dtype are its instances.

    Prefer ``torch.tensor`` and ``torch.empty``. Raises TypeError for a tensor of another dtype and for a float.

    >>> torch.{name}([1, 2])
    tensor({shown})
    """
SHOWN = {"float32": "[1., 2.]", "int64": "[1, 2]", "bool": "[True, True]",
         **{f"float{n}": f"[1., 2.], dtype=torch.float{n}" for n in (16, 64)}, "bfloat16": "[1., 2.], dtype=torch.bfloat16"}


def _legacy(name, element):
    doc = LEGACY_DOC.format(name=name, element=element, shown=SHOWN.get(element, f"[1, 2], dtype=torch.{element}"))
    return _Legacy(name, (), {"element": element, "dtype": DTYPES[element], "__doc__": doc, "__module__": "fasttensor"})


FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor = (_legacy("FloatTensor", "float32"), _legacy("DoubleTensor", "float64"),
                                                         _legacy("HalfTensor", "float16"), _legacy("BFloat16Tensor", "bfloat16"))
LongTensor, IntTensor, ShortTensor = _legacy("LongTensor", "int64"), _legacy("IntTensor", "int32"), _legacy("ShortTensor", "int16")
CharTensor, ByteTensor, BoolTensor = _legacy("CharTensor", "int8"), _legacy("ByteTensor", "uint8"), _legacy("BoolTensor", "bool")


def new(self, *args, device=None):
    """A tensor of this one's dtype, from sizes (ints) or values (a sequence): the constructor before ``new_empty`` and ``new_tensor``.

    >>> torch.tensor([0.5]).new([1, 2])
    tensor([1., 2.])
    """
    return legacy(self.dtype, args, self.device if device is None else device)


HOOKS = {"construct": _construct}

__all__ = ["from_dlpack", "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor", "ShortTensor",
           "CharTensor", "ByteTensor", "BoolTensor"]
METHODS = {"tolist": tolist, "numpy": numpy, "__array__": __array__, "__array_wrap__": __array_wrap__, "__array_priority__": 1000,
           "__dlpack__": __dlpack__, "__dlpack_device__": __dlpack_device__, "__reduce_ex__": __reduce_ex__, "__deepcopy__": __deepcopy__,
           "new": new}
