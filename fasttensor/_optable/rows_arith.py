"""Rows: arithmetic, division, powers, fused multiply-adds, signs."""

from .dtypes import ALL, BOOL, COMPLEX, FLOAT, INT, NUMERIC, REAL
from .op import Op

FC = FLOAT + COMPLEX


QUICK = FLOAT + ("int32", "int64")       # dtypes whose division goes by floating point where that is exact


_NO_BOOLS = ("Subtraction, the `-` operator, with two bool tensors is not supported ({a} and {b}). Use the `^` or `logical_xor()` operator instead.",
             "Subtraction, the `-` operator, with a bool tensor is not supported ({a} and {b}). If you are trying to invert a mask, use the `~` or"
             " `logical_not()` operator instead.")


def _by_fmod(name, row, words, **more):
    """A row of two numbers that rests on fmod, which is one fma while the quotient has few digits."""
    return Op(name, f"{row}(a, b)", dtypes=REAL, fast=f"{row}_fast(a, b)", fast_if="fmod_is_fast(a, b)", fast_dtypes=QUICK,
              zero_check=True, domain_b=(0.5, 3.0), doc=words, **more)


ROWS = (
    Op("add", "a + alpha * b", numbers="AB", da="g", db="alpha * g", bool_expr="a | (b & alpha)", dtypes=ALL, params={"alpha": 1},
       keyword_params=True, doc="Adds `other`, scaled by `alpha`, to `input`."),
    Op("sub", "a - alpha * b", numbers="AB", da="g", db="-(alpha * g)", dtypes=NUMERIC, params={"alpha": 1}, keyword_params=True,
       aliases=("subtract",), bools=_NO_BOOLS, doc="Subtracts `other`, scaled by `alpha`, from `input`."),
    Op("rsub", "b - alpha * a", da="-(alpha * g)", db="g", dtypes=NUMERIC, params={"alpha": 1}, inplace=False,
       method=False, out=False, reversed=True, bools=_NO_BOOLS, doc="Subtracts `input`, scaled by `alpha`, from `other`."),
    Op("mul", "a * b", numbers="AB", da="g * b", db="g * a", bool_expr="a & b", dtypes=ALL, aliases=("multiply",),
       wide_number=True, doc="Multiplies `input` by `other`."),
    Op("_div", "a / b", complex_expr="div(a, b)", da="g / b", db="-(g * ((a / b) / b))", dtypes=FC, promote="float", domain_b=(0.5, 3.0),
       wide_number=True, doc="True division of `input` by `other`."),
    Op("_div_trunc", "div_trunc(a, b)", da="zeros_like(g)", db="zeros_like(g)", dtypes=REAL, zero_check=True,
       fast="div_trunc_fast(a, b)", fast_if="fmod_is_fast(a, b)", fast_dtypes=QUICK[-2:], domain_b=(0.5, 3.0),
       node="DivBackward2", doc="Division of `input` by `other`, rounded towards zero."),
    _by_fmod("floor_divide", "floor_divide", "Division of `input` by `other`, rounded down.", numbers="AB"),
    _by_fmod("_div_floor", "floor_divide", "Division of `input` by `other`, rounded down.", da="zeros_like(g)",
             db="zeros_like(g)", node="DivBackward2"),
    _by_fmod("remainder", "remainder", "The remainder of `input` / `other`, with the sign of `other` as in Python.", numbers="ab", da="g",
             db="-(g * floor((a - y) / b + 0.5))", node_of_tensor="RemainderBackward1"),
    _by_fmod("fmod", "fmod", "The remainder of `input` / `other`, with the sign of `input` as in C.", da="g",
             db="-(g * trunc(a / b))", node_of_tensor="FmodBackward1"),
    Op("pow", "pow(a, b)", numbers="ab", da="where(b == 0, 0, g * (b * pow(a, b - 1)))",
       db="where((a == 0) and (b >= 0), 0, g * (y * log(a)))",
       complex_da="where(b == 0, 0, g * conj(b * pow(a, b - 1)))",
       complex_db="where((a == 0) and (real(b) >= 0), 0, g * conj(y * log(a)))",
       dtypes=INT + FC, domain=(0.2, 3.0), args=("input", "exponent"), node_of_tensor="PowBackward1", node_of_number="PowBackward2",
       bool_form="bitwise_or", fits="narrow", doc="`input` raised to the power `exponent`."),
    Op("_pow_number", "pow(x, exponent)", "g * (exponent * pow(x, exponent - 1))", params={"exponent": None}, domain=(0.2, 3.0),
       fast="power_whole(x, exponent)", fast_if="power_is_whole(x, exponent)", fast_dx="g * (exponent * power_whole(x, exponent - 1))",
       fast_by_block=True, node="Pow", doc="`input` raised to a number."),
    Op("neg", "-x", dx="-g", dtypes=NUMERIC, half_bits="x ^ 0x8000", aliases=("negative",), doc="The negative.",
       refuses={"bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or"
                " `logical_not()` operator instead."}),
    Op("abs", "abs(x)", dx="g * sgn(x)", complex_dx="g * sgn(x)", dtypes=NUMERIC, promote="real",
       half_bits="x & 0x7fff", out="same", aliases=("absolute",), doc="The absolute value."),
    Op("sign", "sign(x)", dx="zeros_like(g)", dtypes=BOOL + REAL,
       half_bits="(uint16_t)((x & 0x7fff) - 1) < HALF_INF ? (x & 0x8000) | HALF_ONE : 0", doc="The sign: -1, 0 or 1."),
    Op("sgn", "sgn(x)", dx="zeros_like(g)", dtypes=ALL,
       complex_dx="where(abs(x) == 0, 0, (g - y * real(conj(y) * g)) / abs(x))",
       doc="The sign: -1, 0 or 1; of a complex number x / |x|."),
    Op("angle", "angle(x)", dx="zeros_like(g)", complex_dx="where(abs(x) == 0, 0, g * (1j * x / (abs(x) * abs(x))))",
       dtypes=FC, promote="float", real=True, inplace=False, doc="The argument, in radians: 0 or pi of a real number."),
    Op("conj_physical", "x", dx="g", complex_expr="conj(x)", complex_dx="conj(g)", dtypes=ALL,
       doc="The complex conjugate."),
    Op("_real", "real(x)", complex_dx="g", dtypes=COMPLEX, promote="real", inplace=False, doc="The real part."),
    Op("_imag", "imag(x)", complex_dx="1j * g", dtypes=COMPLEX, promote="real", inplace=False,
       doc="The imaginary part."),
    Op("_pow_half", "sqrt(x)", dx="g / (2 * y)", dtypes=FC, domain=(0.1, 3.0), node="Pow", doc="`input` raised to 0.5."),
    Op("_pow_minus_half", "rsqrt(x)", dx="-0.5 * g * (y * y * y)", dtypes=FC, domain=(0.1, 3.0), node="Pow", doc="`input` raised to -0.5."),
    Op("square", "x * x", dx="2 * g * x", node="Pow", bool_expr="x", bool_result="int64", dtypes=ALL, out="cast", doc="The square."),
    Op("sqrt", "sqrt(x)", dx="g / (2 * y)", dtypes=FC, promote="float", domain=(0.1, 3.0), doc="The square root."),
    Op("rsqrt", "rsqrt(x)", dx="-0.5 * g * (y * y * y)", dtypes=FC, promote="float", domain=(0.1, 3.0),
       doc="The reciprocal of the square root."),
    Op("reciprocal", "1 / x", complex_expr="reciprocal(x)", dx="-(g * (y * y))", dtypes=FC, promote="float", domain=(0.5, 3.0),
       doc="The reciprocal."),
    Op("lerp", "lerp(a, b, c)", numbers="c", da="g * (1 - c)", db="g * c", dc="g * (b - a)", dtypes=FC,
       out="same", args=("input", "end", "weight"), one_dtype=True, fits="computing", wide_number=True, node_of_tensor="LerpBackward1",
       doc="`input` + `weight` * (`end` - `input`)."),
    Op("addcmul", "a + value * b * c", da="g", db="g * (c * value)", dc="g * (b * value)", dtypes=NUMERIC,
       params={"value": 1}, keyword_params=True, args=("input", "tensor1", "tensor2"),
       doc="`input` + `value` * `tensor1` * `tensor2`."),
    Op("addcdiv", "a + value * b / c", complex_expr="a + div(value * b, c)",
       da="g", db="g * (value / c)", dc="-(g * (value * b / (c * c)))", dtypes=FC,
       params={"value": 1}, keyword_params=True, args=("input", "tensor1", "tensor2"), domain_c=(0.5, 3.0),
       refuses={"int": "Integer division with addcdiv is no longer supported, got {dtype}: use input + value * torch.trunc(tensor1 / tensor2), or"
                " convert to a floating point dtype"}, doc="`input` + `value` * `tensor1` / `tensor2`."),
    Op("ldexp", "ldexp(a, b)", numbers="", complex_expr="a * exp2(b)", fast="a * exp2(b)", fast_if="(b >= -126) and (b <= 126)",
       da="g * exp2(b)", db="g * (y * 0.6931471805599453)", dtypes=FC, promote="float",
       doc="`input` * 2 ** `other`."),
    Op("copysign", "copysign(a, b)", da="where(a == 0, 0, g * (y / a))", db="zeros_like(g)", dtypes=FLOAT,
       half_bits="(a & 0x7fff) | (b & 0x8000)", promote="float", doc="The magnitude of `input` with the sign of `other`."),
    Op("nextafter", "nextafter(a, b)", numbers="", da="where(a == b, 0, g)", db="zeros_like(g)",
       dtypes=("float32", "float64"),
       doc="The next number that the dtype has from `input` towards `other`."),
    Op("heaviside", "where(a == 0, b, where(a > 0, 1, 0))", numbers="", bool_expr="a | b", dtypes=BOOL + REAL,
       out="same", args=("input", "values"), one_dtype=True, no_complex=True, doc="The step function: 0 below zero, `values` at zero, 1 above."),
    Op("hypot", "hypot(a, b)", numbers="", da="where(y == 0, 0, g * (a / y))", db="where(y == 0, 0, g * (b / y))", dtypes=FLOAT,
       doc="The length of the hypotenuse, without overflow on the way."),
    Op("gcd", "gcd(a, b)", numbers="", dtypes=INT, doc="The greatest common divisor."),
    Op("lcm", "lcm(a, b)", numbers="", dtypes=INT, doc="The least common multiple."),
)
