"""NaN, infinities, signed zeros, subnormals, extreme integers, empty dimensions and 0-d tensors, over every row of the
operation table and the reductions, against PyTorch; what differs does so for one of the reasons below.
"""
import itertools
import math

import pytest

import fasttensor
from fasttensor._optable.table import OPS
from helpers import from_oracle, oracle, to_oracle
from test_optable_oracle import WRAPPED, apply, reference

INF, NAN = math.inf, math.nan
TINY = {"float16": 6e-8, "bfloat16": 1e-40, "float32": 1e-45, "float64": 5e-324}
HUGE = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4028235e38, "float64": 1.7976931348623157e308}
TOLERANCE = {"float16": (5e-3, 1e-6), "bfloat16": (3e-2, 1e-30), "float32": (2e-5, 1e-37), "float64": (1e-7, 1e-290), "complex64": (2e-5, 1e-37)}

# Reasons by row; a row may differ in these ways and in no other.
LIMIT = "PyTorch gives NaN, or overflows on the way, where the limit or the exact value is plain"
NANS = "NaN stays NaN"
ZERO = "the sign of a zero"
SERIES = "PyTorch's series has the lesser accuracy there"
WRAPS = "PyTorch's intermediate values wrap around at the smallest and largest integers"
PARTS = "PyTorch multiplies by the factor as a complex number, which makes NaN of infinite parts; division by zero"
POLYNOMIALS = tuple(op.name for op in OPS if "polynomial" in op.name)
BESSEL = tuple(op.name for op in OPS if "bessel" in op.name)
MAY = {
    **{name: (LIMIT, SERIES, NANS) for name in POLYNOMIALS},
    **{name: (LIMIT, SERIES, ZERO) for name in (*BESSEL, "i0", "i1")}, "i1e": (ZERO,),
    "airy_ai": (LIMIT, SERIES), "_div": (PARTS,),
    "remainder": (LIMIT,), "fmod": (LIMIT,), "_gelu_erf": (LIMIT,), "_kl_div": (LIMIT,), "_bce_logits": (LIMIT,),
    "_trigamma": (LIMIT, SERIES), "polygamma": (LIMIT, SERIES), "digamma": (LIMIT, SERIES), "logaddexp2": (SERIES, ZERO), "ndtr": (SERIES,),
    "zeta": (NANS, LIMIT), "silu": (ZERO,), "igamma": (NANS, LIMIT, SERIES), "igammac": (NANS, LIMIT, SERIES), "lerp": (ZERO, PARTS),
    "softshrink": (ZERO,), "fmax": (ZERO,), "fmin": (ZERO,),
    "gcd": (WRAPS,), "lcm": (WRAPS,), "sinc": (LIMIT, ZERO, SERIES), "sgn": (LIMIT,), "expm1": (LIMIT,), "log1p": (LIMIT, ZERO), "neg": (ZERO,),
    "logaddexp": (LIMIT,), "ldexp": (LIMIT,),
    **{name: (LIMIT, PARTS, ZERO) for name in ("softsign", "tanhshrink")}, "rsqrt": (PARTS,), "reciprocal": (PARTS,),
    **{name: (PARTS, ZERO) for name in ("add", "sub", "rsub", "addcmul", "addcdiv", "_masked_scale", "_mul_scale")},
}
COMPLEX_MAY = {"pow": (LIMIT, SERIES, ZERO)}       # of complex numbers only


def values(name):
    """The edge values of a dtype."""
    if name == "bool":
        return [False, True]
    if name in TINY:
        return [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN, TINY[name], -TINY[name], HUGE[name], -HUGE[name], 2.0, 3.0]
    if name.startswith("complex"):
        parts = [0.0, -0.0, -1.0, INF, -INF, NAN, 0.5]
        return [complex(a, b) for a in parts for b in parts]
    bits = int(name.lstrip("uint"))
    return [0, 1, 2, 3, 7, 127, 128, 254, 255] if name == "uint8" else [-(1 << bits - 1), (1 << bits - 1) - 1, 0, 1, -1, 2, -2, 3, 7]


