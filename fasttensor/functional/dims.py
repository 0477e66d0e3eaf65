"""Arguments that reductions share: dimensions, result dtypes, ``out=`` and NumPy's names."""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import flag, later_bools, tensor_argument, wrap
from fasttensor.functional.common import give

# What the families import from here, some of it compiled.
__all__ = ["deliver", "flag", "numpy_axis", "numpy_dim", "numpy_names", "require_float", "require_size", "tensor_argument", "wrap", "wrap_all"]


def wrap_all(x, dim, name):
    """Distinct dimensions as a tuple counted from the front; None for all of them."""
    if dim is None:
        return None
    if hasattr(dim, "__index__"):
        d = wrap(x, dim, name)
        return (d,) if x.ndim else None
    if not isinstance(dim, (tuple, list)):
        raise TypeError(f"{name}(): argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    dims = tuple(wrap(x, d, name) for d in later_bools(dim))
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"{name}: dim {twice} appears multiple times in the list of dims")
    return dims if dims and x.ndim else None


def numpy_names(name, given, dim, keepdim=False, default=None):
    """dim and keepdim out of the keywords `axis` and `keepdims`; a `dim` of None, () or the default was not given."""
    for key, value in given.items():
        if key == "axis" and (dim is None or dim == () or dim == default):
            dim = value
        elif key == "keepdims" and keepdim is False:
            keepdim = value
        else:
            twice = {"axis": "dim", "keepdims": "keepdim"}.get(key)
            raise TypeError(f"{name}() got both '{twice}' and '{key}', which mean the same: leave one out" if twice else
                            f"{name}() got an unexpected keyword argument '{key}'")
    return dim, keepdim


def numpy_axis(name, given, dim, default=None):
    """A dimension out of the keyword `axis`, of a function that has no `keepdim`."""
    if "keepdims" in given:
        raise TypeError(f"{name}() got an unexpected keyword argument 'keepdims'")
    return numpy_names(name, given, dim, False, default)[0]


def numpy_dim(name, given, dim):
    """A dimension that is required, as `dim` or as the keyword `axis`."""
    dim = numpy_axis(name, given, dim)
    if dim is None:
        raise TypeError(f"{name}() missing 1 required positional argument: 'dim'")
    return dim


def deliver(name, out, value, same=False):
    """A result, or a tuple of them, written into the caller's `out=` where that is given; see ``common.give``."""
    return value if out is None else give(out, value, name, same)


def require_size(x, dims, name):
    """The reduced dimensions of an operation without a neutral element may not be empty."""
    if x.numel():
        return
    shape = x.shape
    for d in range(x.ndim) if dims is None else dims:
        if shape[d] == 0:
            if dims is None:
                kind = IndexError if name.startswith("arg") else RuntimeError       # as PyTorch has them
                raise kind(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the"
                                   f" reduction dim with the 'dim' argument ({description(x)}).")
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size, got {description(x)}.")


def require_float(x, name):
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError(f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex"
                           f" dtype. Got: {description(x)}; convert with .float()")
