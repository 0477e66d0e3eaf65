"""Functions of floating-point numbers whose signatures are wider than a row of the operation table: rounding, repairing, parts, special cases."""
import math

from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import reinterpret
from fasttensor.autograd.checks import need_tensor, real_number
from fasttensor.autograd.generated_functions import FUNCTIONS, METHODS as ROW_METHODS
from fasttensor.functional.common import check_tensor, describe, give, in_place, refuse_shared
from fasttensor.functional.elementwise import elementwise_type
from fasttensor.functional.results import RESULTS

__all__ = ["nan_to_num", "logit", "nextafter", "round", "positive", "fix", "polygamma", "mvlgamma", "frexp", "threshold", "threshold_", "conj_physical"]
F = FUNCTIONS
bool_dtype = DTYPES["bool"]


def round(input, *, decimals=0, out=None):
    """Rounded to the nearest, ties to even; with `decimals`, to that many decimal places (negative: to tens, hundreds ...).

    Shape and dtype: those of `input`, real. The gradient is zero. Raises RuntimeError for integers with `decimals` other than 0.

    >>> torch.round(torch.tensor([0.5, 1.5, -2.345]))
    tensor([ 0.,  2., -2.])
    >>> torch.round(torch.tensor([-2.345]), decimals=1)
    tensor([-2.3000])
    """
    if decimals == 0:
        return F["round"](input, out=out)
    if out is not None:
        refuse_shared("round", out, (input,), True)
    if not input.is_floating_point():
        raise RuntimeError(f'"round_vml_cpu" not implemented for {input.dtype.name!r} with decimals={decimals}: convert with .float()')
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return give(out, F["_div"](F["round"](input * factor), factor), "round", True)
    return give(out, F["round"](input / factor) * factor, "round", True)


def round_(self, *, decimals=0):
    return ROW_METHODS["round_"](self) if decimals == 0 else _round(self, decimals=decimals)


_round = in_place(round)
round_.__doc__ = _round.__doc__


def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (default: the largest and smallest finite numbers of the dtype).

    Shape and dtype: those of `input`; of complex numbers each part; integers and bool come back as a copy. The gradient is zero where a
    value was replaced. Raises TypeError for a replacement that is no real number.

    >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.])
    """
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
    """log(x / (1 - x)), the inverse of :func:`sigmoid`, with x first bounded to [eps, 1 - eps] where `eps` is given.

    Shape: that of `input`. dtypes: floating point; integers become the default float dtype. Without `eps`, NaN outside of [0, 1].
    Gradient: g / (x * (1 - x)), zero where x was bounded.

    >>> torch.logit(torch.tensor([0.25, 0.5]))
    tensor([-1.0986,  0.0000])
    """
    if eps is not None:
        real_number(eps, "logit", "eps")
    return F["_logit"](input, out=out) if eps is None else F["_logit_eps"](input, eps, out=out)


def nextafter(input, other, *, out=None):
    """The next number that the dtype has from `input` towards `other`, which are broadcast. dtypes: floating point.

    Where the two are equal the result is `other`. Source: IEEE 754, nextUp and nextDown.

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
    """`input` itself, of any numeric dtype; RuntimeError for bool.

    >>> torch.positive(torch.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    check_tensor("positive", input)
    return +input


def threshold(input, threshold, value, inplace=False, *, out=None):
    """`input` where it is greater than `threshold`, `value` elsewhere; NaN stays.

    Shape and dtype: those of `input`, real. The gradient passes where the input does. ``inplace=True`` writes into `input`.

    >>> torch.threshold(torch.tensor([-1.0, 0.5]), 0.1, 20.0)
    tensor([20.0000,  0.5000])
    """
    made = ROW_METHODS["threshold_"](input, threshold, value) if inplace else F["threshold"](input, threshold, value)
    return made if out is None else give(out, made, "threshold")


threshold_ = ROW_METHODS.get("threshold_")
fix = F["trunc"]


def conj_physical(input, *, out=None):
    """The complex conjugate, computed at once; a real tensor comes back as it is.

    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return input if out is None and isinstance(input, Tensor) and not input.is_complex() else F["conj_physical"](input, out=out)


