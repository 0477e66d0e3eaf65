"""Tensors on the meta device: shapes, strides and dtypes without memory."""
import copy
import io
import pickle

import pytest

import fasttensor as torch
from fasttensor import nn


def meta(*sizes, dtype=None, grad=False):
    return torch.empty(sizes, dtype=dtype, device="meta", requires_grad=grad)


HUGE = 1 << 40      # elements that no memory holds

MAKERS = [
    lambda **d: torch.zeros(HUGE, **d), lambda **d: torch.ones(HUGE, **d), lambda **d: torch.full((HUGE,), 2.0, **d), lambda **d: torch.rand(HUGE, **d),
    lambda **d: torch.randn(HUGE, **d), lambda **d: torch.randint(5, (HUGE,), **d), lambda **d: torch.arange(HUGE, **d),
    lambda **d: torch.randperm(HUGE, **d),
    lambda **d: torch.linspace(0, 1, HUGE, **d), lambda **d: torch.eye(1 << 20, **d), lambda **d: torch.tril_indices(1 << 20, 1 << 20, **d),
    lambda **d: torch.empty_strided((2, HUGE), (1, 2), **d), lambda **d: torch.empty_like(torch.ones(1).expand(HUGE), **d),
]


@pytest.mark.parametrize("maker", range(len(MAKERS)))
def test_making_needs_no_memory(maker):
    x = MAKERS[maker](device="meta")
    assert x.is_meta and x.device.type == "meta" and x.numel() >= HUGE
    assert x.untyped_storage().nbytes() >= HUGE and x.data_ptr() == x.untyped_storage().data_ptr() == 0
    if maker < 11:
        with torch.device("meta"):
            inside = MAKERS[maker]()
        assert inside.is_meta and inside.shape == x.shape and inside.dtype is x.dtype
        assert torch.zeros(1).is_cpu


def test_triangles_are_counted():
    for rows, cols, offset in ((4, 5, 0), (5, 3, 1), (3, 7, -2), (4, 4, 9), (4, 4, -9), (0, 3, 0), (6, 2, -3)):
        for make in (torch.tril_indices, torch.triu_indices):
            assert make(rows, cols, offset, device="meta").shape == make(rows, cols, offset).shape, (rows, cols, offset)


def test_default_device():
    torch.set_default_device("meta")
    try:
        assert torch.rand(2).is_meta and torch.arange(3).is_meta and nn.Linear(2, 2).weight.is_meta
    finally:
        torch.set_default_device(None)
    assert torch.rand(2).is_cpu


