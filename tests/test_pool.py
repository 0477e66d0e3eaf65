"""Pooling, unpooling, interpolation and grid sampling against direct definitions; gradients and errors."""
import functools
import itertools
import math

import pytest

import fasttensor as ft
from fasttensor.functional import pool as F
from fasttensor.functional import resize as R
from fasttensor.functional import sampling as S
from fasttensor.functional import unpool as U

np = pytest.importorskip("numpy")
RNG = np.random.default_rng(0)

# size, kernel, stride, padding, dilation, ceil_mode
WINDOWS = [
    ((10,), (3,), (2,), (1,), (1,), False),
    ((11,), (2,), (3,), (0,), (2,), True),
    ((8, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((9, 13), (3, 2), (2, 1), (1, 1), (1, 1), True),
    ((40, 300), (3, 5), (1, 2), (1, 2), (1, 1), False),
    ((9, 12), (3, 3), (2, 2), (1, 0), (2, 3), False),
    ((5, 6, 7), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 1), True),
]
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def data(*shape, dtype="float64"):
    return RNG.permutation(math.prod(shape)).reshape(shape).astype(dtype)


def count(size, k, s, p, d, ceil):
    n = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    return n - 1 if ceil and (n - 1) * s >= size + p else n


def windows(case):
    """For each output position the list of (coordinates, extent counted with padding)."""
    size, kernel, stride, padding, dilation, ceil = case
    outs = [count(n, k, s, p, d, ceil) for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)]
    for place in itertools.product(*map(range, outs)):
        axes, extent = [], 1
        for i, n, k, s, p, d in zip(place, size, kernel, stride, padding, dilation):
            start = i * s - p
            axes.append([j for j in range(start, start + d * (k - 1) + 1, d) if 0 <= j < n])
            extent *= min(start + k, n + p) - start
        yield place, list(itertools.product(*axes)), extent
    return


def reference(x, case, reduce):
    size, kernel, stride, padding, dilation, ceil = case
    outs = [count(n, k, s, p, d, ceil) for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)]
    y = np.zeros((*x.shape[:2], *outs), x.dtype)
    for place, points, extent in windows(case):
        y[(slice(None), slice(None), *place)] = reduce(np.stack([x[(slice(None), slice(None), *q)] for q in points]), extent)
    return y


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8"])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_max_pool(case, dtype):
    x = data(2, 2, *case[0])
    x = (x % 200).astype(dtype)
    got, indices = MAX[len(case[0])](ft.tensor(x), *case[1:], return_indices=True)
    assert (got.numpy() == reference(x, case, lambda v, _: v.max(0))).all()
    flat = np.take_along_axis(x.reshape(2, 2, -1), indices.numpy().reshape(2, 2, -1), 2)
    assert (flat.reshape(got.shape) == got.numpy()).all()


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("case", [c for c in WINDOWS if set(c[4]) == {1}], ids=str)
def test_avg_pool(case, include):
    x = data(2, 2, *case[0])
    size, kernel, stride, padding, _, ceil = case
    got = AVG[len(size)](ft.tensor(x), kernel, stride, padding, ceil, include)
    want = reference(x, case, lambda v, extent: v.sum(0) / (extent if include else len(v)))
    assert np.allclose(got.numpy(), want, rtol=1e-12)
    if len(size) > 1:
        got = AVG[len(size)](ft.tensor(x), kernel, stride, padding, ceil, include, divisor_override=3)
        assert np.allclose(got.numpy(), reference(x, case, lambda v, _: v.sum(0) / 3), rtol=1e-12)


@pytest.mark.parametrize("case", [c for c in WINDOWS if c[0] != (40, 300)], ids=str)
def test_pool_derivatives(case):
    size, kernel, stride, padding, dilation, ceil = case
    x = ft.tensor(data(1, 1, *size) / 7, requires_grad=True)
    checks = [lambda t: MAX[len(size)](t, *case[1:])]
    if set(dilation) == {1}:
        checks.append(lambda t: AVG[len(size)](t, kernel, stride, padding, ceil, False))
    for f in checks:
        assert ft.autograd.gradcheck(f, (x,))
        assert ft.autograd.gradgradcheck(f, (x,))


