"""Mixed precision: the dtype of every listed operation, blocks and decorators, the cache of weights, loss scaling."""
import pickle
import threading
import warnings

import pytest

import fasttensor as torch
from fasttensor import nn

# operation -> result dtype for float32 arguments, and for bfloat16 ones: f and b stand for the two
DTYPES = {
    "a @ a": "bb", "t.mm(a, a)": "bb", "a.mm(a)": "bb", "t.matmul(a, v)": "bb", "t.mv(a, v)": "fb", "t.dot(v, v)": "fb",
    "t.bmm(c, c)": "bb", "t.addmm(a, a, a)": "bb", "t.baddbmm(c, c, c)": "bb", "t.addbmm(a, c, c)": "bb", "F.linear(a, a)": "bb",
    "F.linear(a, a, v)": "bb", "t.einsum('ij,jk->ik', a, a)": "bb", "t.linalg.vecdot(a, a)": "bb", "t.linalg.multi_dot([a, a, a])": "bb",
    "F.conv1d(c, c)": "bb", "F.conv2d(d, d)": "bb", "F.conv_transpose2d(d, d)": "bb", "F.prelu(a, v)": "bb",
    "F.scaled_dot_product_attention(c, c, c)": "bb", "F.bilinear(a, a, c)": "fb", "t.outer(v, v)": "fb", "a.inner(a)": "bb",
    "t.cat([a, a])": "fb", "t.cat([a, a.bfloat16()])": "fb", "t.stack([a, a.bfloat16()])": "fb", "t.cat([a.double(), a])": "dd",
    "a + a": "fb", "a * 2": "fb", "a.exp()": "fb", "a.sum()": "fb", "t.softmax(a, 0)": "fb", "F.layer_norm(a, (3,))": "fb",
    "a + a.bfloat16()": "fb", "a.cumsum(0)": "fb", "a.norm()": "fb", "F.relu(a)": "fb", "a.prod()": "ff", "a.prod(0)": "ff", "t.trace(a)": "ff",
    "a.quantile(0.5)": "ff", "t.cdist(a, a)": "ff", "t.inverse(s)": "ff", "t.linalg.inv(s)": "ff", "t.linalg.svdvals(a)": "ff",
    "t.linalg.cholesky(s)": "ff", "t.linalg.solve(s, a)": "ff", "t.fft.fft(a).real": "ff", "F.mse_loss(a, a)": "ff",
    "F.cross_entropy(a, a)": "ff", "F.l1_loss(a, a)": "ff", "F.kl_div(a, a)": "ff", "F.huber_loss(a, a)": "ff",
    "F.binary_cross_entropy(p, p)": "ff", "F.binary_cross_entropy_with_logits(a, p)": "ff", "F.nll_loss(a, i)": "ff",
    "F.nll_loss(d, j)": "ff", "F.avg_pool3d(d, 1)": "ff", "F.max_pool3d(d, 1)": "ff", "F.max_pool2d(d, 1)": "fb",
    "F.adaptive_avg_pool3d(d, 1)": "ff", "F.grid_sample(d, g)": "ff", "F.pad(c, (1, 1), 'reflect')": "ff", "F.pad(c, (1, 1))": "fb",
    "F.cosine_embedding_loss(a, a, v)": "ff", "F.gaussian_nll_loss(a, a, p)": "fb", "F.interpolate(d, scale_factor=2)": "fb",
    "nn.RNN(3, 3)(c)[0]": "bb", "nn.LSTM(3, 3)(c)[0]": "bb", "nn.GRU(3, 3)(c)[0]": "fb", "nn.GRUCell(3, 3)(a)": "fb",
    "nn.LSTMCell(3, 3)(a)[1]": "fb", "nn.RNNCell(3, 3)(a)": "bb", "nn.MultiheadAttention(3, 1)(c, c, c)[0]": "bb",
    "nn.TransformerEncoderLayer(3, 1)(c)": "fb", "nn.LayerNorm(3)(a)": "fb", "nn.BatchNorm1d(3)(a)": "fb",
    "nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.ReLU())(d)": "bb",
}
SPELLED = {"b": "bfloat16", "f": "float32", "d": "float64"}


def arguments(lib, half):
    a = lib.linspace(0.1, 0.9, 9).reshape(3, 3) + lib.eye(3)
    p = lib.linspace(0.1, 0.9, 9).reshape(3, 3)
    values = {"a": a, "v": a[0], "c": a.expand(3, 3, 3).contiguous(), "d": a.expand(3, 3, 3, 3).contiguous(), "s": a @ a.t(), "p": p,
              "g": lib.zeros(3, 2, 2, 2)}
    if half:
        values = {name: value.bfloat16() for name, value in values.items()}
    index = lib.tensor([0, 1, 2])
    return {**values, "i": index, "j": index.expand(3, 3, 3).contiguous(), "t": lib, "F": lib.nn.functional, "nn": lib.nn}


def dtype_of(lib, expression, half):
    scope = arguments(lib, half)
    with lib.autocast("cpu"):
        return str(eval(expression, scope).dtype).removeprefix("torch.")


@pytest.mark.parametrize("expression", DTYPES)
def test_dtypes_of_results(expression):
    for half, letter in zip((False, True), DTYPES[expression]):
        assert dtype_of(torch, expression, half) == SPELLED[letter], expression


def test_dtypes_are_those_of_pytorch():
    theirs = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [(e, half, dtype_of(theirs, e, half)) for e, letters in DTYPES.items() for half, letter in zip((False, True), letters)
                 if dtype_of(theirs, e, half) != SPELLED[letter]]
    assert not wrong, f"PyTorch gives other dtypes than this table: {wrong}"


