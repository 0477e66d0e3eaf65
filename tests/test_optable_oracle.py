"""Every row of the operation table against PyTorch: values by dtype and layout, gradients, special values."""
import pytest

import fasttensor
from helpers import assert_close, from_oracle, oracle
from fasttensor._optable.dtypes import BY_NAME
from fasttensor._optable.table import OPS
from fasttensor.autograd.generated_functions import FUNCTIONS, INPLACE

NUMBERS = {"alpha": 2, "value": 2, "scale": 2, "negative_slope": 0.2, "beta": 1.5, "threshold": 0.75, "lambd": 0.75, "delta": 0.75,
           "min_val": -1, "max_val": 2, "eps": 0.25, "n": 2, "min": -1, "max": 2, "nan": 0.5, "posinf": 3.0, "neginf": -3.0,
           "decimals": 1, "exponent": 3, "margin": 0.5}
# Rows that PyTorch has under another name or not at all; p: the row's parameters.
REFERENCES = {
    "rsub": lambda t, p, a, b: t.rsub(a, b, alpha=2),
    "_div": lambda t, p, a, b: a / b,
    "_div_trunc": lambda t, p, a, b: t.div(a, b, rounding_mode="trunc"),
    "_div_floor": lambda t, p, a, b: t.div(a, b, rounding_mode="floor"),
    "_pow_number": lambda t, p, x: t.pow(x, *p), "_pow_half": lambda t, p, x: t.pow(x, 0.5), "_pow_minus_half": lambda t, p, x: t.pow(x, -0.5),
    "_real": lambda t, p, x: t.real(x), "_imag": lambda t, p, x: t.imag(x),
    "_logit": lambda t, p, x: t.logit(x), "_logit_eps": lambda t, p, x: t.logit(x, *p),
    "_nan_to_num": lambda t, p, x: t.nan_to_num(x, *p),
    "polygamma": lambda t, p, x: t.polygamma(int(p[0]), x), "_trigamma": lambda t, p, x: t.polygamma(1, x),
    "ldexp": lambda t, p, a, b: a * 2 ** b,
    "_normal_cdf": lambda t, p, x: t.special.ndtr(x),
    "_gelu_erf": lambda t, p, x: t.nn.functional.gelu(x),
    "_gelu_tanh": lambda t, p, x: t.nn.functional.gelu(x, approximate="tanh"),
    "threshold": lambda t, p, x: t.nn.functional.threshold(x, *p),
    "_prelu": lambda t, p, a, b: t.where(a > 0, a, a * b),
    "_masked_scale": lambda t, p, a, b: t.where(b, a * p[0], 0),
    "_mul_scale": lambda t, p, a, b: a * b * p[0],
    "_squared_error": lambda t, p, a, b: (a - b) ** 2,
    "_absolute_error": lambda t, p, a, b: abs(a - b),
    "_huber": lambda t, p, a, b: t.nn.functional.huber_loss(a, b, reduction="none", delta=p[0]),
    "_smooth_l1": lambda t, p, a, b: t.nn.functional.smooth_l1_loss(a, b, reduction="none", beta=p[0]),
    "_bce": lambda t, p, a, b: t.nn.functional.binary_cross_entropy(a, b, reduction="none"),
    "_bce_logits": lambda t, p, a, b: t.nn.functional.binary_cross_entropy_with_logits(a, b, reduction="none"),
    "_bce_logits_weighted": lambda t, p, a, b, c:
        (1 - b) * a - ((c - 1) * b + 1) * t.nn.functional.logsigmoid(a),
    "_kl_div": lambda t, p, a, b: t.nn.functional.kl_div(a, b, reduction="none"),
    "_kl_div_log": lambda t, p, a, b: t.nn.functional.kl_div(a, b, reduction="none", log_target=True),
    "_soft_margin": lambda t, p, a, b: -t.nn.functional.logsigmoid(a * b),
    "_margin_ranking": lambda t, p, a, b, c: t.nn.functional.margin_ranking_loss(a, b, c, margin=p[0], reduction="none"),
    "_clamp_scalar": lambda t, p, x: t.clamp(x, *p), "_clamp_min_scalar": lambda t, p, x: t.clamp_min(x, *p),
    "_clamp_max_scalar": lambda t, p, x: t.clamp_max(x, *p), "_clamp": lambda t, p, a, b, c: t.clamp(a, b, c),
    "logsigmoid": lambda t, p, x: t.nn.functional.logsigmoid(x),
}
# PyTorch's own double-precision values are off by more than the tolerance (its coefficients are single precision).
LOOSE = {"bessel_j0": 1e-6, "bessel_j1": 1e-6, "bessel_y0": 1e-6, "bessel_y1": 2e-6, "airy_ai": 1e-5}
# Bounds that the dtype cannot hold: PyTorch wraps them, this library saturates.
WRAPPED = {("_clamp_scalar", "uint8"), ("_clamp_min_scalar", "uint8")}
SIZE = 67