# --- special cases of special functions ---
def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma, (-1) ** (n + 1) * n! * zeta(n + 1, x); n is a non-negative int.

    Shape: that of `input`. dtypes: floating point; integers become the default float dtype. Raises TypeError where n is no int, RuntimeError
    where it is negative. Source: DLMF 5.15; the gradient is polygamma(n + 1, x).

    >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    if isinstance(n, (bool, Tensor)):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if not hasattr(n, "__index__"):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got n={n}")
    # the first two have loops of their own
    return F["digamma"](input, out=out) if n == 0 else F["_trigamma"](input, out=out) if n == 1 else F["polygamma"](n, input, out=out)


def method_polygamma(self, n):
    """The n-th derivative of digamma, see :func:`polygamma`.

    >>> torch.tensor([1.0, 0.5]).polygamma(1)
    tensor([1.6449, 4.9348])
    """
    return polygamma(n, self)


method_polygamma.__name__ = method_polygamma.__qualname__ = "polygamma"


def mvlgamma(input, p, *, out=None):
    """The multivariate log-gamma function of dimension p: p (p - 1) / 4 log(pi) + sum of lgamma(x - (i - 1) / 2) for i from 1 to p.

    Shape: that of `input`. dtypes: floating point; integers become the default float dtype. Raises TypeError where p is no int, RuntimeError
    for p below 1 and for bool. Source: DLMF 35.3.5.

    >>> torch.mvlgamma(torch.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    if not hasattr(p, "__index__") or isinstance(p, (bool, Tensor)):
        raise TypeError(f"mvlgamma(): argument 'p' (position 2) must be int, not {type(p).__name__}")
    if p > 2 ** 31:
        raise ValueError(f"mvlgamma(): p is too large: {p}")
    if input.dtype is bool_dtype:
        raise RuntimeError(f"mvlgamma(): The input tensor may not be a boolean tensor, got {describe(input)}")
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    x = input if input.is_floating_point() else input.to(get_default_dtype())
    total = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = F["lgamma"](x - i / 2) + total
    return give(out, total, "mvlgamma")


def frexp(input, *, out=None):
    """Mantissa in [0.5, 1) (or (-1, -0.5]) and int32 exponent with input = mantissa * 2 ** exponent, a pair with these names.

    Shape: that of `input`. dtypes: floating point, RuntimeError for others. Zero, NaN and infinities are their own mantissa, with exponent 0.

    >>> mantissa, exponent = torch.frexp(torch.tensor([8.0, -0.3]))
    >>> mantissa, exponent
    (tensor([ 0.5000, -0.6000]), tensor([ 4, -1], dtype=torch.int32))
    """
    need_tensor(input, "frexp", "input", 1)
    if not input.is_floating_point():
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {describe(input)}")
    if out is not None:
        refuse_shared("frexp", out, (input,), True)
    # the exponent's bits; subnormal numbers are scaled first, those of the halves by becoming float32
    wide = input.dtype is DTYPES["float64"]
    x = input if wide else input.float()
    kind, place, most = (DTYPES["int64"], 52, 0x7ff) if wide else (DTYPES["int32"], 23, 0xff)
    plain = (x.detach() != 0) & F["isfinite"](x.detach())
    tiny = x.detach().abs() < 2.0 ** (2 - most // 2 - 1)
    field = F["where"](tiny, x.detach() * 2.0 ** 64, x.detach()).view(kind) >> place & most
    exponent = field - most // 2 + 1 - tiny.to(kind) * 64
    exponent = F["where"](plain, exponent, 0).to(x.dtype)
    half = F["trunc"](exponent / 2)         # 2 ** exponent may be out of range
    mantissa = (x * F["exp2"](-half) * F["exp2"](half - exponent)).to(input.dtype)
    return give(out, RESULTS["frexp"](mantissa, exponent.to(DTYPES["int32"])), "frexp", True)


METHODS = {
    "nan_to_num": nan_to_num, "nan_to_num_": in_place(nan_to_num, True), "logit": logit, "logit_": in_place(logit), "nextafter": nextafter,
    "nextafter_": in_place(nextafter, True), "round": round, "round_": round_, "positive": positive, "fix": fix, "fix_": ROW_METHODS["trunc_"],
    "mvlgamma": mvlgamma, "mvlgamma_": in_place(mvlgamma), "polygamma": method_polygamma, "polygamma_": in_place(method_polygamma), "frexp": frexp,
}
SPECIAL = {"polygamma": polygamma, "logit": logit, "round": round, "multigammaln": mvlgamma}
