"""What a Tensor says of itself: sizes, strides, kinds; and views that every family uses."""

from fasttensor._core.tensor import Tensor
from fasttensor.autograd import basic_index, copying, cutting, permuting, reinterpret, tensor_hooks, views, writing
from fasttensor.autograd.checks import int_of, later_bools, need_tensor
from fasttensor.autograd.rule import Rule, apply
from fasttensor.functional.common import check_tensor, describe
from fasttensor.functional.dims import numpy_axis

VIEWS = {**views.METHODS, **permuting.METHODS, **cutting.METHODS}
FREE = ("reshape", "flatten", "ravel", "unflatten", "permute", "transpose", "swapaxes", "swapdims", "t", "movedim", "moveaxis",
        "unsqueeze", "squeeze", "select", "narrow", "as_strided", "diagonal")
globals().update((name, VIEWS[name]) for name in FREE)
clone, detach, basic_part = copying.clone, tensor_hooks.detach, basic_index.basic_part
numel, is_floating_point, is_complex = reinterpret.numel, reinterpret.is_floating_point, reinterpret.is_complex

__all__ = [*FREE, "clone", "detach", "numel", "is_tensor", "is_floating_point", "is_complex", "is_nonzero", "is_storage",
           "chunk", "split", "split_with_sizes", "unbind", "broadcast_to", "is_same_size", "unsafe_chunk", "unsafe_split",
           "result_type", "is_signed", "is_inference", "get_device", "typename", "unsafe_split_with_sizes"]


def is_tensor(obj):
    """Whether `obj` is a Tensor, of a subclass too.

    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether `obj` is a storage, typed or untyped.

    >>> torch.is_storage(torch.ones(2).untyped_storage())
    True
    """
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def is_signed(self):
    """Whether the dtype has negative values: all but bool and the unsigned integers.

    >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
    False
    """
    return self.dtype.is_signed


def is_inference(input):
    """Whether `input` was made in inference mode, without what gradients need.

    >>> torch.is_inference(torch.ones(2))
    False
    """
    return reinterpret.is_inference(input)


def get_device(input):
    """The index of the GPU that holds the tensor; -1 on the CPU.

    >>> torch.get_device(torch.ones(2))
    -1
    """
    return -1 if need_tensor(input, "get_device").is_cpu else input.device.index or 0


def typename(obj, /):
    """PyTorch's name of an object's type: "torch.FloatTensor" of a float32 tensor.

    >>> torch.typename(torch.ones(2))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = (getattr(kind, "__module__", None) or "").replace("fasttensor", "torch", 1)
    module = "torch" if module.startswith("torch._core") else module
    return kind.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


def is_nonzero(input):
    """Whether a tensor of one element is not zero. RuntimeError for any other number of elements, TypeError for what is no tensor.

    >>> torch.is_nonzero(torch.tensor([0.5]))
    True
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"is_nonzero(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return bool(input)


def is_same_size(input, other):
    """Whether the shapes are equal, dtypes aside.

    >>> torch.is_same_size(torch.ones(2, 3), torch.zeros(3, 2))
    False
    """
    check_tensor("is_same_size", input, other)
    return input.shape == other.shape