def parameters(op):
    return [NUMBERS[n] for n in op.params]


def reference(torch, op):
    """The row's function in PyTorch, of operands alone."""
    p = parameters(op)
    if op.name in REFERENCES:
        def composed(*x):
            # composed of several operations: halves would round after each
            half = next((v.dtype for v in x if v.dtype in (torch.float16, torch.bfloat16)), None)
            out = REFERENCES[op.name](torch, p, *(v.float() if v.dtype == half else v for v in x))
            return out if half is None else out.to(half)
        return composed
    for space in (torch, torch.special, torch.nn.functional):
        if hasattr(space, op.name):
            f = getattr(space, op.name)
            named = dict(zip(op.params, p)) if op.keyword_params else {}
            return lambda *x: f(*x, *([] if named else p), **named)
    raise LookupError(f"{op.name} needs an entry in REFERENCES")


def apply(op, operands):
    """The row's own function."""
    p = parameters(op)
    if op.params_first:
        return FUNCTIONS[op.name](*p, *operands)
    if op.keyword_params:
        return FUNCTIONS[op.name](*operands, **dict(zip(op.params, p)))
    return FUNCTIONS[op.name](*operands, *p)


def draw(torch, op, k, dtype, size=SIZE):
    """Operand k of a row, inside its domain."""
    if op.inputs[k] in op.mask or dtype == torch.bool:
        return torch.rand(size) > 0.5
    if not (dtype.is_floating_point or dtype.is_complex):
        x = torch.randint(0 if dtype == torch.uint8 else -5, 6, (size,), dtype=dtype)
        return x.masked_fill(x == 0, 3) if op.zero_check and k == 1 else x
    low, high = (op.domain, op.domain_b or op.domain, op.domain_c or op.domain)[k]
    x = torch.rand(size, dtype=torch.float64) * (high - low) + low
    if dtype.is_complex:
        x = torch.complex(x, torch.rand(size, dtype=torch.float64) * (high - low) + low)
    if "polynomial" in op.name and k == 1:
        x = x.trunc()
    return x.to(dtype)


def layouts(torch, operands):
    """The operands contiguous, with gaps, and with the last one a single element."""
    yield operands
    yield [torch.stack([x, x], 1)[:, 0] for x in operands]
    if len(operands) > 1:
        yield [*operands[:-1], operands[-1][:1].expand(SIZE)]


CASES = [pytest.param(op, name, id=f"{op.name}-{name}") for op in OPS for name in op.dtypes if (op.name, name) not in WRAPPED]