def test_no_values():
    x, s = meta(2, 3), meta()
    for call in (s.item, s.__bool__, s.__float__, s.__int__, lambda: torch.arange(s), lambda: x[s.long()], lambda: torch.full((2,), s)):
        with pytest.raises(RuntimeError, match="cannot be called on meta tensors"):
            call()
    for call in (x.tolist, x.cpu, lambda: x.to("cpu"), lambda: torch.ones(2, 3).copy_(x), lambda: torch.ones(2).fill_(s)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            call()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    for call in (x.nonzero, lambda: x[x > 0], lambda: x.masked_select(x > 0), x.unique, lambda: x.equal(x), lambda: x.long().flatten().bincount()):
        with pytest.raises(NotImplementedError):
            call()
    for call in (x.__dlpack__, x.__dlpack_device__, lambda: memoryview(x)):
        with pytest.raises((BufferError, TypeError)):
            call()
    with pytest.raises(RuntimeError, match="output_size"):
        x.long().flatten().repeat_interleave(x.long().flatten())
    with pytest.raises(NotImplementedError):
        x.untyped_storage().tobytes()
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(meta(2, dtype=torch.int64)) == "tensor(..., device='meta', size=(2,), dtype=torch.int64)"


MIXED = [
    lambda m, c: m + c, lambda m, c: c * m, lambda m, c: m @ c, lambda m, c: c @ m, lambda m, c: torch.cat([m, c]), lambda m, c: torch.cat([c, m]),
    lambda m, c: torch.nn.functional.linear(c, m), lambda m, c: torch.stack([c, m]), lambda m, c: c.add_(m), lambda m, c: c[m.long()],
    lambda m, c: c.gather(0, m.long()), lambda m, c: torch.where(m > 0, c, c), lambda m, c: c + m[0, 0], lambda m, c: torch.bmm(c[None], m[None]),
    lambda m, c: c.masked_fill(m > 0, 1.0), lambda m, c: c.index_add(0, m[0].long(), c), lambda m, c: c.index_put_((m.long(),), c),
    lambda m, c: torch.nn.functional.embedding(m.long(), c), lambda m, c: torch.nn.functional.cross_entropy(c, m[0].long()),
    lambda m, c: torch.nn.functional.layer_norm(c, (3,), m[0]), lambda m, c: torch.linalg.solve(c, m), lambda m, c: torch.searchsorted(c, m),
    lambda m, c: torch.nn.functional.conv1d(c[None], m[None]), lambda m, c: c.scatter_(0, m.long(), 1.0), lambda m, c: c.set_(m),
    lambda m, c: torch.nn.functional.scaled_dot_product_attention(c[None, None], m[None, None], m[None, None]),
    lambda m, c: torch.einsum("ij,jk->ik", c, m), lambda m, c: c.lerp(m, 0.5), lambda m, c: c.bernoulli_(m), lambda m, c: torch.complex(c, m),
    lambda m, c: torch.dot(c[0], m[0]), lambda m, c: c.addmm_(m, m), lambda m, c: torch.cdist(c, m), lambda m, c: c.masked_scatter(m > 0, c),
    lambda m, c: c.copy_(m), lambda m, c: torch.nn.functional.batch_norm(c, m[0], m[0]), lambda m, c: torch.add(c, c, out=m),
    lambda m, c: torch.linspace(m[0, 0], 1, 3), lambda m, c: nn.functional.embedding_bag(c[0].long(), c, m[0, :1].long()),
    lambda m, c: torch.nn.functional.prelu(c, m[0]), lambda m, c: c.take(m.long()), lambda m, c: c.isin(m),
]


@pytest.mark.parametrize("case", range(len(MIXED)))
def test_memory_and_none_do_not_mix(case):
    # a kernel of the CPU that read a meta tensor would end the process
    with pytest.raises(RuntimeError, match="device|meta"):
        MIXED[case](meta(3, 3), torch.ones(3, 3))


def test_numbers_and_indices_of_the_cpu_go_with_meta():
    x = meta(3, 4)
    assert (x + torch.tensor(1.0)).is_meta and (torch.tensor(2.0) * x).is_meta and x.add_(torch.ones(4)).is_meta
    assert x[torch.tensor([0, 2])].shape == (2, 4)
    assert nn.functional.embedding(torch.tensor([[0, 1]]), x).shape == (1, 2, 4)
    assert x.copy_(torch.ones(3, 4)) is x and x.fill_(torch.tensor(1.0)) is x


CASES = [
    lambda f: f(2, 3) + f(3), lambda f: f(2, 3).t().exp(), lambda f: (f(4) > 0).any(), lambda f: f(2, 3, 4).sum((0, 2), keepdim=True),
    lambda f: f(2, 3).mean(1),
    lambda f: f(5, 6).std(0), lambda f: f(2, 3) @ f(3, 4), lambda f: f(2, 5, 3) @ f(3, 4), lambda f: f(5, 1, 2, 3) @ f(6, 3, 4), lambda f: f(3, 4) @ f(4),
    lambda f: nn.functional.linear(f(2, 3), f(5, 3), f(5)), lambda f: torch.einsum("bij,bjk->bik", f(2, 3, 4), f(2, 4, 5)), lambda f: f(2, 3)[:, None, 1:],
    lambda f: f(4, 5)[torch.tensor([0, 1])], lambda f: f(4, 5, 6)[:, torch.tensor([[0], [1]]), torch.tensor([0, 1, 2])],
    lambda f: f(4, 5).index_select(1, f(3).long()),
    lambda f: torch.cat([f(2, 3), f(4, 3)]), lambda f: torch.stack([f(2, 3), f(2, 3)], -1), lambda f: f(2, 3).sort(1), lambda f: f(9).topk(2),
    lambda f: f(4, 5).max(1),
    lambda f: f(2, 3).cumsum(0), lambda f: nn.functional.conv2d(f(2, 4, 9, 8), f(6, 2, 3, 3), f(6), 2, 1, groups=2), lambda f: f(2, 3).flip(0),
    lambda f: nn.functional.conv_transpose2d(f(2, 4, 5, 5), f(4, 6, 3, 3), stride=2), lambda f: nn.functional.max_pool2d(f(2, 3, 8, 8), 2),
    lambda f: nn.functional.interpolate(f(1, 2, 4, 4), scale_factor=2, mode="bilinear"), lambda f: nn.functional.pad(f(2, 3), (1, 2)),
    lambda f: f(2, 3).softmax(-1),
    lambda f: nn.functional.scaled_dot_product_attention(f(2, 4, 5, 8), f(2, 4, 7, 8), f(2, 4, 7, 8)),
    lambda f: nn.functional.cross_entropy(f(4, 5), f(4).long()),
    lambda f: nn.functional.dropout(f(2, 3)), lambda f: torch.linalg.svd(f(4, 3)), lambda f: torch.linalg.qr(f(4, 3)), lambda f: torch.fft.rfft(f(2, 8)),
    lambda f: f(2, 3).repeat(2, 2), lambda f: f(2, 3).tril(), lambda f: torch.where(f(3) > 0, f(3), 0.0),
    lambda f: f(2, 6).view(3, 4).permute(1, 0).reshape(-1),
    lambda f: f(2, 3).to(torch.float64), lambda f: f(2, 3) // 2, lambda f: f(3).long() // f(3).long(), lambda f: f(2, 3).half() * 2,
    lambda f: torch.multinomial(f(3, 4), 2),
    lambda f: f(3, 4).masked_fill(f(3, 4) > 0, 1.0), lambda f: f(3, 4).gather(1, f(3, 2).long()), lambda f: f(3, 4).quantile(0.5, 1),
    lambda f: f(2, 3).norm(),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_shapes_are_those_of_the_cpu(case):
    want, got = CASES[case](torch.ones), CASES[case](meta)
    for a, b in zip([want] if isinstance(want, torch.Tensor) else want, [got] if isinstance(got, torch.Tensor) else got):
        assert b.is_meta and (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride())


REFUSED = [
    lambda f: f(2, 3) + f(4), lambda f: f(2, 3) @ f(4, 2), lambda f: torch.cat([f(2, 3), f(2, 4)]), lambda f: f(2, 3).view(4), lambda f: f(2, 3)[5],
    lambda f: nn.functional.conv2d(f(1, 3, 4, 4), f(2, 4, 3, 3)), lambda f: nn.functional.linear(f(2, 3), f(4, 5)), lambda f: torch.stack([f(2), f(3)]),
    lambda f: f(2, 3).expand(4, 3), lambda f: f(2, 3).add_(f(5, 2, 3)), lambda f: f(3, 4).gather(1, f(5, 2).long()), lambda f: f(2, 3).sum(4),
    lambda f: f(1).expand(3).add_(1), lambda f: f(2, 3).copy_(f(4)), lambda f: f(2, 3).long().sqrt_(), lambda f: torch.linalg.inv(f(2, 3)),
    lambda f: f(2).mm(f(2)),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_the_cpu_refuses(case):
    with pytest.raises((RuntimeError, IndexError)) as want:
        REFUSED[case](torch.ones)
    with pytest.raises(want.type):
        REFUSED[case](meta)


def test_views_share_a_storage():
    x = meta(4, 6)
    part = x[1:, ::2]
    assert part.storage_offset() == 6 and part.untyped_storage().nbytes() == x.untyped_storage().nbytes() == 96
    version = x._version
    part.add_(1)
    assert x._version == version + 1 and part._base is x


def test_gradients():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, device="meta"), nn.BatchNorm2d(4, device="meta"), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5, device="meta"))
    x = meta(2, 3, 6, 6, grad=True)
    nn.functional.cross_entropy(model(x), meta(2).long()).backward()
    for p in (x, *model.parameters()):
        assert p.grad.is_meta and p.grad.shape == p.shape and p.grad.dtype is p.dtype
    for optimizer in (torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), torch.optim.AdamW(model.parameters())):
        optimizer.step()
    assert all(p.is_meta for p in model.parameters())
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    source, hollow = meta(4, grad=True), meta(2, 5, 0, grad=True)
    torch.zeros(3, device="meta").masked_scatter(meta(3) > 0, source).sum().backward()
    (hollow @ meta(0, 3, grad=True)).sum().backward()
    assert source.grad.shape == (4,) and hollow.grad.shape == (2, 5, 0)
    y = meta(3, 3, grad=True)
    first, = torch.autograd.grad((y @ y).tanh().prod(), y, create_graph=True)
    second, = torch.autograd.grad(first.sum(), y)
    assert second.is_meta and second.shape == (3, 3)


