"""Largest errors of the vector functions in float32 and float64, in units in the last place.

    python -m benches.accuracy
"""
import math

import numpy as np

POINTS = 400_001
# name: where it is measured, and the exact value, of float64 or long double
FUNCTIONS = {
    "exp": ((-87, 88), np.exp), "exp2": ((-126, 127), np.exp2), "expm1": ((-17, 88), np.expm1),
    "log": ((1e-6, 1e6), np.log), "log2": ((1e-6, 1e6), np.log2), "log10": ((1e-6, 1e6), np.log10),
    "log1p": ((-0.999, 1e3), np.log1p), "sin": ((-100, 100), np.sin), "cos": ((-100, 100), np.cos),
    "tan": ((-1.5, 1.5), np.tan), "tanh": ((-10, 10), np.tanh), "sinh": ((-80, 80), np.sinh),
    "cosh": ((-80, 80), np.cosh), "atan": ((-100, 100), np.arctan), "asin": ((-1, 1), np.arcsin), "acos": ((-1, 1), np.arccos),
    "asinh": ((-100, 100), np.arcsinh), "acosh": ((1, 100), np.arccosh), "atanh": ((-1, 1), np.arctanh), "sqrt": ((0, 1e6), np.sqrt),
    "erf": ((-4, 4), np.vectorize(math.erf)), "sigmoid": ((-80, 80), lambda x: 1 / (1 + np.exp(-x))),
}


def error(t, name, points=POINTS, kind=np.float32):
    """The largest distance to the exact value, in ulp of `kind` there."""
    (low, high), exact = FUNCTIONS[name]
    x = np.linspace(low, high, points).astype(kind)
    with np.errstate(all="ignore"):
        wanted = exact(x.astype(np.longdouble))
        got = getattr(t, name)(t.from_numpy(x)).numpy().astype(np.longdouble)
        step = np.spacing(np.abs(wanted).astype(kind)).astype(np.longdouble)
        gap = np.abs(got - wanted) / step
        return float(np.max(gap[np.isfinite(gap)]))


def main():
    import fasttensor
    print("largest error in ulp    float32  float64")
    for name, (interval, _) in FUNCTIONS.items():
        # math.erf is no more exact than the result
        double = "" if name == "erf" else f"{error(fasttensor, name, kind=np.float64):8.2f}"
        print(f"{name:8} on {str(interval):14} {error(fasttensor, name):6.2f} {double}")


if __name__ == "__main__":
    main()
