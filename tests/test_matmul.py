"""Matrix products against plain sums in float64, over layouts, dtypes and shapes; their gradients and errors."""

import itertools
import math

import pytest

import fasttensor as ft

np = pytest.importorskip("numpy")
RNG = np.random.default_rng(0)
LAYOUTS = ("rows", "columns", "padded", "strided", "expanded")
SHAPES = [
    (1, 1, 1),
    (4, 8, 8),
    (7, 5, 3),
    (1, 50, 20),
    (50, 1, 20),
    (33, 49, 65),
    (9, 100, 801),
    (3, 200, 33),
    (130, 97, 400),
    (64, 10, 250),
    (3, 5, 40001),
]
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def array(shape, dtype="float64"):
    if dtype in INTEGERS:
        return RNG.integers(0 if dtype == "uint8" else -100, 100, shape).astype(dtype)
    values = RNG.standard_normal(shape)
    return (
        (values + 1j * RNG.standard_normal(shape)).astype(dtype)
        if dtype.startswith("complex")
        else np.asarray(values, dtype)
    )


def laid_out(m, n, layout, dtype):
    if layout == "rows":
        return array((m, n), dtype)
    if layout == "columns":
        return array((n, m), dtype).T
    if layout == "padded":
        return array((m, n + 5), dtype)[:, :n]
    if layout == "strided":
        return array((2 * m, 3 * n), dtype)[::2, ::3]
    return np.broadcast_to(array((1, n), dtype), (m, n))


def tensor_of(a, layout):
    """A tensor that keeps the layout; numpy's read-only broadcast is made by expand."""
    if layout == "expanded":
        return ft.from_numpy(a[:1].copy()).expand(a.shape)
    return ft.from_numpy(a)