def test_nan_wins():
    x = np.arange(36.0).reshape(1, 1, 6, 6)
    x[0, 0, 0, 0] = np.nan
    y, i = F.max_pool2d(ft.tensor(x), 2, return_indices=True)
    assert np.isnan(y.numpy()[0, 0, 0, 0]) and i.numpy()[0, 0, 0, 0] == 0 and np.isfinite(y.numpy().ravel()[1:]).all()


@pytest.mark.parametrize("size, out", [((7,), (3,)), ((8, 5), (3, 4)), ((6, 5, 4), (2, 1, 3)), ((3, 4), (5, 8)), ((4, 4), (1, 1))])
def test_adaptive(size, out):
    nd = len(size)
    x = data(2, 3, *size)
    avg = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[nd - 1]
    largest = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[nd - 1]
    means, tops = np.zeros((2, 3, *out)), np.zeros((2, 3, *out))
    for place in itertools.product(*map(range, out)):
        cut = tuple(slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(place, size, out))
        part = x[(slice(None), slice(None), *cut)].reshape(2, 3, -1)
        means[(slice(None), slice(None), *place)], tops[(slice(None), slice(None), *place)] = part.mean(2), part.max(2)
    assert np.allclose(avg(ft.tensor(x), out).numpy(), means, rtol=1e-12)
    assert (largest(ft.tensor(x), out).numpy() == tops).all()
    t = ft.tensor(x[:1, :1] / 7, requires_grad=True)
    assert ft.autograd.gradcheck(lambda v: avg(v, out), (t,))
    assert ft.autograd.gradgradcheck(lambda v: largest(v, out), (t,))


def test_adaptive_none_keeps_an_extent():
    assert tuple(F.adaptive_avg_pool2d(ft.zeros(1, 1, 4, 6), (None, 3)).shape) == (1, 1, 4, 3)


def test_unpool():
    x = data(2, 3, 6, 6)
    y, i = F.max_pool2d(ft.tensor(x), 2, return_indices=True)
    back = U.max_unpool2d(y, i, 2).numpy()
    assert ((back == x) | (back == 0)).all() and back.sum() == y.numpy().sum()
    assert ft.autograd.gradcheck(lambda t: U.max_unpool2d(t, i, 2), (y.requires_grad_(),))
    with pytest.raises(RuntimeError, match="index"):
        U.max_unpool2d(y.detach(), i + 100, 2)
    with pytest.raises(ValueError):
        U.max_unpool2d(y.detach(), i, 2, output_size=(20, 20))


def test_lp_pool():
    x = ft.tensor(data(1, 2, 6, 6) + 1, requires_grad=True)
    want = np.sqrt(reference(x.detach().numpy() ** 2, ((6, 6), (2, 3), (2, 3), (0, 0), (1, 1), False), lambda v, _: v.sum(0)))
    assert np.allclose(U.lp_pool2d(x, 2, (2, 3)).detach().numpy(), want)
    assert ft.autograd.gradcheck(lambda t: U.lp_pool2d(t, 2.0, (2, 3)), (x,))


def test_fractional():
    x = ft.tensor(data(2, 3, 9, 8))
    samples = ft.rand(2, 3, 2, dtype=ft.float64)
    y, i = U.fractional_max_pool2d(x, 2, output_size=(5, 4), return_indices=True, _random_samples=samples)
    assert tuple(y.shape) == (2, 3, 5, 4)
    assert (np.take_along_axis(x.numpy().reshape(2, 3, -1), i.numpy().reshape(2, 3, -1), 2) == y.numpy().reshape(2, 3, -1)).all()
    with pytest.raises(ValueError):
        U.fractional_max_pool2d(x, 2)
    x = ft.arange(25.0).view(1, 5, 5).requires_grad_()
    y, i = U.fractional_max_pool2d(x, 2, output_size=3, return_indices=True, _random_samples=ft.tensor([[[0.25, 0.75]]]))
    assert y.tolist() == [[[6.0, 7.0, 9.0], [11.0, 12.0, 14.0], [21.0, 22.0, 24.0]]] and i.dtype is ft.int64
    y.sum().backward()
    assert x.grad.sum().item() == 9 and x.grad.flatten()[[6, 24, 0]].tolist() == [1, 1, 0]


