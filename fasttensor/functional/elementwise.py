"""Elementwise functions whose signatures are wider than a row of the operation table."""

from fasttensor._core.dtype import DTYPES
from fasttensor._core.element import check_holds, plain_number
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import reinterpret
from fasttensor.autograd.checks import need_tensor
from fasttensor.autograd.generated_functions import FUNCTIONS, INPLACE
from fasttensor.functional.common import check_tensor, describe, give, in_place
from fasttensor.functional.retelling import as_method, in_place_words

__all__ = ["clamp", "clip", "div", "divide", "true_divide", "pow", "float_power", "where", "arctan2", "clamp_min", "clamp_max", "logical_not", "rsub",
           "isreal", "angle", "floor_divide", "addcmul", "addcdiv", "lerp", "erfinv", "signbit"]
F = FUNCTIONS
bool_dtype, float64 = DTYPES["bool"], DTYPES["float64"]


def is_number(value):
    """Whether PyTorch takes the value for a number."""
    return isinstance(value, (int, float, complex)) or (hasattr(value, "__float__") and not isinstance(value, Tensor)
                                                        and getattr(value, "ndim", 1) == 0)


# --- bounds ---
def clamp(input, min=None, max=None, *, out=None):
    """`input` bounded below by `min` and above by `max`, each a number, a Tensor or None; NaN stays.

    Shape: that of `input`, with bounds that are tensors broadcast. dtypes: real; integers take the dtype of a floating-point bound.
    Where min > max the result is max. The gradient passes where the value was inside the bounds. Raises RuntimeError where both bounds are
    None, and for complex dtypes.

    >>> torch.clamp(torch.tensor([-2.0, 0.5, 3.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    check_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if input.is_complex() or isinstance(min, complex) or isinstance(max, complex):
        raise NotImplementedError(f"clamp is not supported for complex types: {describe(input, min, max)}")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    if tensors:
        if min is not None and max is not None and isinstance(min, Tensor) != isinstance(max, Tensor):
            bound = min if isinstance(min, Tensor) else max
            if bound.ndim or bound.requires_grad:           # else it counts as a number
                raise TypeError(f"clamp(): min and max must both be Tensors or both be Numbers, got {describe(min, max)}")
        if min is not None and max is not None:
            return F["_clamp"](input, min, max, out=out)
        return F["clamp_min"](input, min, out=out) if max is None else F["clamp_max"](input, max, out=out)
    bounds = [b for b in (min, max) if b is not None]
    kind = input.dtype
    for b in bounds:
        if not kind.is_floating_point and not isinstance(b, bool):
            kind = elementwise_type(input, b)
    x = input if kind == input.dtype else input.to(kind)
    if not kind.is_floating_point:
        for b in bounds:
            check_holds(kind, b)
        if kind.name == "uint8":        # negative bounds are bytes modulo 256, as everywhere
            min, max = (None if b is None else int(b) % 256 for b in (min, max))
        if any(abs(int(b)) >= 1 << 53 for b in bounds):      # beyond what the row's double parameters hold exactly
            return give(out, clamp_exact(x, min, max), "clamp")
    if min is None:
        return F["_clamp_max_scalar"](x, max, out=out)
    if max is None:
        return F["_clamp_min_scalar"](x, min, out=out)
    return F["_clamp_scalar"](x, min, max, out=out)


def clamp_exact(x, low, high):
    """clamp of integers with bounds that a double cannot hold."""
    if low is not None:
        x = F["where"](x < low, int(low), x)
    return x if high is None else F["where"](x > high, int(high), x)


def elementwise_type(a, b):
    """The dtype of an operation between the two."""
    return reinterpret.result_type(a, b)


clip = clamp


def clamp_min(input, min, *, out=None):
    """`input` bounded below by `min`, a number or a Tensor: see :func:`clamp` for shapes, dtypes and errors.

    >>> torch.clamp_min(torch.tensor([-2.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    return clamp(input, min=min, out=out)


def clamp_max(input, max, *, out=None):
    """`input` bounded above by `max`, a number or a Tensor: see :func:`clamp` for shapes, dtypes and errors.

    >>> torch.clamp_max(torch.tensor([-2.0, 0.5]), 0)
    tensor([-2.,  0.])
    """
    return clamp(input, max=max, out=out)


# --- division and powers ---
def div(input, other, *, rounding_mode=None, out=None):
    """`input` / `other`: true division, or rounded towards zero ("trunc") or down ("floor").

    Shape: that of the operands broadcast. True division of integers gives the default float dtype; rounded division keeps the promoted one.
    Gradients: g / other and -g * input / other ** 2; zero where the result is rounded. Raises RuntimeError for another `rounding_mode`, and
    for rounded division of integers by zero.

    >>> torch.div(torch.tensor([-7.0, 7.0]), 2, rounding_mode="floor")
    tensor([-4.,  3.])
    """
    return F[_division(rounding_mode)](input, other, out=out)


def rdiv(self, other):
    """`other` / this tensor: true division; see :func:`div`.

    >>> torch.tensor([2.0, 4.0]).__rdiv__(1)
    tensor([0.5000, 0.2500])
    """
    check_tensor("__rdiv__", self)
    return F["_div"](other, self)


def _division(rounding_mode):
    if rounding_mode is None:
        return "_div"
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return "_div_" + rounding_mode


def div_(self, other, *, rounding_mode=None):
    return INPLACE[_division(rounding_mode) + "_"](self, other)


div_.__doc__ = as_method(div, in_place_words("div"), "div_")
divide, arctan2 = div, F["atan2"]
floor_divide, addcmul, addcdiv, lerp, erfinv, signbit = (F[n] for n in ("floor_divide", "addcmul", "addcdiv", "lerp", "erfinv", "signbit"))
logical_not, isreal, angle = (F[n] for n in ("logical_not", "isreal", "angle"))


def true_divide(input, other, *, out=None):
    """`input` / `other`, in the default float dtype for integers: :func:`div` without rounding.

    >>> torch.true_divide(torch.tensor([1.0, 2.0]), 2)
    tensor([0.5000, 1.0000])
    """
    return F["_div"](input, other, out=out)


def true_divide_(self, other):
    return INPLACE["_div_"](self, other)


true_divide_.__doc__ = as_method(true_divide, in_place_words("true_divide"), "true_divide_")


def pow(input, exponent, *, out=None):
    """`input` raised to `exponent`; either may be a number, not both.

    Shape: that of the operands broadcast. dtypes: all but bool; integers stay integers. Gradients: g * exponent * input ** (exponent - 1)
    and g * result * log(input). Raises RuntimeError for integers raised to a negative integer number.

    >>> torch.pow(torch.tensor([1.0, 2.0]), 2)
    tensor([1., 4.])
    """
    if isinstance(input, Tensor) and is_number(exponent):
        exponent = plain_number(exponent)
        if exponent == 2 and out is None and input.dtype is not bool_dtype and isinstance(exponent, int):
            return F["square"](input)
        if isinstance(exponent, int) and exponent < 0 and not (input.is_floating_point() or input.is_complex()):
            raise RuntimeError(f"pow: Integers to negative integer powers are not allowed ({describe(input)} to {exponent}): convert with .float()")
        if exponent == 2 and out is None and (input.is_floating_point() or input.is_complex()):
            return F["square"](input)
        if exponent in (0.5, -0.5) and out is None and (input.is_floating_point() or input.is_complex()):
            return F["_pow_half" if exponent > 0 else "_pow_minus_half"](input)
        if out is None and exponent and isinstance(exponent, (int, float)) and input.is_floating_point() and (
                input.dtype.itemsize > 2 or abs(exponent) < 60000):
            return F["_pow_number"](input, exponent)
    return F["pow"](input, exponent, out=out)


def float_power(input, exponent, *, out=None):
    """`input` raised to `exponent` in float64, or complex128 where either is complex.

    Shape: that of the operands broadcast. Raises TypeError where neither is a Tensor, RuntimeError for an `out` of another dtype.

    >>> torch.float_power(torch.tensor([1.0, 2.0], dtype=torch.float64), 0.5)
    tensor([1.0000, 1.4142], dtype=torch.float64)
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(f"float_power(): one of the arguments must be Tensor, got {describe(input, exponent)}")
    complex_ = any(v.is_complex() if isinstance(v, Tensor) else isinstance(v, complex) for v in (input, exponent))
    kind = DTYPES["complex128"] if complex_ else float64
    if isinstance(out, Tensor) and out.dtype is not kind:
        raise RuntimeError(f"float_power: the output given to float_power has dtype {out.dtype} but the operation's result requires dtype {kind}")
    a, b = (v.to(kind) if isinstance(v, Tensor) else v for v in (input, exponent))
    return pow(a, b, out=out)


def float_power_(self, exponent):
    kind = DTYPES["complex128"] if self.is_complex() or isinstance(exponent, complex) else float64
    if self.dtype is not kind:
        raise RuntimeError(f"float_power_: the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {kind}")
    return _float_power(self, exponent)


_float_power = in_place(float_power)
float_power_.__doc__ = as_method(float_power, in_place_words("float_power"), "float_power_")


def rsub(input, other, *, alpha=1):
    """`other` - alpha * `input`, broadcast; RuntimeError for bool.

    >>> torch.rsub(torch.tensor([1.0, 2.0]), 5)
    tensor([4., 3.])
    """
    return F["rsub"](input, other, alpha=alpha)


def where(condition, input=None, other=None, *, out=None):
    """`input` where `condition` is true, `other` elsewhere; with the condition alone, the indices where it is true, as :func:`nonzero` gives them.

    Args: `condition`, bool or uint8; `input`, `other`, tensors or numbers of any dtypes, which are promoted. Shape: all three broadcast.
    Raises RuntimeError for a condition of another dtype.

    >>> torch.where(torch.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return need_tensor(condition, "where", "condition").nonzero(as_tuple=True)
    check_tensor("where", condition)
    if input is None or other is None:
        raise TypeError(f"where() received an invalid combination of arguments: input and other must be Tensors or Numbers, got {describe(input, other)}")
    if condition.dtype is not bool_dtype and condition.dtype is not DTYPES["uint8"]:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    return F["where"](condition, input, other, out=out)


def method_where(self, condition, other):
    """This tensor's elements where `condition` is true, those of `other` elsewhere: see :func:`where`.

    >>> torch.tensor([1.0, 2.0]).where(torch.tensor([True, False]), 0.0)
    tensor([1., 0.])
    """
    return where(condition, self, other)


def contains(self, value):
    """Whether an element equals `value`; RuntimeError where that is neither a Tensor nor a number.

    >>> 2 in torch.tensor([1, 2])
    True
    """
    if not isinstance(value, Tensor) and not is_number(value):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}.")
    return bool((self == value).any())


def _bound(row, scalar_row):
    """maximum or minimum where derivative expressions give a number as one operand."""
    def bound(a, b):
        if is_number(a):
            a, b = b, a
        return F[scalar_row](a, b) if is_number(b) else F[row](a, b)
    return bound


# Derivative expressions find these under the last part of the name.
HOOKS = {
    "contains": contains, "derivative.maximum": _bound("maximum", "_clamp_min_scalar"), "derivative.minimum": _bound("minimum", "_clamp_max_scalar"),
    "derivative.pow": pow, "derivative.where": F["where"], "derivative.abs": F["abs"],
    "derivative.infinity": lambda t: float("inf"),
}

METHODS = {
    "clamp": clamp, "clip": clamp, "clamp_min": clamp_min, "clamp_max": clamp_max, "clamp_": in_place(clamp, True, True), "clip_": in_place(clamp, True, True),
    "clamp_min_": in_place(clamp_min, True, True), "clamp_max_": in_place(clamp_max, True, True), "div": div, "divide": div, "true_divide": true_divide,
    "div_": div_, "divide_": div_, "true_divide_": true_divide_, "pow": pow, "float_power": float_power, "float_power_": float_power_,
    "where": method_where, "__rdiv__": rdiv, "__div__": div, "__idiv__": div_,
}