def close(result, a, b, dtype):
    if dtype in INTEGERS:
        return np.array_equal(result, (a.astype("int64") @ b.astype("int64")).astype(dtype))
    wide = "complex128" if dtype.startswith("complex") else "float64"
    exact, bound = a.astype(wide) @ b.astype(wide), np.abs(a).astype("float64") @ np.abs(b).astype("float64")
    return bool(
        (np.abs(result - exact) <= (3e-6 if dtype in ("float32", "complex64") else 1e-14) * bound + 1e-300).all()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", *INTEGERS])
@pytest.mark.parametrize("shape", SHAPES)
def test_mm_layouts(shape, dtype):
    m, n, k = shape
    for la, lb in itertools.product(LAYOUTS, repeat=2):
        a, b = laid_out(m, k, la, dtype), laid_out(k, n, lb, dtype)
        result = ft.mm(tensor_of(a, la), tensor_of(b, lb)).numpy()
        assert result.dtype == a.dtype and close(result, a, b, dtype), (la, lb)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_types_sum_in_float32(name):
    dtype = getattr(ft, name)
    for m, n, k in [(5, 60, 701), (33, 10, 77), (1, 100, 16), (70, 1, 999), (3, 3, 1)]:
        for la, lb in itertools.product(LAYOUTS, repeat=2):
            a, b = (
                tensor_of(laid_out(m, k, la, "float32"), la).to(dtype),
                tensor_of(laid_out(k, n, lb, "float32"), lb).to(dtype),
            )
            a, b = (
                (a.t().contiguous().t() if la == "columns" else a),
                (b.t().contiguous().t() if lb == "columns" else b),
            )
            exact, bound = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            result = a @ b
            rounding = 1e-3 if name == "float16" else 8e-3
            assert result.dtype == dtype
            assert bool(((result.double() - exact).abs() <= rounding * exact.abs() + 1e-6 * bound + 1e-7).all()), (
                la,
                lb,
            )
    ones = ft.ones(1, 5000, dtype=dtype)
    assert (ones @ ones.t()).item() == (5000 if name == "float16" else 4992)


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_no_elements(shape):
    m, n, k = shape
    result = ft.ones(m, k) @ ft.ones(k, n)
    assert result.shape == (m, n) and bool((result == 0).all())
    assert ft.bmm(ft.ones(0, m, k), ft.ones(0, k, n)).shape == (0, m, n)
    assert bool((ft.addmm(ft.ones(m, n), ft.ones(m, k), ft.ones(k, n)) == 1 + k).all())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int64"])
def test_rows_that_do_not_follow_each_other(dtype):
    dtype = getattr(ft, dtype)
    x = ft.arange(24).reshape(2, 3, 4).to(dtype).transpose(0, 1)
    w = ft.tensor([[1, 0, 2, 0], [0, 1, 0, 1]]).to(dtype)
    right = [[[4, 4], [40, 28]], [[16, 12], [52, 36]], [[28, 20], [64, 44]]]
    assert (x @ w.t()).tolist() == right
    if dtype.is_floating_point:
        assert ft.nn.functional.linear(x, w, ft.ones(2, dtype=dtype)).tolist() == [[[v + 1 for v in r] for r in a] for a in right]


def test_batches_broadcast_by_stride():
    def check(x, y):
        np.testing.assert_allclose(ft.matmul(ft.from_numpy(x), ft.from_numpy(y)).numpy(), x @ y, rtol=1e-5, atol=1e-5)

    check(array((2, 1, 5, 7), "float32"), array((3, 7, 4), "float32"))
    x, w = array((3, 4, 5), "float32"), array((5, 6), "float32")
    check(x, w)
    check(x.transpose(1, 0, 2), w)
    check(w.T, x.transpose(0, 2, 1))


def test_nan_and_infinity():
    a = ft.zeros(9, 70)
    a[3, 5], a[4, 69] = math.nan, math.inf
    for n in (1, 3, 50):
        result = a @ ft.ones(70, n)
        assert bool(result[3].isnan().all()) and bool((result[4] == math.inf).all()) and bool((result[5] == 0).all())
    c = ft.full((9, 4), math.nan)
    assert bool((ft.addmm(c, ft.ones(9, 2), ft.ones(2, 4), beta=0) == 2).all())
    assert bool(ft.addmm(c, ft.ones(9, 2), ft.ones(2, 4)).isnan().all())


@pytest.mark.parametrize("beta,alpha", [(1, 1), (0.5, 2), (0, 3), (2, 0)])
def test_addend_broadcasts(beta, alpha):
    a, b = array((70, 90), "float32"), array((90, 61), "float32")
    for shape in [(70, 61), (61,), (70, 1), (1, 1), ()]:
        c = array(shape, "float32")
        result = ft.addmm(ft.from_numpy(c), ft.from_numpy(a), ft.from_numpy(b), beta=beta, alpha=alpha)
        np.testing.assert_allclose(result.numpy(), beta * c + alpha * (a @ b), rtol=1e-4, atol=1e-4)
    c = ft.ones(3, 2, 4)
    assert bool((ft.baddbmm(c, ft.ones(3, 2, 5), ft.ones(3, 5, 4), beta=beta, alpha=alpha) == beta + 5 * alpha).all())
    assert (
        c.baddbmm_(ft.ones(3, 2, 5), ft.ones(3, 5, 4), beta=beta, alpha=alpha) is c
        and c[0, 0, 0].item() == beta + 5 * alpha
    )


@pytest.mark.parametrize(
    "shape", [(200, 300, 400), (33, 700, 64), (1, 3000, 500), (700, 10, 900), (20, 30, 50001), (1, 1, 200003), (901, 850, 803), (16, 700, 90), (90, 1500, 900)]
)
def test_same_bits_at_any_thread_count(shape):
    m, n, k = shape
    a, b = ft.from_numpy(array((m, k), "float32")), ft.from_numpy(array((n, k), "float32"))
    before = ft.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 5):
            ft.set_num_threads(threads)
            results.append(((a @ b.t()).numpy().tobytes(), (a @ b.t().contiguous()).numpy().tobytes()))
    finally:
        ft.set_num_threads(before)
    assert len(set(results)) == 1


