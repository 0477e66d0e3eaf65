"""Errors of the vector functions in units in the last place, where loops vectorise: none above 2."""

import math

import numpy as np
import pytest

import fasttensor as ft

# the operation, its exact value in float64 or better, and the largest error in ulp
LOGS = [("log", np.log, 1.0), ("log2", np.log2, 2.0), ("log10", np.log10, 2.0), ("log1p", np.log1p, 1.6)]


# The operation, its value in long double, and the interval that points come from besides those near zero and one.
VECTORS = [("exp", np.exp, (-87, 88)), ("exp2", np.exp2, (-126, 127)), ("expm1", np.expm1, (-17, 88)), ("sin", np.sin, (-100, 100)),
           ("cos", np.cos, (-100, 100)), ("tan", np.tan, (-100, 100)), ("asin", np.arcsin, (-1, 1)), ("acos", np.arccos, (-1, 1)),
           ("atan", np.arctan, (-100, 100)), ("sinh", np.sinh, (-80, 80)), ("cosh", np.cosh, (-80, 80)), ("tanh", np.tanh, (-10, 10)),
           ("asinh", np.arcsinh, (-100, 100)), ("atanh", np.arctanh, (-1, 1)), ("acosh", np.arccosh, (1, 100)),
           ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), (-80, 80))]


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


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name, exact, interval", VECTORS)
def test_vector_functions(name, exact, interval, kind):
    random = np.random.default_rng(0)
    low, high = interval
    small = random.choice([-1, 1], 20000) * np.exp2(random.uniform(-20, 1, 20000))
    x = np.concatenate([random.uniform(low, high, 30000), small[(small >= low) & (small <= high)]]).astype(kind)
    x = x[np.abs(x) < 1] if name in ("asin", "atanh") else x
    wanted = exact(x.astype(np.longdouble))
    assert ulps(getattr(ft, name)(ft.from_numpy(x)).numpy(), wanted, kind) <= 2.05


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_angles(kind):
    random = np.random.default_rng(0)
    a, b = (random.uniform(-10, 10, 30000).astype(kind) for _ in range(2))
    wanted = np.arctan2(a.astype(np.longdouble), b.astype(np.longdouble))
    assert ulps(ft.atan2(ft.from_numpy(a), ft.from_numpy(b)).numpy(), wanted, kind) <= 2


def test_error_function():
    x = np.linspace(-4.5, 4.5, 20001).astype(np.float32)
    x = x[x != 0]
    wanted = np.array([math.erf(v) for v in x.tolist()])
    assert ulps(ft.erf(ft.from_numpy(x)).numpy(), wanted, np.float32) <= 2
    # erf(2 ** -k / sqrt(2)), mpmath's digits
    x = ft.tensor([0.70710678118654752, 0.35355339059327376, 2.0, 0.9375], dtype=ft.float64)
    exact = [0.68268949213708590, 0.38292492254802621, 0.99532226501895273, 0.8151024010343998]
    assert ft.erf(x).tolist() == pytest.approx(exact, rel=4e-16)


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
def test_ends(dtype):
    x = ft.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e4, -1e4, 1e-40] * 3, dtype=dtype)
    tiny = x[7].item()
    half_pi, inf, nan = ft.tensor(math.pi / 2, dtype=dtype).item(), math.inf, math.nan
    wanted = {"exp": [nan, inf, 0.0, 1.0, 1.0, inf, 0.0, 1.0], "expm1": [nan, inf, -1.0, 0.0, -0.0, inf, -1.0, tiny],
              "cosh": [nan, inf, inf, 1.0, 1.0, inf, inf, 1.0], "sigmoid": [nan, 1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.5],
              "asin": [nan, nan, nan, 0.0, -0.0, nan, nan, tiny], "atan": [nan, half_pi, -half_pi, 0.0, -0.0, None, None, tiny],
              "tan": [nan, nan, nan, 0.0, -0.0, None, None, tiny], "sin": [nan, nan, nan, 0.0, -0.0, None, None, tiny],
              "erf": [nan, 1.0, -1.0, 0.0, -0.0, 1.0, -1.0, None]}
    for name, row in wanted.items():
        got = getattr(ft, name)(x).tolist()
        assert [repr(g) for g, w in zip(got, row * 3) if w is not None] == [repr(w) for w in row * 3 if w is not None], name


@pytest.mark.parametrize(("dtype", "first", "last"), [(ft.float32, 88.3, 88.7), (ft.float64, 709.3, 709.7)])
def test_sigmoid_where_the_power_of_two_is_no_number(dtype, first, last):
    x = -ft.linspace(first, last, 41, dtype=dtype)
    exact = [v * math.exp(v) for v in x.tolist()]       # of silu, which is not subnormal as sigmoid is
    assert ft.nn.functional.silu(x).tolist() == pytest.approx(exact, rel=1e-5)


def test_far_arguments():
    # mpmath's digits; beyond a million the sine comes from the C library
    x = ft.tensor([1e5, 999999.0, 1000001.0, 1e15, 3.0], dtype=ft.float64)
    assert ft.sin(x).tolist() == pytest.approx([0.035748797972016507, math.sin(999999.0), math.sin(1000001.0), 0.85827279317023584, math.sin(3)], rel=1e-14)
    assert ft.tan(x).tolist() == pytest.approx([math.tan(v) for v in x.tolist()], rel=1e-14)


def test_bessel_functions_beyond_eight():
    # blocks of 64 with small and large arguments and with either alone; digits from mpmath
    exact = {"bessel_j0": (0.22389077914123567, -0.24593576445134834, 0.019985850304223122),
             "bessel_j1": (0.57672480775687339, 0.043472746168861437, -0.077145352014112158),
             "bessel_y0": (0.51037567264974512, 0.055671167283599391, -0.077244313365083152),
             "bessel_y1": (-0.10703243154093755, 0.24901542420695388, -0.020372312002759793)}
    for name, values in exact.items():
        for rows in ((0, 1, 2), (0,), (1, 2)):
            x = ft.tensor([(2.0, 10.0, 100.0)[i] for i in rows] * 70, dtype=ft.float64)
            got = getattr(ft.special, name)(x).tolist()
            assert got == pytest.approx([values[i] for i in rows] * 70, rel=1e-14), name


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
