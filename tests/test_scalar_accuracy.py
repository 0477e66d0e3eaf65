"""Errors of the library's own logarithms and normal distribution, in units in the last place, where loops vectorise."""

import math

import numpy as np
import pytest

import fasttensor as ft

# the operation, its exact value in float64 or better, and the largest error in ulp
LOGS = [("log", np.log, 1.0), ("log2", np.log2, 2.0), ("log10", np.log10, 2.0), ("log1p", np.log1p, 1.6)]


def ulps(result, exact, kind):
    """Distance to the exact value in steps of the dtype at that value."""
    step = np.spacing(np.abs(exact).astype(kind)).astype(np.longdouble)
    return float(np.max(np.abs(result.astype(np.longdouble) - exact) / step))


def positives(kind, seed):
    """Values from the whole exponent range, from around one, and the neighbours of one."""
    random, info = np.random.default_rng(seed), np.finfo(kind)
    wide = np.exp2(random.uniform(float(info.minexp), float(info.maxexp) - 1, 20000))
    near = 1 + random.uniform(-0.5, 1, 20000) * np.exp2(random.uniform(-20, 0, 20000))
    return np.concatenate([wide, near, [float(info.smallest_subnormal), float(info.tiny), float(info.max), 1.0, math.sqrt(0.5), math.sqrt(2)]]).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name, exact, bound", LOGS)
def test_logarithms(name, exact, bound, kind):
    x = positives(kind, 0)
    if name == "log1p":
        x = np.concatenate([x, x - 1, -x[x < 1]])
        x = x[(x > -1) & (x != 0)]
    result = getattr(ft, name)(ft.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        wanted = exact(x.astype(np.longdouble))
    assert ulps(result[wanted != 0], wanted[wanted != 0], kind) <= bound
    assert (result[wanted == 0] == 0).all()


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p"])
def test_outside_the_domain(name, dtype):
    x = ft.tensor([-1.5, 0.0, -0.0, math.inf, -math.inf, math.nan, -1.0] * 5, dtype=dtype)
    if name == "log1p":
        wanted = [math.nan, 0.0, -0.0, math.inf, math.nan, math.nan, -math.inf] * 5
    else:
        wanted = [math.nan, -math.inf, -math.inf, math.inf, math.nan, math.nan, math.nan] * 5
    got = getattr(ft, name)(x).tolist()
    assert [repr(v) for v in got] == [repr(v) for v in wanted]


def test_exact_powers():
    k = np.arange(-126, 128)
    assert ft.log2(ft.from_numpy(np.exp2(k).astype(np.float32))).tolist() == k.tolist()


def test_gelu():
    x = np.linspace(-12, 12, 100_001).astype(np.float32)
    cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.astype(np.float64)])
    y = ft.nn.functional.gelu(ft.from_numpy(x)).numpy()
    # 1.2e-7 of the function, half an ulp of the product
    assert np.max(np.abs(y / np.where(x == 0, 1, x) - cdf)[x != 0]) < 1.8e-7
    tail = (x < -1) & (x > -5.5)
    assert np.max(np.abs(y[tail] / (x[tail] * cdf[tail]) - 1)) < 1e-5
    edges = ft.nn.functional.gelu(ft.tensor([math.nan, math.inf, -math.inf, -100.0, 0.0])).tolist()
    assert repr(edges) == "[nan, inf, nan, -0.0, 0.0]"