@pytest.mark.parametrize("nd", [2, 3])
def test_fractional_against_pytorch(nd):
    from helpers import from_oracle, oracle
    torch = oracle()
    name = f"fractional_max_pool{nd}d"
    for dtype in (torch.float32, torch.float64):
        x, samples = torch.randn((3, 4, 17, 13, 9)[:2 + nd], dtype=dtype), torch.rand(3, 4, nd, dtype=dtype)
        x[0, 0, 3:5] = float("nan")
        x[1] = -float("inf")
        for kernel, size in ((2, 5), (3, 6), (2, 4)):
            theirs, ours = x.clone().requires_grad_(), from_oracle(x).requires_grad_()
            want = getattr(torch.nn.functional, name)(theirs, kernel, output_size=size, _random_samples=samples, return_indices=True)
            got = getattr(U, name)(ours, kernel, output_size=size, _random_samples=from_oracle(samples), return_indices=True)
            want[0].sum().backward()
            got[0].sum().backward()
            for a, b in ((got[0], want[0]), (got[1], want[1]), (ours.grad, theirs.grad)):
                assert np.array_equal(a.detach().numpy(), b.detach().numpy(), equal_nan=b.is_floating_point())


@pytest.mark.parametrize("call, words", [
    (lambda: F.max_pool2d(ft.zeros(1, 1, 4, 4), 0), "kernel"),
    (lambda: F.max_pool2d(ft.zeros(1, 1, 4, 4), 2, padding=2), "half"),
    (lambda: F.max_pool2d(ft.zeros(4, 4), 2), "3D or 4D"),
    (lambda: F.max_pool2d(ft.zeros(1, 1, 4, 4), 5), "too small"),
    (lambda: F.avg_pool2d(ft.zeros(1, 1, 4, 4), 2, divisor_override=0), "divisor"),
    (lambda: F.max_pool1d(ft.zeros(1, 4, dtype=ft.complex64), 2), "not implemented"),
    (lambda: F.adaptive_avg_pool2d(ft.zeros(1, 1, 4, 4), (1, 2, 3)), "output_size"),
])
def test_errors_name_what_is_wrong(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_same_bits_at_any_thread_count():
    x = RNG.standard_normal((8, 16, 40, 40)).astype("float32")
    found = []
    for threads in (1, 2, 3):
        ft.set_num_threads(threads)
        t = ft.tensor(x, requires_grad=True)
        y = F.avg_pool2d(F.max_pool2d(t, 3, 2, 1), 2)
        y.sum().backward()
        found.append((y.detach().numpy().tobytes(), t.grad.numpy().tobytes()))
    assert found[0] == found[1] == found[2]


def test_nearest_and_linear():
    x = ft.tensor([[[0.0, 10.0, 20.0]]])
    assert R.interpolate(x, scale_factor=2).tolist() == [[[0, 0, 10, 10, 20, 20]]]
    assert R.interpolate(x, size=5, mode="linear", align_corners=True).tolist() == [[[0, 5, 10, 15, 20]]]
    assert R.interpolate(x, size=6, mode="linear").tolist() == [[[0, 2.5, 7.5, 12.5, 17.5, 20]]]
    assert R.interpolate(x, size=1, mode="area").tolist() == [[[10]]]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_interpolate_derivatives(mode):
    x = ft.tensor(RNG.standard_normal((1, 2, 4, 5)), requires_grad=True)
    for options in [{"size": (7, 3)}, {"scale_factor": 1.5}] + [{"size": (2, 3), "antialias": True}] * (mode in ("bilinear", "bicubic")):
        resize = functools.partial(R.interpolate, mode=mode, **options)
        assert ft.autograd.gradcheck(resize, (x,))
        assert ft.autograd.gradgradcheck(resize, (x,))


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("sizes, out", [((7,), (40,)), ((300,), (90,)), ((33, 50), (70, 21)), ((90, 3), (31, 100)), ((70, 5), (1, 1)),
                                        ((5, 9, 20), (12, 4, 41))])
def test_passes_over_planes_are_passes_along_each_dimension(sizes, out, dtype):
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(sizes)]
    x = ft.linspace(-2, 2, 2 * math.prod(sizes), dtype=dtype).sin().view(1, 2, *sizes).requires_grad_()
    y, want = R.interpolate(x, size=out, mode=mode), x
    for dim, (size, n) in enumerate(zip(sizes, out), 2):
        at = ((ft.arange(n, dtype=ft.float64) + 0.5) * (size / n) - 0.5).clamp(0, size - 1)
        low = at.long()
        high, part = (low + 1).clamp(max=size - 1), (at - low).to(dtype).view(-1, *[1] * (len(sizes) + 1 - dim))
        want = want.index_select(dim, low) * (1 - part) + want.index_select(dim, high) * part
    assert ft.allclose(y, want, rtol=1e-5, atol=1e-6)
    g = ft.linspace(0, 3, y.numel(), dtype=dtype).cos().view(y.shape)
    assert ft.allclose(*[ft.autograd.grad(z, x, g)[0] for z in (y, want)], rtol=1e-4, atol=1e-4)


