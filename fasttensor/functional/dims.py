"""Arguments that reductions share: dimensions, result dtypes, ``out=`` and NumPy's names."""
from fasttensor._core.tensor import Tensor, description
from fasttensor._core.dispatch import is_grad_enabled

FLOAT16, INT64 = 6, 5


def tensor_argument(name, x):
    """x, or TypeError where it is no Tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    return x


def wrap(x, dim, name):
    """One dimension counted from the front; a 0-d tensor accepts 0 and -1."""
    rank = x.ndim or 1
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    dim = dim.__index__()
    if not -rank <= dim < rank:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
                         f" for {description(x)}")
    return dim % rank


def wrap_all(x, dim, name):
    """Distinct dimensions as a tuple counted from the front; None for all of them."""
    if dim is None:
        return None
    if hasattr(dim, "__index__"):
        return (wrap(x, dim, name),) if x.ndim else wrap(x, dim, name) and None
    dims = tuple(wrap(x, d, name) for d in dim)
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"{name}: dim {twice} appears multiple times in the list of dims")
    return dims if dims and x.ndim else None


def numpy_names(name, given, dim, keepdim):
    """dim and keepdim out of the keywords `axis` and `keepdims`."""
    for key, value in given.items():
        if key == "axis":
            dim = value
        elif key == "keepdims":
            keepdim = value
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    return dim, keepdim


def deliver(name, out, value):
    """Write a result into the caller's `out=` tensor, resized where its shape differs."""
    if out is None:
        return value
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if is_grad_enabled() and (value.requires_grad or out.requires_grad):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the"
                           " arguments requires grad.")
    kind = category(value.dtype)
    if kind > category(out.dtype):
        raise RuntimeError(f"{name}(): result type {value.dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != value.shape:
        out.resize_(value.shape)
    out.copy_(value)
    return out


def deliver_pair(name, out, pair):
    """The same for (values, indices)."""
    if out is None:
        return pair
    return type(pair)(*(deliver(name, o, v) for o, v in zip(out, pair)))


def category(dtype):
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 1 if dtype.code else 0


def require_size(x, dims, name):
    """The reduced dimensions of an operation without a neutral element may not be empty."""
    if x.numel():
        return
    shape = x.shape
    for d in range(x.ndim) if dims is None else dims:
        if shape[d] == 0:
            if dims is None:
                raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the"
                                   f" reduction dim with the 'dim' argument ({description(x)}).")
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size, got {description(x)}.")


def require_float(x, name):
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError(f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex"
                           f" dtype. Got: {description(x)}; convert with .float()")
