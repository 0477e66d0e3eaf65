"""Functions that make tensors: from sizes, from formulas, from Python's and others' data."""
from fasttensor._core import construct
from fasttensor._core.device import device as Device, get_default_device
from fasttensor._core.dispatch import backend, backend_of, is_grad_enabled
from fasttensor._core.dtype import DTYPES, get_default_dtype, require_code
from fasttensor._core.element import plain_number
from fasttensor._core.tensor import Size, Tensor, description
from fasttensor.autograd.index_arguments import assigned
from fasttensor.autograd.outputs import fit
from fasttensor.autograd.recording import count_write
from fasttensor.autograd.rule import needs_history
from fasttensor.functional.common import need_out

_int64, _bool = DTYPES["int64"], DTYPES["bool"]
COMPLEX_OF = {"float32": DTYPES["complex64"], "float64": DTYPES["complex128"]}


# --- shared by all factories ---

# Python's number types; float and complex are double precision, as in PyTorch
NUMBERS = {float: DTYPES["float64"], complex: DTYPES["complex128"], int: DTYPES["int64"], bool: DTYPES["bool"]}


def dtype_code(dtype):
    """The dtype's number in the kernels."""
    return require_code(dtype)


def as_dtype(dtype):
    """A dtype from a dtype, one of Python's number types, or None."""
    dtype = NUMBERS.get(dtype, dtype)
    if getattr(dtype, "code", 0) < 0:
        require_code(dtype)
    return dtype


def finish(made, out=None, requires_grad=False, device=None):
    """Place a new CPU tensor: on `device`, into `out`, as a leaf that requires gradients."""
    if out is not None:
        return prepare(out, made.shape, made.dtype).copy_(made)
    if device is not None or get_default_device().type != "cpu":
        made = place(made, device)
    if requires_grad:
        made.requires_grad = True
    return made


def place(made, device):
    """A new tensor's values on the device that an argument names; a meta tensor has none."""
    where = get_default_device() if device is None else Device(device)
    return made if where.type == "cpu" or made.is_meta and where.type == "meta" else made.to(where)


def makers(out, device):
    """The kernels that make values for `out` or `device`: the CPU's, but for meta tensors, which need none."""
    if out is None:
        meta = (get_default_device() if device is None else Device(device)).type == "meta"
    else:
        need_out("out=", out)
        meta = out.is_meta
    return backend_of("meta") if meta else backend(None)


def only_strided(op, layout):
    """Raise for a layout other than torch.strided."""
    if layout is not None and "strided" not in str(layout):
        raise RuntimeError(f"{op}(): only the strided layout is supported, got layout={layout}")


def need_pinning():
    """Raise PyTorch's RuntimeError where there is no device that page-locked memory would serve."""
    from fasttensor import cuda
    if not cuda.is_available():
        raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system.")


def sizes_of(op, size, named):
    """The positional sizes, or the ones given as size=."""
    if named is not None:
        if size:
            raise TypeError(f"{op}() got multiple values for argument 'size'")
        return (named,) if isinstance(named, (tuple, list)) else ((named,),)
    if not size:
        raise TypeError(f'{op}() missing 1 required positional arguments: "size"')
    return size


def number(op, name, value):
    """A Python number from a number or a 0-d tensor."""
    if isinstance(value, Tensor):
        if value.numel() != 1 or value.ndim:
            raise RuntimeError(f"{op}: argument '{name}' must be a number or a 0-dimensional tensor, got {description(value)}")
        return value.item()
    found = plain_number(value)
    if found is not None:
        return found
    raise TypeError(f"{op}(): argument '{name}' must be Number, not {type(value).__name__}")


