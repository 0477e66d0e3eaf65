"""Rows: comparisons, predicates, selection, logic and bits."""

from .dtypes import ALL, BOOL, INT, REAL
from .op import Op


def _compare(name, sign, words, dtypes, *aliases):
    return Op(name, f"a {sign} b", dtypes=dtypes, promote="bool", domain=(-2.0, 2.0), aliases=aliases,
              doc=f"Whether `input` is {words} `other`.")


def _predicate(name, expr, doc, dtypes=ALL, **more):
    return Op(name, expr, dtypes=dtypes, promote="bool", inplace=False, doc=doc, **more)


def _bits(name, expr, doc, **more):
    return Op(name, expr, dtypes=more.pop("dtypes", BOOL + INT), doc=doc, numbers=more.pop("numbers", "ab" if "b" in expr else ""), **more)


ROWS = (
    _compare("eq", "==", "equal to", ALL),
    _compare("ne", "!=", "not equal to", ALL, "not_equal"),
    _compare("lt", "<", "less than", BOOL + REAL, "less"),
    _compare("le", "<=", "at most", BOOL + REAL, "less_equal"),
    _compare("gt", ">", "greater than", BOOL + REAL, "greater"),
    _compare("ge", ">=", "at least", BOOL + REAL, "greater_equal"),
    Op("logical_and", "(a != 0) and (b != 0)", numbers="", dtypes=ALL, promote="bool", doc="Whether both are nonzero."),
    Op("logical_or", "(a != 0) or (b != 0)", numbers="", dtypes=ALL, promote="bool", doc="Whether either is nonzero."),
    Op("logical_xor", "(a != 0) != (b != 0)", numbers="", dtypes=ALL, promote="bool", doc="Whether exactly one is nonzero."),
    Op("logical_not", "x == 0", dtypes=ALL, promote="bool", doc="Whether it is zero."),
    _predicate("isnan", "x != x", "Whether it is NaN.", int_expr="zeros_like(x)", bool_expr="zeros_like(x)", out=False),
    _predicate("isinf", "isinf(x)", "Whether it is infinite.", out=False),
    _predicate("isfinite", "isfinite(x)", "Whether it is neither infinite nor NaN.", out=False),
    _predicate("isposinf", "x == infinity(x)", "Whether it is +infinity.", BOOL + REAL, int_expr="zeros_like(x)",
               bool_expr="zeros_like(x)", out="same"),
    _predicate("isneginf", "x == -infinity(x)", "Whether it is -infinity.", BOOL + REAL, int_expr="zeros_like(x)",
               bool_expr="zeros_like(x)", out="same"),
    _predicate("isreal", "1 == 1", "Whether its imaginary part is zero.", complex_expr="imag(x) == 0",
               out=False),
    _predicate("signbit", "signbit(x)", "Whether its sign bit is set.", BOOL + REAL, out="same"),
    Op("where", "where(a, b, c)", numbers="bc", db="where(a, g, 0)", dc="where(a, 0, g)", dtypes=ALL, mask="a",
       method=False, inplace=False, out="same", fits="dtype", args=("condition", "input", "other"),
       doc="`input` where `condition` is true, `other` elsewhere."),
    Op("maximum", "maximum(a, b)", numbers="", da="where(a == b, g / 2, where(a < b, 0, g))",
       db="where(a == b, g / 2, where(b < a, 0, g))", bool_expr="a | b", dtypes=BOOL + REAL, inplace=False, no_complex=True,
       doc="The larger of the two; NaN if either is NaN."),
    Op("minimum", "minimum(a, b)", numbers="", da="where(a == b, g / 2, where(a > b, 0, g))",
       db="where(a == b, g / 2, where(b > a, 0, g))", bool_expr="a & b", dtypes=BOOL + REAL, inplace=False, no_complex=True,
       doc="The smaller of the two; NaN if either is NaN."),
    Op("fmax", "where((a >= b) or (b != b), a, b)", numbers="", da="where((a >= b) or (b != b), g, 0)",
       db="where((a >= b) or (b != b), 0, g)", bool_expr="a | b", dtypes=BOOL + REAL, inplace=False, no_complex=True,
       doc="The larger of the two; a NaN loses."),
    Op("fmin", "where((a <= b) or (b != b), a, b)", numbers="", da="where((a <= b) or (b != b), g, 0)",
       db="where((a <= b) or (b != b), 0, g)", bool_expr="a & b", dtypes=BOOL + REAL, inplace=False, no_complex=True,
       doc="The smaller of the two; a NaN loses."),
    Op("_clamp_scalar", "minimum(maximum(x, min), max)", dx="where((x >= min) and (x <= max), g, 0)", dtypes=REAL,
       params={"min": None, "max": None}, param_fits="dtype", node="ClampBackward1", doc="The input between two numbers."),
    Op("_clamp_min_scalar", "maximum(x, min)", dx="where(x >= min, g, 0)", dtypes=REAL, params={"min": None}, param_fits="dtype",
       node="ClampMin", doc="The input, but at least a number."),
    Op("_clamp_max_scalar", "minimum(x, max)", dx="where(x <= max, g, 0)", dtypes=REAL, params={"max": None}, param_fits="dtype",
       node="ClampMax", doc="The input, but at most a number."),
    Op("_clamp", "minimum(maximum(a, b), c)", da="where((a >= b) and (a <= c), g, 0)",
       db="where((a < b) and (b < c), g, 0)", dc="where((a > c) or (c < b), g, 0)", dtypes=REAL,
       args=("input", "min", "max"), domain_b=(-2.0, -0.5), domain_c=(0.5, 2.0), doc="The input between `min` and `max`."),
    Op("clamp_min", "maximum(a, b)", da="where(a >= b, g, 0)", db="where(a < b, g, 0)", node="ClampMinBackward1",
       bool_expr="a | b", dtypes=BOOL + REAL,
       args=("input", "min"), doc="The input, but at least `min`."),
    Op("clamp_max", "minimum(a, b)", da="where(a <= b, g, 0)", db="where(a > b, g, 0)", node="ClampMaxBackward1",
       bool_expr="a & b", dtypes=BOOL + REAL,
       args=("input", "max"), doc="The input, but at most `max`."),
    _bits("bitwise_and", "a & b", "The bits set in both."),
    _bits("bitwise_or", "a | b", "The bits set in either."),
    _bits("bitwise_xor", "a ^ b", "The bits set in exactly one."),
    _bits("bitwise_not", "~x", "Every bit turned.", bool_expr="x == 0"),
    _bits("bitwise_left_shift", "shift_left(a, b)", "`input` shifted left by `other` bits.", dtypes=INT),
    _bits("bitwise_right_shift", "shift_right(a, b)", "`input` shifted right by `other` bits, keeping the sign.",
          dtypes=INT),
)
