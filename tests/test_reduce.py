"""Reductions and scans against PyTorch: dtypes, layouts, dimensions, special values, gradients, threads."""
import itertools
import math

import pytest
from helpers import assert_close, from_oracle, oracle

import fasttensor as ft

torch = oracle()
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (1,), (7,), (100,), (70, 9), (3, 4, 5), (9, 300), (300, 3), (2, 0, 3), (5, 2, 3, 4), (3, 40000)]


def make(shape, dtype):
    kind = getattr(torch, dtype)
    if kind == torch.bool:
        return torch.rand(shape) > 0.5
    if kind.is_floating_point or kind.is_complex:
        return torch.randn(shape, dtype=torch.complex128 if kind.is_complex else torch.float64).to(kind)
    return torch.randint(0, 9, shape, dtype=kind)


def layouts(x):
    """The same kind of tensor in other layouts: transposed, with gaps, expanded."""
    yield x
    if x.ndim > 1:
        yield x.permute(*range(x.ndim)[::-1])
    if x.ndim and x.shape[-1] > 1:
        yield x[..., ::2]
        yield x[..., :1].expand(x.shape)


def carried(x):
    """x in fasttensor with its strides."""
    if x.dtype == torch.bfloat16:
        return from_oracle(x)
    return ft.from_numpy(x.numpy())


def exact(x):
    """The oracle computes in double, so that its own rounding does not decide."""
    return x.double() if x.is_floating_point() else x.to(torch.complex128) if x.is_complex() else x


FUNCTIONS = {
    "sum": lambda t, x, d, k: t.sum(x, d, k), "mean": lambda t, x, d, k: t.mean(x, d, k),
    "nansum": lambda t, x, d, k: t.nansum(x, d, k), "amax": lambda t, x, d, k: t.amax(x, d, k),
    "amin": lambda t, x, d, k: t.amin(x, d, k), "any": lambda t, x, d, k: t.any(x, d, k), "all": lambda t, x, d, k: t.all(x, d, k),
    "var": lambda t, x, d, k: t.var(x, d, correction=1, keepdim=k), "std": lambda t, x, d, k: t.std(x, d, correction=0, keepdim=k),
    "logsumexp": lambda t, x, d, k: t.logsumexp(x, d, k), "count_nonzero": lambda t, x, d, k: t.count_nonzero(x, d),
    "norm2": lambda t, x, d, k: t.linalg.vector_norm(x, 2, d, k), "norm1": lambda t, x, d, k: t.linalg.vector_norm(x, 1, d, k),
    "norm3": lambda t, x, d, k: t.linalg.vector_norm(x, 3, d, k), "norminf": lambda t, x, d, k: t.linalg.vector_norm(x, math.inf, d, k),
    "norm0": lambda t, x, d, k: t.linalg.vector_norm(x, 0, d, k),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_every_dimension_set_and_layout(name, dtype):
    kind, f = getattr(torch, dtype), FUNCTIONS[name]
    inexact = kind.is_floating_point or kind.is_complex
    if name in ("mean", "var", "std") and not inexact or name.startswith("norm") and not inexact:
        return
    if kind.is_complex and name in ("nansum", "amax", "amin"):
        return
    if not kind.is_floating_point and name == "logsumexp":
        return
    for shape in SHAPES:
        if math.prod(shape) == 0 and name in ("amax", "amin", "norminf"):
            continue
        for x in layouts(make(shape, dtype)):
            for r in range(1, min(x.ndim, 2) + 1):
                for dims in itertools.combinations(range(x.ndim), r):
                    for keep in (False, True):
                        want = f(torch, exact(x), dims, keep)
                        got = f(ft, carried(x), dims, keep)
                        if want.dtype.is_complex:
                            want = want.to(x.dtype)
                        elif inexact and want.dtype.is_floating_point:
                            want = want.to(x.dtype if x.is_floating_point() else x.real.dtype)
                        assert str(got.dtype) == str(want.dtype), (name, dtype, shape, dims)
                        assert_close(got, want, rtol=3e-2 if dtype == "bfloat16" else None, what=f"{name} {dtype} {tuple(x.shape)} {dims}")


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "float32", "float64"])
def test_extremes_with_indices(dtype):
    for shape in [(7,), (70, 9), (9, 700), (4, 13, 20)]:
        x = make(shape, dtype)
        for d in range(x.ndim):
            for f in ("max", "min"):
                want, got = getattr(torch, f)(x, d), getattr(ft, f)(from_oracle(x), d)
                assert_close(got.values, want.values)
                assert_close(ft.gather(from_oracle(x), d, got.indices.unsqueeze(d)).squeeze(d), want.values)
            assert_close(ft.argmax(from_oracle(x), d), x.numpy().argmax(d).tolist())
            assert_close(ft.argmin(from_oracle(x), d), x.numpy().argmin(d).tolist())
        assert ft.argmax(from_oracle(x)).item() == x.numpy().argmax()


