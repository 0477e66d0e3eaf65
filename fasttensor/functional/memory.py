"""Where a tensor's elements are: order of dimensions, files, memory shared by processes, typed storages."""
import mmap
import os

from fasttensor._core import construct
from fasttensor._core.dtype import get_default_dtype
from fasttensor._core.sharing import share
from fasttensor._core.storage import OutOfMemoryError, storage_over
from fasttensor.autograd.copying import channels_last, channels_last_3d, contiguous_format, preserve_format
from fasttensor.functional.creation import finish, need_pinning

__all__ = ["from_file", "OutOfMemoryError", "AcceleratorError"]


class AcceleratorError(RuntimeError):
    """A GPU reported an error.

    >>> issubclass(torch.AcceleratorError, RuntimeError)
    True
    """


def _order(shape, strides):
    """Dimensions from the largest step to the smallest; of equal steps the one that comes first."""
    order = list(range(len(shape)))
    for i in range(1, len(order)):
        for j in range(i, 0, -1):
            a, b = order[j - 1], order[j]
            if strides[a] == 0 or strides[b] == 0 or (strides[a], shape[a]) >= (strides[b], shape[b]):
                break
            order[j - 1], order[j] = b, a
    return tuple(order)


def dim_order(self, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost.

    ``ambiguity_check=True``, or a list of memory formats, raises RuntimeError where the strides allow several orders,
    or several of those formats.

    >>> torch.empty(2, 3, 5).transpose(1, 2).dim_order()
    (0, 2, 1)
    """
    shape, strides = tuple(self.shape), tuple(self.stride())
    unclear = RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats: "
                           f"shape {shape}, strides {strides}.")
    if isinstance(ambiguity_check, (list, tuple)):
        formats = {contiguous_format: tuple(range(self.ndim)), preserve_format: None, channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
        fits = [formats[f] for f in ambiguity_check if f is contiguous_format or f is not preserve_format and len(formats[f]) == self.ndim]
        fits = [order for f, order in zip(ambiguity_check, fits) if self.is_contiguous(memory_format=f)]
        if len(fits) != 1:
            raise unclear
        return fits[0]
    if ambiguity_check and len(set(strides)) != len(strides):
        raise unclear
    return _order(shape, strides)


def to_dense(self, dtype=None, *, masked_grad=True):
    """The tensor itself, which is dense, or in another dtype.

    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


def storage(self):
    """The memory as a ``TypedStorage`` of this dtype; see ``untyped_storage`` for the bytes.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(torch.tensor([1, 2]).storage().tolist())
    [1, 2]
    """
    from fasttensor.storage import TypedStorage
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def storage_type(self):
    """The type of typed storage with this dtype.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(torch.tensor([1, 2]).storage_type().__name__)
    LongStorage
    """
    from fasttensor.storage import storage_class
    return storage_class(self.dtype)


def share_memory_(self):
    """Moves the memory, with all views of it, to where processes started from this one can share it; returns self.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    share(self)
    return self


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A 1-d tensor of `size` elements over a file's bytes, of the default float dtype unless `dtype` is given.

    With ``shared=True`` writes go to the file, which is made or grown where it is too short; otherwise they stay in memory.
    Raises RuntimeError where the file cannot be opened or, unshared, is too short.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> x = torch.from_file(path, shared=True, size=2).fill_(3)
    >>> torch.from_file(path, size=2)
    tensor([3., 3.])
    """
    if pin_memory:
        need_pinning()
    dtype = get_default_dtype() if dtype is None else dtype
    nbytes = int(size) * dtype.itemsize
    if size < 0:
        raise RuntimeError(f"from_file: size must be non-negative, got {size}")
    try:
        with open(filename, ("r+b" if os.path.exists(filename) else "w+b") if shared else "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if length < nbytes:
                if not shared:
                    raise RuntimeError(f"from_file: file <{filename}> has {length} bytes, but {size} elements of {dtype} need {nbytes}")
                file.truncate(nbytes)
            held = mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY) if nbytes else bytearray()
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}> in {'read-write' if shared else 'read-only'} mode: {error}") from None
    return finish(construct.over_storage(storage_over(held), dtype, (int(size),), (1,)), None, requires_grad, device)


def __array_namespace__(self, *, api_version=None):
    """The array API standard's functions over tensors: ``fasttensor.array_api``. ValueError for a version that is later."""
    if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"__array_namespace__: version {api_version!r} of the array API standard is not supported, '2025.12' is")
    from fasttensor import array_api
    return array_api


def to_device(self, device, /, *, stream=None):
    """The array on another device, as the array API standard has it. ValueError where a `stream` is given.

    >>> torch.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError("to_device: streams are not supported")
    return self.to(device)


METHODS = {"__array_namespace__": __array_namespace__, "to_device": to_device, "dim_order": dim_order, "to_dense": to_dense, "storage": storage,
           "storage_type": storage_type, "share_memory_": share_memory_}
