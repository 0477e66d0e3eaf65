"""Arguments that many functions share: dimensions, out=, dtype=."""

from math import prod

from fasttensor._core.construct import unwritten
from fasttensor._core.layout import laid_out_as
from fasttensor._core.dtype import dtype as dtype_class
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import check_tensor as check_tensor, wrap_dim
from fasttensor.autograd.index_arguments import refuse_mixed, refuse_shared    # noqa: F401 (the second for the families)
from fasttensor.autograd.outputs import fit, same_dtype
from fasttensor.autograd.rule import needs_history
from fasttensor.functional.results import written
from fasttensor.functional.retelling import as_method, in_place_words

__all__ = []
METHODS = {}


def as_new(x):
    """A result that was made by writing into a copy: its version is 0, as a new tensor's."""
    unwritten(x)
    return x


def describe(*values):
    """ "float32[2, 3], int 4": how error messages name arguments."""
    return ", ".join(description(v) for v in values)


def check_dtype(name, value):
    """Raise TypeError for what is neither a dtype nor None."""
    if value is not None and not isinstance(value, dtype_class) and value not in (float, int, bool, complex):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")


def wrap_dims(dim, ndim, name, empty_is_all=True):
    """Dimension numbers given as None, an int or a sequence, as a sorted-free tuple without repeats."""
    if dim is None:
        return tuple(range(ndim))
    if not isinstance(dim, (tuple, list)):
        return (wrap_dim(dim, ndim, name),)
    if len(dim) == 0 and empty_is_all:
        return tuple(range(ndim))
    dims = tuple(wrap_dim(d, ndim, name) for d in dim)
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: dim appears multiple times in the list of dims {tuple(dim)}")
    return dims


def give(out, value, name, same=False):
    """`value`, written into `out` when that is given: out takes the value's shape and keeps its own dtype.

    `same` refuses an out of another dtype, which else takes what it can hold. value and out may be tuples of tensors.
    """
    if out is None:
        return value
    if isinstance(value, tuple):
        if not isinstance(out, (tuple, list)):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        outs = tuple(out)
        if len(outs) != len(value):
            raise TypeError(f"{name}(): out= needs {len(value)} tensors, got {len(outs)}")
        given = [give(o, v, name, same) for o, v in zip(outs, value)]
        return written(value, given)
    need_out(name, out)
    if needs_history(value, out):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of"
                           " the arguments requires grad.")
    if same:
        same_dtype(out, value.dtype, name)
    elif not can_hold(out.dtype, value.dtype):
        raise RuntimeError(f"{name}: result type {value.dtype.name} can't be cast to the desired output type {out.dtype.name}")
    if out.device != value.device:
        raise RuntimeError(f"{name}: Expected out tensor to have device {value.device}, but got {out.device} instead")
    if out.shape != value.shape:
        fit(out, value.shape, name)
        laid_out_as(out, value)
    else:
        fit(out, value.shape, name)
    return out.copy_(value)


def need_room(like, sizes):
    """RuntimeError where no tensor of these sizes and `like`'s dtype can be, before work that would take long to find it out."""
    count = prod(sizes)
    if count > 1 << 58:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")
    if count > 1 << 26:
        like.new_empty(sizes)


def need_out(name, out):
    """TypeError for an `out` that is neither a Tensor nor None."""
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")


def can_hold(to, from_):
    """Whether PyTorch writes a result of one dtype into an output of another: never from complex to real,
    floating point to integer, or number to bool."""
    return _category(from_) <= _category(to)


def _category(d):
    return 3 if d.is_complex else 2 if d.is_floating_point else 0 if d.name == "bool" else 1


def pair(value, n=2):
    """An int, or a sequence of `n` ints, as a tuple of `n`."""
    if isinstance(value, (tuple, list)):
        return tuple(value) * n if len(value) == 1 and n > 1 else tuple(value)
    return (value,) * n


def in_place(function, elementwise=False, bounded=False):
    """The in-place method of an out-of-place function: computes, then writes into self, with history.

    `elementwise` refuses operands that show other elements of self; `bounded` says that numbers leave a floating-point
    result its dtype, so that it can be written where it belongs at once."""
    def method(self, *args, **kwargs):
        if elementwise:
            refuse_mixed(method.__name__, self, (*args, *kwargs.values()))
            from fasttensor.autograd.batched import is_inside
            if bounded and self.is_floating_point() and not any(isinstance(v, Tensor) for v in (*args, *kwargs.values())) and not (
                    needs_history(self) or is_inside()):
                return function(self, *args, out=self, **kwargs)
        old = self
        if needs_history(self, *args, *kwargs.values()):
            old = self.clone()      # the derivative may need the old values
        made = function(old, *args, **kwargs)
        if not can_hold(self.dtype, made.dtype):
            raise RuntimeError(f"{method.__name__}(): result type {made.dtype.name} can't be cast to the desired output type {self.dtype.name}")
        if made.shape != self.shape:
            raise RuntimeError(f"{method.__name__}(): Bad in-place call: input tensor size {list(self.shape)} and output tensor size {list(made.shape)}"
                               f" should match; use {function.__name__}()")
        return self.copy_(made)
    method.__name__ = method.__qualname__ = function.__name__ + "_"
    method.__doc__ = as_method(function, in_place_words(function.__name__), method.__name__)
    return method
