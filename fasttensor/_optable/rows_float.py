"""Rows: exponentials, logarithms, trigonometry, rounding, angles."""

from .dtypes import COMPLEX, FLOAT, REAL
from .op import Op

FC = FLOAT + COMPLEX


def _f(name, expr, dx, doc, dtypes=FC, **more):
    """A row that turns integers into floats first."""
    return Op(name, expr, dx=dx, dtypes=dtypes, promote="float", doc=doc, **more)


def _round(name, doc, **more):
    return Op(name, more.pop("expr", f"{name}(x)"), dx="zeros_like(g)", int_expr="x", dtypes=REAL, doc=doc, **more)


ROWS = (
    _f("exp", "exp(x)", "g * y", "The exponential function."),
    _f("exp2", "exp2(x)", "g * (y * 0.6931471805599453)", "Two to the power of the input.", special=("exp2",)),
    _f("expm1", "expm1(x)", "g * (y + 1)", "exp(x) - 1, exact near zero.", special=("expm1",)),
    _f("log", "log(x)", "g / x", "The natural logarithm.", domain=(0.1, 3.0)),
    _f("log2", "log2(x)", "g / (x * 0.6931471805599453)", "The logarithm to base 2.", domain=(0.1, 3.0)),
    _f("log10", "log10(x)", "g / (x * 2.302585092994046)", "The logarithm to base 10.", domain=(0.1, 3.0)),
    _f("log1p", "log1p(x)", "g / (x + 1)", "log(1 + x), exact near zero.", domain=(-0.8, 3.0), special=("log1p",), node="Log1P"),
    _f("sin", "sin(x)", "g * cos(x)", "The sine, of radians.", fast="sin_fast(x)", fast_if="ft_quadrant_serves(x)", fast_dtypes=("float64",)),
    _f("cos", "cos(x)", "-(g * sin(x))", "The cosine, of radians.", fast="cos_fast(x)", fast_if="ft_quadrant_serves(x)",
       fast_dtypes=("float64",)),
    _f("tan", "tan(x)", "g * (1 + y * y)", "The tangent, of radians.", domain=(-1.2, 1.2), fast="tan_fast(x)",
       fast_if="ft_quadrant_serves(x)"),
    _f("asin", "asin(x)", "g * rsqrt(1 - x * x)", "The inverse sine.", domain=(-0.9, 0.9), aliases=("arcsin",)),
    _f("acos", "acos(x)", "-(g * rsqrt(1 - x * x))", "The inverse cosine.", domain=(-0.9, 0.9), aliases=("arccos",)),
    _f("atan", "atan(x)", "g / (x * x + 1)", "The inverse tangent.", aliases=("arctan",)),
    _f("sinh", "sinh(x)", "g * cosh(x)", "The hyperbolic sine."),
    _f("cosh", "cosh(x)", "g * sinh(x)", "The hyperbolic cosine."),
    _f("tanh", "tanh(x)", "g * (1 - y * y)", "The hyperbolic tangent."),
    _f("asinh", "asinh(x)", "g * rsqrt(x * x + 1)", "The inverse hyperbolic sine.", aliases=("arcsinh",)),
    _f("acosh", "acosh(x)", "g * rsqrt(x * x - 1)", "The inverse hyperbolic cosine.", domain=(1.1, 4.0),
       # sqrt(x * x - 1) is on the wrong branch in half of the complex plane
       complex_dx="g * conj(rsqrt(x - 1) * rsqrt(x + 1))", aliases=("arccosh",)),
    _f("atanh", "atanh(x)", "g / (1 - x * x)", "The inverse hyperbolic tangent.", domain=(-0.9, 0.9),
       aliases=("arctanh",)),
    Op("atan2", "atan2(a, b)", numbers="", da="where((a == 0) and (b == 0), 0, g * (b / (a * a + b * b)))",
       db="where((a == 0) and (b == 0), 0, -(g * (a / (a * a + b * b))))", dtypes=FLOAT, promote="float",
       aliases=("arctan2",), doc="The angle of the point (`other`, `input`), in radians."),
    _f("deg2rad", "x * 0.017453292519943295", "g * 0.017453292519943295", "Degrees to radians.", dtypes=FLOAT, node="Deg2Rad"),
    _f("rad2deg", "x * 57.29577951308232", "g * 57.29577951308232", "Radians to degrees.", dtypes=FLOAT, node="Rad2Deg"),
    _round("floor", "The largest integer that is not above."),
    _round("ceil", "The smallest integer that is not below."),
    _round("trunc", "The integer part, towards zero.", aliases=("fix",)),
    _round("round", "To the nearest multiple of 10 ** -`decimals`, halves to even.", expr="round(x, decimals)",
           params={"decimals": 0}, keyword_params=True, special=("round",)),
    Op("frac", "x - trunc(x)", dx="g", doc="The part after the point, with the sign of the input."),
    _f("sigmoid", "sigmoid(x)", "g * ((1 - y) * y)", "The logistic function, 1 / (1 + exp(-x)).", special=("expit",)),
    _f("_logit", "logit(x)", "where((x < 0) or (x > 1), infinity(x) - infinity(x), g / (x * (1 - x)))", "The logarithm of the odds.", dtypes=FLOAT,
       domain=(0.1, 0.9)),
    _f("_logit_eps", "logit_eps(x, eps)", "where((x < eps) or (x > 1 - eps), 0, g / (x * (1 - x)))",
       "The logarithm of the odds, of the input clamped to `eps` and 1 - `eps`.", node="Logit", dtypes=FLOAT, domain=(0.1, 0.9),
       params={"eps": None}, param_fits="dtype"),
    # near zero by the series: the difference of cosine and sinc would lose every digit
    _f("sinc", "sinc(x)",
       "g * where(abs(x) < 0.15, " + ("-3.289868133696453 * x * (1 - x * x * (0.9869604401089357 - x * x *"
       " (0.3478896108357229 - x * x * (0.06358394137402805 - x * x * (0.00713123122299676 - x * x"
       " * 0.0005414033158744)))))").replace("x", "where(abs(x) < 0.15, x, 0)") + ","
       " (cos(3.141592653589793 * x) - y) / where(x == 0, 1, x))",
       "sin(pi x) / (pi x), 1 at zero.", special=("sinc",)),
    Op("logaddexp", "logaddexp(a, b)", numbers="", da="g / (1 + exp(b - a))", db="g / (1 + exp(a - b))", dtypes=FC,
       inplace=False, doc="log(exp(`input`) + exp(`other`)), without overflow on the way."),
    Op("logaddexp2", "logaddexp2(a, b)", numbers="", da="g / (1 + exp2(b - a))", db="g / (1 + exp2(a - b))", dtypes=FLOAT,
       inplace=False, doc="log2(2 ** `input` + 2 ** `other`), without overflow on the way."),
    Op("xlogy", "xlogy(a, b)", numbers="ab", da="where((a == 0) and (b <= 0), 0, g * log(b))", db="g * (a / b)", dtypes=FLOAT,
       promote="float", domain=(0.2, 3.0), special=("xlogy",), doc="`input` * log(`other`), 0 where `input` is 0."),
    Op("xlog1py", "xlog1py(a, b)", node="SpecialXlog1Py", numbers="ab", da="where((a == 0) and (b <= -1), 0, g * log1p(b))", db="g * (a / (b + 1))",
       dtypes=FLOAT, promote="float", domain=(0.2, 3.0), namespace="special", method=False, inplace=False,
       doc="`input` * log1p(`other`), 0 where `input` is 0."),
    Op("_nan_to_num", "where(x != x, nan, where(x == infinity(x), posinf, where(x == -infinity(x), neginf, x)))",
       dx="where(x - x == 0, g, 0)", int_expr="x", bool_expr="x", dtypes=("bool",) + REAL,
       params={"nan": None, "posinf": None, "neginf": None}, doc="NaN and the infinities replaced.")
)