def test_nearest_takes_no_infinity_from_a_neighbour():
    x = ft.tensor([[[1., math.inf, 2., math.nan, 3.]]], requires_grad=True)
    y = R.interpolate(x, size=12)
    assert y.detach().nan_to_num(nan=-1).flatten().tolist() == [1, 1, 1] + [3.4028234663852886e38] * 2 + [2] * 3 + [-1] * 2 + [3] * 2
    g = ft.tensor([[[1., 1, 1, math.inf, 1, 2, 2, 2, math.nan, 1, 4, 4]]])
    assert ft.autograd.grad(y, x, g)[0].nan_to_num(nan=-1).flatten().tolist() == [3, 3.4028234663852886e38, 6, -1, 8]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [True, False])
def test_interpolation_keeps_constants(mode, align):
    y = R.interpolate(ft.full((1, 1, 5, 6), 3.0), size=(9, 4), mode=mode, align_corners=align)
    assert np.allclose(y.numpy(), 3.0, atol=1e-6)


def test_interpolate_errors():
    x = ft.zeros(1, 1, 4, 4)
    for wrong in ({}, {"size": 2, "scale_factor": 2}, {"size": (1, 2, 3)}, {"size": 2, "align_corners": True}):
        with pytest.raises(ValueError):
            R.interpolate(x, **wrong)
    with pytest.raises(NotImplementedError):
        R.interpolate(x, size=2, mode="trilinear")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_grid_of_the_identity_returns_the_image(mode, padding, align):
    x = ft.tensor(RNG.standard_normal((2, 3, 5, 6)))
    theta = ft.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=ft.float64)
    grid = S.affine_grid(theta, (2, 3, 5, 6), align_corners=align)
    assert np.allclose(S.grid_sample(x, grid, mode, padding, align).numpy(), x.numpy(), atol=1e-12)


def test_grid_sample_derivatives_and_errors():
    x = ft.tensor(RNG.standard_normal((1, 2, 4, 5)), requires_grad=True)
    grid = ft.tensor(RNG.uniform(-1.2, 1.2, (1, 3, 3, 2)), requires_grad=True)
    for mode, padding in (("bilinear", "zeros"), ("bicubic", "border"), ("bilinear", "reflection")):
        sample = functools.partial(S.grid_sample, mode=mode, padding_mode=padding, align_corners=False)
        assert ft.autograd.gradcheck(sample, (x, grid))
    with pytest.raises(RuntimeError, match="batch"):
        S.grid_sample(x, ft.zeros(2, 3, 3, 2, dtype=ft.float64))
    with pytest.raises(ValueError, match="mode"):
        S.grid_sample(x, grid, "cubic")


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64, ft.bfloat16, ft.int64])
@pytest.mark.parametrize("shape, kernel, stride", [((7, 7), (7, 7), 1), ((7, 9), (2, 9), (2, 1)), ((9, 5), (3, 2), (3, 2)), ((3, 4, 11), (3, 4, 11), 1),
                                                   ((4, 4, 11), (2, 4, 11), (2, 1, 1)), ((4, 5, 3), (2, 2, 3), (2, 2, 1)), ((2, 3, 40), (2, 2, 40), 1)])