def test_nan_is_the_extreme():
    x = torch.randn(5, 130)
    x[2, 77] = math.nan
    for f in (ft.max, ft.min):
        values, indices = f(from_oracle(x), 1)
        assert math.isnan(values[2].item()) and indices[2].item() == 77
        assert math.isnan(f(from_oracle(x)).item())
    assert ft.argmax(from_oracle(x)).item() == 2 * 130 + 77


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(name, dtype):
    for shape in [(), (1,), (7,), (30,), (70, 9), (9, 200), (3, 4, 5), (2, 0, 3)]:
        x = make(shape, dtype)
        if name == "cumprod" and not (x.is_floating_point() or x.is_complex()):
            x = x % 3
        for d in range(max(x.ndim, 1)):
            assert_close(getattr(ft, name)(from_oracle(x), d), getattr(torch, name)(x, d), atol=1e-3 if "32" in dtype or "64" in dtype else None)


def test_running_extremes_and_logcumsumexp():
    for shape in [(1,), (7,), (20, 9), (3, 40, 5)]:
        x = torch.randint(0, 5, shape).float()
        for d in range(x.ndim):
            for name in ("cummax", "cummin"):
                want, got = getattr(torch, name)(x, d), getattr(ft, name)(from_oracle(x), d)
                assert_close(got.values, want.values)
                assert_close(got.indices, want.indices)
            assert_close(ft.logcumsumexp(from_oracle(x), d), torch.logcumsumexp(x, d))


def test_long_float_sums_lose_nothing():
    x = ft.full((1 << 22,), 0.1)
    assert abs(ft.sum(x).item() - (1 << 22) * float(x[0].item())) < 0.5
    y = ft.full((1 << 14, 3), 0.1)
    assert_close(y.sum(0), [(1 << 14) * float(x[0].item())] * 3, rtol=1e-6)
    assert abs(ft.var(ft.full((1000000,), 1e4) + ft.arange(1000000) % 2).item() - 0.25) < 1e-4


@pytest.mark.parametrize("shape, dims", [((1000, 300), (0,)), ((1000, 300), (1,)), ((300000,), (0,)), ((60, 70, 80), (0, 2)), ((100000, 3), (0,))])
def test_same_bits_at_any_thread_count(shape, dims):
    x = ft.randn(*shape)
    results = []
    for threads in (1, 2, 4):
        ft.set_num_threads(threads)
        results.append([f(x).tolist() for f in (lambda v: v.sum(dims), lambda v: v.var(dims), lambda v: v.logsumexp(dims),
                                                lambda v: v.norm(2, dims), lambda v: v.cumsum(dims[0]))])
    assert results[0] == results[1] == results[2]


GRADIENTS = {
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean((0, 1)), "prod": lambda x: x.prod(1), "prod all": lambda x: x.prod(),
    "amax": lambda x: x.amax((0,)), "max": lambda x: x.max(), "max dim": lambda x: x.max(1)[0], "min dim": lambda x: x.min(0, True)[0],
    "var": lambda x: x.var(1), "std": lambda x: x.std(0), "var_mean": lambda x: ft.var_mean(x, 1), "norm2": lambda x: x.norm(2, 1),
    "norm1": lambda x: x.norm(1, 1), "norm3": lambda x: x.norm(3, 0), "norm1.5": lambda x: x.norm(1.5), "norminf": lambda x: x.norm(math.inf, 1),
    "logsumexp": lambda x: x.logsumexp(1), "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1)[0], "logcumsumexp": lambda x: x.logcumsumexp(1), "nansum": lambda x: x.nansum(0),
    "diff": lambda x: ft.diff(x, 2), "trapezoid": lambda x: ft.trapezoid(x, dim=0), "renorm": lambda x: ft.renorm(x, 2, 0, 0.5),
    "cdist": lambda x: ft.cdist(x, x * 2 + 1), "pdist": lambda x: ft.pdist(x), "quantile": lambda x: ft.quantile(x, 0.3, 1),
    "cosine": lambda x: ft.cosine_similarity(x, x.flip(0) + 1), "gradient": lambda x: ft.gradient(x)[0],
}


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_gradients(name):
    x = ft.randn(3, 4, dtype=ft.float64, requires_grad=True)
    assert ft.autograd.gradcheck(GRADIENTS[name], (x,))
    assert ft.autograd.gradgradcheck(GRADIENTS[name], (x,))


