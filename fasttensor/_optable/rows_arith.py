"""Rows: arithmetic, powers, minima and maxima, integer arithmetic."""

from .dtypes import ALL, COMPLEX, FLOAT, INT, NUMERIC, REAL, SINGLE
from .op import Op

FC = FLOAT + COMPLEX

ROWS = (
    Op("add", "a + alpha * b", da="g", db="alpha * g", bool_expr="a | b", dtypes=ALL, params={"alpha": 1},
       keyword_params=True, doc="Adds `other`, scaled by `alpha`, to `input`."),
    Op("sub", "a - alpha * b", da="g", db="-(alpha * g)", dtypes=NUMERIC, params={"alpha": 1},
       keyword_params=True, aliases=("subtract",), doc="Subtracts `other`, scaled by `alpha`, from `input`."),
    Op("rsub", "b - alpha * a", da="-(alpha * g)", db="g", dtypes=NUMERIC, params={"alpha": 1},
       keyword_params=True, inplace=False, out=False, doc="Subtracts `input`, scaled by `alpha`, from `other`."),
    Op("mul", "a * b", da="g * b", db="g * a", bool_expr="a & b", dtypes=ALL, aliases=("multiply",),
       doc="Multiplies `input` by `other`."),
    Op("_div", "a / b", da="g / b", db="-(g * (y / b))", dtypes=FC, promote="float", domain_b=(0.5, 3.0),
       args=("input", "other"), doc="True division of `input` by `other`."),
    Op("neg", "-x", dx="-g", dtypes=NUMERIC, aliases=("negative",), doc="The negative."),
    Op("abs", "abs(x)", dx="g * sgn(x)", complex_dx="g * sgn(x)", dtypes=NUMERIC, promote="real", bool_expr="x",
       aliases=("absolute",), doc="The absolute value."),
    Op("sgn", "sgn(x)", dx="zeros_like(g)", complex_dx="sgn_backward(g, x, y)", dtypes=ALL, doc="The sign; of a complex number x / |x|."),
    Op("sign", "sign(x)", dx="zeros_like(g)", dtypes=("bool",) + REAL, doc="The sign: -1, 0 or 1."),
    Op("square", "x * x", dx="2 * g * x", dtypes=NUMERIC, doc="The square."),
    Op("sqrt", "sqrt(x)", dx="g / (2 * y)", dtypes=FC, promote="float", domain=(0.1, 3.0), doc="The square root."),
    Op("rsqrt", "rsqrt(x)", dx="-0.5 * g * y * y * y", dtypes=FC, promote="float", domain=(0.1, 3.0),
       doc="The reciprocal of the square root."),
    Op("reciprocal", "1 / x", dx="-(g * y * y)", dtypes=FC, promote="float", domain=(0.5, 3.0), doc="The reciprocal."),
    Op("pow", "pow(a, b)", da="where(b == 0, 0, g * (b * pow(a, b - 1)))",
       db="where((a == 0) and (b >= 0), 0, g * (y * log(a)))",
       complex_db="where(conj(a) == 0, 0, g * conj(y * log(a)))",
       complex_da="where(b == 0, 0, g * conj(b * pow(a, b - 1)))",
       dtypes=INT + FC, domain=(0.2, 3.0), doc="`input` raised to the power `exponent`.", args=("input", "exponent")),
    Op("maximum", "maximum(a, b)", da="where(a == b, g / 2, where(a > b, g, 0))",
       db="where(a == b, g / 2, where(b > a, g, 0))", bool_expr="a | b", dtypes=("bool",) + REAL, method=True,
       inplace=False, doc="The larger of the two; NaN if either is NaN."),
    Op("minimum", "minimum(a, b)", da="where(a == b, g / 2, where(a < b, g, 0))",
       db="where(a == b, g / 2, where(b < a, g, 0))", bool_expr="a & b", dtypes=("bool",) + REAL, method=True,
       inplace=False, doc="The smaller of the two; NaN if either is NaN."),
    Op("where", "where(a, b, c)", db="where(a, g, 0)", dc="where(a, 0, g)", dtypes=ALL, mask="a",
       complex_db="where(a, g, 0)", complex_dc="where(a, 0, g)", method=False, inplace=False,
       args=("condition", "input", "other"), doc="`input` where `condition` is true, `other` elsewhere."),
)
