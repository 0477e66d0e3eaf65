"""One case for each row of the operation table, forward and backward.

A public row is called by its name. A private row is called through the public function that
runs it, given in THROUGH; a row without a case fails tests/test_benches.py.
"""
import importlib.util
import sys
from pathlib import Path

SIZE = 65_536
FURTHER = "float64", "bfloat16", "float16", "int64", "int32", "complex64"
FOLDER = Path(__file__).resolve().parents[1] / "fasttensor" / "_optable"


def load_rows():
    """The table, read by path: the process that times PyTorch need not have fasttensor."""
    if "_optable" not in sys.modules:
        spec = importlib.util.spec_from_file_location("_optable", FOLDER / "__init__.py",
                                                      submodule_search_locations=[str(FOLDER)])
        module = importlib.util.module_from_spec(spec)
        sys.modules["_optable"] = module
        spec.loader.exec_module(module)
    return importlib.import_module("_optable.table").OPS


def _loss(name, **options):
    return lambda t, *operands: getattr(t.nn.functional, name)(*operands, reduction="none", **options)


# How a row is called where its name and operands alone do not do: function(t, *operands).
THROUGH = {
    "_div": lambda t, a, b: t.div(a, b),
    "_div_trunc": lambda t, a, b: t.div(a, b, rounding_mode="trunc"),
    "_div_floor": lambda t, a, b: t.div(a, b, rounding_mode="floor"),
    "_real": lambda t, x: t.real(x),
    "_imag": lambda t, x: t.imag(x),
    "_logit": lambda t, x: t.logit(x),
    "_logit_eps": lambda t, x: t.logit(x, 1e-6),
    "_nan_to_num": lambda t, x: t.nan_to_num(x),
    "_trigamma": lambda t, x: t.polygamma(1, x),
    "_normal_cdf": lambda t, x: t.nn.functional.gelu(x),   # its only public user
    "_gelu_erf": lambda t, x: t.nn.functional.gelu(x),
    "_gelu_tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "_prelu": lambda t, a, b: t.nn.functional.prelu(a, b[:1]),
    "_masked_scale": lambda t, a, b: t.nn.functional.dropout(a, 0.5, True),
    "_mul_scale": lambda t, a, b: a * b,
    "_squared_error": _loss("mse_loss"),
    "_absolute_error": _loss("l1_loss"),
    "_huber": _loss("huber_loss"),
    "_smooth_l1": _loss("smooth_l1_loss"),
    "_bce": _loss("binary_cross_entropy"),
    "_bce_logits": _loss("binary_cross_entropy_with_logits"),
    "_bce_logits_weighted": lambda t, a, b, c: t.nn.functional.binary_cross_entropy_with_logits(
        a, b, reduction="none", pos_weight=c),
    "_kl_div": _loss("kl_div"),
    "_kl_div_log": _loss("kl_div", log_target=True),
    "_soft_margin": _loss("soft_margin_loss"),
    "_margin_ranking": lambda t, a, b, c: t.nn.functional.margin_ranking_loss(a, b, c, reduction="none"),
    "_clamp_scalar": lambda t, x: t.clamp(x, -1.0, 1.0),
    "_clamp_min_scalar": lambda t, x: t.clamp(x, min=0.0),
    "_clamp_max_scalar": lambda t, x: t.clamp(x, max=0.0),
    "_pow_number": lambda t, x: t.pow(x, 3), "_pow_half": lambda t, x: t.pow(x, 0.5), "_pow_minus_half": lambda t, x: t.pow(x, -0.5),
    "_clamp": lambda t, a, b, c: t.clamp(a, b, c),
    "polygamma": lambda t, x: t.polygamma(2, x),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.1, 0.0),
}
# Operands that only count as constants: targets, which PyTorch does not differentiate.
CONSTANT = {"_bce": 1, "_bce_logits": 1, "_bce_logits_weighted": 1, "_kl_div": 1, "_kl_div_log": 1,
            "_soft_margin": 1}


def function_of(op, t):
    """The callable of a row in library t: f(*operands)."""
    if op.name in THROUGH:
        return lambda *operands: THROUGH[op.name](t, *operands)
    if op.private:
        raise LookupError(f"benches: row {op.name} has no case; add the public call that runs it to "
                          "THROUGH in benches/table.py")
    place = t
    for part in op.namespaces[0].split("."):
        place = place if part == "torch" else getattr(place, part)
    return getattr(place, op.name)


def operands_of(op, t, dtype, size):
    """Operands drawn from the row's domains."""
    made = []
    for i in range(op.nin):
        low, high = (op.domain, op.domain_b or op.domain, op.domain_c or op.domain)[i]
        if op.mask and "abc"[i] in op.mask and op.name == "where":
            made.append(t.rand(size) < 0.5)
        elif dtype.startswith("int"):
            made.append(t.randint(max(int(low), 1), max(int(high), 9), (size,), dtype=getattr(t, dtype)))
        elif dtype.startswith("complex"):
            made.append(t.complex(t.rand(size) * (high - low) + low, t.rand(size)).to(getattr(t, dtype)))
        elif dtype == "bool":
            made.append(t.rand(size) < 0.5)
        else:
            made.append((t.rand(size) * (high - low) + low).to(getattr(t, dtype)))
    return made


def usual(op):
    """The dtype of a row's first case."""
    if op.name in ("_real", "_imag"):
        return "complex64"
    return next((d for d in ("float32", "int64", "complex64", "bool") if d in op.dtypes), op.dtypes[0])


def case_names():
    """The names of all table cases: "op/NAME" and "grad/NAME", and "op.DTYPE/NAME" for a row's further dtypes."""
    names = []
    for op in load_rows():
        names.append("op/" + op.name)
        if any(op.gradients) and "float32" in op.dtypes:
            names.append("grad/" + op.name)
        names += [f"op.{dtype}/{op.name}" for dtype in FURTHER if dtype in op.dtypes and dtype != usual(op)
                  and (op.name, dtype) != ("_masked_scale", "complex64")]         # dropout takes real numbers
        if any(op.gradients) and "float64" in op.dtypes and usual(op) == "float32":
            names.append("grad.float64/" + op.name)
    return names


def build(name, t, size=SIZE):
    """The zero-argument callable that a case times."""
    kind, row = name.split("/", 1)
    op = next(op for op in load_rows() if op.name == row)
    function = function_of(op, t)
    kind, _, dtype = kind.partition(".")
    operands = operands_of(op, t, dtype or usual(op), size)
    if kind == "op":
        def forward():
            with t.no_grad():
                return function(*operands)
        return forward
    wanted = []
    for i, gradient in enumerate(op.gradients):
        if gradient and i < CONSTANT.get(op.name, 3) and not (op.mask and "abc"[i] in op.mask):
            wanted.append(operands[i].requires_grad_())
    y = function(*operands)
    g = t.ones_like(y)
    return lambda: t.autograd.grad(y, wanted, g, retain_graph=True)