def test_gradients_at_ties_and_zeros():
    for f in (lambda t, x: t.amax(x, 1), lambda t, x: t.max(x), lambda t, x: t.prod(x, 1), lambda t, x: t.prod(x), lambda t, x: t.cumprod(x, 1),
              lambda t, x: t.norm(x, 2, 1), lambda t, x: t.std(x, 1), lambda t, x: t.linalg.vector_norm(x, math.inf, 1)):
        x = torch.tensor([[1.0, 2.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
        y = from_oracle(x.detach()).requires_grad_()
        f(torch, x).sum().backward()
        f(ft, y).sum().backward()
        assert_close(y.grad, x.grad)


def test_arguments():
    x = ft.ones(2, 3)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3) and x.sum(()).item() == 6
    assert x.sum(dtype=ft.float64).dtype == ft.float64 and (x > 0).sum().dtype == ft.int64
    out = ft.empty(0)
    assert ft.sum(x, 1, out=out) is out and out.tolist() == [3, 3]
    for bad, error in ((lambda: x.sum(2), IndexError), (lambda: x.sum((0, 0)), RuntimeError), (lambda: ft.ones(2, dtype=ft.int64).mean(), RuntimeError),
                       (lambda: ft.ones(0).max(), RuntimeError), (lambda: ft.ones(2, 0).max(1), IndexError),
                       (lambda: ft.ones(2, 0).argmax(1), IndexError), (lambda: ft.sum([1.0]), TypeError),
                       (lambda: ft.cumsum(x, 5, ), IndexError), (lambda: ft.quantile(x, 1.5), RuntimeError)):
        with pytest.raises(error):
            bad()


def test_masked_and_mode():
    x, mask = ft.tensor([[1.0, 2.0, 4.0], [3.0, 3.0, 5.0]]), ft.tensor([[True, False, True], [False, False, True]])
    assert ft.masked.sum(x, 1, mask=mask).tolist() == [5, 5]
    assert ft.masked.mean(x, 1, mask=mask).tolist() == [2.5, 5]
    assert ft.mode(x, 1).values.tolist() == [1, 3]


def test_logsumexp_of_minus_infinity_alone_has_gradient_zero():
    x = ft.full((2, 3), -math.inf)
    x[1] = 0
    x.requires_grad_()
    y = x.logsumexp(1)
    y[1].backward(retain_graph=True)
    assert x.grad[0].tolist() == [0, 0, 0]
    y.sum().backward()
    assert not ft.isnan(x.grad).any() and y[0].item() == -math.inf


def test_half_precision_logsumexp_does_not_overflow_inside():
    assert abs(ft.zeros(70000, dtype=ft.float16).logsumexp(0).item() - math.log(70000)) < 0.01


def test_trapezoids_of_bytes_do_not_wrap():
    assert ft.trapezoid(ft.tensor([200, 200], dtype=ft.uint8), ft.tensor([0, 9], dtype=ft.uint8)).item() == 1800


def test_variance_of_small_numbers_on_a_large_mean():
    """The mean's last place is 0.06 there, and a sum in float32 is farther off: both are much to a variance of 1 / 12."""
    import math
    values = ((ft.arange(300_000) * 7919) % 10007).double() / 10007 + 1e6
    x = values.float()
    exact = x.double().tolist()
    mean = math.fsum(exact) / len(exact)
    variance = math.fsum((v - mean) ** 2 for v in exact) / (len(exact) - 1)
    assert x.var().item() == pytest.approx(variance, rel=1e-6)
    assert x.view(2, -1).std(1)[0].item() == pytest.approx(variance ** 0.5, rel=1e-3)
    assert x.view(-1, 10).var(0)[3].item() == pytest.approx(variance, rel=1e-2)
    assert x.mean().item() == pytest.approx(mean, rel=1e-6) and x.sum().item() == pytest.approx(math.fsum(exact), rel=1e-6)


@pytest.mark.parametrize("choose", [
    lambda x: x.max(0)[0], lambda x: x.min(0)[0], lambda x: x.mode(0)[0], lambda x: x.median(0)[0], lambda x: x.kthvalue(1, 0)[0]])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_second_derivatives_of_the_chosen_of_one(choose, shape):
    x = ft.full(shape, 3.0, requires_grad=True)
    g, = ft.autograd.grad((choose(x) ** 2).sum(), x, create_graph=True)
    (g * g).sum().backward()
    assert g.shape == shape and g.item() == 6 and x.grad.shape == shape and x.grad.item() == 24


@pytest.mark.parametrize("rows", [1000, 1023, 1027])
def test_sums_of_columns_in_groups_of_whole_folds(rows):
    """Whole numbers are summed exactly, wherever the groups of rows end."""
    x = ft.arange(rows * 1000).reshape(rows, 1000) % 251
    assert ft.equal(x.to(ft.float32).sum(0), x.sum(0).to(ft.float32))
    assert ft.equal(x.to(ft.float32).mean(0), x.sum(0).to(ft.float64).div(rows).to(ft.float32))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 65])