def test_threads_share_a_large_product():
    from fasttensor.cpu.matmul import linear

    x, w, b = (array(s, "float32") for s in ((803, 900), (905, 900), (905,)))
    wanted = x.astype("float64") @ w.T.astype("float64") + b
    results = []
    for threads in (1, 2, 3):
        ft.set_num_threads(threads)
        ours = linear(*(ft.from_numpy(v) for v in (x, w, b)), "relu").numpy()
        np.testing.assert_allclose(ours, np.maximum(wanted, 0), rtol=1e-4, atol=1e-3)
        results.append(ours.tobytes())
        doubled = ft.from_numpy(x).double() @ ft.from_numpy(w).double().t()
        np.testing.assert_allclose(doubled.numpy() + b, wanted, rtol=1e-11, atol=1e-10)
    assert len(set(results)) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(12, 21, 90), (16, 130, 401), (31, 66, 770), (48, 53, 500), (127, 1029, 801), (37, 900, 1111)])
def test_few_rows_by_a_weight(shape, dtype):
    """The weight is read in place: addends of any shape, padded rows, sizes that fill no tile or vector, batches."""
    m, n, k = shape
    x, w, b, full = (array(s, dtype) for s in ((m, k), (n, k + 3), (n,), (m, n)))
    tx, tw, tb = (ft.from_numpy(v) for v in (x, w, b))
    w = w[:, 1:-2]
    tw = tw[:, 1:-2]
    wanted = x.astype("float64") @ w.T.astype("float64")
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-11}
    for d in (b, full, array((m, 1), dtype), np.asfortranarray(full)):
        ours = ft.addmm(ft.from_numpy(d), tx, tw.t(), beta=0.5, alpha=-2)
        np.testing.assert_allclose(ours.numpy(), 0.5 * d - 2 * wanted, **tolerance)
    out = ft.zeros(n, m, dtype=ours.dtype).t()
    ft.mm(tx, tw.t(), out=out)
    np.testing.assert_allclose(out.numpy(), wanted, **tolerance)
    batch = ft.stack([tx, 2 * tx]) @ ft.stack([tw, tw]).transpose(1, 2)
    np.testing.assert_allclose(batch.numpy(), [wanted, 2 * wanted], **tolerance)
    from fasttensor.cpu.matmul import linear

    for name in ("relu", "silu"):
        y = linear(tx, tw, tb, name)
        expected = getattr(ft.nn.functional, name)(ft.from_numpy(wanted + b)).numpy()
        np.testing.assert_allclose(y.numpy(), expected, **tolerance)
    tx[-1, 0] = math.nan
    assert linear(tx, tw, tb, "relu")[-1].isnan().all() and not linear(tx, tw, tb, "relu")[:-1].isnan().any()


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"])
def test_fused_activation(activation):
    from fasttensor.cpu.matmul import linear

    x, w, b = (ft.from_numpy(array(s, "float32")) for s in ((50, 500), (60, 500), (60,)))
    y = x @ w.t() + b
    F = ft.nn.functional
    expected = F.gelu(y, approximate="tanh") if activation == "gelu_tanh" else getattr(F, activation)(y)
    np.testing.assert_allclose(linear(x, w, b, activation).numpy(), expected.numpy(), rtol=2e-4, atol=2e-5)


def leaf(*shape, dtype="float64"):
    return ft.from_numpy(array(shape, dtype)).requires_grad_()


