"""Functions that draw random numbers: PyTorch's names, and PyTorch's values for a seed."""
import sys
import warnings

from fasttensor._core import construct
from fasttensor._core.dispatch import backend
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.batched import is_inside, spread_draws
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules import random as rules
from fasttensor.cpu.generator import Generator, default_generator
from fasttensor.functional.common import need_out
from fasttensor.functional.numeric_info import finfo
from fasttensor.functional.creation import (as_dtype, dtype_code, empty_like, finish, makers, must_be_tensor, no_names, number, only_strided, prepare,
                                            refuse_leaf, sizes_of)

_int64 = DTYPES["int64"]
_FLOATS = ("float16", "bfloat16", "float32", "float64")
# The integers that each dtype counts without gaps.
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LIMITS = {"bool": (0, 1), "uint8": (0, 255), "int8": (-128, 127), "int16": (-2**15, 2**15 - 1), "int32": (-2**31, 2**31 - 1),
           "int64": (-2**63, 2**63 - 1)}


def _fresh(op, size, named, dtype, device, layout, out):
    """Uninitialised memory for a factory's result."""
    if named or not size:
        size = sizes_of(op, size, named.pop("size", None))
    for name in named:
        if name == "names":
            no_names(op, named[name])
        elif name not in ("pin_memory", "memory_format"):
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

    >>> import fasttensor
    >>> fasttensor.manual_seed(1).initial_seed()
    1
    """
    seed = int(seed)
    if "fasttensor.cuda" in sys.modules:
        sys.modules["fasttensor.cuda"].manual_seed_all(seed)
    return default_generator.manual_seed(seed)


def seed():
    """Start the default generator from a seed of the operating system's random source; returns that seed."""
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state, a uint8 tensor of 5056 bytes in PyTorch's layout."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue from a state that ``get_rng_state`` gave."""
    default_generator.set_state(new_state)


# --- factories ---

