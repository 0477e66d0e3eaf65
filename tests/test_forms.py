"""Forms of operators and corners of dtypes: `out=`, numbers outside a dtype's range, half precision, empty tensors."""
import math
import warnings

import pytest

import fasttensor as torch

F = torch.nn.functional
INF = math.inf


def test_out_takes_the_shape_and_warns_where_it_held_elements():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for call in (lambda out: torch.add(x, 1, out=out), lambda out: torch.mm(x, x, out=out), lambda out: torch.cumsum(x, 0, out=out),
                 lambda out: torch.cat([x, x], out=out), lambda out: torch.sum(x, out=out)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = call(torch.empty(0))
        out = torch.ones(7)
        with pytest.warns(UserWarning, match="resized since it had shape"):
            assert call(out) is out
        assert out.shape == expected.shape and torch.equal(out, expected)
    with pytest.warns(UserWarning, match="resized"):
        assert torch.add(torch.tensor(1.0), 1, out=torch.ones(3)).shape == ()


def test_out_keeps_its_strides_and_is_not_shared_memory():
    x, out = torch.arange(6.0).view(2, 3), torch.zeros(3, 2).t()
    torch.add(x, 1, out=out)
    torch.mm(torch.eye(2), out, out=out)
    assert out.stride() == (1, 2) and out.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.add(torch.ones(3), 1, out=torch.zeros(1).expand(3))


@pytest.mark.parametrize("call", [
    lambda x, out: torch.mm(x, x, out=out), lambda x, out: torch.neg(x, out=out), lambda x, out: torch.sort(x, out=(out, out.long())),
    lambda x, out: torch.gather(x, 0, x.long() * 0, out=out), lambda x, out: torch.linalg.inv(x, out=out), lambda x, out: torch.amax(x, 0, out=out),
    lambda x, out: torch.zeros(2, dtype=torch.float32, out=out), lambda x, out: torch.softmax(x, 0, out=out), lambda x, out: torch.t_copy(x, out=out)])
def test_out_of_another_dtype_is_refused_where_pytorch_does(call):
    with pytest.raises(RuntimeError, match="dtype"):
        call(torch.tensor([[2.0, 1.0], [1.0, 2.0]]), torch.zeros(2, 2, dtype=torch.float64))


@pytest.mark.parametrize("call", [
    lambda x, out: torch.abs(x, out=out), lambda x, out: torch.lerp(x, x, x, out=out), lambda x, out: torch.round(x, decimals=1, out=out),
    lambda x, out: torch.where(x > 0, x, x, out=out), lambda x, out: torch.heaviside(x, x, out=out), lambda x, out: torch.signbit(x, out=out),
    lambda x, out: torch.isposinf(x, out=out), lambda x, out: torch.isneginf(x, out=out), lambda x, out: F.gelu(x, out=out),
    lambda x, out: F.softplus(x, out=out), lambda x, out: F.logsigmoid(x, out=out), lambda x, out: F.linear(x, x, out=out),
    lambda x, out: F.avg_pool2d(x[None], 1, out=out), lambda x, out: torch.cumsum(x, 0, dtype=torch.float32, out=out),
    lambda x, out: torch.prod(x, 0, dtype=torch.float32, out=out), lambda x, out: torch.nonzero_static(x, size=2, out=out),
    lambda x, out: torch.slice_scatter(x, x, out=out), lambda x, out: torch.zeros(2, out=out.requires_grad_()),
    lambda x, out: torch.nonzero(x, as_tuple=True, out=out.long()), lambda x, out: torch.fft.irfft(x, out=out.to(torch.complex128))])
def test_out_that_cannot_take_the_result_is_refused(call):
    with pytest.raises(RuntimeError, match="dtype|floating point|as_tuple|requires grad"):
        call(torch.tensor([[2.0, 1.0], [1.0, 2.0]]), torch.zeros(2, 2, dtype=torch.float64))


@pytest.mark.parametrize("call", [
    lambda x, **k: F.linear(x, x, x[0], **k), lambda x, **k: F.gelu(x, approximate="tanh", **k), lambda x, **k: F.softplus(x, **k),
    lambda x, **k: F.logsigmoid(x, **k), lambda x, **k: F.avg_pool2d(x[None], 2, 1, **k), lambda x, **k: F.avg_pool3d(x[None, None], 1, **k),
    lambda x, **k: torch.slice_scatter(x, x[:1], 0, 1, **k), lambda x, **k: torch.where(x > 1, x, -x, **k)])
def test_out_of_functions_of_nn(call):
    x = torch.tensor([[2.0, 1.0], [-1.0, 3.0]])
    expected, out = call(x), torch.empty(0)
    assert call(x, out=out) is out and torch.equal(out, expected)
    with torch.no_grad():
        strided = torch.zeros(*expected.shape, 2)[..., 0]
        assert call(x.clone().requires_grad_(), out=strided) is strided and torch.equal(strided, expected)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        call(x.clone().requires_grad_(), out=out)


def test_out_with_the_right_number_of_elements_keeps_its_shape_in_ranges():
    assert torch.arange(6, out=torch.zeros(2, 3, dtype=torch.int64)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.linspace(0, 3, 4, out=torch.zeros(2, 2)).tolist() == [[0, 1], [2, 3]]


def test_out_of_small_dtypes():
    x = torch.tensor([0, 3])
    assert torch.all(x, out=torch.ones((), dtype=torch.uint8)).item() == 0 and torch.any(x, out=torch.zeros((), dtype=torch.uint8)).item() == 1
    assert torch.bernoulli(torch.tensor([0.0, 1.0]), out=torch.zeros(2, dtype=torch.int64)).tolist() == [0, 1]
    assert torch.prod(torch.tensor([1.5, 2.0]), 0, out=torch.zeros((), dtype=torch.int64)).item() == 2
    with pytest.raises(TypeError, match="cat.*int64"):
        torch.cat([torch.ones(2)], out=torch.zeros(2, dtype=torch.int64))
    with pytest.raises(NotImplementedError, match="nansum.*int64"):
        torch.nansum(torch.ones(2), out=torch.zeros((), dtype=torch.int64))


def test_out_of_another_dtype_converts_where_pytorch_does():
    x = torch.tensor([1.5, 2.5])
    assert torch.add(x, x, out=torch.zeros(2, dtype=torch.float64)).dtype is torch.float64
    assert torch.cumsum(x, 0, out=torch.zeros(2, dtype=torch.int32)).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(x, x, out=torch.zeros(2, dtype=torch.int64))


def test_out_overlapping_an_input():
    x = torch.arange(6.0)
    for call in (lambda: torch.add(x[1:], 1, out=x[:-1]), lambda: torch.exp(x[1:], out=x[:-1]), lambda: torch.lerp(x[1:], x[:-1], 0.5, out=x[1:])):
        with pytest.raises(RuntimeError, match="some elements of the input tensor .* refer to a single memory location"):
            call()
    torch.add(x[:3], x[:3], out=x[:3])
    torch.add(x[:4], 1, out=x[::2].as_strided((4,), (1,)))      # one and the same memory
    torch.sum(x.view(2, 3), 0, out=x[:3])
    assert x.tolist() == [5, 7, 10, 4, 4, 5]


def test_numbers_beyond_a_small_dtype_wrap_around():
    u = torch.tensor([5, 200], dtype=torch.uint8)
    assert torch.add(u, u, alpha=-3).tolist() == [246, 112] and torch.sub(u, u, alpha=-3).tolist() == [20, 32]
    assert torch.addcmul(u, u, u, value=-1).tolist() == [236, 136]
    assert u.clamp(-3, 10).tolist() == [10, 10] and u.clamp(min=-3).tolist() == [253, 253]      # as PyTorch's, -3 being 253
    for bad in (lambda: u.clamp(max=300), lambda: torch.tensor([-100, 100], dtype=torch.int8).clamp(-1000, 64)):
        with pytest.raises(RuntimeError, match="without overflow"):
            bad()


@pytest.mark.parametrize("name, step", [("float16", 2.0 ** -10), ("bfloat16", 2.0 ** -7)])
def test_nextafter_of_half_precision(name, step):
    kind = getattr(torch, name)
    a, b = torch.tensor([1.0, 1.0, -1.0, 2.0, INF], dtype=kind), torch.tensor([2.0, 0.0, -2.0, 2.0, INF], dtype=kind)
    assert torch.nextafter(a, b).tolist() == [1 + step, 1 - step / 2, -1 - step, 2.0, INF]
    tiny = torch.nextafter(torch.zeros(2, dtype=kind), torch.tensor([1.0, -1.0], dtype=kind)).tolist()
    assert tiny[0] > 0 and tiny[1] == -tiny[0] and torch.nextafter(torch.tensor(tiny[0], dtype=kind), torch.zeros(1, dtype=kind)).item() == 0
    assert math.isnan(torch.nextafter(torch.tensor(math.nan, dtype=kind), torch.ones(1, dtype=kind)).item())


def test_half_precision_is_rounded_once():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, n, 8).bfloat16() * 4 for n in (3, 6, 6))
    for causal in (False, True):
        exact = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
        assert torch.equal(F.scaled_dot_product_attention(q, k, v, is_causal=causal), exact.bfloat16())
    x = torch.randn(1, 2, 4, 4, 5).half()
    exact = F.interpolate(x.float(), size=(3, 7, 6), mode="trilinear")
    assert torch.equal(F.interpolate(x, size=(3, 7, 6), mode="trilinear"), exact.half())
    assert torch.histc(torch.tensor([4.0], dtype=torch.bfloat16)).nonzero().item() == 50


