"""Copies and conversions of dtype, device and memory format, with their gradients."""
from fasttensor._core.layout cimport channels_inside, like_layout
from fasttensor._core.tensor cimport Tensor, Node, new_tensor, from_storage, set_geometry, is_dense, describe, CPU, CUDA, META, BATCHED
from fasttensor._core.dtype cimport *
from fasttensor._core.dtype import get_default_dtype
from fasttensor._core.device cimport device_code
from fasttensor._core.dispatch cimport grad_enabled, copy_into
from fasttensor._core.device import device as device_class
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history
from fasttensor.autograd.elementwise cimport differentiable_cast
from fasttensor.autograd.batched cimport as_batched, wrap


class memory_format:
    """How the dimensions of images lie in memory, e.g. ``fasttensor.channels_last``: N, H, W, C for a tensor of shape (N, C, H, W).

    >>> torch.empty(1, 2, 3, 4).contiguous(memory_format=torch.channels_last).stride()
    (24, 1, 8, 2)
    """

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


cdef object identity_backward(Node node, object grad):
    return grad


cdef object cast_back(Node node, object grad):
    cdef Tensor g = grad
    if <int>node.par[1] != g.dev:
        g = to_device(g, <int>node.par[1], <int>node.par[0])
    return differentiable_cast(g, <int>node.par[0])


cdef Tensor empty_in_format(Tensor x, int code, object form):
    """Like x, laid out as a memory format says; None and preserve_format keep dense strides, and else the order of dimensions."""
    cdef Tensor y
    cdef int d
    if (form is None or form is preserve_format) and not x.contig and not is_dense(x):
        return like_layout(x, code)
    y = new_tensor(x.rank, x.sizes, code, x.dev)
    if form is contiguous_format:
        return y
    if form is None or form is preserve_format:
        if not x.contig and is_dense(x):
            for d in range(x.rank):
                y.steps[d] = x.steps[d]
            y.contig = False
        return y
    return with_channels_last(y, form)


cdef Tensor with_channels_last(Tensor y, object form):
    cdef Py_ssize_t steps[8]
    cdef Py_ssize_t run = 1
    cdef int d, rank = 4 if form is channels_last else 5
    if form is not channels_last and form is not channels_last_3d:
        raise TypeError(f"memory_format must be a torch.memory_format, not {type(form).__name__}")
    if y.rank != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {form} format, got {describe(y)}")
    for d in [1] + list(range(rank - 1, 1, -1)) + [0]:
        steps[d] = run
        run *= y.sizes[d]
    return from_storage(y.store, y.code, rank, y.sizes, steps, 0)


cdef bint in_format(Tensor x, object form) noexcept:
    cdef Py_ssize_t run = 1
    cdef int d, i, rank = 4 if form is channels_last else 5
    if x.rank != rank:
        return False
    for i in range(rank):
        d = 1 if i == 0 else rank - i if i < rank - 1 else 0
        if x.sizes[d] != 1 and x.steps[d] != run:
            return False
        run *= x.sizes[d]
    return True


cdef Tensor copy_of(Tensor x, object form):
    cdef Tensor y
    cdef Node node
    if x.dev == BATCHED:
        return wrap(copy_of(as_batched(x).value, contiguous_format if form is contiguous_format else None), as_batched(x).level)
    y = empty_in_format(x, x.code, form)
    copy_into(y, x)
    if grad_enabled() and requires(x):
        node = new_node(identity_backward, "CloneBackward0")
        add_input(node, x)
        set_history(y, node, 0)
    return y


def clone(input, *, memory_format=None):
    """A copy with its own memory; gradients flow through.

    Shape, dtype and order in memory are the input's; ``memory_format`` asks for another order, and raises RuntimeError where the dimensions do not fit it.

    >>> import fasttensor as torch
    >>> torch.ones(2).clone()
    tensor([1., 1.])
    """
    return copy_of(<Tensor?>input, memory_format)


