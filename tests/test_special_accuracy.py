"""Special functions against values that mpmath computed (tools/make_special_values.py), at hard points.

An error counts in units of the last place of the value, or of what a last-place change of the arguments does to it where that is
more: no function of a rounded argument can promise less.
"""
import json
import math
from pathlib import Path

import pytest

import fasttensor as ft

VALUES = json.loads((Path(__file__).parent / "special_values.json").read_text())
EPSILON = {"float32": 2.0 ** -23, "float64": 2.0 ** -52}
LEAST = {"float32": 2.0 ** -126, "float64": 2.0 ** -1022}
MOST = {"float32": 2.0 ** 128, "float64": math.inf}
# exp of a large exponent, of which each step lost a unit; x - tanh(x), which cancels
LOOSE = {("igamma", "float64"): 500, ("igammac", "float64"): 500, ("i1e", "float64"): 6, ("tanhshrink", "float32"): 20,
         ("tanhshrink", "float64"): 20}


def apply(name, columns):
    name, _, order = name.partition(" ")
    if order:
        return ft.polygamma(int(order), *columns)
    if name == "log_sigmoid":
        return ft.nn.functional.logsigmoid(*columns)
    for space in (ft.special, ft.nn.functional, ft):
        if hasattr(space, name):
            return getattr(space, name)(*columns)
    raise AttributeError(name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", VALUES)
def test_hard_points(name, dtype):
    kind = getattr(ft, dtype)
    rows = [r for r in VALUES[name] if dtype == "float64" or all(float(ft.tensor(x, dtype=kind)) == x for x in r[:-2])]
    rows = [r for r in rows if abs(r[-2]) < MOST[dtype] and (r[-2] == 0 or abs(r[-2]) > LEAST[dtype])]
    assert len(rows) > 4
    columns = [ft.tensor(column, dtype=kind) for column in list(zip(*rows))[:-2]]
    got = apply(name, columns).tolist()
    units = []
    for r, y in zip(rows, got):
        unit = EPSILON[dtype] * max(abs(r[-2]), r[-1], LEAST[dtype])
        units.append((abs(y - r[-2]) / unit if y == y else math.inf, r, y))
    worst = max(units)
    assert worst[0] <= LOOSE.get((name, dtype), 4), f"{name} of {dtype} at {worst[1][:-2]}: {worst[2]!r}, exactly {worst[1][-2]!r} ({worst[0]:.3g} units)"