def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Uniform numbers of [0, 1).

    Args: sizes as ints or as one sequence; ``generator``, ``dtype`` (floating point or complex), ``device``, ``requires_grad``.

    >>> import fasttensor
    >>> g = fasttensor.manual_seed(0)
    >>> fasttensor.rand(2)
    tensor([0.4963, 0.7682])
    """
    made = _fresh("rand", size, named, dtype, device, layout, out)
    backend(made).uniform_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Normal numbers of mean 0 and variance 1; a complex number's parts have variance 1/2 each.

    >>> import fasttensor
    >>> g = fasttensor.manual_seed(0)
    >>> fasttensor.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    made = _fresh("randn", size, named, dtype, device, layout, out)
    backend(made).normal_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, **named):
    """Integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``, int64 by default.

    Raises RuntimeError where low >= high or the dtype cannot hold them.

    >>> import fasttensor
    >>> g = fasttensor.manual_seed(0)
    >>> fasttensor.randint(10, (3,))
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
    made = _fresh("randint", (tuple(size),), named, _int64 if dtype is None and out is None else dtype, device, layout, out)
    _from_to(made, low, high, generator)
    return _leaf(made, requires_grad)


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A random order of the integers from 0 to n - 1 (int64 by default).

    >>> import fasttensor
    >>> g = fasttensor.manual_seed(0)
    >>> fasttensor.randperm(4)
    tensor([0, 1, 3, 2])
    """
    if layout is not None:
        only_strided("randperm", layout)
    n = number("randperm", "n", n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    need_out("randperm", out)
    dtype = (out.dtype if out is not None else _int64) if dtype is None else as_dtype(dtype)
    top = (1 << _DIGITS[dtype.name]) + 1 if dtype.name in _DIGITS else _LIMITS[dtype.name][1] if dtype.name in _LIMITS else -1
    if n > top:
        raise RuntimeError(f"randperm: n cannot be greater than {top} for {dtype}, got {n}")
    return finish(makers(out, device).randperm(n, dtype_code(dtype), generator), out, requires_grad, device)


def _like(op, input, dtype, device, layout, memory_format):
    must_be_tensor(op, input)
    only_strided(op, layout)
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    return spread_draws(made) if is_inside() else made


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Uniform numbers of [0, 1) with the shape, dtype and device of ``input``."""
    made = _like("rand_like", input, dtype, device, layout, memory_format)
    backend(made).uniform_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Normal numbers of mean 0 and variance 1 with the shape, dtype and device of ``input``."""
    made = _like("randn_like", input, dtype, device, layout, memory_format)
    backend(made).normal_(made, 0.0, 1.0, generator)
    return _leaf(made, requires_grad)


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None, pin_memory=False):
    """Integers of [low, high) with the shape, dtype and device of ``input``: ``randint_like(x, high)`` or ``randint_like(x, low, high)``."""
    if len(args) == 2:
        low, high = args
    elif len(args) == 1 and high is None:
        high = args[0]
    elif len(args) == 1:
        low = args[0]
    if high is None:
        raise TypeError("randint_like() missing the argument 'high'")
    if isinstance(low, float) or isinstance(high, float):
        raise TypeError(f"randint_like(): arguments 'low' and 'high' must be int, got {low!r} and {high!r}")
    made = _like("randint_like", input, dtype, device, layout, memory_format)
    _from_to(made, 0 if low is None else number("randint_like", "low", low), number("randint_like", "high", high), generator)
    return _leaf(made, requires_grad)


# --- in place ---

def _in_place(rule, self, function, *args):
    """Fill `self`; its former history ends here."""
    if needs_history(self) or self.is_inference():
        return apply(rule, self, function, *args)
    function(self, *args)
    return self


def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Fill with uniform numbers of [from, to).

    Raises RuntimeError where from > to or the dtype cannot hold the range.
    """
    low, high = float(named.pop("from", from_)), float(to)
    if named:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(named))}'")
    if not self.is_complex():
        _floating("uniform_", self)
        top = finfo(self.dtype).max
        for name, value in (("from", low), ("to", high)):
            if not -top <= value <= top:
                raise RuntimeError(f"{name} is out of bounds for {self.dtype}: uniform_ got {value}")
        if not low <= high:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
        if high - low > top:
            raise RuntimeError(f"uniform_ expects to-from <= {top} for {self.dtype}, but found to={high} and from={low}")
    return _in_place(rules.Uniform, self, backend(self).uniform_, low, high, generator)


def normal_(self, mean=0, std=1, *, generator=None):
    """Fill with normal numbers of the given mean and standard deviation; RuntimeError for std < 0."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _in_place(rules.Normal, self, backend(self).normal_, float(mean), float(std), generator)


def _floating(op, x):
    if x.dtype.name not in _FLOATS:
        raise NotImplementedError(f'"{op}" not implemented for {description(x)}: a floating-point dtype is needed')


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill with exponentials of normal numbers; RuntimeError for std <= 0."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    _floating("log_normal_", self)
    return _in_place(rules.LogNormal, self, backend(self).log_normal_, float(mean), float(std), generator)


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill with numbers of the Cauchy distribution; RuntimeError for sigma <= 0."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    if self.dtype.name not in _FLOATS:
        raise RuntimeError(f"Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified {self.dtype}")
    return _in_place(rules.Cauchy, self, backend(self).cauchy_, float(median), float(sigma), generator)


def exponential_(self, lambd=1, *, generator=None):
    """Fill with numbers of the exponential distribution of rate ``lambd``; RuntimeError for lambd <= 0."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_() expects lambda > 0.0, but found lambda={lambd}")
    if self.dtype.name not in _FLOATS:
        raise RuntimeError(f"Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified {self.dtype}")
    return _in_place(rules.Exponential, self, backend(self).exponential_, float(lambd), generator)