def test_means_of_windows_as_wide_as_the_input(shape, kernel, stride, dtype):
    # numbers whose sums are exact: windows that fill rows or planes are summed as one run of memory
    x = np.arange(6 * np.prod(shape)).reshape(2, 3, *shape) * 5 % 8
    steps = (stride,) * len(shape) if isinstance(stride, int) else stride
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, tuple(range(2, 2 + len(shape))))
    view = view[(slice(None), slice(None), *(slice(None, None, s) for s in steps))]
    sums = view.sum(tuple(range(-len(shape), 0)))
    pool = {2: ft.nn.functional.avg_pool2d, 3: ft.nn.functional.avg_pool3d}[len(shape)]
    t = ft.tensor(x).to(dtype)
    means = pool(t, kernel, stride)
    right = sums // np.prod(kernel) if dtype is ft.int64 else sums / np.prod(kernel)
    assert means.shape == right.shape
    assert np.allclose(means.double().numpy(), right, rtol=4e-3 if dtype is ft.bfloat16 else 1e-6)
    whole = {2: ft.nn.functional.adaptive_avg_pool2d, 3: ft.nn.functional.adaptive_avg_pool3d}[len(shape)]
    if dtype is not ft.int64:
        mean = x.reshape(2, 3, -1).mean(-1)
        assert np.allclose(whole(t, 1).double().numpy().reshape(2, 3), mean, rtol=4e-3 if dtype is ft.bfloat16 else 1e-6)


@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(7, 9, 700), (5, 6, 13), (1, 3, 4)])
def test_means_of_windows_against_pytorch(nd, sizes):
    from helpers import assert_close, from_oracle, oracle
    torch = oracle()
    x = torch.randn((2, 3) + sizes[-nd:], dtype=torch.float64)
    calls = [("avg", (k, s, p, ceil, count)) for k in (1, 2, 3) for s in (1, 2, 5) for p in (0, 1) for ceil in (False, True)
             for count in (False, True) if 2 * p <= k and min(sizes[-nd:]) >= k]
    for name, arguments in [*calls, *[("adaptive_avg", (n,)) for n in (1, 2, 3, 5)]]:
        theirs, ours = x.clone().requires_grad_(), from_oracle(x).requires_grad_()
        want = getattr(torch.nn.functional, f"{name}_pool{nd}d")(theirs, *arguments)
        got = getattr(F, f"{name}_pool{nd}d")(ours, *arguments)
        g = torch.randn_like(want)
        want.backward(g)
        got.backward(from_oracle(g))
        assert_close(got, want)
        assert_close(ours.grad, theirs.grad)


def test_adaptive_averages_of_windows_of_unlike_heights():
    """The first window is one row high here, later ones are two."""
    x = ft.arange(40.0).view(1, 1, 4, 10)
    got = ft.nn.functional.adaptive_avg_pool2d(x, (5, 10))[0, 0]
    expected = [x[0, 0, i * 4 // 5:-(-(i + 1) * 4 // 5)].mean(0).tolist() for i in range(5)]
    assert got.tolist() == expected and expected[1][0] == 5 and expected[0][0] == 0
    for rows, columns in ((3, 7), (5, 6), (7, 9)):
        found = ft.nn.functional.adaptive_avg_pool2d(x, (rows, columns))[0, 0]
        for i in range(rows):
            for j in range(columns):
                window = x[0, 0, i * 4 // rows:-(-(i + 1) * 4 // rows), j * 10 // columns:-(-(j + 1) * 10 // columns)]
                assert found[i, j].item() == pytest.approx(window.mean().item())
