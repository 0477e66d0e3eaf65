"""`torch.ops`: operators by their names in PyTorch's operator library, and PyTorch's own functions given our tensors.

>>> import fasttensor as torch
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

from importlib import import_module

from fasttensor._core.tensor import Tensor

# Where a name is looked for, after the prefix that PyTorch's library gives the functions of that namespace.
PLACES = (("", "fasttensor"), ("", "fasttensor.nn.functional"), ("linalg_", "fasttensor.linalg"), ("fft_", "fasttensor.fft"),
          ("special_", "fasttensor.special"))


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    kept = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(self.device if device is None else device, self.dtype if dtype is None else dtype, non_blocking, True, **kept)


def _slice(self, dim=0, start=None, end=None, step=1):
    index = [slice(None)] * self.ndim
    index[dim] = slice(start, end, step)
    return self[tuple(index)]


def _index(self, indices):
    return self[tuple(slice(None) if i is None else i for i in indices)]


def _convolution(*args):
    return import_module("fasttensor").convolution(*args[:9])       # after these come switches of PyTorch's backends


def _sparse(*args, **kwargs):
    raise NotImplementedError("torch.ops.aten: there are no sparse tensors here: use dense ones, index_add or scatter_reduce")


# What has no public name of its own.
PRIVATE = {"_to_copy": _to_copy, "slice": _slice, "index": _index, "_convolution": _convolution, "alias": lambda self: self.view_as(self),
           "_pin_memory": lambda self, device=None: self.pin_memory(), "_sparse_addmm": _sparse, "_sparse_mm_reduce_impl": _sparse}


def find(name, method=False):
    """The function, or the method of Tensor, that goes by a name; AttributeError where there is none."""
    if name in PRIVATE and not method:
        return PRIVATE[name]
    if not method:
        for prefix, place in PLACES:
            if name.startswith(prefix):
                function = getattr(import_module(place), name.removeprefix(prefix), None)
                if callable(function) and not isinstance(function, type):
                    return function
    function = getattr(Tensor, name, None)
    if function is None or name.startswith("__") and not method:
        raise AttributeError(f"torch.ops.aten: no operator {name!r}")
    return function


class Operator:
    """One operator; its overloads (`.default`, `.Tensor`, `.out`) are the same function, which tells arguments apart itself."""

    def __init__(self, name, function):
        self.__name__, self._function = name, function
        self.__doc__ = function.__doc__

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self

    def __repr__(self):
        return f"<operator {self.__name__}>"

    def __str__(self):
        return self.__name__


class Namespace:
    """The operators of one library: `torch.ops.aten`."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        operator = Operator(f"{self.name}.{name}", find(name))
        setattr(self, name, operator)
        return operator


aten = Namespace("aten")


def load_library(path):
    """OSError: a library of compiled operators for PyTorch cannot be used here. Callers take it as not installed."""
    raise OSError(f"torch.ops.load_library: {path}: operators compiled for PyTorch cannot be loaded; torch.library.custom_op defines some in Python")