def contiguous(self, memory_format=contiguous_format):
    """This tensor itself when it is contiguous in `memory_format`, else a contiguous copy, through which gradients flow.

    Raises RuntimeError for ``preserve_format``, and for channels_last of a tensor that is not 4-d (channels_last_3d: 5-d).

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    cdef Tensor x = <Tensor?>self
    if memory_format is contiguous_format:
        return x if x.contig else copy_of(x, contiguous_format)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return x if in_format(x, memory_format) else copy_of(x, memory_format)


def is_contiguous(self, memory_format=contiguous_format):
    """Whether the elements lie in memory in order, without gaps; with `memory_format`, in that format's order.

    >>> torch.ones(2, 3).t().is_contiguous()
    False
    """
    return (<Tensor?>self).contig if memory_format is contiguous_format else in_format(<Tensor>self, memory_format)


cdef Tensor to_device(Tensor x, int dev, int code):
    """x's values on another device, without history."""
    cdef Tensor y
    if dev == META or x.dev == META:
        if dev != META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        y = new_tensor(x.rank, x.sizes, code, META)
        if not x.contig and is_dense(x):
            set_geometry(y, x.rank, x.sizes, x.steps)
        return y
    y = new_tensor(x.rank, x.sizes, code, dev)
    copy_into(y, x)
    return y


cdef Tensor convert(Tensor x, int code, int dev, bint copy, object form):
    cdef Tensor y
    cdef Node node
    if x.dev == BATCHED:
        y = as_batched(x).value
        y = convert(y, code, y.dev if dev == BATCHED else dev, copy, None)
        return x if y is as_batched(x).value else wrap(y, as_batched(x).level)
    if dev == BATCHED:
        dev = x.dev
    if code == x.code and dev == x.dev and not copy and (form is None or form is preserve_format or contiguous_in(x, form)):
        return x
    if dev == x.dev:
        y = empty_in_format(x, code, form)
        copy_into(y, x)
    else:
        y = to_device(x, dev, code)
    if grad_enabled() and requires(x) and code >= FLOAT16:
        node = new_node(cast_back, "ToCopyBackward0")
        add_input(node, x)
        node.par[0], node.par[1] = x.code, x.dev
        set_history(y, node, 0)
    return y


cdef bint contiguous_in(Tensor x, object form):
    """Whether PyTorch's conversions leave a tensor as it is: where its strides suggest that format, holes or not."""
    return x.rank == (4 if form is channels_last else 5) and channels_inside(x) if form is not contiguous_format \
        else (x.rank != 4 and x.rank != 5) or not channels_inside(x)


def to(self, *args, **kwargs):
    """This tensor with another dtype or device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``.

    Options: non_blocking, copy (copy even when nothing changes), memory_format. Returns self when nothing changes.

    >>> import fasttensor as torch
    >>> torch.ones(2).to(torch.int64)
    tensor([1, 1])
    """
    cdef Tensor x = <Tensor?>self
    cdef int code = x.code, dev = x.dev, n = 0
    cdef bint copy = kwargs.pop("copy", False)
    cdef object form = kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    for value in list(args) + [kwargs.pop("device", None), kwargs.pop("dtype", None), kwargs.pop("other", None)]:
        if value is None:
            continue
        if isinstance(value, Tensor):
            code, dev = (<Tensor>value).code, (<Tensor>value).dev
        elif isinstance(value, bool):       # positional non_blocking, copy
            copy = value if n else copy
            n += 1
        elif isinstance(value, (str, device_class)) or (isinstance(value, int)):
            dev = device_code(value)
        else:
            code = code_of(value)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
    return convert(x, code, dev, copy, form)