GRADIENTS = {
    "mm": (lambda a, b: a @ b, (3, 4), (4, 2)),
    "mm of columns": (lambda a, b: a.t() @ b.t(), (4, 3), (2, 4)),
    "batch by matrix": (lambda a, b: a @ b, (2, 3, 4), (4, 2)),
    "bmm": (lambda a, b: ft.bmm(a, b), (2, 3, 4), (2, 4, 2)),
    "broadcast": (lambda a, b: ft.matmul(a, b), (2, 1, 3, 4), (5, 4, 2)),
    "mv": (lambda a, x: ft.mv(a, x), (3, 4), (4,)),
    "row by matrix": (lambda x, a: ft.matmul(x, a), (3,), (2, 3, 4)),
    "dot": (lambda x, y: ft.dot(x, y), (5,), (5,)),
    "vdot": (lambda x, y: ft.vdot(x, y), (5,), (5,)),
    "outer": (lambda x, y: ft.outer(x, y), (3,), (4,)),
    "inner": (lambda x, y: ft.inner(x, y), (2, 3), (4, 3)),
    "addmm": (lambda c, a, b: ft.addmm(c, a, b, beta=0.5, alpha=2), (2,), (3, 4), (4, 2)),
    "addmv": (lambda c, a, x: ft.addmv(c, a, x, beta=2, alpha=3), (1,), (3, 4), (4,)),
    "addr": (lambda c, x, y: ft.addr(c, x, y, beta=2, alpha=3), (3, 4), (3,), (4,)),
    "baddbmm": (lambda c, a, b: ft.baddbmm(c, a, b, alpha=2), (2, 3, 2), (2, 3, 4), (2, 4, 2)),
    "addbmm": (lambda c, a, b: ft.addbmm(c, a, b), (3, 2), (2, 3, 4), (2, 4, 2)),
    "linear": (lambda x, w, b: ft.nn.functional.linear(x, w, b), (2, 3, 4), (5, 4), (5,)),
    "linear of a vector": (lambda x, w, b: ft.nn.functional.linear(x, w, b), (4,), (5, 4), (5,)),
    "linear without bias": (lambda x, w: ft.nn.functional.linear(x, w), (3, 4), (5, 4)),
    "bilinear": (lambda x, y, w, b: ft.nn.functional.bilinear(x, y, w, b), (3, 2), (3, 4), (5, 2, 4), (5,)),
    "einsum": (lambda a, b, c: ft.einsum("bij,bjk,k->bi", a, b, c), (2, 3, 4), (2, 4, 2), (2,)),
    "einsum diagonal": (lambda a: ft.einsum("ii->i", a), (3, 3)),
    "tensordot": (lambda a, b: ft.tensordot(a, b, ([1, 0], [0, 1])), (3, 4, 2), (4, 3, 2)),
    "kron": (lambda a, b: ft.kron(a, b), (2, 2), (3, 1)),
    "multi_dot": (lambda a, b, c: ft.linalg.multi_dot([a, b, c]), (2, 3), (3, 4), (4, 2)),
    "matrix_power": (lambda a: ft.matrix_power(a, 3), (3, 3)),
    "vecdot": (lambda x, y: ft.linalg.vecdot(x, y), (3, 4), (4,)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    function, *shapes = GRADIENTS[name]
    inputs = tuple(leaf(*s, dtype=dtype) for s in shapes)
    assert ft.autograd.gradcheck(function, inputs)
    assert ft.autograd.gradgradcheck(function, inputs)


def test_gradient_only_where_needed():
    a, b = ft.ones(2, 3), ft.ones(3, 4).requires_grad_()
    (a @ b).sum().backward()
    assert a.grad is None and bool((b.grad == 2).all())


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda: ft.ones(2, 3) @ ft.ones(4, 5), "2x3 and 4x5"),
        (lambda: ft.mm(ft.ones(2, 3), ft.ones(3)), "2-d"),
        (lambda: ft.ones(2, 3) @ ft.ones(3, 2, dtype=ft.float64), "dtype"),
        (lambda: ft.bmm(ft.ones(2, 3, 4), ft.ones(3, 4, 5)), "batch2"),
        (lambda: ft.matmul(ft.ones(2, 3, 4), ft.ones(3, 4, 5)), "broadcast"),
        (lambda: ft.matmul(ft.ones(()), ft.ones(2)), "1D"),
        (lambda: ft.dot(ft.ones(2), ft.ones(3)), "number of elements"),
        (lambda: ft.addmm(ft.ones(5, 5), ft.ones(2, 3), ft.ones(3, 4)), "broadcast"),
        (
            lambda: ft.addr(
                ft.ones(2, 3, dtype=ft.int64), ft.ones(2, dtype=ft.int64), ft.ones(3, dtype=ft.int64), beta=0.5
            ),
            "integral",
        ),
        (lambda: ft.ones(2, 2, dtype=ft.bool) @ ft.ones(2, 2, dtype=ft.bool), "Bool"),
        (lambda: ft.nn.functional.linear(ft.ones(2, 3), ft.ones(4, 5)), "2x3 and 5x4"),
        (lambda: ft.einsum("ij,jk->ik", ft.ones(2, 3)), "fewer operands"),
        (lambda: ft.einsum("ij,jk->iz", ft.ones(2, 3), ft.ones(3, 4)), "output subscript z"),
        (lambda: ft.einsum("ij,jk", ft.ones(2, 3), ft.ones(4, 4)), "subscript j"),
        (lambda: ft.einsum("i", ft.ones(2, 3)), "number of subscripts"),
        (lambda: ft.tensordot(ft.ones(2, 3), ft.ones(4, 5), 1), "contracted dimensions"),
        (lambda: ft.linalg.multi_dot([ft.ones(2, 2)]), "at least 2"),
        (lambda: ft.matrix_power(ft.ones(2, 3), 2), "square"),
    ],
)
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_einsum_forms():
    a, b = array((2, 3, 4)), array((2, 4, 5))
    x, y = ft.from_numpy(a), ft.from_numpy(b)
    for equation in ("bij,bjk->bik", "bij,bjk", "...ij,...jk->...ik", "bij, bjk -> kb", "bij,bjk->", "bij,cjk->bcik"):
        np.testing.assert_allclose(
            ft.einsum(equation, x, y).numpy(), np.einsum(equation.replace(" ", ""), a, b), rtol=1e-10, atol=1e-12
        )
    np.testing.assert_allclose(
        ft.einsum(x, [0, 1, 2], y, [0, 2, 3], [0, 3]).numpy(), np.einsum("bij,bjk->bk", a, b), rtol=1e-10
    )
    assert ft.einsum("ij->ji", x[0]).shape == (4, 3)


