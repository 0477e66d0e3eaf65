"""Elementwise functions whose signatures are wider than a row of the operation table."""

from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import reinterpret
from fasttensor.autograd.checks import need_tensor, real_number
from fasttensor.autograd.generated_functions import FUNCTIONS, INPLACE, METHODS as ROW_METHODS
from fasttensor.functional.common import check_tensor, describe, give, in_place, refuse_shared
from fasttensor.functional.results import RESULTS

__all__ = ["clamp", "clip", "div", "divide", "true_divide", "pow", "float_power", "where", "nan_to_num", "logit", "nextafter", "round", "positive",
           "fix", "arctan2",
           "polygamma", "mvlgamma", "clamp_min", "clamp_max", "frexp", "logical_not", "rsub", "isreal", "angle", "conj_physical",
           "true_divide", "floor_divide", "addcmul", "addcdiv", "lerp", "erfinv", "signbit", "threshold", "threshold_"]
F = FUNCTIONS
bool_dtype, float64 = DTYPES["bool"], DTYPES["float64"]


def is_number(value):
    """Whether PyTorch takes the value for a number."""
    return isinstance(value, (int, float, complex)) or (hasattr(value, "__float__") and not isinstance(value, Tensor)
                                                        and getattr(value, "ndim", 1) == 0)


# --- bounds ---
def clamp(input, min=None, max=None, *, out=None):
    """`input` bounded below by `min` and above by `max`, each a number, a Tensor or None; NaN stays.

    Where min > max the result is max. The gradient passes where the value was inside the bounds.

    >>> import fasttensor as torch
    >>> torch.tensor([-2.0, 0.5, 3.0]).clamp(-1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    check_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if input.is_complex():
        raise RuntimeError(f"clamp is not supported for complex types: {describe(input)}")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    if tensors:
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
        exact = [int(b) for b in bounds]
        if builtin_max(map(abs, exact)) >= 1 << 53:      # beyond what the row's double parameters hold exactly
            return give(out, clamp_exact(x, min, max), "clamp")
        min, max = (None if b is None else _within(kind, int(b)) for b in (min, max))
    if min is None:
        return F["_clamp_max_scalar"](x, max, out=out)
    if max is None:
        return F["_clamp_min_scalar"](x, min, out=out)
    return F["_clamp_scalar"](x, min, max, out=out)


builtin_max = max


def _within(kind, bound):
    """A bound as near as an integer dtype has it: as the row's parameter it would wrap around."""
    low, high = (0, 255) if kind.name == "uint8" else (-1 << 8 * kind.itemsize - 1, (1 << 8 * kind.itemsize - 1) - 1)
    return low if bound < low else high if bound > high else bound


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
    """`input` bounded below."""
    return clamp(input, min=min, out=out)


def clamp_max(input, max, *, out=None):
    """`input` bounded above."""
    return clamp(input, max=max, out=out)


# --- division and powers ---
def div(input, other, *, rounding_mode=None, out=None):
    """`input` / `other`: true division, or rounded towards zero ("trunc") or down ("floor").

    >>> import fasttensor as torch
    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="floor")
    tensor([-4,  3])
    """
    return F[_division(rounding_mode)](input, other, out=out)


def rdiv(self, other):
    """`other` / this tensor."""
    check_tensor("__rdiv__", self)
    return F["_div"](other, self)


def _division(rounding_mode):
    if rounding_mode is None:
        return "_div"
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return "_div_" + rounding_mode


def div_(self, other, *, rounding_mode=None):
    """In-place version of :func:`div`."""
    return INPLACE[_division(rounding_mode) + "_"](self, other)


divide = div
floor_divide = F["floor_divide"]


def true_divide(input, other, *, out=None):
    """`input` / `other`."""
    return F["_div"](input, other, out=out)


def true_divide_(self, other):
    """In-place version of :func:`true_divide`."""
    return INPLACE["_div_"](self, other)


def pow(input, exponent, *, out=None):
    """`input` raised to `exponent`; either may be a number.

    Raises RuntimeError for integers raised to a negative integer number.

    >>> import fasttensor as torch
    >>> torch.pow(torch.tensor([1.0, 2.0]), 2)
    tensor([1., 4.])
    """
    if isinstance(input, Tensor) and is_number(exponent):
        if exponent == 2 and out is None and input.dtype is not bool_dtype and isinstance(exponent, int):
            return F["square"](input)
        if isinstance(exponent, int) and exponent < 0 and not (input.is_floating_point() or input.is_complex()):
            raise RuntimeError(f"pow: Integers to negative integer powers are not allowed ({describe(input)} to {exponent}): convert with .float()")
        if exponent == 2 and out is None and (input.is_floating_point() or input.is_complex()):
            return F["square"](input)
        if exponent in (0.5, -0.5) and out is None and (input.is_floating_point() or input.is_complex()):
            return F["_pow_half" if exponent > 0 else "_pow_minus_half"](input)
        if out is None and exponent and isinstance(exponent, (int, float)) and input.is_floating_point():
            return F["_pow_number"](input, exponent)
    return F["pow"](input, exponent, out=out)