def test_a_model_that_no_memory_holds():
    wide = 1 << 20
    with torch.device("meta"):
        layers = nn.Sequential(*[nn.TransformerEncoderLayer(wide, 64, 4 * wide, batch_first=True) for _ in range(3)])
    assert sum(p.numel() for p in layers.parameters()) > 3e13
    assert layers(meta(2, 1 << 12, wide)).shape == (2, 1 << 12, wide)


def test_modules_move_to_memory():
    plain = nn.Linear(3, 4)
    model = nn.Sequential(nn.Linear(3, 4), nn.LSTM(4, 5), nn.BatchNorm1d(5)).to("meta")
    assert all(t.is_meta for t in model.state_dict().values()) and isinstance(model[0].weight, nn.Parameter)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        model.to("cpu")
    kept = {key: torch.ones(value.shape, dtype=value.dtype) for key, value in model.state_dict().items()}
    model.load_state_dict(kept, assign=True)
    assert all((t == 1).all() for t in model.state_dict().values()) and model[0].weight.requires_grad
    skipped = nn.utils.skip_init(nn.Linear, 3, 4)
    assert skipped.weight.is_cpu and skipped.weight.shape == (4, 3)
    empty = nn.Linear(3, 4, device="meta").to_empty(device="cpu")
    empty.load_state_dict(plain.state_dict())
    assert (empty.weight == plain.weight).all()
    with pytest.warns(UserWarning, match="meta"):
        nn.Linear(3, 4, device="meta").load_state_dict(plain.state_dict())
    for init in (nn.init.normal_, nn.init.kaiming_uniform_, nn.init.xavier_normal_, nn.init.orthogonal_, nn.init.trunc_normal_, nn.init.eye_):
        w = meta(4, 3)
        assert init(w) is w