def test_functions_imported_by_name_are_cast_and_restored():
    from fasttensor import matmul
    from fasttensor.nn.functional import linear
    plain = linear.__code__
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.float16):
        assert matmul(a, a).dtype is torch.float16 and linear(a, a).dtype is torch.float16
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert (a @ a).dtype is torch.bfloat16
        assert torch.mm(a, a).dtype is torch.float16
    assert linear.__code__ is plain and linear(a, a).dtype is torch.float32 and (a @ a).dtype is torch.float32
    with pytest.raises(ValueError, match="stop"), torch.autocast("cpu"):
        raise ValueError("stop")
    assert linear.__code__ is plain and not torch.is_autocast_enabled("cpu")


def test_decorator_settings_and_other_threads():
    @torch.autocast("cpu")
    def product(a):
        return a @ a, torch.is_autocast_enabled("cpu")
    a = torch.ones(2, 2)
    result, on = product(a)
    assert on and result.dtype is torch.bfloat16 and not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu"):
        seen = []
        thread = threading.Thread(target=lambda: seen.append((a @ a).dtype))
        thread.start()
        thread.join()
        assert seen == [torch.float32]
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert (a @ a).dtype is torch.float16 and torch.get_autocast_dtype("cpu") is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert (a @ a).dtype is torch.float32
    with pytest.raises(RuntimeError, match="xyz"):
        torch.autocast("xyz")
    with pytest.raises(ValueError, match="device_type"):
        torch.autocast(3)


def test_a_gpu_that_is_not_there_warns_and_changes_nothing():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    a = torch.ones(2, 2)
    with pytest.warns(UserWarning, match="not available"):
        block = torch.autocast("cuda")
    with block:
        assert (a @ a).dtype is torch.float32 and not torch.is_autocast_enabled()
    with pytest.warns(UserWarning, match="not supported"), torch.autocast("cpu", dtype=torch.float32):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(FutureWarning, match="torch.cpu.amp"), torch.cpu.amp.autocast():
        assert (a @ a).dtype is torch.bfloat16
    with pytest.warns(UserWarning, match="not available"), pytest.warns(FutureWarning):
        assert not torch.cuda.amp.GradScaler().is_enabled()


def test_weights_are_converted_once_and_again_after_a_write():
    layer = nn.Linear(3, 3)
    x = torch.ones(2, 3)
    with torch.autocast("cpu"):
        with torch.no_grad():
            layer(x)
        first = layer(x)
        second = layer(x)
        shared = [y.grad_fn.next_functions[1][0] for y in (first, second)]
        assert shared[0] is shared[1] is not None
        with torch.no_grad():
            layer.weight.zero_()
            layer.bias.zero_()
        assert float(layer(x).abs().sum()) == 0
    second.float().sum().backward()
    assert layer.weight.grad.dtype is torch.float32 and layer.weight.grad.tolist() == [[2.0] * 3] * 3


def test_low_rank_decompositions_run_in_float32():
    a = torch.eye(4)
    with torch.autocast("cpu"):
        u, s, v = torch.svd_lowrank(a, 2)
        assert u.dtype is s.dtype is v.dtype is torch.float32 and torch.allclose(s, torch.ones(2), atol=1e-5)


def test_training_matches_pytorch():
    theirs = pytest.importorskip("torch")
    losses = []
    for lib in (torch, theirs):
        net = lib.nn.Sequential(lib.nn.Linear(4, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
        with lib.no_grad():
            for k, parameter in enumerate(net.parameters()):
                parameter.copy_(lib.linspace(-0.5, 0.5, parameter.numel()).reshape(parameter.shape) * (1 + 0.1 * k))
        optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
        x = lib.linspace(-1, 1, 32).reshape(8, 4)
        scaler = lib.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
        for _ in range(8):
            optimizer.zero_grad()
            with lib.autocast("cpu"):
                loss = lib.nn.functional.mse_loss(net(x), x[:, :1] * 0.5)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append((loss.item(), scaler.get_scale()))
    assert losses[0][0] == pytest.approx(losses[1][0], rel=0.02) and losses[0][1] == losses[1][1] == 256.0


def test_scaler_skips_bad_steps_and_grows():
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.step(optimizer)
    scaled = scaler.scale([torch.tensor(1.0), (torch.tensor(2.0),)])
    assert [scaled[0].item(), scaled[1][0].item()] == [4.0, 8.0]
    scaler.scale((weight * torch.tensor([1.0, float("inf")])).sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, float("inf")]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    assert scaler.step(optimizer) is None and weight.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 1.0
    for expected in (1.0, 3.0):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == expected
    assert weight.tolist() == [-1.0, -1.0]
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.update(new_scale=16.0)
    again = torch.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    assert again.state_dict() == scaler.state_dict() == {
        "scale": 16.0, "growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 2, "_growth_tracker": 0}
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 16.0
    off = torch.amp.GradScaler("cpu", enabled=False)
    assert off.scale(weight) is weight and off.state_dict() == {} and off.get_scale() == 1.0
    with pytest.raises(RuntimeError, match="empty"):
        again.load_state_dict({})


def test_half_gradients_are_refused():
    weight = nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(torch.optim.SGD([weight], lr=1.0))


def test_functions_with_their_own_dtype():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a @ a

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            return (g.float() @ ctx.saved_tensors[0]).float()
    seen = []
    a = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(a)
    y.float().sum().backward()
    assert y.dtype is torch.bfloat16 and seen == [True]