def must_be_tensor(op, x, name="input"):
    """Raise PyTorch's TypeError unless x is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(x).__name__}")


# --- from sizes ---

def empty(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None, **named):
    """A tensor of the given sizes with whatever values its memory holds.

    Args: sizes as ints or as one sequence; ``dtype`` (default: the default floating-point type), ``device``, ``requires_grad``.
    Raises RuntimeError for a negative size, TypeError for one that is no int.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    if pin_memory:
        need_pinning()
    if not size or named:
        size = sizes_of("empty", size, named.pop("size", None))
        no_more("empty", named)
    if layout is not None:
        only_strided("empty", layout)
    if out is not None:
        if isinstance(out, Tensor) and out.requires_grad:
            raise RuntimeError("empty: cannot resize variables that require grad")
        return prepare(out, construct.shape_from("empty", size), dtype, "empty")
    made = construct.empty("empty", size, dtype, device)
    if memory_format is not None and "channels_last" in str(memory_format):
        made = made.contiguous(memory_format=memory_format)
    if requires_grad:
        made.requires_grad = True
    return made


def no_more(op, named):
    """Raise TypeError for keyword arguments that nothing took."""
    for name in named:
        raise TypeError(f"{op}() got an unexpected keyword argument '{name}'")


def zeros(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, **named):
    """A tensor of zeros.

    Args: sizes as ints or as one sequence; ``dtype`` (default: the default floating-point type), ``device``, ``requires_grad``.

    Raises RuntimeError for a negative size, TypeError for one that is no int.

    >>> torch.zeros(2)
    tensor([0., 0.])
    """
    if pin_memory:
        need_pinning()
    if out is not None or not size or named:
        size = sizes_of("zeros", size, named.pop("size", None))
        no_more("zeros", named)
        if out is not None:
            return _fill_out("zeros", size, out, 0, dtype)
    if layout is not None:
        only_strided("zeros", layout)
    made = construct.empty("zeros", size, dtype, device)
    backend(made).zero_(made)
    if requires_grad:
        made.requires_grad = True
    return made


def prepare(out, shape, dtype, name="out="):
    """`out` in the shape that a factory fills; RuntimeError where a dtype is asked for that is not its own."""
    need_out(name, out)
    if dtype is not None and as_dtype(dtype) is not out.dtype:
        raise RuntimeError(f"dtype {as_dtype(dtype)} does not match dtype of out parameter ({out.dtype}): leave out dtype=")
    fit(out, Size(shape), "out=", warn=False)
    return out


def refuse_leaf(op, out):
    """A factory does not fill a tensor whose history is recorded."""
    if isinstance(out, Tensor) and out.requires_grad and is_grad_enabled():
        raise RuntimeError(f"{op}(): functions with out=... arguments don't support automatic differentiation, but out= requires grad")


def _fill_out(op, size, out, value, dtype):
    refuse_leaf(op, out)
    prepare(out, construct.shape_from(op, size), dtype, op)
    backend(out).fill_(out, value)
    count_write(out)
    return out


def ones(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, **named):
    """A tensor of ones.

    Args: sizes as ints or as one sequence; ``dtype`` (default: the default floating-point type), ``device``, ``requires_grad``.

    Raises RuntimeError for a negative size, TypeError for one that is no int.

    >>> torch.ones(2, dtype=torch.int64)
    tensor([1, 1])
    """
    if pin_memory:
        need_pinning()
    if out is not None or not size or named:
        size = sizes_of("ones", size, named.pop("size", None))
        no_more("ones", named)
        if out is not None:
            return _fill_out("ones", size, out, 1, dtype)
    if layout is not None:
        only_strided("ones", layout)
    made = construct.empty("ones", size, dtype, device)
    backend(made).fill_(made, 1)
    if requires_grad:
        made.requires_grad = True
    return made


