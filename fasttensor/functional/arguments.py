"""Argument handling of the indexing, sorting and joining functions: dims, indices, tuples of results, out=."""
import functools
from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import later_bools, need_tensor, wrap_of as wrap
from fasttensor.autograd.index_arguments import check_writable, refuse_shared, scalar_like
from fasttensor.functional.common import give as deliver, in_place
from fasttensor.functional.results import RESULTS

# What the families import from here, some of it from elsewhere.
__all__ = ["Tensor", "backend", "check_writable", "deliver", "description", "in_place", "ints", "need_tensor",
           "refuse_shared", "RESULTS", "scalar_like", "tensor_list", "with_out", "with_out_apart", "wrap", "wrap_many"]


def wrap_many(x, dims, name):
    """A tuple of distinct wrapped dims."""
    dims = tuple(wrap(x, d, name) for d in ((dims,) if hasattr(dims, "__index__") else later_bools(dims)))
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}(): dim appears multiple times in the list of dims {list(dims)}")
    return dims


def ints(values, name):
    """Sizes given as f(2, 3), f((2, 3)) or one int, as a list of ints, of which the first may be no bool."""
    if len(values) == 1 and not hasattr(values[0], "__index__"):
        values = values[0]
    if len(values) and isinstance(values[0], bool):
        raise TypeError(f"{name}(): expected a tuple of ints, but found element of type bool at pos 0")
    try:
        found = [v.__index__() for v in values]
    except (AttributeError, TypeError):
        raise TypeError(f"{name}(): expected a sequence of ints, got {values!r}") from None
    if any(v >> 63 not in (0, -1) for v in found):
        raise TypeError(f"{name}(): failed to unpack {values!r} with error \"Overflow when unpacking long long\"")
    return found


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


def with_out(function):
    """Adds `out=` to a function that computes a new tensor or tuple of tensors: outputs of the results' dtypes."""
    name = function.__name__

    @functools.wraps(function)
    def run(*args, out=None, **kwargs):
        if out is None:
            return function(*args, **kwargs)
        return deliver(out, function(*args, **kwargs), name, True)
    return run


# Results that are a tensor with something written into it: the output may be that tensor.
WRITTEN_OVER = frozenset(("index_add", "index_copy", "index_reduce", "scatter", "scatter_add", "scatter_reduce"))


def with_out_apart(function):
    """`with_out` for functions whose output may not lie in the memory of what they read."""
    name = function.__name__

    @functools.wraps(function)
    def run(*args, out=None, **kwargs):
        if out is None:
            return function(*args, **kwargs)
        read = args[1:] if args and args[0] is out and name in WRITTEN_OVER else args
        refuse_shared(name, out, (*read, *kwargs.values()))
        return deliver(out, function(*args, **kwargs), name, True)
    return run
