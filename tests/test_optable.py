"""The operation table: its rows, its expressions, what is generated, and the loops' values at the edges."""
import ast
import doctest
import os

import pytest

import fasttensor
from fasttensor._optable import codegen, derivatives, expr, loops, wrappers
from fasttensor._optable.dtypes import BY_NAME, DTYPES
from fasttensor._optable.op import PROMOTE, Op
from fasttensor._optable.table import INDEX, OPS
from fasttensor.autograd.generated_functions import FUNCTIONS, INPLACE, METHODS, NAMESPACES

# What derivative expressions may call besides rows; the functional layer provides them.
BESIDES_ROWS = {"infinity", "conj", "real", "zeros_like"}
CODES = [d.code for d in DTYPES]


def every(op):
    """All expressions of a row."""
    values = [op.expr, op.int_expr, op.bool_expr, op.complex_expr, op.fast, op.fast_if]
    return [e for e in (*values, *op.gradients, *op.complex_gradients) if e]


def test_dtypes_are_in_the_order_of_their_codes():
    assert CODES == list(range(12))
    assert [d.name for d in DTYPES] == ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
                                        "float64", "complex64", "complex128"]


def test_names_are_unique_in_each_namespace():
    seen = {}
    for op in OPS:
        for space in op.namespaces:
            for name in (op.name, *op.aliases):
                assert seen.setdefault((space, name), op) is op, f"{space}.{name} belongs to two rows"
        for name in op.special:
            assert seen.setdefault(("special", name), op) is op, f"special.{name} belongs to two rows"
    assert len(INDEX) == len(OPS) >= 150


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_row_is_valid(op):
    known = {*op.inputs, *op.params}
    values = [op.expr, op.int_expr, op.bool_expr, op.complex_expr, op.fast, op.fast_if]
    for text in filter(None, values):
        assert expr.names(text) <= known, text
    for text in filter(None, (*op.gradients, *op.complex_gradients)):
        assert expr.names(text) <= known | {"g", "y"}, text
        unknown = expr.calls(text) - set(INDEX) - BESIDES_ROWS
        assert not unknown, f"{op.name}: {text} calls {unknown}, which double backward cannot"
    assert op.promote in PROMOTE and op.doc.endswith(".")
    assert list(op.dtypes) == sorted(op.dtypes, key=lambda name: BY_NAME[name].code), "dtypes in the order of their codes"
    assert not (op.promote == "bool" and any(op.gradients)), "a bool result has no gradient"
    for d in DTYPES:
        made = loops.forward(op, d)
        assert (made is not None) == (d.name in op.dtypes)
        assert made is None or BY_NAME[made.result.name].code in CODES


@pytest.mark.parametrize("text,suffix,wanted", [
    ("a + 2 * b", "f32", "(a + (2.0f * b))"),
    ("a + 2 * b", "f64", "(a + (2.0 * b))"),
    ("a * b", "i8", "(ft_i8)(a * b)"),
    ("a - b", "i64", "(ft_i64)((ft_u64)a - (ft_u64)b)"),
    ("exp(-x)", "c64", "exp_c64((-x))"),
    ("where((x > 0) and not (x > 1), x, 0)", "f32", "where_f32(((x > 0.0f) & (!(x > 1.0f))), x, 0.0f)"),
    ("1j * x", "c128", "(FT_C128(0.0, 1.0) * x)"),
])
def test_c_of_an_expression(text, suffix, wanted):
    assert expr.to_c(text, suffix) == wanted


@pytest.mark.parametrize("text", ["x if x else y", "x.y", "[x]", "x; y", "lambda: x", "x ** 2", "0 < x < 1", "x[0]", "'x'", "f(*x)"])
def test_what_is_outside_the_subset_is_refused(text):
    with pytest.raises(expr.ExpressionError, match="expression"):
        expr.to_c(text, "f32")


@pytest.mark.parametrize("text", ["x / 2", "x * 0.5"])
def test_integers_refuse_division_and_float_literals(text):
    with pytest.raises(expr.ExpressionError):
        expr.to_c(text, "i32")


def test_a_row_refuses_an_unknown_promotion():
    with pytest.raises(ValueError, match="promote"):
        Op("bad", "x", promote="sometimes")


def test_files_are_rewritten_only_when_they_change(tmp_path):
    paths = codegen.generate(str(tmp_path))
    assert len(paths) == len(set(paths)) > 15
    for path in paths:
        with open(path, encoding="utf-8") as f:
            assert "codegen.py" in f.read(2000)
        os.utime(path, (1, 1))
    codegen.generate(str(tmp_path))
    assert all(os.stat(path).st_mtime == 1 for path in paths)


def test_every_row_has_its_functions():
    for op in OPS:
        assert op.name in FUNCTIONS
        assert (op.name + "_" in INPLACE) == op.inplace
        if op.method and not op.private:
            assert op.name in METHODS
        for name in op.special:
            assert name in NAMESPACES["special"]


def test_stub_parses():
    ast.parse("\n".join(wrappers.stub_text()))


@pytest.mark.parametrize("op", [op for op in OPS if not op.private], ids=lambda op: op.name)
def test_docstring_example_runs(op):
    parsed = doctest.DocTestParser().get_doctest(FUNCTIONS[op.name].__doc__, {"torch": fasttensor}, op.name, None, None)
    assert parsed.examples
    result = doctest.DocTestRunner(verbose=False).run(parsed)
    assert result.failed == 0