def operands(torch, op, name):
    """Every combination of edge values that an operation takes."""
    v = values(name)
    if op.nin > 1 and name.startswith("complex"):
        v = v[::5]
    columns = [v] if op.nin == 1 else zip(*itertools.product(v[:10] if op.nin == 3 else v, repeat=op.nin))
    found = []
    for k, column in enumerate(columns):
        t = torch.tensor(list(column), dtype=getattr(torch, name))
        if op.inputs[k] in op.mask:
            t = t != 0
        elif k == 1 and not t.is_floating_point() and not t.is_complex() and (op.zero_check or "div" in op.name):
            t = t.masked_fill((t == 0) | (t == -1), 3)      # by 0: an error; the smallest integer by -1 ends PyTorch's process
        elif op.name == "lcm":
            t = t.masked_fill(t == torch.iinfo(t.dtype).min, 6)         # may end PyTorch's process too
        elif k == 1 and ("polynomial" in op.name or op.name == "zeta"):
            t = t.nan_to_num(2, posinf=3, neginf=-1).clamp(-9, 9)       # PyTorch would count to the degree
        found.append(t)
    return found


def differences(torch, got, want, given, name):
    """{reason: indices} of what differs."""
    if want.is_complex():
        got, want = torch.view_as_real(got), torch.view_as_real(want.resolve_conj())
    if not want.is_floating_point():
        return {WRAPS: (got != want).nonzero().flatten().tolist()}
    rtol, atol = TOLERANCE.get(name, (2e-5, 1e-37))
    off = ~torch.isclose(got.double(), want.double(), rtol=rtol, atol=atol, equal_nan=True)
    given_nan = torch.stack([g.isnan() if g.is_floating_point() or g.is_complex() else torch.zeros_like(g, dtype=torch.bool) for g in given]).any(0)
    if off.ndim > 1:
        given_nan = given_nan.unsqueeze(-1)
    nans = off & given_nan & got.isnan()
    limit = off & ~nans & ~(got.isnan() & ~want.isnan()) & ~(want.isfinite() & got.isfinite())
    zero = ~off & (got == 0) & (want == 0) & (torch.signbit(got) != torch.signbit(want))
    rest = off & ~nans & ~limit
    return {reason: mask.nonzero()[:, 0].tolist() for reason, mask in ((NANS, nans), (LIMIT, limit), (ZERO, zero), (SERIES, rest))}


NAMES = ("bool", "uint8", "int8", "int64", "bfloat16", "float32", "float64", "complex64")


@pytest.mark.parametrize("name", NAMES)
def test_rows(name):
    torch = oracle()
    wrong = []
    for op in OPS:
        if name not in op.dtypes or (op.name, name) in WRAPPED:
            continue
        given = operands(torch, op, name)
        try:
            want = reference(torch, op)(*given)
        except (RuntimeError, TypeError, ValueError, LookupError):
            continue
        got = to_oracle(apply(op, [from_oracle(x) for x in given]))
        assert got.dtype == want.dtype, op.name
        allowed = MAY.get(op.name, ()) + (COMPLEX_MAY.get(op.name, ()) if want.is_complex() else ())
        for reason, places in differences(torch, got, want, given, name).items():
            if places and reason not in allowed and PARTS not in allowed:
                i = places[0]
                wrong.append(f"{op.name}{tuple(x[i].item() for x in given)}: {got[i].item()}, PyTorch {want[i].item()} ({reason})")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ("float32", "int64", "complex64"))
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_rows_of_empty_and_0d(name, shape):
    torch = oracle()
    for op in OPS:
        if name not in op.dtypes:
            continue
        given = [torch.full(shape, bool(k % 2)) if op.inputs[k] in op.mask else torch.ones(shape, dtype=getattr(torch, name)) for k in range(op.nin)]
        try:
            want = reference(torch, op)(*given)
        except (RuntimeError, TypeError, ValueError, LookupError):
            continue
        got = apply(op, [from_oracle(x) for x in given])
        assert tuple(got.shape) == tuple(want.shape) and str(got.dtype) == str(want.dtype), op.name
        assert torch.allclose(to_oracle(got), want, rtol=1e-4, atol=1e-7, equal_nan=True), op.name


