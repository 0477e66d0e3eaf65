"""Argument handling of the indexing, sorting and joining functions: dims, indices, tuples of results, out=."""
import collections
import functools
from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description


def wrap(x, dim, name):
    """dim as 0 <= d < x.dim(); a tensor without dimensions has one to wrap by."""
    rank = x.dim() or 1
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    dim = dim.__index__()
    if not -rank <= dim < rank:
        raise IndexError(f"{name}(): Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], "
                         f"but got {dim}) for {description(x)}")
    return dim + rank if dim < 0 else dim


def wrap_many(x, dims, name):
    """A tuple of distinct wrapped dims."""
    dims = tuple(wrap(x, d, name) for d in ((dims,) if hasattr(dims, "__index__") else dims))
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}(): dim appears multiple times in the list of dims {list(dims)}")
    return dims


def ints(values, name):
    """Sizes given as f(2, 3), f((2, 3)) or one int, as a list of ints."""
    if len(values) == 1 and not hasattr(values[0], "__index__"):
        values = values[0]
    try:
        return [v.__index__() for v in values]
    except (AttributeError, TypeError):
        raise TypeError(f"{name}(): expected a sequence of ints, got {values!r}") from None


def need_tensor(x, name, argument="input", position=1):
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(x).__name__}")
    return x


def tensor_list(tensors, name):
    """A non-empty list of Tensors from a list or tuple."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {i} in argument 'tensors', but got {type(t).__name__}")
    if not tensors:
        raise RuntimeError(f"{name}(): expected a non-empty list of Tensors")
    return list(tensors)


def kind(dtype):
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else 0 if str(dtype).endswith("bool") else 1


def deliver(result, out, name):
    """The result written to out, if that was given."""
    if out is None:
        return result
    if isinstance(result, tuple):
        if len(out) != len(result):
            raise TypeError(f"{name}(): expected out to be a tuple of {len(result)} Tensors")
        return type(result)(*(deliver(r, o, name) for r, o in zip(result, out)))
    need_tensor(out, name, "out", 1)
    if kind(result.dtype) > kind(out.dtype):
        raise RuntimeError(f"{name}(): result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if out.requires_grad or result.requires_grad:
        from fasttensor._core.dispatch import is_grad_enabled
        if is_grad_enabled():
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, "
                               "but one of the arguments requires grad.")
    if out.shape != result.shape:
        if out.numel():
            import warnings
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which "
                          f"does not match the required output shape {list(result.shape)}.", stacklevel=3)
        out.resize_(result.shape)
    out.copy_(result)
    return out


def with_out(function):
    """Adds `out=` to a function that computes a new tensor or tuple of tensors."""
    name = function.__name__

    @functools.wraps(function)
    def run(*args, out=None, **kwargs):
        return deliver(function(*args, **kwargs), out, name)
    return run


@functools.lru_cache(None)
def result_class(name, fields):
    """A named tuple as PyTorch returns it: torch.return_types.sort and the like."""
    return collections.namedtuple(name, fields)


def in_place(function, name):
    """The method `name` that overwrites its tensor with function's result of the same shape."""
    def run(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(f"{name}: the result has shape {list(result.shape)}, self {list(self.shape)}")
        return self.copy_(result)
    run.__name__ = name
    run.__doc__ = f"In-place version of ``{function.__name__}``."
    return run


def check_writable(x, name):
    """Refuses to write into memory that several elements of x share."""
    for size, step in zip(x.shape, x.stride()):
        if size > 1 and step == 0:
            raise RuntimeError(f"{name}: unsupported operation: more than one element of the written-to tensor "
                               f"{description(x)} refers to a single memory location. Please clone() the tensor before.")


def scalar_like(value, x, name):
    """A number or 0-d tensor as a 0-d tensor of x's dtype."""
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(f"{name}: only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s).")
        return value if value.dtype is x.dtype else value.to(x.dtype)
    if isinstance(value, complex) and not x.is_complex():
        raise RuntimeError(f"{name}: value cannot be converted to type {x.dtype} without overflow: {value!r}")
    return x.new_full((), value)


__all__ = ["Tensor", "backend", "description", "wrap", "wrap_many", "ints", "need_tensor", "tensor_list", "kind", "deliver",
           "with_out", "result_class", "in_place", "check_writable", "scalar_like"]
