"""Convolution and sliding windows against plain sums in float64, over shapes, dtypes and layouts; gradients and errors."""
import functools
import itertools

import pytest

import fasttensor as ft
from fasttensor.functional import conv as F
from fasttensor.functional import padding as P

np = pytest.importorskip("numpy")
RNG = np.random.default_rng(0)

# n, c, o, groups, size, kernel, stride, padding, dilation
SHAPES = [
    (1, 1, 1, 1, (5,), (3,), (1,), (0,), (1,)),
    (2, 3, 4, 1, (20,), (5,), (3,), (2,), (2,)),
    (2, 1, 6, 1, (28, 28), (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 5, 9, 1, (13, 11), (3, 2), (2, 3), (1, 2), (1, 2)),
    (2, 64, 33, 1, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 17, 50, 1, (9, 9), (1, 1), (2, 2), (0, 0), (1, 1)),
    (2, 16, 32, 1, (17, 26), (3, 3), (1, 1), (1, 1), (1, 1)),      # Winograd, rows of tiles in place
    (8, 20, 19, 1, (9, 7), (3, 3), (1, 1), (0, 2), (1, 1)),        # Winograd, rows packed
    (2, 16, 17, 1, (28, 27), (5, 5), (1, 1), (2, 2), (1, 1)),      # Winograd, filters of 3 and 2 taps
    (2, 18, 16, 1, (40, 33), (5, 6), (2, 2), (1, 2), (1, 1)),      # Winograd, split by the stride
    (2, 64, 66, 2, (9, 8, 14), (3, 3, 3), (2, 1, 1), (1, 0, 1), (1, 1, 1)),    # Winograd, with depth and groups
    (2, 16, 20, 1, (300,), (9,), (1,), (3,), (1,)),                # Winograd, one row
    (2, 6, 6, 6, (12, 13), (3, 3), (1, 1), (1, 1), (1, 1)),        # depthwise
    (2, 4, 12, 4, (12, 13), (3, 5), (2, 2), (1, 2), (1, 1)),
    (2, 8, 6, 2, (10, 9), (3, 3), (1, 2), (1, 0), (2, 1)),         # groups
    (1, 2, 3, 1, (6, 5, 7), (2, 3, 3), (1, 2, 1), (0, 1, 1), (1, 1, 2)),
    (2, 300, 10, 1, (6, 6), (3, 3), (2, 2), (1, 1), (1, 1)),       # sums in several blocks
    (1, 3, 2, 1, (4, 4), (3, 3), (5, 5), (4, 4), (1, 1)),          # steps over whole inputs
]


def values(shape, dtype="float64"):
    if "int" in dtype:
        return RNG.integers(0 if dtype == "uint8" else -5, 6, shape).astype(dtype)
    made = RNG.standard_normal(shape)
    return (made + 1j * RNG.standard_normal(shape)).astype(dtype) if dtype.startswith("complex") else made.astype(dtype)


def operands(case, dtype="float64"):
    n, c, o, groups, size, kernel, *_ = case
    return values((n, c, *size), dtype), values((o, c // groups, *kernel), dtype), values((o,), dtype)


def reference(x, w, b, case):
    """Convolution as a sum over taps."""
    n, c, o, groups, size, kernel, stride, padding, dilation = case
    nd = len(size)
    work = x.dtype if x.dtype.kind in "iuc" else "float64"
    x = np.pad(x.astype(work), [(0, 0), (0, 0)] + [(p, p) for p in padding])
    out = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(size, padding, dilation, kernel, stride)]
    y = np.zeros((n, groups, o // groups, *out), work)
    x, w = x.reshape(n, groups, c // groups, *x.shape[2:]), w.reshape(groups, o // groups, *w.shape[1:]).astype(work)
    for taps in itertools.product(*map(range, kernel)):
        part = x[(slice(None),) * 3 + tuple(slice(k * d, k * d + (m - 1) * t + 1, t) for k, d, m, t in zip(taps, dilation, out, stride))]
        y += np.einsum("ngc...,goc->ngo...", part, w[(slice(None),) * 3 + taps])
    y = y.reshape(n, o, *out)
    return y if b is None else y + b.astype(work).reshape(o, *[1] * nd)


def convolve(x, w, b, case):
    *_, size, kernel, stride, padding, dilation = case
    return (F.conv1d, F.conv2d, F.conv3d)[len(size) - 1](x, w, b, stride, padding, dilation, case[3])


def transpose(g, w, b, case, output_padding):
    *_, size, kernel, stride, padding, dilation = case
    return (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[len(size) - 1](g, w, b, stride, padding, output_padding, case[3], dilation)


def assert_near(got, want, dtype="float64"):
    got = got.detach().numpy() if isinstance(got, ft.Tensor) else got
    assert got.shape == want.shape
    bound = {"float64": 1e-11, "complex128": 1e-11, "float32": 3e-6, "complex64": 3e-6, "float16": 2e-3}.get(dtype, 0)
    assert np.abs(got - want).max(initial=0) <= bound * max(1.0, np.abs(want).max(initial=0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64", "uint8"])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_forward(case, dtype):
    x, w, b = operands(case, dtype)
    assert_near(convolve(ft.tensor(x), ft.tensor(w), ft.tensor(b), case), reference(x, w, b, case), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_gradients(case, dtype):
    """Both gradients are adjoints: <g, conv(x, w)> = <gx, x> = <gw, w> for random directions."""
    x, w, b = (ft.tensor(a, requires_grad=True) for a in operands(case, dtype))
    y = convolve(x, w, b, case)
    g = values(tuple(y.shape), dtype)
    y.backward(ft.tensor(g))
    for leaf, position in ((x, 0), (w, 1)):
        direction = values(tuple(leaf.shape), dtype)
        moved = [x.detach().numpy(), w.detach().numpy()]
        moved[position] = direction
        want = np.vdot(g.astype("complex128"), reference(*moved, None, case))
        got = np.vdot(leaf.grad.numpy().astype("complex128"), direction)
        assert abs(got.real - want.real) <= (1e-10 if dtype == "float64" else 1e-4) * np.sqrt(g.size * w.numel())
    axes = (0, *range(2, g.ndim))
    assert np.allclose(b.grad.numpy(), g.sum(axes), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_transposed_is_the_input_gradient(case):
    x, w, _ = operands(case)
    *_, size, kernel, stride, padding, dilation = case
    tx = ft.tensor(x, requires_grad=True)
    y = convolve(tx, ft.tensor(w), None, case)
    g = ft.tensor(values(tuple(y.shape)))
    y.backward(g)
    least = [(m - 1) * t - 2 * p + d * (k - 1) + 1 for m, t, p, d, k in zip(y.shape[2:], stride, padding, dilation, kernel)]
    extra = [s - n for s, n in zip(size, least)]
    if min(least) <= 0 or any(e >= t and e >= d for e, t, d in zip(extra, stride, dilation)):
        return
    bias = values((case[1],))
    got = transpose(g, ft.tensor(w), ft.tensor(bias), case, tuple(extra))
    assert_near(got, tx.grad.numpy() + bias.reshape(-1, *[1] * len(size)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_compute_in_float32(dtype):
    case = SHAPES[2]
    x, w, b = (ft.tensor(a).to(getattr(ft, dtype)) for a in operands(case, "float32"))
    want = reference(x.float().numpy(), w.float().numpy(), b.float().numpy(), case)
    got = convolve(x, w, b, case)
    assert got.dtype is x.dtype
    assert np.allclose(got.float().numpy(), want, rtol=1e-2 if dtype == "bfloat16" else 2e-3, atol=1e-2)


def test_strided_operands_and_unbatched():
    x, w = values((6, 5, 3)), values((2, 4, 3, 3))
    tx, tw = ft.tensor(x).permute(2, 1, 0), ft.tensor(w).transpose(0, 1)[:, :, :, :2]
    assert not tx.is_contiguous()
    with pytest.raises(RuntimeError):
        F.conv2d(tx, tw)
    tw = ft.tensor(np.ascontiguousarray(w.transpose(1, 0, 2, 3))).transpose(2, 3)[:3].transpose(0, 1)
    case = (1, 3, 2, 1, (5, 6), (3, 3), (1, 1), (0, 0), (1, 1))
    want = reference(np.ascontiguousarray(x.transpose(2, 1, 0))[None], np.ascontiguousarray(tw.numpy()), None, case)[0]
    assert_near(F.conv2d(tx, tw), want)


@pytest.mark.parametrize("case", [SHAPES[1], SHAPES[3], SHAPES[13], SHAPES[14], SHAPES[15]], ids=str)
def test_second_derivatives(case):
    case = (1, *case[1:])
    x, w, b = (ft.tensor(a, requires_grad=True) for a in operands(case))
    assert ft.autograd.gradcheck(lambda *a: convolve(*a, case), (x, w, b))
    assert ft.autograd.gradgradcheck(lambda *a: convolve(*a, case), (x, w, b))


def test_second_derivatives_transposed():
    x, w = (ft.tensor(values(s), requires_grad=True) for s in ((1, 2, 4), (2, 3, 3)))
    f = lambda x, w: F.conv_transpose1d(x, w, None, 2, 1, 2, 1, 3)      # noqa: E731
    assert ft.autograd.gradcheck(f, (x, w))
    assert ft.autograd.gradgradcheck(f, (x, w))


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_same_bits_at_any_thread_count(case):
    found = []
    for threads in (1, 2, 3):
        ft.set_num_threads(threads)
        x, w, b = (ft.tensor(a, requires_grad=True) for a in map(np.ascontiguousarray, fixed(case)))
        y = convolve(x, w, b, case)
        y.backward(ft.ones_like(y))
        found.append([t.detach().numpy().tobytes() for t in (y, x.grad, w.grad, b.grad)])
    assert found[0] == found[1] == found[2]


def fixed(case):
    n, c, o, groups, size, kernel, *_ = case
    rng = np.random.default_rng(1)
    return [rng.standard_normal(s).astype("float32") for s in ((n, c, *size), (o, c // groups, *kernel), (o,))]


def test_not_finite_stays_where_it_is():
    """A fast algorithm must not spread an infinity to windows that do not contain it."""
    x, w = values((1, 16, 24, 24), "float32"), values((16, 16, 3, 3), "float32")
    x[0, 3, 10, 10] = np.inf
    y = F.conv2d(ft.tensor(x), ft.tensor(w), padding=1).numpy()
    outside = np.ones((24, 24), bool)
    outside[9:12, 9:12] = False
    assert np.isfinite(y[0, :, outside]).all()
    assert np.isinf(y[0, :, 9:12, 9:12]).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_weight_that_is_not_finite_reaches_its_products_only(value):
    """The transform of weights notices one, of any tap, in a layer and in the gradient of its input."""
    x, w = values((2, 17, 24, 24), "float32"), values((19, 17, 3, 3), "float32")
    w[18, 16, 1, 2] = value
    tx = ft.tensor(x, requires_grad=True)
    y = F.conv2d(tx, ft.tensor(w), padding=1)
    bad = ~np.isfinite(y.detach().numpy())
    assert not bad[:, :18].any() and bad[:, 18, :, :-1].all()
    g = np.zeros(y.shape, "float32")
    g[:, 18, 5, 6] = 1
    y.backward(ft.tensor(g))
    assert np.isfinite(tx.grad.numpy()[:, :16]).all() and not np.isfinite(tx.grad.numpy()[:, 16, 5, 7]).any()


def test_same_padding():
    x, w = values((1, 2, 7)), values((3, 2, 4))
    want = reference(np.pad(x, [(0, 0), (0, 0), (1, 2)]), w, None, (1, 2, 3, 1, (10,), (4,), (1,), (0,), (1,)))
    assert_near(F.conv1d(ft.tensor(x), ft.tensor(w), padding="same"), want)
    with pytest.raises(RuntimeError, match="same"):
        F.conv1d(ft.tensor(x), ft.tensor(w), padding="same", stride=2)


def test_empty_batch():
    x, w = ft.zeros(0, 3, 5, 5, requires_grad=True), ft.ones(4, 3, 3, 3, requires_grad=True)
    y = F.conv2d(x, w, ft.ones(4))
    assert tuple(y.shape) == (0, 4, 3, 3)
    y.sum().backward()
    assert tuple(x.grad.shape) == (0, 3, 5, 5) and not w.grad.numpy().any()


@pytest.mark.parametrize("shape, options, words", [
    ((1, 3, 5, 5), {}, "3 channels"),
    ((1, 4, 2, 2), {}, "Kernel size"),
    ((5, 5), {}, "Expected 3D"),
    ((1, 4, 5, 5), {"stride": 0}, "stride"),
    ((1, 4, 5, 5), {"padding": -1}, "padding"),
    ((1, 4, 5, 5), {"dilation": 0}, "dilation"),
    ((1, 4, 5, 5), {"groups": 3}, "groups"),
    ((1, 4, 5, 5), {"stride": (1, 1, 1)}, "stride"),
    ((1, 4, 5, 5), {"bias": "zeros"}, "bias"),
])
def test_errors_name_what_is_wrong(shape, options, words):
    if "bias" in options:
        options = {"bias": ft.zeros(7)}
    with pytest.raises(RuntimeError, match=words):
        F.conv2d(ft.zeros(shape), ft.zeros(6, 4, 3, 3), **options)


def test_dtypes_must_agree():
    with pytest.raises(RuntimeError, match="float64"):
        F.conv1d(ft.zeros(1, 1, 5), ft.zeros(1, 1, 2, dtype=ft.float64))
    with pytest.raises(TypeError, match="weight"):
        F.conv1d(ft.zeros(1, 1, 5), [1.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_unfold_and_fold(dtype):
    x = values((2, 3, 7, 8), dtype)
    kernel, dilation, padding, stride = (2, 3), (2, 1), (1, 0), (1, 2)
    columns = F.unfold(ft.tensor(x), kernel, dilation, padding, stride).numpy()
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    want = np.stack([padded[:, :, 2 * i:2 * i + 7, j:j + 5:2].reshape(2, 3, -1) for i in range(2) for j in range(3)], 2).reshape(2, 18, -1)
    assert (columns == want).all()
    counts = F.fold(F.unfold(ft.ones(1, 1, 7, 8), kernel, dilation, padding, stride), (7, 8), kernel, dilation, padding, stride).numpy()
    assert_near(F.fold(ft.tensor(columns), (7, 8), kernel, dilation, padding, stride), (x * counts).astype(dtype), dtype)


def test_unfold_derivatives():
    x = ft.tensor(values((1, 2, 4, 4)), requires_grad=True)
    assert ft.autograd.gradcheck(lambda t: F.unfold(t, 2, 1, 1, 2), (x,))
    assert ft.autograd.gradgradcheck(lambda t: F.unfold(t, 2, 1, 1, 2), (x,))


@pytest.mark.parametrize("mode, name", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"), ("constant", "constant")])
def test_padding_modes(mode, name):
    x = values((2, 3, 4, 5))
    want = np.pad(x, [(0, 0), (0, 0), (2, 1), (3, 0)], mode=name)
    got = P.pad(ft.tensor(x, requires_grad=True), (3, 0, 2, 1), mode)
    assert (got.detach().numpy() == want).all()
    assert ft.autograd.gradcheck(lambda t: P.pad(t, (1, 0, 0, 1), mode), (ft.tensor(x[:1, :1], requires_grad=True),))


@pytest.mark.parametrize("mode, row, grad", [("reflect", [2, 1, 0, 1, 2, 3, 2], [1, 2, 3, 1]), ("replicate", [0, 0, 0, 1, 2, 3, 3], [3, 1, 1, 2]),
                                             ("circular", [2, 3, 0, 1, 2, 3, 0], [2, 1, 2, 2])])
def test_padding_by_own_values(mode, row, grad):
    for dtype in (ft.uint8, ft.int16, ft.float16, ft.bfloat16, ft.float32, ft.int64, ft.complex64, ft.complex128):
        assert P.pad(ft.arange(4).to(dtype).view(1, 4), (2, 1), mode).to(ft.float64 if not dtype.is_complex else dtype).real.tolist() == [row], dtype
        if dtype.is_floating_point or dtype.is_complex:
            x = ft.ones(1, 4, dtype=dtype, requires_grad=True)
            P.pad(x, (2, 1), mode).real.sum().backward()
            assert x.grad.real.tolist() == [grad], dtype
    assert P.pad(ft.arange(4.).view(1, 4), (-1, 2), mode).tolist() == [[1, 2, 3] + {"reflect": [2, 1], "replicate": [3, 3], "circular": [1, 2]}[mode]]
    x = ft.randn(2, 1, 3, 4, 2, dtype=ft.float64, requires_grad=True)
    pad = functools.partial(P.pad, pad=(1, 1, -1, 2, 2, 0), mode=mode)
    assert ft.autograd.gradcheck(pad, (x,)) and ft.autograd.gradgradcheck(pad, (x,))
    assert (ft.func.vmap(pad)(x) == ft.stack([pad(sample) for sample in x])).all()


def test_padding_cuts_and_fills():
    x = ft.arange(6).reshape(2, 3)
    assert P.pad(x, (-1, 2), value=9).tolist() == [[1, 2, 9, 9], [4, 5, 9, 9]]
    assert P.pad(x == 1, (1, 0)).tolist() == [[False, False, True, False], [False, False, False, False]]
    with pytest.raises(RuntimeError):
        P.pad(x, (-2, -2))
    with pytest.raises(NotImplementedError):
        P.pad(x, (1, 1), mode="mirror")


def test_shuffles():
    x = values((2, 8, 3, 4))
    up = P.pixel_shuffle(ft.tensor(x), 2)
    want = x.reshape(2, 2, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 8)
    assert (up.numpy() == want).all()
    assert (P.pixel_unshuffle(up, 2).numpy() == x).all()
    assert (P.channel_shuffle(ft.tensor(x), 4).numpy() == x.reshape(2, 4, 2, 3, 4).transpose(0, 2, 1, 3, 4).reshape(x.shape)).all()
    with pytest.raises(RuntimeError):
        P.pixel_shuffle(ft.tensor(x), 3)


def test_weight_gradient_where_windows_stop_short_of_the_edge():
    x = ft.arange(18.0).reshape(1, 3, 6)
    w = ft.ones(3, 2, 1, requires_grad=True)
    y = ft.nn.functional.conv_transpose1d(x, w, None, 1, 0, 1, 1, 3)
    (y * ft.arange(14.0).reshape(1, 2, 7)).sum().backward()
    assert w.grad.flatten().tolist() == [55, 160, 145, 502, 235, 844]


def test_empty_transposed_output():
    x = ft.ones(2, 1, 2, requires_grad=True)
    y = ft.nn.functional.conv_transpose1d(x, ft.ones(1, 1, 1), None, 1, 1)
    y.sum().backward()
    assert y.shape == (2, 1, 0) and x.grad.tolist() == [[[0.0, 0.0]]] * 2


def test_a_negative_pad_takes_no_more_than_there_is():
    with pytest.raises(RuntimeError, match="negative size"):
        ft.nn.functional.pad(ft.ones(2, 1), (-2, 2))


@pytest.mark.parametrize("dtype", [ft.float32, ft.float64])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_rows_of_every_width_are_packed(stride, dtype):
    """Whole numbers: the products of floats are those of integers, to the last bit, whatever runs of pixels a panel has."""
    for width in (3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 50):
        x = ft.tensor(RNG.integers(-4, 5, (3, 17, 6, width)))
        w = ft.tensor(RNG.integers(-4, 5, (19, 17, 2, 3)))
        got = F.conv2d(x.to(dtype), w.to(dtype), stride=stride, padding=(1, 1), dilation=(1, 1))
        assert ft.equal(got, F.conv2d(x, w, stride=stride, padding=(1, 1)).to(dtype)), (width, stride)
        g = ft.tensor(RNG.integers(-4, 5, (3, 19, 5, width)))
        got = F.conv_transpose2d(g.to(dtype), w.to(dtype), stride=stride, padding=(1, 1))
        assert ft.equal(got, F.conv_transpose2d(g, w, stride=stride, padding=(1, 1)).to(dtype)), (width, stride)


@pytest.mark.parametrize(("size", "kernel", "padding", "dilation"), [(7, 5, 4, 1), (3, 7, 3, 1), (4, 3, 5, 4), (2, 1, 3, 1)])
def test_taps_that_meet_nothing_but_padding(size, kernel, padding, dilation):
    """Some lines of the output see a part of the kernel only, or none of it and are the bias."""
    x, bias = ft.tensor(RNG.integers(-4, 5, (5, 20, size, size))), ft.tensor(RNG.integers(-4, 5, (24,)))
    w = ft.tensor(RNG.integers(-4, 5, (24, 20, kernel, kernel)))
    for stride in (1, 2):
        sizes = {"stride": stride, "padding": padding, "dilation": dilation}
        assert ft.equal(F.conv2d(x.float(), w.float(), bias.float(), **sizes), F.conv2d(x, w, bias, **sizes).float())


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(1.5, 1), ("1", 1), 3])
def test_widths_of_padding_are_whole_numbers(mode, widths):
    with pytest.raises(TypeError, match="pad"):
        P.pad(ft.ones(1, 1, 4), widths, mode)
    with pytest.raises(TypeError, match="must be Tensor"):
        P.pad([1.0], (1, 1), mode)
