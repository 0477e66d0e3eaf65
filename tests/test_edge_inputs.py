"""NaN, infinities and huge numbers in the operations that are not elementwise, and arguments of unlike dtypes, as literals."""
import math

import pytest

import fasttensor as torch

F, INF, NAN = torch.nn.functional, math.inf, math.nan
T = torch.tensor


def same(result, expected):
    assert torch.allclose(result, T(expected, dtype=result.dtype), equal_nan=True), f"{result}, expected {expected}"


def test_margin_losses():
    assert F.multi_margin_loss(T([[NAN, 1.0, 2.0]]), T([1])).isnan() and F.multilabel_margin_loss(T([[NAN, 1.0]]), T([[1, -1]])).isnan()
    assert F.multi_margin_loss(T([[0.1, 0.2]]), T([0]), p=T(2)).item() == pytest.approx(1.1 ** 2 / 2)
    same(F.hinge_embedding_loss(T([1.0, 1.0, NAN]), T([INF, NAN, 1.0]), margin=3, reduction="none"), [3, 3, NAN])


def test_rows_with_nan():
    values, indices = torch.mode(T([[NAN, 1.0, NAN], [2.0, 1.0, NAN]]))
    assert values.tolist() == [1, 1] and indices.tolist() == [1, 1]
    same(torch.unique(T([3.0, NAN, 1.0, NAN, 1.0]), dim=0), [1, 3, NAN, NAN])
    same(torch.unique(T([3.0, NAN, 1.0, NAN, 1.0])), [1, 3, NAN, NAN])


def test_the_largest_of_rows_with_nan():
    x = T([[NAN, 1.0], [2.0, 3.0]])
    same(torch.cdist(x, x, INF), [[NAN, NAN], [NAN, 0]])
    same(F.embedding_bag(T([[0, 1]]), x, mode="max"), [[NAN, 3]])


def test_interpolation_beside_infinities():
    x = torch.arange(36.0).view(1, 1, 6, 6)
    spoilt = x.clone()
    spoilt[0, 0, 0, 5], spoilt[0, 0, 1, 4] = INF, NAN
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            y, z = (F.interpolate(t, (4, 4), mode=mode, align_corners=corners)[0, 0] for t in (x, spoilt))
            assert torch.equal(z[2:], y[2:]) and torch.equal(z[:2, :1], y[:2, :1]) and not z[0, 3].isfinite()


def test_hidden_keys_are_not_read():
    q, k = torch.ones(1, 2, 2), T([[[1.0, 2.0], [NAN, INF]]])
    assert F.scaled_dot_product_attention(q, k, torch.ones(1, 2, 2), is_causal=True)[0, 0].tolist() == [1, 1]


def test_decompositions_of_infinities():
    for call in (lambda x: torch.norm(x, "nuc"), torch.pinverse, torch.linalg.cholesky):
        with pytest.raises(torch.linalg.LinAlgError):
            call(T([[INF, 0.0], [0.0, 1.0]]))
    assert torch.linalg.cholesky_ex(T([[INF, 0.0], [0.0, 1.0]], dtype=torch.float64))[1].item() == 2
    assert torch.linalg.cholesky(T([[1.0, 0.0], [0.0, INF]])).tolist() == [[1, 0], [0, INF]]       # nothing is divided by it


def test_mantissas_and_exponents():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        info = torch.finfo(dtype)
        below = 1 - info.eps / 2
        least = info.smallest_normal * info.eps
        x = T([info.max, below, 1.0, least, -info.smallest_normal, 0.0, -INF], dtype=dtype)
        mantissa, exponent = torch.frexp(x)
        top, bottom = math.frexp(info.max)[1], math.frexp(least)[1]
        assert mantissa.tolist() == [math.frexp(info.max)[0], below, 0.5, 0.5, -0.5, 0, -INF] and mantissa.dtype is dtype
        assert exponent.tolist() == [top, 0, 1, bottom, math.frexp(info.smallest_normal)[1], 0, 0] and exponent.dtype is torch.int32


def test_the_least_numbers_stay():
    for dtype, least in ((torch.float32, 1e-45), (torch.float64, 5e-324)):
        x = T([least, -least, -3 * least], dtype=dtype)
        for call in (torch.expm1, F.elu, F.celu):
            assert torch.equal(call(x), x)
        assert F.selu(x)[1] < 0