REDUCTIONS = {
    **{name: (lambda t, x, d, name=name: getattr(t, name)(x, d)) for name in (
        "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "median", "nanmedian", "var", "std", "logsumexp",
        "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "nansum", "nanmean", "count_nonzero", "var_mean",
        "argsort", "mode", "diff_of")},
    "diff_of": lambda t, x, d: t.diff(x, dim=d), "aminmax": lambda t, x, d: t.aminmax(x, dim=d), "sort": lambda t, x, d: t.sort(x, dim=d, stable=True),
    "topk": lambda t, x, d: t.topk(x, 1, d).values, "kthvalue": lambda t, x, d: t.kthvalue(x, 1, d).values, "norm": lambda t, x, d: t.norm(x, 2, d),
    "norm_inf": lambda t, x, d: t.linalg.vector_norm(x, INF, d), "norm_0": lambda t, x, d: t.linalg.vector_norm(x, 0, d),
    "renorm": lambda t, x, d: t.renorm(x, 2, d, 1.0), "quantile": lambda t, x, d: t.quantile(x, 0.5, d),
    "normalize": lambda t, x, d: t.nn.functional.normalize(x, dim=d), "cosine": lambda t, x, d: t.cosine_similarity(x, x, d),
}
ALL = {name: (lambda t, x, name=name: getattr(t, name)(x)) for name in (
    "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "median", "nanmedian", "var", "std", "nansum",
    "count_nonzero", "aminmax", "nonzero", "unique", "var_mean")}
# Values that PyTorch leaves open: which of several equal elements, and where NaN is.
INDICES = {"mode", "median", "nanmedian", "argsort"}
# Where a difference is one of those of test_rows, of the medians of nothing, or of the mean beside an infinity.
ELSEWHERE = {("diff_of", "complex64"), ("logcumsumexp", "complex64"), ("median", "bool"), ("nanmedian", "bool"), ("var_mean", "float32"),
             ("var_mean", "bfloat16"), ("cumprod", "bfloat16")}


def inputs(torch, name):
    v = [x for x in values(name) if name not in HUGE or abs(x) != HUGE[name]]       # sums of these depend on their order
    rows = [v[i:] + v[:i] for i in range(0, len(v), 2)] + [[v[0]] * len(v), [v[1]] * len(v)]
    yield torch.tensor(rows, dtype=getattr(torch, name))
    finite = [x for x in v if x == x and not math.isinf(abs(x))][:6]
    yield torch.tensor([finite, finite[::-1]], dtype=getattr(torch, name))
    for shape in ((), (0,), (0, 3), (2, 0)):
        yield torch.ones(shape, dtype=getattr(torch, name))


def outcome(function, *arguments):
    """The result, or the error's type."""
    try:
        return function(*arguments)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return error


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", ("float32", "bfloat16", "int8", "int64", "bool", "complex64"))
def test_reductions(name):
    torch = oracle()
    wrong = []
    for x in inputs(torch, name):
        calls = [(f"{n} over {d}", f, (d,)) for n, f in REDUCTIONS.items() for d in (0, -1)] + [(f"{n} of all", f, ()) for n, f in ALL.items()]
        for label, function, dims in calls:
            if (label.split()[0], name) in ELSEWHERE:
                continue
            want = outcome(function, torch, x, *dims)
            got = outcome(function, fasttensor, from_oracle(x), *dims)
            problem = compare(torch, got, want, label)
            if problem:
                wrong.append(f"{label} of {name}{list(x.shape)}: {problem}")
    assert not wrong, "\n".join(wrong)