def float_power(input, exponent, *, out=None):
    """`input` raised to `exponent` in float64, or complex128 where either is complex."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(f"float_power(): one of the arguments must be Tensor, got {describe(input, exponent)}")
    complex_ = any(v.is_complex() if isinstance(v, Tensor) else isinstance(v, complex) for v in (input, exponent))
    kind = DTYPES["complex128"] if complex_ else float64
    if isinstance(out, Tensor) and out.dtype is not kind:
        raise RuntimeError(f"float_power: the output given to float_power has dtype {out.dtype} but the operation's result requires dtype {kind}")
    a, b = (v.to(kind) if isinstance(v, Tensor) else v for v in (input, exponent))
    return pow(a, b, out=out)


def float_power_(self, exponent):
    """In-place version of :func:`float_power`, for float64 and complex128."""
    kind = DTYPES["complex128"] if self.is_complex() or isinstance(exponent, complex) else float64
    if self.dtype is not kind:
        raise RuntimeError(f"float_power_: the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {kind}")
    return in_place(float_power)(self, exponent)


def rsub(input, other, *, alpha=1):
    """`other` - alpha * `input`."""
    return F["rsub"](input, other, alpha=alpha)


def where(condition, input=None, other=None, *, out=None):
    """`input` where `condition` is true, `other` elsewhere; with the condition alone, the indices where it is true.

    >>> import fasttensor as torch
    >>> torch.where(torch.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return need_tensor(condition, "where", "condition").nonzero(as_tuple=True)
    check_tensor("where", condition)
    if condition.dtype is not bool_dtype and condition.dtype is not DTYPES["uint8"]:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    return F["where"](condition, input, other, out=out)


def method_where(self, condition, other):
    """This tensor's elements where `condition` is true, those of `other` elsewhere."""
    return where(condition, self, other)


# --- rounding, repairing ---
def round(input, *, decimals=0, out=None):
    """Rounded to the nearest, ties to even; with `decimals`, to that many decimal places."""
    if decimals == 0:
        return F["round"](input, out=out)
    if not input.is_floating_point():
        raise RuntimeError(f'"round_vml_cpu" not implemented for {input.dtype.name!r} with decimals={decimals}: convert with .float()')
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return give(out, F["_div"](F["round"](input * factor), factor), "round", True)
    return give(out, F["round"](input / factor) * factor, "round", True)


def round_(self, *, decimals=0):
    """In-place version of :func:`round`."""
    return ROW_METHODS["round_"](self) if decimals == 0 else in_place(round)(self, decimals=decimals)


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the largest and smallest finite values)."""
    check_tensor("nan_to_num", input)
    if input.is_complex():
        parts = [nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag)]
        from fasttensor.functional.data import complex
        return give(out, complex(*parts), "nan_to_num", True)
    if not input.is_floating_point():
        for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
            if value is not None:
                real_number(value, "nan_to_num", name)
        return give(out, input.clone(), "nan_to_num", True)
    from fasttensor.functional.numeric_info import finfo
    info = finfo(input.dtype)
    return F["_nan_to_num"](input, 0.0 if nan is None else nan, info.max if posinf is None else posinf,
                            info.min if neginf is None else neginf, out=out)


def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), with x first bounded to [eps, 1 - eps] where `eps` is given."""
    if eps is not None:
        real_number(eps, "logit", "eps")
    return F["_logit"](input, out=out) if eps is None else F["_logit_eps"](input, eps, out=out)


def nextafter(input, other, *, out=None):
    """The next number that the dtype has from `input` towards `other`.

    >>> import fasttensor as torch
    >>> torch.nextafter(torch.tensor(1.0, dtype=torch.float16), torch.tensor(2.0, dtype=torch.float16)).item()
    1.0009765625
    """
    check_tensor("nextafter", input, other)
    kind = elementwise_type(input, other)
    if kind.name not in ("float16", "bfloat16"):
        return F["nextafter"](input, other, out=out)
    # Half types compute in float32, whose neighbours round back: a sign and a magnitude, one up or down
    a, b = (t.detach().to(kind) for t in (input, other))
    a = a + b.new_zeros(b.shape) if a.shape != b.shape else a
    bits = reinterpret.view_dtype(a.contiguous(), DTYPES["int16"]).to(DTYPES["int32"])
    bits = F["where"](a == 0, F["where"](b > 0, 1, -0x7FFF), bits + F["where"]((a > 0) == (b > a), 1, -1))
    moved = reinterpret.view_dtype(bits.to(DTYPES["int16"]), kind)
    return give(out, F["where"](a == b, b, F["where"](F["isnan"](a) | F["isnan"](b), float("nan"), moved)), "nextafter")


def positive(input):
    """`input` itself; bool is refused."""
    check_tensor("positive", input)
    return +input


def threshold(input, threshold, value, inplace=False, *, out=None):
    """`input` where it is greater than `threshold`, `value` elsewhere."""
    made = ROW_METHODS["threshold_"](input, threshold, value) if inplace else F["threshold"](input, threshold, value)
    return made if out is None else give(out, made, "threshold")


