"""Largest errors of the vector functions in float32, in units in the last place.

    python -m benches.accuracy
"""
import math

import numpy as np

POINTS = 400_001
# name: where it is measured, and the exact value in float64
FUNCTIONS = {
    "exp": ((-87, 88), np.exp), "exp2": ((-126, 127), np.exp2), "expm1": ((-17, 88), np.expm1),
    "log": ((1e-6, 1e6), np.log), "log2": ((1e-6, 1e6), np.log2), "log10": ((1e-6, 1e6), np.log10),
    "log1p": ((-0.999, 1e3), np.log1p), "sin": ((-100, 100), np.sin), "cos": ((-100, 100), np.cos),
    "tan": ((-1.5, 1.5), np.tan), "tanh": ((-10, 10), np.tanh), "sinh": ((-80, 80), np.sinh),
    "atan": ((-100, 100), np.arctan), "asin": ((-1, 1), np.arcsin), "sqrt": ((0, 1e6), np.sqrt),
    "erf": ((-4, 4), np.vectorize(math.erf)), "sigmoid": ((-80, 80), lambda x: 1 / (1 + np.exp(-x))),
}


def error(t, name, points=POINTS):
    """The largest distance to the exact value, in ulp of float32 there."""
    (low, high), exact = FUNCTIONS[name]
    x = np.linspace(low, high, points).astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = exact(x.astype(np.float64))
        got = getattr(t, name)(t.from_numpy(x)).numpy().astype(np.float64)
        step = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
        return float(np.nanmax(np.abs(got - wanted) / step))


def main():
    import fasttensor
    print("largest error in ulp, float32")
    for name, (interval, _) in FUNCTIONS.items():
        print(f"{name:8} on {str(interval):20} {error(fasttensor, name):6.2f}")


if __name__ == "__main__":
    main()