def test_files_and_copies(tmp_path):
    x = meta(3, 4, grad=True)
    strided = torch.empty_strided((2, 3), (1, 2), device="meta")
    part = nn.Parameter(meta(2), requires_grad=False)
    for again in (copy.deepcopy((x, strided, part)), pickle.loads(pickle.dumps((x, strided, part)))):
        assert [t.is_meta for t in again] == [True] * 3 and [type(t) for t in again] == [torch.Tensor, torch.Tensor, nn.Parameter]
        assert again[0].requires_grad and again[1].stride() == (1, 2) and not again[2].requires_grad
    file = io.BytesIO()
    torch.save({"x": x, "s": strided, "p": part}, file)
    read = torch.load(io.BytesIO(file.getvalue()))
    assert read["x"].is_meta and read["x"].shape == (3, 4) and read["s"].stride() == (1, 2) and isinstance(read["p"], nn.Parameter)
    model = nn.Linear(3, 4)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    read = torch.load(tmp_path / "model.pt", map_location="meta")
    assert read["weight"].is_meta and read["weight"].shape == (4, 3)
    hollow = nn.Linear(3, 4, device="meta")
    hollow.load_state_dict(torch.load(tmp_path / "model.pt", mmap=True), assign=True)
    assert (hollow.weight == model.weight).all() and (hollow(torch.ones(1, 3)) == model(torch.ones(1, 3))).all()


def test_the_cpu_goes_on():
    meta(1)
    x = torch.ones(3, 3)
    assert (x @ x).sum() == 27 and x[torch.tensor([0])].shape == (1, 3) and torch.nn.functional.layer_norm(x, (3,)).abs().max() == 0
    assert torch.empty_like(x, device="meta").is_meta and x.to("meta").to("meta").shape == (3, 3)
    assert x.to("meta", torch.float16).dtype is torch.float16