def geometric_(self, p, *, generator=None):
    """Fill with the number of trials, each of probability p, up to the first success; RuntimeError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _in_place(rules.Geometric, self, backend(self).geometric_, float(p), generator)


def random_(self, *args, generator=None, **named):
    """Fill with integers: ``random_()`` over all that the dtype counts without gaps, ``random_(to)`` of [0, to),
    ``random_(from, to)`` of [from, to), where ``to=None`` stands for the dtype's largest."""
    if len(args) == 1 and "to" in named:
        args = (args[0], named.pop("to"))
    elif not args and named:
        args = (named.pop("from", 0), named.pop("to", None))
    if named or len(args) > 2:
        raise TypeError("random_() received an invalid combination of arguments: expected random_(), random_(to) or random_(from, to)")
    if not args:
        return _in_place(rules.Random, self, backend(self).random_, generator)
    low, high = (0, args[0]) if len(args) == 1 else args
    if isinstance(low, float) or isinstance(high, float):
        raise TypeError(f"random_(): arguments 'from' and 'to' must be int, got {low!r} and {high!r}")
    if high is None and low == -2**63:
        if self.dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError(f"random_full_64_bits_range handles only int64, double, float and bfloat16, got {self.dtype}")
        return _in_place(rules.Random, self, backend(self).random_from_to_, 1 << 64, low, generator)
    if high is None:
        name = self.dtype.name
        high = (1 << _DIGITS[name]) + 1 if name in _DIGITS else _LIMITS.get(name, (0, 0))[1] + 1
    return _from_to(self, low, high, generator)


def _from_to(self, low, high, generator):
    """Integers of [low, high), after PyTorch's checks of what the dtype can hold."""
    low, high = int(low), int(high)
    if self.dtype is _int64 and -2**63 <= low < high <= 2**63 - 1:      # the usual case
        return _in_place(rules.Random, self, backend(self).random_from_to_, high - low, low, generator)
    name = self.dtype.name
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if name in _DIGITS:
        low, high = _inside(low, high, name)
    elif name not in _LIMITS:
        raise RuntimeError(f"random_ handles only integral, floating-point and boolean types, got {description(self)}")
    else:
        bottom, top = _LIMITS[name]
        for label, value in (("from", low), ("to - 1", high - 1)):
            if not bottom <= value <= top:
                raise RuntimeError(f"{label} is out of bounds for {self.dtype}: random_ got {value}")
    return _in_place(rules.Random, self, backend(self).random_from_to_, high - low, low, generator)


def _rounded(value, name):
    """An int as a floating-point dtype holds it."""
    digits = _DIGITS[name]
    extra = abs(value).bit_length() - digits
    if extra <= 0:
        return value
    # round to nearest, ties to even
    size, half = abs(value), 1 << (extra - 1)
    kept = size >> extra
    rest = size & ((1 << extra) - 1)
    if rest > half or rest == half and kept & 1:
        kept += 1
    return (kept << extra) * (1 if value > 0 else -1)


def _inside(low, high, name):
    """[low, high) narrowed so that no integer of it rounds to a value outside."""
    digits = _DIGITS[name]
    above = _rounded(low + 1, name)
    if above < low:
        low = above + (1 << (abs(low + 1).bit_length() - digits))
    below = _rounded(high - 1, name)
    if below >= high:
        high = below - (1 << (abs(high - 1).bit_length() - digits))
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={low} >= to={high}")
    top = {"float16": 65504, "bfloat16": int(3.3895313892515355e38), "float32": int(3.4028234663852886e38)}.get(name, 1 << 1023)
    for label, value in (("from", low), ("to - 1", high - 1)):
        if not -top <= value <= top:
            raise RuntimeError(f"{label} is out of bounds for {name}: random_ got {value}")
        if abs(value) > 1 << digits:
            warnings.warn(f"{label} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} can support discrete uniform "
                          "distribution only within this range.", UserWarning, stacklevel=4)
    return low, high


def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones of probability p - a number, or a floating-point tensor that broadcasts - and zeros."""
    if isinstance(p, Tensor):
        return _in_place(rules.BernoulliTensor, self, backend(self).bernoulli_tensor_, p, generator)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _in_place(rules.BernoulliScalar, self, backend(self).bernoulli_, float(p), generator)


METHODS = {"uniform_": uniform_, "normal_": normal_, "log_normal_": log_normal_, "cauchy_": cauchy_, "exponential_": exponential_,
           "geometric_": geometric_, "random_": random_, "bernoulli_": bernoulli_}
__all__ = ["Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state",
           "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"]