def test_signs_of_half_types_are_bits():
    for dtype in (torch.float16, torch.bfloat16):
        x = T([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN, torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps], dtype=dtype)
        assert torch.sign(x).tolist() == [0, 0, 1, -1, 1, -1, 0, 1]
        assert (-x).signbit().tolist() == [not s for s in x.signbit().tolist()] and torch.equal((-x)[:6], T([-0.0, 0, -1.5, 2, -INF, INF], dtype=dtype))
        assert torch.equal(x.abs().nan_to_num(7), T([0, 0, 1.5, 2, INF, INF, 7, x[7]], dtype=dtype).nan_to_num(7)) and not x.abs().signbit().any()
        assert torch.equal(torch.copysign(x, -x).signbit(), (-x).signbit()) and torch.copysign(x[::3], T(-1.0)).signbit().all()


def test_squares_that_overflow():
    same(F.rms_norm(T([3e38, 0.0]), (2,)), [2 ** 0.5, 0])
    same(torch.std(T([3e38, 1.0])) / 1e38, 3 / 2 ** 0.5)
    same(torch.cosine_similarity(T([[3e38, 1.0], [1e-30, 0.0]]), torch.ones(2, 2)), [2 ** -0.5, 2 ** -0.5 * 1e-22])
    x = torch.tensor([[3.0, 4.0]], requires_grad=True)
    torch.cosine_similarity(x, T([[1.0, 0.0]])).backward()
    same(x.grad, [[0.128, -0.096]])


def test_what_is_beyond_a_channel_is_not_read():
    x = T([[[NAN], [1.0], [2.0], [3e38]]])
    same(F.local_response_norm(x, 3, alpha=3.0, beta=1.0, k=0.0), [[[NAN], [NAN], [0.0], [0.0]]])


def test_complex_scans_keep_nan():
    y = torch.logcumsumexp(T([1j, complex(1, NAN), 2]), 0)
    assert y[0] == 1j and torch.view_as_real(y)[1:].isnan().all()
    assert torch.logcumsumexp(T([complex(-INF, 1), complex(-INF, 2), 1]), 0).real.tolist() == [-INF, -INF, 1]
    assert torch.logcumsumexp(T([complex(INF, 3), complex(INF, 1)]), 0).real.tolist() == [INF, INF]


def test_histograms_of_one_value():
    for value in (0.0, -0.0, 5.0):
        assert torch.histc(T([value])).nonzero().item() == 50
    assert torch.histc(T([0.0, 0.7, 1.0]), 10, 0, 1).tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]


def test_weights_that_are_not_numbers():
    with pytest.raises(RuntimeError, match="cov.*aweights cannot be negative"):
        torch.cov(T([1.0, 2.0]), aweights=T([NAN, 1.0]))


def test_median_of_nothing_has_a_gradient():
    for function in (torch.median, torch.nanmedian):
        x = torch.zeros(0, requires_grad=True)
        y = function(x)
        y.backward()
        assert y.isnan() and x.grad.shape == (0,)
    assert torch.median(torch.zeros(0, dtype=torch.int64)).item() == -2 ** 63


def test_windows_of_nothing():
    for pool, shape in ((F.adaptive_avg_pool1d, (1, 2, 0)), (F.adaptive_avg_pool2d, (1, 2, 0, 3)), (F.adaptive_avg_pool3d, (1, 2, 3, 0, 3))):
        y = pool(torch.zeros(shape), 1)
        assert y.shape == (1, 2) + (1,) * (len(shape) - 2) and y.isnan().all()
        with pytest.raises(RuntimeError, match="adaptive_avg_pool"):
            pool(torch.zeros(shape), 2)
    for convolve in (lambda: F.conv1d(torch.zeros(1, 2, 0), torch.zeros(3, 2, 1), padding=1),
                     lambda: F.conv2d(torch.zeros(1, 2, 0, 3), torch.zeros(3, 2, 1, 1), padding=1),
                     lambda: F.conv_transpose1d(torch.zeros(1, 2, 0), torch.zeros(2, 3, 1))):
        with pytest.raises(RuntimeError, match="zero batch or zero channel"):
            convolve()


X, W = torch.ones(3, 2), torch.ones(2, dtype=torch.float64)