threshold_ = ROW_METHODS.get("threshold_")
fix, arctan2 = F["trunc"], F["atan2"]
addcmul, addcdiv, lerp, erfinv, signbit = (F[n] for n in ("addcmul", "addcdiv", "lerp", "erfinv", "signbit"))
logical_not, isreal, angle = (F[n] for n in ("logical_not", "isreal", "angle"))


def conj_physical(input, *, out=None):
    """The complex conjugate; a real tensor comes back as it is."""
    return input if out is None and isinstance(input, Tensor) and not input.is_complex() else F["conj_physical"](input, out=out)


# --- special cases of special functions ---
def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma; n is a non-negative int."""
    if isinstance(n, (bool, Tensor)):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if not hasattr(n, "__index__"):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got n={n}")
    # the first two have loops of their own
    return F["digamma"](input, out=out) if n == 0 else F["_trigamma"](input, out=out) if n == 1 else F["polygamma"](n, input, out=out)


def method_polygamma(self, n):
    """The n-th derivative of digamma."""
    return polygamma(n, self)


def mvlgamma(input, p, *, out=None):
    """The multivariate log-gamma function of dimension p: p (p - 1) / 4 log(pi) + sum of lgamma(x - (i - 1) / 2)."""
    if not hasattr(p, "__index__") or isinstance(p, (bool, Tensor)):
        raise TypeError(f"mvlgamma(): argument 'p' (position 2) must be int, not {type(p).__name__}")
    if p > 2 ** 31:
        raise ValueError(f"mvlgamma(): p is too large: {p}")
    if input.dtype is bool_dtype:
        raise RuntimeError(f"mvlgamma(): The input tensor may not be a boolean tensor, got {describe(input)}")
    import math
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    x = input if input.is_floating_point() else input.to(get_default_dtype())
    total = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = F["lgamma"](x - i / 2) + total
    return give(out, total, "mvlgamma")


def frexp(input, *, out=None):
    """Mantissa in [0.5, 1) and int32 exponent with input = mantissa * 2 ** exponent."""
    need_tensor(input, "frexp", "input", 1)
    if not input.is_floating_point():
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {describe(input)}")
    if out is not None:
        refuse_shared("frexp", out, (input,), True)
    magnitude = input.detach().abs()
    plain = (magnitude > 0) & F["isfinite"](magnitude)
    tiny = magnitude < 1e-30 if input.dtype is not DTYPES["float16"] else magnitude < 0
    shift = 120 if input.dtype is not DTYPES["float16"] else 0
    scaled = F["where"](tiny, magnitude * 2.0 ** shift, magnitude)
    exponent = F["floor"](F["log2"](F["where"](plain, scaled, 1.0))) + 1
    exponent = exponent + (scaled * F["exp2"](-exponent.clamp(-100, 100)) >= 1).to(exponent.dtype) * plain.to(exponent.dtype)
    exponent = F["where"](tiny, exponent - shift, exponent)
    exponent = F["where"](plain, exponent, 0.0)
    half = F["trunc"](exponent / 2)
    mantissa = input * F["exp2"](-half) * F["exp2"](half - exponent)
    return give(out, RESULTS["frexp"](mantissa, exponent.to(DTYPES["int32"])), "frexp", True)


def contains(self, value):
    """Whether an element equals `value`; RuntimeError where that is neither a Tensor nor a number."""
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
    "derivative.pow": pow, "derivative.where": F["where"], "derivative.abs": F["abs"], "derivative.zeros_like": lambda t: t * 0,
    "derivative.infinity": lambda t: float("inf"),
}

METHODS = {
    "clamp": clamp, "clip": clamp, "clamp_min": clamp_min, "clamp_max": clamp_max, "clamp_": in_place(clamp, True), "clip_": in_place(clamp, True),
    "clamp_min_": in_place(clamp_min, True), "clamp_max_": in_place(clamp_max, True), "div": div, "divide": div, "true_divide": true_divide,
    "div_": div_, "divide_": div_, "true_divide_": true_divide_, "pow": pow, "float_power": float_power, "float_power_": float_power_,
    "where": method_where, "nan_to_num": nan_to_num, "nan_to_num_": in_place(nan_to_num, True), "logit": logit, "logit_": in_place(logit),
    "nextafter": nextafter, "nextafter_": in_place(nextafter, True),
    "round": round, "round_": round_, "positive": positive, "fix": fix, "fix_": ROW_METHODS["trunc_"], "mvlgamma": mvlgamma, "mvlgamma_": in_place(mvlgamma),
    "polygamma": method_polygamma, "polygamma_": in_place(method_polygamma), "frexp": frexp,
    "__rdiv__": rdiv, "__div__": div, "__idiv__": div_,
}
SPECIAL = {"polygamma": polygamma, "logit": logit, "round": round, "multigammaln": mvlgamma}
NN_FUNCTIONAL = []