def test_numbers_are_refused_where_pytorch_refuses_them():
    x = fasttensor.ones(3)
    for call in (lambda: fasttensor.maximum(x, 2), lambda: fasttensor.atan2(2, x), lambda: fasttensor.eq(2, x), lambda: x.fmax(2),
                 lambda: fasttensor.remainder(2, 3), lambda: x.atan2_(1), lambda: fasttensor.ldexp(x, 2)):
        with pytest.raises(TypeError, match="must be Tensor, not int"):
            call()
    assert fasttensor.remainder(7, x * 4).tolist() == [3, 3, 3]
    assert fasttensor.add(1, x).tolist() == [2, 2, 2]


def test_the_square_of_bool_is_an_integer():
    y = fasttensor.square(fasttensor.tensor([True, False]))
    assert y.dtype == fasttensor.int64 and y.tolist() == [1, 0]


def test_derivatives_are_cached():
    assert derivatives(INDEX["tanh"]) is derivatives(INDEX["tanh"])
    assert derivatives(INDEX["eq"]) == (None, None)


# --- values at the edges, without an oracle ---
@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("function", ["floor_divide", "remainder", "fmod"])
def test_integer_division_by_zero_is_refused(name, function):
    x = fasttensor.tensor([7, 8], dtype=getattr(fasttensor, name))
    for zero in (fasttensor.tensor([1, 0], dtype=x.dtype), 0):
        with pytest.raises(RuntimeError, match="(?i)zero"):
            getattr(fasttensor, function)(x, zero)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_smallest_integer_by_minus_one_wraps(bits):
    low = -(1 << bits - 1)
    x = fasttensor.tensor([low, 6], dtype=getattr(fasttensor, f"int{bits}"))
    minus = fasttensor.tensor([-1, -1], dtype=x.dtype)
    assert (x // minus).tolist() == [low, -6]
    assert (x % minus).tolist() == [0, 0]
    assert fasttensor.fmod(x, minus).tolist() == [0, 0]
    assert abs(x).tolist() == [low, 6]
    assert (-x).tolist() == [low, -6]


def test_python_and_c_remainders():
    a = [7, -7, 7, -7]
    b = [3, 3, -3, -3]
    for kind in (fasttensor.int16, fasttensor.int64, fasttensor.float32, fasttensor.float64):
        x, y = fasttensor.tensor(a, dtype=kind), fasttensor.tensor(b, dtype=kind)
        assert (x % y).tolist() == [p % q for p, q in zip(a, b)]
        assert (x // y).tolist() == [p // q for p, q in zip(a, b)]
        assert fasttensor.fmod(x, y).tolist() == [1, -1, 1, -1]


def test_remainder_of_a_huge_quotient_is_exact():
    x = fasttensor.tensor([3e38, 1e30, 16777217.0, 5.0, -1.0] * 20)
    y = fasttensor.tensor([7.0, 3.0, 0.1, float("inf"), float("inf")] * 20)
    import math
    wanted = [math.fmod(p, q) for p, q in zip(x.tolist(), y.tolist())]
    assert fasttensor.fmod(x, y).tolist() == wanted
    assert fasttensor.remainder(x, y).tolist()[3:5] == [5.0, float("inf")]
    x.fmod_(y)
    assert x.tolist() == wanted


def test_shifts_by_the_width_or_a_negative_number_empty_the_value():
    x = fasttensor.tensor([-5, 5, -5, 5], dtype=fasttensor.int8)
    by = fasttensor.tensor([8, 100, -1, 1], dtype=fasttensor.int8)
    assert (x << by).tolist() == [0, 0, 0, 10]
    assert (x >> by).tolist() == [-1, 0, -1, 2]


def test_integer_powers():
    a = fasttensor.tensor([2, -1, -1, 1, 3, 0])
    b = fasttensor.tensor([-1, -1, -2, -5, 4, 0])
    assert FUNCTIONS["pow"](a, b).tolist() == [0, -1, 1, 1, 81, 1]


def test_gradients_are_finite_where_the_limit_is():
    x = fasttensor.zeros(3, requires_grad=True)
    y = fasttensor.zeros(3, requires_grad=True)
    cases = (fasttensor.abs(x), fasttensor.sinc(x), fasttensor.xlogy(x, y), fasttensor.hypot(x, y), fasttensor.atan2(x, y),
             fasttensor.special.i1(x), fasttensor.copysign(x, 1.0))
    for out in cases:
        (g,) = fasttensor.autograd.grad(out.sum(), x)
        assert all(v == v and abs(v) < 2 for v in g.tolist())


@pytest.mark.parametrize("name", ["tanh", "exp", "erf", "sigmoid", "digamma", "remainder", "_gelu_erf", "add"])
def test_strided_operands_give_the_bits_of_contiguous_ones(name):
    x = fasttensor.randn(64, 48).abs() + 0.5
    f = FUNCTIONS[name]
    operands = (x, x.flip(0)) if OPS[INDEX[name]].nin == 2 else (x,)
    flat = f(*operands)
    turned = f(*(t.t().contiguous().t() for t in operands))
    assert fasttensor.equal(flat, turned)