def test_bytes_are_resized_in_fixed_point():
    x = torch.arange(16, dtype=torch.uint8).view(1, 1, 4, 4) * 16
    assert F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True).view(-1).tolist() == [0, 24, 48, 96, 120, 144, 192, 216, 240]
    assert F.interpolate(x, size=(2, 3), mode="bilinear").view(-1).tolist() == [35, 56, 77, 163, 184, 205]


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "float16", "bfloat16", "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_mostly_equal_elements(name, descending):
    x = (torch.arange(3000) * 7919 % 11).to(getattr(torch, name))
    values, indices = x.sort(descending=descending)
    assert values.tolist() == sorted(x.tolist(), reverse=descending) and torch.equal(x[indices], values)
    assert sorted(indices.tolist()) == list(range(3000))
    # an order that makes the median of three a bad pivot
    killer = torch.tensor([i // 2 if i % 2 else 127 - i // 2 % 100 for i in range(240)] * 8, dtype=torch.int16)
    assert killer.sort()[0].tolist() == sorted(killer.tolist())


def test_complex_silu():
    x = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
    assert F.silu(x).item() == pytest.approx((1 + 2j) / (1 + 2.718281828459045 ** -(1 + 2j)))
    assert torch.autograd.gradcheck(F.silu, (x,))


def test_operators_by_their_library_names():
    x = torch.tensor([[[[1.0, 3.0], [4.0, 2.0]]]], requires_grad=True)
    y, i = torch.ops.aten.max_pool2d_with_indices(x, (1, 2))
    g = torch.ops.aten.max_pool2d_with_indices_backward.default(torch.ones_like(y), x, (1, 2), (1, 2), 0, 1, False, i)
    assert g.view(-1).tolist() == [0, 1, 1, 0] and g.requires_grad
    assert torch.ops.aten.linalg_det(torch.eye(2)).item() == 1 and torch.ops.aten.add_.Tensor(torch.zeros(1), 2).item() == 2
    with pytest.raises(AttributeError, match="no operator"):
        torch.ops.aten.nothing_of_this_name


def test_pytorch_functions_run_ours_on_our_tensors():
    oracle = pytest.importorskip("torch")
    x = torch.tensor([[3.0, 4.0]], requires_grad=True)
    distance = oracle.nn.PairwiseDistance()(x, torch.zeros(1, 2))
    assert isinstance(distance, torch.Tensor) and distance.item() == pytest.approx(5, rel=1e-5)
    distance.backward()
    assert x.grad.tolist()[0] == pytest.approx([0.6, 0.8], rel=1e-5)
    with pytest.raises(TypeError):
        oracle.add(oracle.zeros(1), x)


def test_native_group_norm_of_nothing_and_its_statistics():
    y, mean, rstd = torch.native_group_norm(torch.zeros(2, 6, 0), None, None, 2, 6, 0, 2, 1e-5)
    assert y.shape == (2, 6, 0) and mean.tolist() == [[0, 0], [0, 0]] and rstd.isnan().all()
    assert torch.native_group_norm(torch.zeros(0, 6, 3), None, None, 0, 6, 3, 2, 1e-5)[1].shape == (0, 2)
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.native_group_norm(x, None, None, 2, 4, 3, 2, 0.5), (x,))


def test_empty_shapes():
    assert F.adaptive_avg_pool1d(torch.zeros(0, 8), 5).shape == (0, 5)
    with pytest.raises(RuntimeError, match="weights sum to zero"):
        torch.cov(torch.zeros(0), aweights=torch.zeros(0))


def test_what_has_no_value_or_dtype():
    half = torch.eye(2).half()
    for call in (lambda: torch.matrix_exp(half), lambda: torch.complex(half, half), lambda: torch.view_as_complex(half)):
        with pytest.raises(RuntimeError, match="float16|half"):
            call()
    assert torch.polygamma(1, torch.tensor([-2.0, 0.0])).tolist() == [INF, INF]
    assert torch.fft.fft(torch.zeros(0, 4), n=6).shape == (0, 6) and F.pixel_unshuffle(torch.zeros(0, 1, 6, 6), 3).shape == (0, 9, 2, 2)


class WriteSecond(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(b)
        return b.mul_(2).add_(a)

    @staticmethod
    def backward(ctx, g):
        return g, g * 2


def test_a_function_may_write_into_a_view_that_is_its_second_argument():
    x, a = torch.arange(4.0).requires_grad_(), torch.ones(2, requires_grad=True)
    y = x * 1
    WriteSecond.apply(a, y[1:3])
    (y * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert y.tolist() == [0, 3, 5, 3] and x.grad.tolist() == [1, 20, 200, 1000] and a.grad.tolist() == [10, 100]


def test_second_derivative_of_ctc_loss():
    torch.manual_seed(0)
    z = torch.randn(5, 2, 4, dtype=torch.float64, requires_grad=True)
    loss = lambda z: F.ctc_loss(z.log_softmax(2), torch.tensor([[1, 2, 2], [3, 1, 0]]), [5, 4], [3, 2], reduction="none")  # noqa: E731
    assert torch.autograd.gradgradcheck(loss, (z,))
    recorded, = torch.autograd.grad(loss(z).sum(), z, create_graph=True)
    plain, = torch.autograd.grad(loss(z).sum(), z)
    assert torch.allclose(recorded, plain, atol=1e-12)


def test_einsum_of_two_dtypes_multiplies_but_does_not_contract():
    a, b = torch.ones(2, 3), torch.full((3,), 2.0, dtype=torch.float64)
    assert torch.einsum("ij,j->ij", a, b).dtype is torch.float64 and torch.einsum("ij,k->ijk", a, b).sum().item() == 36
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.einsum("ij,j->i", a, b)


def test_out_is_written_by_the_loop_only_where_nothing_is_read_after_it_is_written():
    x = torch.arange(10.0)
    torch.add(x[:6:2], x[:3], out=x[1:6:2])             # not dense, so that PyTorch cannot tell
    assert x.tolist() == [0, 0, 2, 3, 4, 6, 6, 7, 8, 9]
    x = torch.arange(6.0).reshape(2, 3)
    torch.mul(x, x.new_tensor([[1.0], [2.0]]), out=x)
    assert x.tolist() == [[0, 1, 2], [6, 8, 10]]
    y = torch.zeros(3, 2)
    assert torch.where(x > 2, x, -1.0, out=y.t()) is not None and y.tolist() == [[-1, 6], [-1, 8], [-1, 10]]
    wide = torch.zeros(2, 3, dtype=torch.float64)
    assert torch.neg(torch.ones(2, 3, dtype=torch.int32), out=torch.zeros(2, 3, dtype=torch.int32)).tolist() == [[-1] * 3] * 2
    assert torch.add(x, 1, out=wide).dtype is torch.float64 and wide.tolist() == [[1, 2, 3], [7, 9, 11]]
    half = torch.zeros(3, dtype=torch.bfloat16)
    torch.mul(torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16), 1.01, out=half)
    assert torch.equal(half, torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16) * 1.01)
    w = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        torch.add(w, 1, out=torch.zeros(3))
    version = wide._version
    torch.sub(wide, wide, out=wide)
    assert wide._version == version + 1 and not wide.any()
    with pytest.raises(RuntimeError):
        torch.sub(torch.ones(3), torch.ones(3, dtype=torch.bool), out=torch.zeros(3))
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(torch.ones(3), 1, out=torch.zeros(1).expand(3))


def test_bounds_of_bools_are_and_and_or():
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    assert torch.clamp_max(x, y).tolist() == (x & y).tolist() and torch.clamp_min(x, y).tolist() == torch.clamp(x, y).tolist() == (x | y).tolist()


@pytest.mark.parametrize("name, slope", [("elu", 1.0), ("celu", 1.0), ("selu", 1.0507009873554805)])
def test_second_derivatives_where_the_exponential_overflows(name, slope):
    x = torch.tensor([100.0, 1000.0, -1000.0], requires_grad=True)
    g, = torch.autograd.grad((getattr(F, name)(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == pytest.approx([2 * slope ** 2, 2 * slope ** 2, 0.0])


def test_exponents_of_half_precision_keep_their_digits():
    assert (torch.tensor([7.0], dtype=torch.bfloat16) ** 2.3).item() == 88


def test_ldexp_keeps_digits_and_range():
    half = torch.tensor([16.0, -25.0, 3.3], dtype=torch.float16)
    expected = [98304.0, 2.5 / 2**25, 2**half[2].item()]
    assert torch.ldexp(torch.tensor([1.5, 2.5, 1.0]), half).tolist() == pytest.approx(expected, rel=1e-6)
    for exponents, dtype in (([130, -140, 1000, -1000, 128], torch.int64), ([130.0, -140.0, 1000.0, -1000.0, 128.0], torch.float32)):
        got = torch.ldexp(torch.tensor([1e-30, 1e30, 0.0, float("inf"), 2.5]), torch.tensor(exponents, dtype=dtype))
        assert got.tolist() == pytest.approx([1361129472.0, 7.174648e-13, 0.0, float("inf"), float("inf")], rel=1e-6)
    wide = torch.ldexp(torch.tensor([1e-300, 1e300], dtype=torch.float64), torch.tensor([1030, -1040]))
    assert wide.tolist() == pytest.approx([1e-300 * 2.0**1000 * 2.0**30, 1e300 * 2.0**-1000 * 2.0**-40], rel=1e-15)
    assert torch.ldexp(torch.tensor([1.0, 1.0]), torch.tensor([float("nan"), float("-inf")])).isnan().tolist() == [True, False]
    theirs = pytest.importorskip("torch")
    values, exponents = [1e-30, 1e30, 0.0, float("inf"), 2.5, 3.0, -1e-38], [130, -140, 1000, -1000, 128, -140, -5]
    assert torch.ldexp(torch.tensor(values), torch.tensor(exponents)).tolist() == theirs.ldexp(theirs.tensor(values), theirs.tensor(exponents)).tolist()