def test_out_keeps_its_memory():
    out = ft.zeros(2, 4)
    assert ft.mm(ft.ones(2, 3), ft.ones(3, 4), out=out) is out and bool((out == 3).all())
    with pytest.raises(RuntimeError, match="dtype"):
        ft.mm(ft.ones(2, 3), ft.ones(3, 4), out=ft.zeros(2, 4, dtype=ft.int64))


@pytest.mark.parametrize("n", [0, 1, 3, 17, 1000, 70001, 2_500_000])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_dot_of_any_stride(dtype, n):
    for step in (1, 3):
        half = dtype in ("float16", "bfloat16")
        x, y = (ft.from_numpy(array((n * step + 1,), "float32" if half else dtype)).to(getattr(ft, dtype))[1::step] for _ in range(2))
        wide = ft.float64 if dtype.startswith("float") or half else ft.complex128 if "complex" in dtype else ft.int64
        p, q = x.to(wide).numpy(), y.to(wide).numpy()
        for got, want in ((ft.dot(x, y), (p * q).sum()), (ft.vdot(x, y), (p.conj() * q).sum())):
            assert got.dtype is x.dtype and got.shape == ()
            if dtype in INTEGERS:
                assert got.item() == want.astype(dtype)
            else:
                bound = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "complex64": 2e-6}.get(dtype, 1e-14)
                assert abs(got.item() - want) <= bound * (abs(want) + math.sqrt(n) + 1)


def test_dot_kept_values():
    x, y = ft.tensor([1 + 2j, 3j, -1.0]), ft.tensor([1 - 1j, 2.0, 1j])
    assert ft.dot(x, y).item() == 3 + 6j and ft.vdot(x, y).item() == -1 - 10j and ft.vdot(y, x).item() == -1 + 10j
    assert ft.dot(ft.tensor([200, 100], dtype=ft.uint8), ft.tensor([2, 3], dtype=ft.uint8)).item() == 700 % 256
    assert ft.inner(ft.tensor([1.0, 2.0]), ft.tensor([3.0, 4.0])).item() == 11
    x.requires_grad_(), y.requires_grad_()
    gx, gy = ft.autograd.grad(ft.vdot(x, y), (x, y), ft.tensor(1 + 1j))
    assert gx.tolist() == [-2j, 2 - 2j, 1 + 1j] and gy.tolist() == [-1 + 3j, -3 + 3j, -1 - 1j]
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
        ft.dot(ft.ones(2, dtype=ft.bool), ft.ones(2, dtype=ft.bool))