@pytest.mark.parametrize("call", [
    lambda: F.layer_norm(X, (2,), W), lambda: F.group_norm(X, 1, W), lambda: F.batch_norm(X, W, W), lambda: F.batch_norm(X, None, None, W, training=True),
    lambda: F.batch_norm(X.half(), W.half(), W.float()), lambda: F.instance_norm(X[None], weight=torch.ones(3, dtype=torch.float64)),
    lambda: F.nll_loss(X, T([0, 1, 1]), W), lambda: F.cross_entropy(X, T([0, 1, 1]), W), lambda: F.multi_margin_loss(X, T([0, 1, 1]), weight=W),
    lambda: F.binary_cross_entropy(X, X.double()), lambda: torch.cdist(X, X.double()), lambda: torch.lerp(X, X.double(), 0.5),
    lambda: X.clone().lerp_(X, X.double()), lambda: torch.linalg.cross(torch.ones(3), torch.ones(3).double()),
    lambda: F.embedding_bag(T([[0, 1]]), X, per_sample_weights=W[None], mode="sum")])
def test_unlike_dtypes_that_are_not_promoted(call):
    with pytest.raises(RuntimeError, match="dtype"):
        call()


def test_unlike_dtypes_that_are():
    assert F.layer_norm(X.half(), (2,), W.float()).dtype is torch.float16 and F.batch_norm(X.bfloat16(), W.float(), W.float()).dtype is torch.bfloat16
    assert F.binary_cross_entropy(X, X, W).dtype is F.huber_loss(X, X.double()).dtype is torch.float32
    assert F.cross_entropy(X, X, W).dtype is torch.float64 and torch.lerp(X, X, T(0.5, dtype=torch.float64)).dtype is torch.float32


@pytest.mark.parametrize(("kind", "call"), [
    (RuntimeError, lambda: -T(True)), (RuntimeError, lambda: torch.neg(T(True))), (RuntimeError, lambda: T(True).neg_()),
    (RuntimeError, lambda: torch.relu(T(True))),
    (RuntimeError, lambda: torch.addcdiv(T([1]), T([1]), T([1]))), (TypeError, lambda: torch.zeros(3).copy_(X[0], 1)),
    (RuntimeError, lambda: torch.zeros(1).expand(3).copy_(1)), (TypeError, lambda: torch.zeros(3, dtype=torch.int64).nan_to_num_(X)),
    (TypeError, lambda: torch.zeros(3).set_(torch.ones(3), torch.ones(3))), (TypeError, lambda: torch.zeros(2, 2).fill_diagonal_(X)),
    (TypeError, lambda: torch.zeros(2, 2).fill_diagonal_(1, 1)), (TypeError, lambda: torch.zeros(2, 2).index_put_(T([0]), torch.ones(1))),
    (TypeError, lambda: torch.zeros(2).index_put_((T([0]),), torch.ones(1), 1)), (TypeError, lambda: torch.zeros(2).index_add_(1, 1, 1)),
    (TypeError, lambda: torch.zeros(2).scatter_(1, 1, 1)), (TypeError, lambda: torch.zeros(2).index_fill_(1, 1, 1)),
    (TypeError, lambda: X.add(X, 2)), (TypeError, lambda: X.is_set_to(1)), (TypeError, lambda: X.clone().requires_grad_("yes")),
    (ValueError, lambda: F.batch_norm(X, None, None, training=True, eps=0.0)), (ValueError, lambda: F.batch_norm(X, X[0], X[0], eps=-1.0)),
    (TypeError, lambda: torch.nn.LSTM(2, 3, bias=1)), (TypeError, lambda: torch.nn.GRU(2, 3, batch_first="yes")), (ValueError, lambda: torch.nn.RNN(0, 3)),
    (ValueError, lambda: torch.nn.LSTM(2, 3)(torch.ones(1, 1, 2).double())), (TypeError, lambda: torch.nn.HuberLoss(delta=1j)),
    (ValueError, lambda: F.linear_cross_entropy(torch.ones(4, 3), torch.ones(2, 3), torch.ones(5, 2))),
    (ValueError, lambda: torch.optim.SparseAdam([torch.ones(1)], lr=torch.ones(2))), (ValueError, lambda: torch.optim.SparseAdam([torch.ones(1) + 0j]))])
def test_types_of_errors(kind, call):
    with pytest.raises(kind) as caught:
        call()
    assert caught.type is kind


