"""Functions that make tensors from numbers, sequences, arrays and buffers, and complex tensors from their parts."""

import warnings

from fasttensor._core import foreign, nested
from fasttensor._core.device import device as Device
from fasttensor._core.dtype import get_default_dtype
from fasttensor._core.storage import Storage
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.creation import Complex
from fasttensor.functional.common import give
from fasttensor.functional.creation import COMPLEX_OF, as_dtype, finish, must_be_tensor, need_pinning


def _is_array(data):
    # numpy builds the dict of the interface at every look at it: its class is asked first
    return (hasattr(type(data), "__array_interface__") or hasattr(data, "__array_interface__")) and hasattr(data, "shape")


def _values(data, dtype):
    """New CPU memory with the data's values."""
    if _is_array(data) and len(data.shape):
        if any(step < 0 for step in data.strides):
            data = data.copy()
        shared = foreign.from_array(data, False)
        return shared.to(shared.dtype if dtype is None else dtype, copy=True)      # in the array's order of memory
    return nested.from_nested(data, dtype)


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with the values of numbers, nested sequences, numpy arrays or another tensor.

    The dtype follows the data: bool, int64, the default floating-point type or its complex partner;
    arrays keep theirs. Raises ValueError for sequences of uneven lengths, TypeError or RuntimeError
    for elements that are no numbers.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if pin_memory:
        need_pinning()
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        made = data.detach().clone()
        if dtype is not None or device is not None:
            made = made.to(dtype=dtype or made.dtype, device=device or made.device)
        if requires_grad:
            made.requires_grad = True
        return made
    if hasattr(data, "__cuda_array_interface__") and not isinstance(data, (list, tuple)):
        made = _foreign_cuda(data)
        made = made.to(dtype=dtype or made.dtype, device=device or made.device).clone()
        made.requires_grad = requires_grad
        return made
    return finish(_values(data, dtype), None, requires_grad, device)


def _foreign_cuda(data):
    from fasttensor.functional.convert import from_dlpack

    return from_dlpack(data)


def from_numpy(ndarray):
    """A tensor that shares the memory of a numpy array: writes to one are seen by the other.

    Shape and dtype are the array's. Raises TypeError for what is no array and for dtypes that tensors do not have (strings, objects,
    big-endian numbers), ValueError for negative strides.

    >>> import numpy
    >>> torch.from_numpy(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if (
        not _is_array(ndarray)
        or not foreign.has_buffer(ndarray)
        or not hasattr(ndarray, "__array_finalize__")      # numpy's numbers have the rest
    ):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return foreign.from_array(ndarray)


def as_tensor(data, dtype=None, device=None):
    """``data`` as a tensor, sharing memory and history where no conversion is needed.

    Shape and dtype are the data's unless `dtype` is given. Raises TypeError for what holds no numbers, ValueError for rows of unlike lengths.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        if (dtype is None or data.dtype is dtype) and (device is None or data.device == Device(device)):
            return data
        return data.to(dtype=dtype or data.dtype, device=device or data.device)
    if _is_array(data) and len(data.shape):
        made = foreign.from_array(data)
        if dtype is not None and made.dtype is not dtype:
            made = made.to(dtype)
        return finish(made, None, False, device)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """``obj`` - tensor, array, DLPack capsule, buffer, number or sequence - as a tensor.

    ``copy=True`` always copies, ``copy=False`` raises ValueError where sharing is impossible, None shares where it can. The dtype is the
    object's, or the default floating-point type for Python's floats.

    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    dtype = as_dtype(dtype)
    if isinstance(obj, Tensor):
        made = obj
    elif _is_array(obj) and len(obj.shape):
        made = foreign.from_array(obj, copy is not True)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        from fasttensor.functional.convert import from_dlpack

        made = from_dlpack(obj)
    elif foreign.has_buffer(obj) and not _is_array(obj):
        kind = get_default_dtype() if dtype is None else dtype
        # a storage may be empty, as those of tensors without elements are; other buffers may not
        made = finish(_values([], kind), None, False, "cpu") if isinstance(obj, Storage) and not obj.nbytes() else foreign.from_flat_buffer(obj, kind)
    else:
        if copy is False:
            raise ValueError(
                f"can't alias arbitrary sequence into a tensor: asarray() of {type(obj).__name__} needs copy=None or True"
            )
        # a numpy number is an array without dimensions, which dtypes convert
        made = finish(_values(obj, None if _is_array(obj) else dtype), None, False, device)
        copy = None
    shared = made
    if dtype is not None and made.dtype is not dtype or device is not None and made.device.type != Device(device).type:
        if copy is False:
            raise ValueError(
                f"can't alias tensor with dtype '{made.dtype}' into dtype '{dtype or made.dtype}' on device '{device or made.device}'"
            )
        made = made.to(dtype=dtype or made.dtype, device=device or made.device)
    if copy and made is shared:
        made = made.clone()
    if requires_grad:
        made = made.detach() if made.grad_fn is not None else made
        made.requires_grad = True
    elif made.requires_grad:
        made = made.detach()
    return made


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor over the memory of a buffer, from ``offset`` bytes on.

    >>> torch.frombuffer(bytearray(b"ab"), dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    made = foreign.from_flat_buffer(buffer, dtype, count, offset)
    if requires_grad:
        made.requires_grad = True
    return made


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """The values of ``data`` (numbers, sequences, arrays) as a new tensor, by default of this tensor's dtype and device.

    >>> torch.tensor([0.5]).new_tensor([1, 2])
    tensor([1., 2.])
    """
    if pin_memory:
        need_pinning()
    return tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


# --- complex numbers ---


def _check_parts(op, first, second):
    must_be_tensor(op, first, "real" if op == "complex" else "abs")
    must_be_tensor(op, second, "imag" if op == "complex" else "angle")
    for x in (first, second):
        if x.dtype.name not in COMPLEX_OF:
            raise RuntimeError(
                f"{op}: Expected both inputs to be Float or Double tensors but got {description(first)} and {description(second)}"
            )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"{op}: Expected object of scalar type {first.dtype} but got scalar type {second.dtype} for second argument"
        )


def complex(real, imag, *, out=None):
    """Complex numbers of the given real and imaginary parts (float32 or float64, broadcast).

    Shape: both broadcast; float32 gives complex64, float64 complex128. RuntimeError for other or unlike dtypes.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real, imag)
    return give(out, apply(Complex, real, imag), "complex", True)


def polar(abs, angle, *, out=None):
    """Complex numbers of the given absolute values and angles in radians: abs * (cos(angle) + sin(angle) * j).

    Args: float32 or float64, both the same, broadcast; the result is complex64 or complex128. Raises RuntimeError for other dtypes.

    >>> torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor([1.+0.j, 2.+0.j])
    """
    _check_parts("polar", abs, angle)
    return give(out, apply(Complex, abs * angle.cos(), abs * angle.sin()), "polar", True)


__all__ = ["tensor", "from_numpy", "as_tensor", "asarray", "frombuffer", "complex", "polar"]
METHODS = {"new_tensor": new_tensor}