@pytest.mark.parametrize("op,name", CASES)
def test_values(op, name):
    torch = oracle()
    f = reference(torch, op)
    dtype = getattr(torch, name)
    torch.manual_seed(0)
    operands = [draw(torch, op, k, dtype) for k in range(op.nin)]
    try:
        f(*operands)
    except (RuntimeError, TypeError, ValueError) as error:
        pytest.skip(f"PyTorch has no {op.name} of {name}: {error}")
    for mine in layouts(torch, operands):
        wanted = f(*mine)
        # PyTorch rounds some halves on the way
        half = {"float16": dict(rtol=4e-3, atol=4e-3), "bfloat16": dict(rtol=3e-2, atol=3e-2)}.get(name, {})
        if op.name in LOOSE:
            half = dict(rtol=LOOSE[op.name], atol=LOOSE[op.name])
        if name in ("float16", "bfloat16") and op.name in ("_div_trunc", "_div_floor", "floor_divide", "hardshrink", "softshrink",
                                                           "threshold", "round"):
            continue        # they jump: a last digit decides
        assert_close(apply(op, [from_oracle(x) for x in mine]), wanted, what=op.name, **half)


GRADIENTS = [pytest.param(op, name, id=f"{op.name}-{name}") for op in OPS for name in ("float64", "complex128")
             if name in op.dtypes and any(s != 255 for s in op.saves)]


@pytest.mark.parametrize("op,name", GRADIENTS)
def test_gradients_of_both_orders(op, name):
    """Against central differences, so that the rows are also right where PyTorch has no derivative."""
    torch = oracle()
    torch.manual_seed(1)
    kinds = [draw(torch, op, k, getattr(torch, name), size=5) for k in range(op.nin)]
    operands = [from_oracle(x) for x in kinds]
    for k, x in enumerate(operands):
        if op.inputs[k] not in op.mask and op.saves[k] != 255:
            x.requires_grad_()
    f = lambda *x: apply(op, x)  # noqa: E731
    assert fasttensor.autograd.gradcheck(f, operands)
    # dtypes of the second order: what the gradient's expression gives over Tensors
    if any(op.saves[k] not in (0, 255) for k in range(op.nin)):
        assert fasttensor.autograd.gradgradcheck(f, operands)


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), -float("inf"), float("nan"), 1e-45, -1e-40, 3e38, -3e38, 88.8, -104.0,
          1e5, -1e5, 1e-8, 20.0, 16777217.0]
# PyTorch answers NaN at infinities, poles or subnormals where the limit is plain, or has lost every digit (sinc, tanhshrink).
KNOWN = {"i0", "i1", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
         "modified_bessel_k1", "scaled_modified_bessel_k1", "airy_ai", "_trigamma", "_gelu_erf", "polygamma", "digamma",
         "sinc", "tanhshrink"}


@pytest.mark.parametrize("op", [op for op in OPS if op.nin == 1 and "float32" in op.dtypes and op.name not in KNOWN],
                         ids=lambda op: op.name)
def test_special_values(op):
    torch = oracle()
    # three of each, so that vector bodies and remainders both meet them
    x = torch.tensor(FLOATS).repeat_interleave(3)
    wanted = reference(torch, op)(x)
    assert_close(apply(op, [from_oracle(x)]), wanted, rtol=2e-5, atol=1e-37, what=op.name)


@pytest.mark.parametrize("op", [op for op in OPS if op.inplace and "float64" in op.dtypes and op.promote != "bool"], ids=lambda op: op.name)
def test_in_place_gives_the_same(op):
    torch = oracle()
    torch.manual_seed(2)
    operands = [from_oracle(draw(torch, op, k, torch.float64)) for k in range(op.nin)]
    wanted = apply(op, operands)
    p = parameters(op)
    named = dict(zip(op.params, p)) if op.keyword_params else {}
    x = operands[0].clone()
    out = INPLACE[op.name + "_"](x, *operands[1:], *([] if named else p), **named)
    assert out is x and fasttensor.equal(x, wanted) or op.name == "_nan_to_num"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_other_dtypes_are_refused(op):
    def becomes_float(name):
        return op.promote == "float" and BY_NAME[name].kind != "complex"

    missing = [n for n in ("bool", "int64", "complex64") if n not in op.dtypes and not becomes_float(n)]
    for name in missing:
        operands = [fasttensor.ones(2, dtype=fasttensor.bool if n in op.mask else getattr(fasttensor, name)) for n in op.inputs]
        with pytest.raises((RuntimeError, TypeError), match=op.name.strip("_").split("_")[0]):
            apply(op, operands)