def test_few_rows_of_many_columns(rows, dtype):
    # the sums of up to 64 rows lie in the result itself
    x = (ft.arange(rows * 1300).reshape(rows, 1300) % 17 - 8).to(getattr(ft, dtype))
    assert x.sum(0).tolist() == [sum(c) for c in zip(*x.tolist())]
    if x.is_floating_point() or x.is_complex():
        assert (x.double() if x.is_floating_point() else x).mean(0).tolist() == pytest.approx([sum(c) / rows for c in zip(*x.tolist())], rel=1e-6, abs=1e-9)
    if not x.is_complex():
        assert x.amax(0).tolist() == [max(c) for c in zip(*x.tolist())] and x.amin(0).tolist() == [min(c) for c in zip(*x.tolist())]
        assert x.count_nonzero(0).tolist() == [sum(v != 0 for v in c) for c in zip(*x.tolist())]
    if dtype == "float32":
        x[rows - 1, 5] = math.nan
        assert math.isnan(x.amax(0)[5]) and math.isnan(x.amin(0)[5]) and math.isnan(x.sum(0)[5])
        assert x.view(1, rows, 1300).expand(2, rows, 1300).sum((0, 1)).tolist()[6:] == [2 * sum(c) for c in zip(*x.tolist())][6:]


@pytest.mark.parametrize("dtype, big, tiny", [("float32", 3e38, 1e-40), ("bfloat16", 3e38, 1e-39), ("float64", 1.7e308, 1e-310)])
def test_squares_beyond_the_range(dtype, big, tiny):
    # deviations whose squares no float32 holds; one element's norm is its absolute value
    kind = getattr(ft, dtype)
    x = ft.tensor([big], dtype=kind)
    for p in (1, 2, 3, -2, math.inf):
        assert ft.linalg.vector_norm(-x, p).item() == x.item() and ft.linalg.vector_norm(-x.view(1, 1), p, 1).tolist() == [x.item()]
    assert ft.linalg.vector_norm(x, 0) == 1 and ft.nn.functional.normalize(x, dim=0).tolist() == [1]
    if dtype != "float64":
        for v in ([big, big / 2], [1e-3, big], [2e19, 1.0], [tiny, 3 * tiny], [2.0, 2.0]):
            y = ft.tensor([v, [0.0, 4.0]], dtype=kind)
            want = [abs(a - b) / math.sqrt(2) for a, b in y.tolist()]
            assert y.std(1).tolist() == pytest.approx(want, rel=5e-2 if dtype == "bfloat16" else 1e-5, abs=1e-44)
        assert ft.tensor([big, 0.0], dtype=kind).var() == math.inf and ft.tensor([math.nan, 1.0], dtype=kind).std().isnan()


def test_gradients_of_means_have_memory_of_their_own():
    x = ft.ones(2, 3, 4, requires_grad=True)
    for mean in (lambda: x.mean(), lambda: x.mean(1).sum(), lambda: x.mean((0, 2), keepdim=True).sum(), lambda: x.mean(-1, keepdim=True).sum()):
        g, = ft.autograd.grad(mean(), x)
        assert g.stride() == (12, 4, 1) and g.mul_(2).view(-1).numel() == 24


def test_a_dimension_has_one_name():
    x = ft.ones(2, 3)
    for call in (lambda: x.sum(0, axis=1), lambda: x.mean(0, axis=1), lambda: x.sort(0, axis=1), lambda: x.cumsum(0, axis=1), lambda: x.squeeze(0, axis=1),
                 lambda: x.unsqueeze(0, axis=1), lambda: ft.cat([x, x], 1, axis=0), lambda: x.softmax(0, axis=1), lambda: ft.fft.fft(x, dim=0, axis=1),
                 lambda: ft.quantile(x, 0.5, 0, axis=1), lambda: x.topk(1, 0, keepdims=True), lambda: ft.linalg.cross(x.mT, x.mT, dim=0, axis=0)):
        with pytest.raises(TypeError):
            call()
    assert x.median(axis=1, keepdims=True).values.shape == (2, 1) and ft.linalg.vector_norm(x, axis=0, keepdims=True).shape == (1, 3)
