"""Rows: comparisons, predicates, logic and bits."""

from .dtypes import ALL, BOOL, COMPLEX, FLOAT, INT, REAL
from .op import Op


def _compare(name, sign, words, dtypes, **more):
    return Op(name, f"a {sign} b", dtypes=dtypes, promote="bool", domain=(-2.0, 2.0),
              doc=f"Whether `input` is {words} `other`.", **more)


ROWS = (
    _compare("eq", "==", "equal to", ALL),
    _compare("ne", "!=", "not equal to", ALL, aliases=("not_equal",)),
    _compare("lt", "<", "less than", BOOL + REAL, aliases=("less",)),
    _compare("le", "<=", "at most", BOOL + REAL, aliases=("less_equal",)),
    _compare("gt", ">", "greater than", BOOL + REAL, aliases=("greater",)),
    _compare("ge", ">=", "at least", BOOL + REAL, aliases=("greater_equal",)),
    Op("logical_and", "(a != 0) and (b != 0)", dtypes=ALL, promote="bool", doc="Whether both are nonzero."),
    Op("logical_or", "(a != 0) or (b != 0)", dtypes=ALL, promote="bool", doc="Whether either is nonzero."),
    Op("logical_xor", "(a != 0) != (b != 0)", dtypes=ALL, promote="bool", doc="Whether exactly one is nonzero."),
    Op("logical_not", "x == 0", dtypes=ALL, promote="bool", doc="Whether it is zero."),
    Op("isnan", "x != x", dtypes=ALL, promote="bool", inplace=False, out=False, doc="Whether it is NaN."),
)