def _dtype_of_number(value):
    if isinstance(value, bool):
        return _bool
    if isinstance(value, int):
        return _int64
    return COMPLEX_OF.get(get_default_dtype().name, DTYPES["complex64"]) if isinstance(value, complex) else get_default_dtype()


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of one value; its dtype follows the value unless given.

    Args: `size`, a tuple of ints; `fill_value`, a number or a 0-d tensor. Raises TypeError for a size of another type, RuntimeError where the
    dtype cannot hold the value.

    >>> torch.full((2,), 3)
    tensor([3, 3])
    """
    if pin_memory:
        need_pinning()
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    if isinstance(fill_value, Tensor) and dtype is None:
        dtype = fill_value.dtype
    value = fill_value if type(fill_value) is float else number("full", "fill_value", fill_value)
    if out is not None:
        return _fill_out("full", (size,), out, value, dtype)
    if layout is not None:
        only_strided("full", layout)
    made = construct.empty("full", (size,), _dtype_of_number(value) if dtype is None else dtype, device)
    backend(made).fill_(made, value)
    if requires_grad:
        made.requires_grad = True
    return made


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-dimensional tensor of the default floating-point type (complex for a complex number), or of ``dtype``.

    Raises TypeError for what is no number, RuntimeError where an integer dtype cannot hold it.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("scalar_tensor", layout)
    made = construct.empty("scalar_tensor", ((),), dtype, device)
    value = number("scalar_tensor", "s", s)
    if made.dtype.itemsize == 2 and made.is_cpu and made.is_floating_point():
        made.requires_grad = requires_grad
        made.data.copy_(assigned(value, made))         # half types take infinity for what they do not hold
        return made
    if dtype is None and isinstance(value, complex):
        made = construct.empty("scalar_tensor", ((),), _dtype_of_number(value), device)
    backend(made).fill_(made, value)
    if requires_grad:
        made.requires_grad = True
    return made


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Uninitialised memory under given sizes and strides (in elements).

    Raises RuntimeError where the two differ in length or a stride is negative.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("empty_strided", layout)
    made = construct.empty_strided(size, stride, dtype, device)
    if requires_grad:
        made.requires_grad = True
    return made


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Uninitialised memory whose dimensions lie in the order ``physical_layout``, outermost first.

    Raises RuntimeError where that is no permutation of the dimensions.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("empty_permuted", layout)
    size = tuple(size)
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted: physical_layout must be a permutation of the dimensions of {size}, got {tuple(physical_layout)}")
    strides, run = [0] * len(size), 1
    for dim in reversed(tuple(physical_layout)):
        strides[dim] = run
        run *= max(size[dim], 1)
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad)


# --- like another tensor ---

def fill(input, value):
    """A copy of ``input`` with every element set to ``value``, a number or a 0-d tensor; see :func:`fill_` for what it raises.

    >>> torch.fill(torch.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    must_be_tensor("fill", input)
    from fasttensor.autograd.batched import is_inside
    made = input.clone().fill_(value) if needs_history(input) or is_inside() else empty_like(input).fill_(value)
    construct.unwritten(made)
    return made


def fill_(input, value):
    """Set every element of ``input`` to ``value``, a number or a 0-d tensor, in place.

    Raises RuntimeError for a tensor with dimensions, and for a number that the dtype cannot hold.

    >>> torch.fill_(torch.tensor([1, 2]), 7)
    tensor([7, 7])
    """
    must_be_tensor("fill_", input)
    return input.fill_(value)


def zero_(input):
    """Set every element of ``input`` to zero, in place.

    >>> torch.zero_(torch.tensor([1, 2]))
    tensor([0, 0])
    """
    must_be_tensor("zero_", input)
    return input.zero_()


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Uninitialised, with the shape, dtype, device and order in memory of ``input``, unless given.

    >>> torch.empty_like(torch.ones(2, 3), dtype=torch.int64).shape
    torch.Size([2, 3])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("empty_like", layout)
    must_be_tensor("empty_like", input)
    name = "" if memory_format is None else str(memory_format)
    made = construct.empty_like(input, dtype, device, bool(name) and "preserve" not in name)
    if "channels_last" in name:
        made = made.contiguous(memory_format=memory_format)
    if requires_grad:
        made.requires_grad = True
    return made


__all__ = ["empty", "zeros", "ones", "full", "scalar_tensor", "empty_strided", "empty_permuted", "empty_like", "fill", "fill_", "zero_"]
METHODS = {"fill": fill}
