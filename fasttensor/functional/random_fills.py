"""Methods that fill a tensor with random numbers: PyTorch's names, and PyTorch's values for a seed."""
import warnings

from fasttensor._core.dispatch import backend
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.recording import count_write
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules import random as rules
from fasttensor.functional.numeric_info import finfo

__all__ = []
_int64 = DTYPES["int64"]
_FLOATS = ("float16", "bfloat16", "float32", "float64")
# The integers that each dtype counts without gaps.
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LIMITS = {"bool": (0, 1), "uint8": (0, 255), "int8": (-128, 127), "int16": (-2**15, 2**15 - 1), "int32": (-2**31, 2**31 - 1),
          "int64": (-2**63, 2**63 - 1)}


def _in_place(rule, self, function, *args):
    """Fill `self`; its former history ends here."""
    if needs_history(self) or self.is_inference():
        return apply(rule, self, function, *args)
    function(self, *args)
    count_write(self)
    return self


def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Fill with uniform numbers of [from, to), of the default generator or ``generator``.

    dtypes: floating point or complex. Raises RuntimeError where from > to or the dtype cannot hold the range.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(2).uniform_(-1, 1)
    tensor([-0.0075,  0.5364])
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
    """Fill with normal numbers of the given mean and standard deviation; RuntimeError for std < 0.

    dtypes: floating point or complex. Source of the transform: Box and Muller, 1958.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(2).normal_()
    tensor([ 1.5410, -0.2934])
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _in_place(rules.Normal, self, backend(self).normal_, float(mean), float(std), generator)


def _floating(op, x):
    if x.dtype.name not in _FLOATS:
        raise NotImplementedError(f'"{op}" not implemented for {description(x)}: a floating-point dtype is needed')


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill with exponentials of normal numbers of ``mean`` and ``std``. dtypes: floating point. RuntimeError for std <= 0.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(2).log_normal_(0, 0.25)
    tensor([1.4700, 0.9293])
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    _floating("log_normal_", self)
    return _in_place(rules.LogNormal, self, backend(self).log_normal_, float(mean), float(std), generator)


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill with numbers of the Cauchy distribution of ``median`` and scale ``sigma``. dtypes: floating point. RuntimeError for sigma <= 0.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(2).cauchy_()
    tensor([10.5977,  0.7648])
    """
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    if self.dtype.name not in _FLOATS:
        raise RuntimeError(f"Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified {self.dtype}")
    return _in_place(rules.Cauchy, self, backend(self).cauchy_, float(median), float(sigma), generator)


def exponential_(self, lambd=1, *, generator=None):
    """Fill with numbers of the exponential distribution of rate ``lambd``. dtypes: floating point. RuntimeError for lambd <= 0.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(2).exponential_().gt(0)
    tensor([True, True])
    """
    if not lambd > 0:
        raise RuntimeError(f"exponential_() expects lambda > 0.0, but found lambda={lambd}")
    if self.dtype.name not in _FLOATS:
        raise RuntimeError(f"Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified {self.dtype}")
    return _in_place(rules.Exponential, self, backend(self).exponential_, float(lambd), generator)


def geometric_(self, p, *, generator=None):
    """Fill with the number of trials, each of probability p, up to the first success: 1, 2, ... RuntimeError unless 0 < p < 1.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(3).geometric_(0.5)
    tensor([1., 1., 2.])
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _in_place(rules.Geometric, self, backend(self).geometric_, float(p), generator)


def random_(self, *args, generator=None, **named):
    """Fill with integers: ``random_()`` over all that the dtype counts without gaps, ``random_(to)`` of [0, to),
    ``random_(from, to)`` of [from, to), where ``to=None`` stands for the dtype's largest.

    Raises RuntimeError where from >= to or the dtype cannot hold them, TypeError for floats.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(3).random_(10)
    tensor([4., 9., 3.])
    """
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
        high = (1 << DIGITS[name]) + 1 if name in DIGITS else LIMITS.get(name, (0, 0))[1] + 1
    return fill_from_to(self, low, high, generator)


def fill_from_to(self, low, high, generator):
    """Integers of [low, high), after PyTorch's checks of what the dtype can hold."""
    low, high = int(low), int(high)
    if self.dtype is _int64 and -2**63 <= low < high <= 2**63 - 1:      # the usual case
        return _in_place(rules.Random, self, backend(self).random_from_to_, high - low, low, generator)
    name = self.dtype.name
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if name in DIGITS:
        low, high = _inside(low, high, name)
    elif name not in LIMITS:
        raise RuntimeError(f"random_ handles only integral, floating-point and boolean types, got {description(self)}")
    else:
        bottom, top = LIMITS[name]
        for label, value in (("from", low), ("to - 1", high - 1)):
            if not bottom <= value <= top:
                raise RuntimeError(f"{label} is out of bounds for {self.dtype}: random_ got {value}")
    return _in_place(rules.Random, self, backend(self).random_from_to_, high - low, low, generator)


def _rounded(value, name):
    """An int as a floating-point dtype holds it."""
    digits = DIGITS[name]
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
    digits = DIGITS[name]
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
    """Fill with ones of probability p - a number, or a floating-point tensor that broadcasts - and zeros; RuntimeError unless 0 <= p <= 1.

    >>> g = torch.manual_seed(0)
    >>> torch.empty(4).bernoulli_(0.5)
    tensor([0., 0., 1., 0.])
    """
    if isinstance(p, Tensor):
        return _in_place(rules.BernoulliTensor, self, backend(self).bernoulli_tensor_, p, generator)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _in_place(rules.BernoulliScalar, self, backend(self).bernoulli_, float(p), generator)


METHODS = {"uniform_": uniform_, "normal_": normal_, "log_normal_": log_normal_, "cauchy_": cauchy_, "exponential_": exponential_,
           "geometric_": geometric_, "random_": random_, "bernoulli_": bernoulli_}