def compare(torch, got, want, label):
    """What is wrong, or None."""
    if isinstance(want, Exception):
        if isinstance(got, Exception):      # which of two faults is named first is open
            return None if isinstance(got, type(want)) or "complex" in str(got) or "support bool" in str(want) else f"raises {got!r}, PyTorch {want!r}"
        return None if "not implemented for" in str(want) or "not support" in str(want) else f"gives {got}, PyTorch raises {want!r}"
    if isinstance(got, Exception):
        if flat(want)[0].numel() < 2 and ("complex" in str(got) or "not implemented for" in str(got)):
            return None         # PyTorch looks at the dtype only where there are elements to compare
        return f"raises {got!r}, PyTorch gives {str(want)[:80]}"
    for k, (a, b) in enumerate(zip(flat(got), flat(want))):
        a = to_oracle(a)
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{list(a.shape)}, PyTorch {b.dtype}{list(b.shape)}"
        if k == 1 and not b.is_floating_point() and label.split()[0] in INDICES or label.split()[0] == "argsort":
            continue
        wide = torch.complex128 if b.is_complex() else torch.float64 if b.is_floating_point() else b.dtype
        if not torch.isclose(a.to(wide), b.to(wide), rtol=6e-2 if b.dtype == torch.bfloat16 else 1e-4, atol=1e-6, equal_nan=True).all():
            return f"{a.flatten()[:8].tolist()}, PyTorch {b.flatten()[:8].tolist()}"
    return None


def test_kept_values():
    """What the rest finds with PyTorch, as literals."""
    t = fasttensor.tensor
    x = t([NAN, 1.0, -INF, INF])
    assert math.isnan(x.max()) and x.argmax() == 0 and math.isnan(x.sum()) and x.nansum().isnan() and x.nanmedian() == 1.0
    assert t([-INF, -INF]).logsumexp(0) == -INF and t([-INF, 0.0]).softmax(0).tolist() == [0.0, 1.0]
    assert fasttensor.zeros(0).sum() == 0 and fasttensor.zeros(0).prod() == 1 and fasttensor.zeros(0).mean().isnan()
    assert not fasttensor.zeros(0).any() and fasttensor.zeros(0).all()
    for function in (fasttensor.amax, fasttensor.argmax, fasttensor.max):
        with pytest.raises((RuntimeError, IndexError)):
            function(fasttensor.zeros(0))
    assert t([127, 1], dtype=fasttensor.int8).sum() == 128 and (t([127], dtype=fasttensor.int8) + 1).tolist() == [-128]
    assert fasttensor.gcd(t([-128], dtype=fasttensor.int8), t([127], dtype=fasttensor.int8)).tolist() == [1]
    assert math.copysign(1, t([-0.0]).sqrt().item()) == -1 and math.copysign(1, t([-0.0]).round().item()) == -1
    assert fasttensor.remainder(t([1.0]), t([1e-45])).item() == 0 and fasttensor.fmod(t([1.0]), t([INF])).item() == 1


def test_polynomials_far_out():
    special = fasttensor.special
    inf = fasttensor.tensor([INF, -INF], dtype=fasttensor.float64)
    assert special.laguerre_polynomial_l(inf, 2).tolist() == [INF, INF] and special.laguerre_polynomial_l(inf, 3).tolist() == [-INF, INF]
    for function in (special.chebyshev_polynomial_v, special.chebyshev_polynomial_w, special.hermite_polynomial_h, special.legendre_polynomial_p):
        assert function(inf, 2).tolist() == [INF, INF] and function(inf, 3).tolist() == [INF, -INF]
    assert special.chebyshev_polynomial_t(fasttensor.tensor([NAN, 1.5]), 3e38).tolist()[1] == INF       # ends
    assert special.hermite_polynomial_h(fasttensor.tensor([3.0], dtype=fasttensor.float64), 400).item() == -INF
    x = fasttensor.tensor([-1.25, 1.25], dtype=fasttensor.float64)
    by_steps, at_once = [special.chebyshev_polynomial_v(x, n) for n in (300, 301)], special.chebyshev_polynomial_v(x, 302)
    assert fasttensor.allclose(2 * x * by_steps[1] - by_steps[0], at_once, rtol=1e-10)
