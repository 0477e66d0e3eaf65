"""Functions that draw random numbers: PyTorch's names, and PyTorch's values for a seed."""
import sys

from fasttensor._core import construct
from fasttensor._core.dispatch import backend
from fasttensor._core.dtype import DTYPES
from fasttensor.autograd.batched import is_inside, spread_draws
from fasttensor.autograd.checks import int_of
from fasttensor.autograd.recording import count_write
from fasttensor.cpu.generator import Generator, default_generator
from fasttensor.functional.common import need_out
from fasttensor.functional.creation import (as_dtype, dtype_code, empty_like, finish, makers, must_be_tensor, need_pinning, number,
                                            only_strided, prepare, refuse_leaf, sizes_of)
from fasttensor.functional.random_fills import DIGITS, LIMITS, fill_from_to

_int64 = DTYPES["int64"]


def _fresh(op, size, named, dtype, device, layout, out):
    """Uninitialised memory for a factory's result."""
    if named or not size:
        size = sizes_of(op, size, named.pop("size", None))
    for name in named:
        if name == "pin_memory":
            if named[name]:
                need_pinning()
        elif name != "memory_format":
            raise TypeError(f"{op}() got an unexpected keyword argument '{name}'")
    if layout is not None:
        only_strided(op, layout)
    if out is not None:
        refuse_leaf(op, out)
        return prepare(out, construct.shape_from(op, size), dtype, op)
    made = construct.empty(op, size, dtype, device)
    return spread_draws(made) if is_inside() else made


def _leaf(made, requires_grad):
    if requires_grad:
        made.requires_grad = True
    return made


# --- the default generator ---

def manual_seed(seed):
    """Start every device's default generator from ``seed``, an int of 64 bits; returns the CPU's.

    >>> torch.manual_seed(1).initial_seed()
    1
    """
    seed = int(seed)
    if "fasttensor.cuda" in sys.modules:
        sys.modules["fasttensor.cuda"].manual_seed_all(seed)
    return default_generator.manual_seed(seed)


def seed():
    """Start the default generator from a seed of the operating system's random source; returns that seed, an int of 64 bits.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed():
    """The seed, an int, that the default generator started from.

    >>> g = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state, a uint8 tensor of 5056 bytes in PyTorch's layout.

    >>> torch.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue from a state that ``get_rng_state`` gave. Raises RuntimeError or TypeError for what is no such state.

    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), first)
    True
    """
    default_generator.set_state(new_state)


# --- factories ---

def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Uniform numbers of [0, 1).

    Args: sizes as ints or as one sequence; ``generator``, ``dtype`` (floating point or complex), ``device``, ``requires_grad``.

    >>> g = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    made = _fresh("rand", size, named, dtype, device, layout, out)
    backend(made).uniform_(made, 0.0, 1.0, generator)
    if out is not None:
        count_write(out)
    return _leaf(made, requires_grad)


def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Normal numbers of mean 0 and variance 1; a complex number's parts have variance 1/2 each.

    >>> g = torch.manual_seed(0)
    >>> torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    made = _fresh("randn", size, named, dtype, device, layout, out)
    backend(made).normal_(made, 0.0, 1.0, generator)
    if out is not None:
        count_write(out)
    return _leaf(made, requires_grad)


def check_bounds(op, low, high):
    for name, bound in (("low", low), ("high", high)):
        if isinstance(bound, (bool, float)):
            raise TypeError(f"{op}(): argument '{name}' must be int, not {type(bound).__name__}: got low={low} and high={high}")


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``, int64 by default.

    Raises RuntimeError where low >= high or the dtype cannot hold them.

    >>> g = torch.manual_seed(0)
    >>> torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    if size is None:
        if not args or isinstance(args[-1], int):
            raise TypeError("randint() received an invalid combination of arguments: expected (high, size) or (low, high, size) with a tuple of ints as size")
        *args, size = args
    if len(args) == 2:
        low, high = args
    elif len(args) == 1 and high is None:
        high = args[0]
    elif len(args) == 1:
        low = args[0]
    if high is None:
        raise TypeError("randint() missing the argument 'high'")
    if type(low) is not int:
        low = 0 if low is None else number("randint", "low", low)
    if type(high) is not int:
        high = number("randint", "high", high)
    check_bounds("randint", low, high)
    made = _fresh("randint", (tuple(size),), named, _int64 if dtype is None and out is None else dtype, device, layout, out)
    fill_from_to(made, low, high, generator)
    if out is None:
        construct.unwritten(made)
    return _leaf(made, requires_grad)


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A random order of the integers from 0 to n - 1 (int64 by default).

    >>> g = torch.manual_seed(0)
    >>> torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("randperm", layout)
    n = int_of(n, "randperm", "n", 1)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    need_out("randperm", out)
    dtype = (out.dtype if out is not None else _int64) if dtype is None else as_dtype(dtype)
    top = (1 << DIGITS[dtype.name]) + 1 if dtype.name in DIGITS else LIMITS[dtype.name][1] if dtype.name in LIMITS else -1
    if n > top:
        raise RuntimeError(f"randperm: n cannot be greater than {top} for {dtype}, got {n}")
    return finish(makers(out, device).randperm(n, dtype_code(dtype), generator), out, requires_grad, device)


def _like(op, input, dtype, device, layout, memory_format):
    must_be_tensor(op, input)
    only_strided(op, layout)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    return spread_draws(made) if is_inside() else made


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Uniform numbers of [0, 1) with the shape and, unless given, the dtype (floating point or complex) and device of ``input``.

    >>> g = torch.manual_seed(0)
    >>> torch.rand_like(torch.zeros(2))
    tensor([0.4963, 0.7682])
    """
    if pin_memory:
        need_pinning()
    made = _like("rand_like", input, dtype, device, layout, memory_format)
    backend(made).uniform_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Normal numbers of mean 0 and variance 1 with the shape and, unless given, the dtype (floating point or complex) and device of ``input``.

    >>> g = torch.manual_seed(0)
    >>> torch.randn_like(torch.zeros(2))
    tensor([ 1.5410, -0.2934])
    """
    if pin_memory:
        need_pinning()
    made = _like("randn_like", input, dtype, device, layout, memory_format)
    backend(made).normal_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None, pin_memory=False):
    """Integers of [low, high) with the shape, dtype and device of ``input``: ``randint_like(x, high)`` or ``randint_like(x, low, high)``.

    Raises RuntimeError where low >= high or the dtype cannot hold them, TypeError for floats.

    >>> g = torch.manual_seed(0)
    >>> torch.randint_like(torch.zeros(3), 10)
    tensor([4., 9., 3.])
    """
    if pin_memory:
        need_pinning()
    if len(args) == 2:
        low, high = args
    elif len(args) == 1 and high is None:
        high = args[0]
    elif len(args) == 1:
        low = args[0]
    if high is None:
        raise TypeError("randint_like() missing the argument 'high'")
    check_bounds("randint_like", low, high)
    made = _like("randint_like", input, dtype, device, layout, memory_format)
    fill_from_to(made, 0 if low is None else number("randint_like", "low", low), number("randint_like", "high", high), generator)
    construct.unwritten(made)
    return _leaf(made, requires_grad)


METHODS = {}
__all__ = ["Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state",
           "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"]