def type_of(self, dtype=None, non_blocking=False):
    """The type's name in PyTorch, or with `dtype` (a dtype, or such a name) this tensor converted to it. ValueError for an unknown name.

    >>> torch.ones(1).type(), torch.ones(1).type(torch.int32)
    ('torch.FloatTensor', tensor([1], dtype=torch.int32))
    """
    cdef Tensor x = <Tensor?>self
    if dtype is None:
        return "torch." + ("cuda." if x.dev == CUDA else "") + TYPE_NAMES[x.code]
    if isinstance(dtype, type) and dtype.__module__ == "torch.cuda":
        dtype = "torch.cuda." + dtype.__name__
    if isinstance(dtype, str):
        place, _, name = dtype.rpartition(".")
        if name not in TYPE_NAMES or place not in ("", "torch", "torch.cuda"):
            raise ValueError(f"invalid type: {dtype!r}")
        return convert(x, TYPE_NAMES.index(name), device_code("cuda") if place == "torch.cuda" else CPU, False, None)
    if isinstance(dtype, type) and hasattr(dtype, "dtype"):     # torch.FloatTensor and its kin; torch.Tensor is the default type
        dtype = get_default_dtype() if dtype is Tensor else dtype.dtype
    return convert(x, code_of(dtype), x.dev, False, None)


TYPE_NAMES = ("BoolTensor", "ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor", "HalfTensor", "BFloat16Tensor",
              "FloatTensor", "DoubleTensor", "ComplexFloatTensor", "ComplexDoubleTensor")


def type_as(self, other):
    """This tensor with the dtype and device of `other`; itself where it has them.

    >>> torch.ones(2).type_as(torch.tensor(1))
    tensor([1, 1])
    """
    return convert(<Tensor?>self, (<Tensor?>other).code, (<Tensor>other).dev, False, None)


def converter(name, int code):
    """The method that converts to one dtype."""
    def method(self, memory_format=None):
        return convert(<Tensor?>self, code, (<Tensor>self).dev, False, memory_format)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = (f"This tensor as {dtype_of(code)}: itself where it is that already, else a copy, through which gradients flow between dtypes"
                      f" that have them.\n\n>>> torch.tensor([0, 1]).{name}().dtype\n{dtype_of(code)}\n")
    return method


def cpu(self, memory_format=None):
    """This tensor in the CPU's memory: itself where it is there already.

    >>> torch.ones(2).cpu()
    tensor([1., 1.])
    """
    return convert(<Tensor?>self, (<Tensor>self).code, CPU, False, memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """This tensor on the GPU. Raises an error that says what is missing where there is none.

    >>> torch.ones(2).cuda() if torch.cuda.is_available() else "on the CPU"
    'on the CPU'
    """
    return convert(<Tensor?>self, (<Tensor>self).code, device_code("cuda" if device is None else device), False, memory_format)


def on_device(kind):
    """The method that asks for a device of PyTorch which is not supported here."""
    def method(self, device=None, non_blocking=False, memory_format=None):
        return convert(<Tensor?>self, (<Tensor>self).code, device_code(kind if device is None else device), False, memory_format)
    method.__name__ = method.__qualname__ = kind
    method.__doc__ = (f"Raises RuntimeError: {kind} devices are not supported.\n\n>>> try:\n...     torch.ones(1).{kind}()\n"
                      "... except (RuntimeError, AssertionError):\n...     print(\"no such device\")\nno such device\n")
    return method


METHODS = {
    "xpu": on_device("xpu"), "ipu": on_device("ipu"),
    "clone": clone, "contiguous": contiguous, "is_contiguous": is_contiguous, "to": to, "type": type_of, "type_as": type_as,
    "cpu": cpu, "cuda": cuda,
    **{name: converter(name, code) for name, code in (
        ("bool", BOOL), ("byte", UINT8), ("char", INT8), ("short", INT16), ("int", INT32), ("long", INT64), ("half", FLOAT16),
        ("bfloat16", BFLOAT16), ("float", FLOAT32), ("double", FLOAT64), ("cfloat", COMPLEX64), ("cdouble", COMPLEX128))},
}