def test_numbers_of_two_kinds():
    n = torch.arange(3)
    assert n.clamp(0.5, 1).tolist() == n.clamp(0.5, torch.tensor(1)).tolist() == [0.5, 1, 1] and n.clip(1, 1.5).dtype is torch.float32
    assert n.sub(1.5, 1).tolist() == [-1.5, -0.5, 0.5] and torch.add(n, 2, 3).tolist() == [6, 7, 8]


@pytest.mark.parametrize("kind", [torch.nn.parameter.UninitializedParameter, torch.nn.parameter.UninitializedBuffer])
def test_parameters_without_a_shape_are_not_used(kind):
    p = kind()
    for use in (lambda: p.add_(1), lambda: p.zero_(), lambda: p.normal_(), lambda: torch.nn.init.ones_(p), lambda: p + 1, lambda: 2 * p, lambda: p[0],
                lambda: p.sum(), lambda: len(p), lambda: p.clone(), p.item, p.backward):
        with pytest.raises(ValueError, match="uninitialized parameter in"):
            use()
    assert p.to(torch.float64).dtype is torch.float64 and p.half().dtype is torch.float16 and p in {p}
    p.materialize((2,))
    assert (p + 1).shape == (2,) and len(p) == 2 and p.detach().zero_().tolist() == [0, 0]


def test_integers_do_not_wrap_on_the_way():
    x = T([127, -128, 0], dtype=torch.int8)
    assert torch.gradient(x)[0].tolist() == [-255, -63.5, 128] and F.softsign(T([255], dtype=torch.uint8)).item() == pytest.approx(255 / 256)


def test_nodes_are_named_as_in_pytorch():
    x = torch.ones(2, 3, requires_grad=True)
    for name, y in {
            "Pow 0": (x ** 0.5, x ** -0.5, x ** 2, x.pow(3), x.square(), (x * 1).pow_(0.5)), "Pow 1": (x ** x,), "Pow 2": (2 ** x,), "Sqrt 0": (x.sqrt(),),
            "Fmod 0": (x.fmod(2),), "Fmod 1": (x.fmod(x),), "Remainder 0": (x % 2,), "Remainder 1": (x % x,), "Lerp 0": (x.lerp(x, 0.5),),
            "Lerp 1": (x.lerp(x, x),),
            "Clamp 1": (x.clamp(0, 1),), "Clamp 0": (x.clamp(x, x),), "ClampMin 0": (x.clamp(min=0), x.clamp_min(0)), "ClampMax 0": (x.clamp_max(1),),
            "Transpose 0": (x.transpose(0, 1), x.mT, x.swapaxes(0, 1)), "T 0": (x.t(),), "Permute 0": (x.permute(1, 0), x.T), "Log1P 0": (x.log1p(),),
            "Deg2Rad 0": (x.deg2rad(),), "Gelu 0": (F.gelu(x), F.gelu(x, approximate="tanh")), "Elu 0": (F.selu(x), F.elu(x)), "Hardtanh 0": (F.relu6(x),),
            "LogSigmoid 0": (F.logsigmoid(x),), "Squeeze 0": (x[:1].squeeze(),), "Squeeze 1": (x[:1].squeeze(0),), "Squeeze 2": (x[:1].squeeze((0,)),),
            "NllLoss 0": (F.cross_entropy(x, T([0, 1])),), "PreluKernel 0": (F.prelu(x, T([0.5])),)}.items():
        for result in y:
            assert result.grad_fn.name() == name.replace(" ", "Backward"), name


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_points_have_no_gradient_where_the_nearest_pixel_is_taken(padding):
    image = T([[[[NAN, INF], [-INF, 1.0]]]])
    grid = T([[[[-0.5, -0.5], [0.4, 0.0], [1.5, 2.0]]]]).requires_grad_()
    F.grid_sample(image, grid, "nearest", padding, align_corners=False).sum().backward()
    assert grid.grad.tolist() == [[[[0, 0]] * 3]]


def test_areas_of_no_channels():
    assert F.interpolate(torch.zeros(2, 0, 4), 3, mode="area").shape == (2, 0, 3)
    for mode in ("nearest", "linear"):
        with pytest.raises(RuntimeError, match="greater than 0"):
            F.interpolate(torch.zeros(2, 0, 4), 3, mode=mode)
