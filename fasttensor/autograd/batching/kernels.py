"""Kernels inside vmap: those that no derivative class wraps (argmax, any, sort of integers ...)."""
from fasttensor._core.dispatch import plain_backend
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import find_level, value_at

from . import loop, randomness
from .common import wrapped


class Kernels:
    """The kernels as `backend(x)` gives them inside vmap: they look for batched arguments first."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def kernel(*args, **kwargs):
            return call(name, args, kwargs)
        kernel.__name__ = name
        setattr(self, name, kernel)
        return kernel


def call(name, args, kwargs):
    if name in randomness.KERNELS:
        return randomness.kernel(name, args, kwargs)
    level = find_level(args, *kwargs.values())
    if level is None:
        return plain(name, args)(*args, **kwargs)
    handler = RULES.get(name)
    made = NotImplemented if handler is None else handler(level, name, *args, **kwargs)
    if made is NotImplemented:
        made = loop.over_samples(lambda *a, **k: call(name, a, k), args, level, name, kwargs)
    return wrapped(made, level)


def plain(name, args):
    """The kernel itself."""
    first = next((a for a in args if isinstance(a, Tensor)), None)
    if first is None:
        first = next((t for a in args if isinstance(a, (list, tuple)) for t in a if isinstance(t, Tensor)), None)
    return getattr(plain_backend(first), name)


def fill(level, name, x, value=0):
    """fill_ and zero_: no value of a sample is read."""
    all_samples = value_at(x, level)
    if all_samples is None:
        return NotImplemented
    call(name, (all_samples,) if name == "zero_" else (all_samples, value), {})
    return x


def tests(level, name, x, dims, keepdim=False, *rest):
    """any, all, count_nonzero."""
    value = value_at(x, level)
    if x.dim() == 0 or name == "count_nonzero" and keepdim:
        return NotImplemented
    if dims is None:
        y = call(name, (value.reshape(level.size, -1), (1,), *(() if name == "count_nonzero" else (False, *rest))), {})
        return y.reshape((level.size,) + (1,) * x.dim()) if keepdim else y
    dims = tuple(d + 1 for d in (dims if isinstance(dims, (tuple, list)) else (dims,)))
    return call(name, (value, dims, *(() if name == "count_nonzero" else (keepdim, *rest))), {})


def argextreme(level, name, x, dim, keepdim, least):
    value = value_at(x, level)
    if x.dim() == 0:
        return NotImplemented
    if dim is None:
        y = call(name, (value.reshape(level.size, -1), 1, False, least), {})
        return y.reshape((level.size,) + (1,) * x.dim()) if keepdim else y
    return call(name, (value, dim + 1, keepdim, least), {})


def refuse_equal(level, name, *args):
    raise RuntimeError("vmap: torch.equal gives a Python bool that depends on the sample: use (a == b).all()")


def one_hot(level, name, x, classes):
    if classes < 0:
        raise RuntimeError("vmap: one_hot needs num_classes inside vmap, where samples may differ")
    value = value_at(x, level)
    return call(name, (value, classes), {})


RULES = {"fill_": fill, "zero_": fill, "any": tests, "all": tests, "count_nonzero": tests, "argextreme": argextreme,
         "equal": refuse_equal, "one_hot": one_hot}