def _wrap(x, dim, name):
    n = x.ndim or 1
    dim = int_of(dim, name, "dim")
    if not -n <= dim < n or x.ndim == 0:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def broadcast_to(input, size):
    """`input` expanded to the shape `size`, as a view. Raises RuntimeError where a size other than 1 would change.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    need_tensor(input, "broadcast_to", "input", 1)
    return input.expand(size)


def broadcast_to_method(self, *size, **named):
    """The tensor expanded to a size, given as one argument or as several, as a view; see :func:`broadcast_to`.

    >>> torch.tensor([1, 2]).broadcast_to(2, 2)
    tensor([[1, 2],
            [1, 2]])
    """
    return self.expand(*size, **named)


class Split(Rule):
    """Consecutive parts of a dimension; the gradient is one concatenation."""
    name = "SplitBackward0"
    view = True

    @staticmethod
    def forward(ctx, x, dim, sizes):
        if ctx.needs_input_grad[0]:
            ctx.dim, ctx.sizes, ctx.shape = dim, sizes, x.shape
        parts, start = [], 0
        for n in sizes:
            parts.append(x.narrow(dim, start, n))
            start += n
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        from fasttensor.functional.creation import zeros
        from fasttensor.functional.joining import cat
        known = next(g for g in grads if g is not None)
        shape = list(ctx.shape)
        parts = []
        for n, g in zip(ctx.sizes, grads):
            shape[ctx.dim] = n
            parts.append(zeros(shape, dtype=known.dtype, device=known.device) if g is None else g)
        return cat(parts, ctx.dim), None, None


def split_with_sizes(input, split_sizes, dim=0, **names):
    """Consecutive parts of these sizes along a dimension, a tuple of views.

    Raises RuntimeError for negative sizes, or ones that do not add up to the dimension's, IndexError for a dimension out of range.

    >>> torch.split_with_sizes(torch.arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if names:
        dim = numpy_axis("split_with_sizes", names, dim, 0)
    need_tensor(input, "split_with_sizes", "input", 1)
    split_sizes = later_bools(split_sizes)
    d = _wrap(input, dim, "split")
    if any(n < 0 for n in split_sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}")
    if sum(split_sizes) != input.shape[d]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {input.shape[d]} (input tensor's size at dimension {d}),"
                           f" but got split_sizes={list(split_sizes)}")
    return apply(Split, input, d, tuple(split_sizes))


def split(tensor, split_size_or_sections, dim=0):
    """Consecutive parts along a dimension, as views: of one size (the last may be smaller), or of the sizes in a list.

    >>> [p.shape[0] for p in torch.arange(5).split(2)]
    [2, 2, 1]
    """
    need_tensor(tensor, "split", "tensor")
    if isinstance(split_size_or_sections, (list, tuple)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    if not hasattr(split_size_or_sections, "__index__") or isinstance(split_size_or_sections, bool):
        raise TypeError(f"split(): argument 'split_size' (position 2) must be int or tuple of ints, not {type(split_size_or_sections).__name__}")
    n = split_size_or_sections.__index__()
    if tensor.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = _wrap(tensor, dim, "split")
    length = tensor.shape[d]
    if n < 0 or (n == 0 and length != 0):
        raise RuntimeError(f"split expects split_size be {'non-negative' if n < 0 else 'greater than 0'}, but got split_size={n}")
    if length == 0 or n == 0:
        return apply(Split, tensor, d, (length,))
    return apply(Split, tensor, d, tuple([n] * (length // n) + ([length % n] if length % n else [])))


def unsafe_split(input, split_size, dim=0, **names):
    """:func:`split` by one size, under the name of the operator that PyTorch makes of it.

    >>> torch.unsafe_split(torch.arange(5), 3)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if names:
        dim = numpy_axis("unsafe_split", names, dim, 0)
    need_tensor(input, "unsafe_split", "input", 1)
    return split(input, split_size, dim)


def _split_method(self, split_size, dim=0):
    return split(self, split_size, dim)


_split_method.__name__ = _split_method.__qualname__ = "split"       # in errors
_split_method.__doc__ = split.__doc__


def chunk(input, chunks, dim=0, **names):
    """At most `chunks` parts of equal size (the last may be smaller) along a dimension, a tuple of views.

    Raises RuntimeError for chunks below 1 and for a 0-d tensor, IndexError for a dimension out of range.

    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if names:
        dim = numpy_axis("chunk", names, dim, 0)
    need_tensor(input, "chunk")
    chunks = int_of(chunks, "chunk", "chunks", 2)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = _wrap(input, dim, "chunk")
    n = -(-input.size(d) // chunks)
    if n == 0:
        return apply(Split, input, d, (0,) * chunks)
    return split(input, n, d)


class Unbind(Rule):
    """All indices of a dimension; the gradient is one stack."""
    name = "UnbindBackward0"
    view = True

    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        return tuple([x.select(dim, i) for i in range(x.size(dim))])

    @staticmethod
    def backward(ctx, *grads):
        from fasttensor.functional.creation import zeros
        from fasttensor.functional.joining import stack
        known = next(g for g in grads if g is not None)
        return stack([zeros(known.shape, dtype=known.dtype, device=known.device) if g is None else g for g in grads], ctx.dim), None


def unbind(input, dim=0, **names):
    """All indices of a dimension, which is dropped, a tuple of views. Raises IndexError for a 0-d tensor or a dimension out of range.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if names:
        dim = numpy_axis("unbind", names, dim, 0)
    need_tensor(input, "unbind")
    if input.ndim == 0:
        raise IndexError(f"unbind: Dimension specified as {dim} but tensor has no dimensions, got {describe(input)}")
    return apply(Unbind, input, _wrap(input, dim, "unbind"))


def result_type(tensor1, tensor2):
    """The dtype of an operation between the two, which may be numbers.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return reinterpret.result_type(tensor1, tensor2)


def _view_dtype(self, dtype):
    """The same bytes as elements of another dtype."""
    from fasttensor._core.dtype import dtype as dtype_class
    if not isinstance(dtype, dtype_class):
        if isinstance(dtype, type) and issubclass(dtype, Tensor):
            return self.as_subclass(dtype)
        raise TypeError(f"view(): argument must be a shape or a dtype, not {type(dtype).__name__}")
    return reinterpret.view_dtype(self, dtype)


def untyped_storage(self):
    """The memory that this tensor and its views share, without a dtype: bytes.

    >>> torch.ones(2).untyped_storage().nbytes()
    8
    """
    return reinterpret.storage_of(self)


unsafe_chunk, unsafe_split_with_sizes = chunk, split_with_sizes

def _sum_to(g, dims, sizes):
    """A broadcast gradient summed back to an operand's shape."""
    return g.sum(dims, keepdim=True).reshape(sizes)


HOOKS = {"sum_to": _sum_to, "view_dtype": _view_dtype, "unbind": unbind}


METHODS = {
    **VIEWS, **copying.METHODS, **writing.METHODS, **tensor_hooks.METHODS,
    "numel": numel, "nelement": numel, "is_floating_point": is_floating_point, "is_complex": is_complex, "is_signed": is_signed,
    "is_nonzero": is_nonzero, "is_same_size": is_same_size, "size": reinterpret.size, "stride": reinterpret.stride,
    "dim": reinterpret.dim, "ndimension": reinterpret.dim, "data_ptr": reinterpret.data_ptr,
    "storage_offset": reinterpret.storage_offset, "chunk": chunk, "split": _split_method, "split_with_sizes": split_with_sizes, "unbind": unbind,
    "unsafe_chunk": chunk, "unsafe_split": unsafe_split, "broadcast_to": broadcast_to_method, "untyped_storage": untyped_storage,
    "is_inference": reinterpret.is_inference, "get_device": get_device, "unsafe_split_with_sizes": split_with_sizes,
    "const_data_ptr": reinterpret.data_ptr,
}
