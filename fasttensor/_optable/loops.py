"""What the loop templates need of each row: names, operand types and C text, by dtype."""

import re
from dataclasses import dataclass

from . import expr
from .dtypes import BY_NAME, BY_SUFFIX, DTYPES
from .table import INDEX, OPS

# The bits of 1 and of infinity.
HALF_BITS = {"float16": ("0x3c00", "0x7c00"), "bfloat16": ("0x3f80", "0x7f80")}
# Calls that cost no more than arithmetic.
CHEAP = {"where", "maximum", "minimum", "abs", "square"}
# Calls of a few instructions, beside which half types' way through buffers of float32 is what takes the time.
SHORT = CHEAP | {"floor", "ceil", "trunc", "sqrt", "rsqrt", "sign", "sgn", "lerp", "isinf", "isfinite", "signbit", "copysign", "infinity"}
PROMOTE_CODE = {"same": 0, "float": 1, "bool": 2, "real": 3}


@dataclass(frozen=True)
class Operand:
    """One pointer of a loop: its name in the expression, its dtype, and whether it is read conjugated."""

    name: str
    dtype: object
    conj: bool = False

    @property
    def load(self):
        text = f"{self.name}_[i]"
        return f"conj_{self.dtype.suffix}({text})" if self.conj else text


@dataclass(frozen=True)
class Loop:
    """A body over contiguous operands: result first, then the operands in the order of the loop's pointers."""

    op: object
    name: str
    suffix: str
    result: object
    operands: tuple
    params: tuple
    text: str
    fast: str | None = None
    fast_if: str | None = None
    bits: str | None = None

    @property
    def called(self):
        return {name.rsplit("_", 1)[0] for name in re.findall(r"(\w+)\(", self.text)}

    @property
    def cheap(self):
        """Whether the loop is bound by loads and stores."""
        return self.called <= CHEAP and not self.fast

    @property
    def short(self):
        """Whether a half type's loop converts in registers, in a body of its own, instead of going through float32's."""
        return self.called <= SHORT and not self.fast

    @property
    def repeated(self):
        """The operands of which one element may stand for the row in a body of its own (a broadcast column, a number).
        Where the arithmetic costs more than filling a buffer with that element, and for rarer dtypes, the buffer does."""
        return self.operands if len(self.operands) == 2 and self.suffix in ("f32", "f64") and self.cheap else ()


def code_name(op):
    return "FT_" + op.name.upper()


def _real_of(dtype):
    return BY_SUFFIX[dtype.real]


def _used_params(op, text):
    return tuple((i, n) for i, n in enumerate(op.params) if n in expr.names(text))


def _fast(op, text, dtype):
    """A quick expression and where it holds, as C text; None twice where there is none."""
    if not text or dtype.kind not in ("float", "int") or dtype.name not in op.fast_dtypes:
        return None, None
    return expr.to_c(text, dtype.compute), expr.to_c(op.fast_if, dtype.compute)


def _bits(op, dtype):
    if not op.half_bits or dtype.name not in HALF_BITS:
        return None
    one, infinity = HALF_BITS[dtype.name]
    return op.half_bits.replace("HALF_ONE", one).replace("HALF_INF", infinity)


def forward(op, dtype):
    """The forward loop of a row in a dtype, or None where the row excludes it."""
    if dtype.name not in op.dtypes:
        return None
    text = op.value(dtype.kind)
    operands = tuple(Operand(n, BY_NAME["bool"] if n in op.mask else dtype) for n in op.inputs)
    fast = _fast(op, op.fast, dtype)
    return Loop(op, f"{op.name}_{dtype.suffix}", dtype.suffix, BY_NAME[op.result(dtype.name)], operands,
                _used_params(op, text), expr.to_c(text, dtype.compute), *fast, _bits(op, dtype))


def backward(op, i, dtype):
    """The fused backward loop of input `i`: gradient in, saved values in the order of their bits."""
    real, special = op.gradients[i], op.complex_gradients[i]
    if dtype.name not in op.dtypes or dtype.kind not in ("float", "complex"):
        return None
    is_complex = dtype.kind == "complex"
    text = (special or real) if is_complex else real
    if text is None or op.promote == "bool":
        return None
    conj = is_complex and special is None
    bits = op.saves[i]
    result = BY_NAME[op.result(dtype.name)]
    operands = [Operand("g", _real_of(dtype) if op.real_result else dtype)]
    for k, n in enumerate(op.inputs):
        if bits >> k & 1:
            masked = n in op.mask
            operands.append(Operand(n, BY_NAME["bool"] if masked else dtype, conj and not masked))
    if bits & 8:
        operands.append(Operand("y", result, conj and result.kind == "complex"))
    name = f"{op.name}_{'dx' if op.nin == 1 else 'd' + op.inputs[i]}_{dtype.suffix}"
    return Loop(op, name, dtype.suffix, dtype, tuple(operands), _used_params(op, text),
                expr.to_c(text, dtype.compute), *_fast(op, op.fast_dx if i == 0 else None, dtype))


def loops_of_row(op, dtype):
    """The loops of a row in a dtype: forward, then the gradient of each input that has one."""
    return [loop for loop in [forward(op, dtype)] + [backward(op, i, dtype) for i in range(op.nin)] if loop]


def loops_of(dtype):
    """Every loop of a dtype, in the order of the table."""
    out = []
    for op in OPS:
        out += loops_of_row(op, dtype)
    return out


def _traits(op):
    """The bits FT_ONE_DTYPE, FT_WIDE_NUMBER, FT_NO_BOOLS, FT_BOOL_FORM, FT_NO_COMPLEX and FT_REVERSED."""
    return sum(1 << k for k, on in enumerate((op.one_dtype, op.wide_number, bool(op.bools), bool(op.bool_form), op.no_complex, op.reversed)) if on)


def _c_text(text):
    return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


FITS = ("", "dtype", "computing", "narrow")


def table_rows():
    """The entries of FT_OPS, as C text by field."""
    rows = []
    for op in OPS:
        def name(loop):
            return f"loop_{loop.name}" if loop else "NULL"
        rows.append({
            "op": op,
            "head": ", ".join(str(v) for v in (op.nin, len(op.params), PROMOTE_CODE[op.promote], int(op.zero_check), _traits(op))),
            "saves": ", ".join(map(str, op.saves)),
            "loop": ", ".join(name(forward(op, d)) for d in DTYPES),
            "out": ", ".join(str(BY_NAME[op.result(d.name)].code) for d in DTYPES),
            "dx": [", ".join(name(backward(op, i, d)) if i < op.nin else "NULL" for d in DTYPES) for i in range(3)],
            "same_out": int(op.same_out),
            "labels": ", ".join(map(_c_text, op.labels)),
            "bool_form": INDEX[op.bool_form] if op.bool_form else -1,
            "refuses": ", ".join(_c_text(op.refuses.get(kind)) for kind in ("bool", "int")),
            "bools": ", ".join(map(_c_text, op.bools or (None, None))),
            "fits": FITS.index(op.fits),
            "mask": sum(1 << k for k, n in enumerate(op.inputs) if n in op.mask),
        })
    return rows
