"""vmap: results are those of a loop over the samples, whatever the operation; PyTorch's errors where there can be none."""
import pytest

import fasttensor as torch
from fasttensor.func import vmap

F = torch.nn.functional
torch.manual_seed(0)
X = torch.rand(3, 2, 4) + 0.1
Y = torch.rand(3, 2, 4) + 0.1
M = torch.eye(4) * 3 + torch.rand(3, 4, 4)
I = torch.tensor([[0, 2], [1, 1], [3, 0]])
IMAGES = torch.randn(3, 2, 3, 6, 6)

CASES = {
    "elementwise": (lambda x, y: (x * y + 1).log().tanh(), X, Y),
    "ranks": (lambda x, y: x + y[0], X, Y),
    "rank 0 does not decide the dtype": (lambda x, y: x[0, 0].double() + y, X, Y),
    "where": (lambda x, y: torch.where(x > y, x, 0.0), X, Y),
    "in place": (lambda x, y: x.clone().mul_(y).add_(1), X, Y),
    "set part": (lambda x, y: put(x.clone(), y), X, Y),
    "views": (lambda x, y: x.t().unsqueeze(0).expand(2, 4, 2).reshape(4, 4)[1:, ::2].diagonal(), X, Y),
    "mixed index": (lambda x, y: x[:, [0, 3]], X, Y),
    "sums": (lambda x, y: (x.sum(), x.mean(0), y.var(1, keepdim=True), x.amax((0, 1)), y.norm(), x.prod(-1), y.logsumexp(0)), X, Y),
    "choices": (lambda x, y: (x.max(1), x.argmax(), y.sort(0), y.topk(2), x.median(), (x > 0.5).any(0), x.cumsum(1)), X, Y),
    "joining": (lambda x, y: torch.stack([torch.cat([x, y], 1).flip(0)] * 2), X, Y),
    "products": (lambda x, y: (x @ y.t(), x[0] @ y.t(), x @ y[0], x[0].dot(y[0]), torch.einsum("ij,kj->ik", x, y), torch.outer(x[0], y[1])), X, Y),
    "softmax": (lambda x, y: (x.softmax(0), y.log_softmax(-1), F.layer_norm(x, (4,)), F.gelu(x)), X, Y),
    "gather": (lambda x, i: (x.gather(1, i.unsqueeze(0)), x.index_select(1, i), x[:, i], x.t()[i]), X, I),
    "scatter": (lambda x, i: (x.scatter(1, i.unsqueeze(0), 7.0), x.t().index_add(0, i, x.t()[:2]), x.t().index_put((i,), x.t()[:2])), X, I),
    "embedding": (lambda w, i: F.embedding(i, w.t()), X, I),
    "linear algebra": (lambda m, x: (torch.linalg.solve(m, x.t()), torch.linalg.inv(m), torch.det(m), torch.linalg.cholesky(m @ m.t())), M, X),
    "loss": (lambda x, i: (F.cross_entropy(x, i % 4), F.cross_entropy(x, i, reduction="none"), F.nll_loss(x, i, reduction="sum")), X, I),
    "images": (lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.interpolate(x, scale_factor=2), F.pad(x, (1, 0, 2, 1)), F.unfold(x, 3)), IMAGES),
    "complex": (lambda x, y: torch.view_as_real(torch.complex(x, y)).sum(-1), X, Y),
    "complex, broadcast": (lambda x, y: torch.view_as_real(torch.complex(x[:, :1], y[0])), X, Y),
    "fft": (lambda x, y: torch.fft.rfft(x).abs(), X, Y),
    "new": (lambda x, y: torch.zeros_like(x).add_(y) + x.new_ones(2, 1).mul_(y[:, :1]) + torch.full_like(x, 2.0), X, Y),
}


def put(x, y):
    x[0, 1:3] = y[1, :2]
    x[1] = 5.0
    x[x > 4.5] = 0.25
    return x


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (tuple, list)) else [value]


def check(function, *args, dims=None):
    dims = dims or (0,) * len(args)
    n = next(a.shape[d] for a, d in zip(args, dims) if d is not None)
    rows = [leaves(function(*[a if d is None else a.select(d, i) for a, d in zip(args, dims)])) for i in range(n)]
    got = leaves(vmap(function, in_dims=dims)(*args))
    assert len(got) == len(rows[0])
    for g, column in zip(got, zip(*rows)):
        want = torch.stack(list(column))
        assert g.dtype is want.dtype and g.shape == want.shape
        assert torch.allclose(g, want, rtol=1e-4, atol=1e-5), (g - want).abs().max()


@pytest.mark.parametrize("name", CASES)
def test_results_of_a_loop(name):
    function, *args = CASES[name]
    check(function, *args)
    if len(args) == 2:
        check(function, args[0], args[1][0], dims=(0, None))
        if name not in ("in place", "set part", "new"):
            check(function, args[0][0], args[1], dims=(None, 0))


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("choices", "in place")])
def test_gradients_of_a_loop(name):
    function, *args = CASES[name]

    def by_loop(*inputs):
        return [torch.stack(list(column)) for column in zip(*[leaves(function(*[t[i] for t in inputs])) for i in range(3)])]

    found = []
    for run in (lambda *inputs: leaves(vmap(function)(*inputs)), by_loop):
        inputs = [a.clone().requires_grad_() if a.is_floating_point() else a for a in args]
        outs = [o for o in run(*inputs) if o.requires_grad]
        torch.autograd.backward(outs, [torch.linspace(0, 1, o.numel(), dtype=o.dtype).reshape(o.shape) for o in outs])
        found.append([i.grad for i in inputs if i.is_floating_point()])
    for a, b in zip(*found):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b, rtol=1e-3, atol=1e-4))


def test_convolutions_of_each_sample():
    w = torch.randn(3, 4, 3, 3, 3)
    b = torch.randn(3, 4)
    check(lambda x, w, b: F.conv2d(x, w, b, padding=1), IMAGES, w, b)
    check(lambda x, w, b: F.conv2d(x, w, b, stride=2), IMAGES, w[0], b[0], dims=(0, None, None))
    check(lambda x, w, b: F.conv2d(x, w, b), IMAGES[0], w, b[0], dims=(None, 0, None))
    check(lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1), stride=2), IMAGES, w)


def test_norms_with_statistics_of_each_sample():
    w, b = torch.rand(3, 3), torch.rand(3, 3)
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), IMAGES, w, b)
    check(lambda x, w, b: F.batch_norm(x, w * 0, w * 0 + 1, w, b), IMAGES, w, b)
    check(lambda x, w, b: F.group_norm(x, 3, w, b), IMAGES, w, b)
    mean = torch.zeros(3, 3)
    vmap(lambda x, m, v: F.batch_norm(x, m, v, training=True, momentum=1.0))(IMAGES, mean, torch.ones(3, 3))
    assert torch.allclose(mean, IMAGES.mean((1, 3, 4)), atol=1e-6)
    with pytest.raises(RuntimeError, match="batch_norm"):
        vmap(lambda x: F.batch_norm(x, torch.zeros(3), torch.ones(3), training=True))(IMAGES)


def test_dimensions_in_and_out():
    x = torch.arange(24).reshape(2, 3, 4)
    assert vmap(lambda a: a, 1, 2)(x).shape == (2, 4, 3)
    assert vmap(lambda a: a, -1)(x).tolist() == x.movedim(-1, 0).tolist()
    got = vmap(lambda d: {"sum": d["a"] + d["b"][0], "b": d["b"]}, ({"a": 0, "b": [None]},), {"sum": 0, "b": [None]})({"a": x[0, 0], "b": [x[0, 0, 1]]})
    assert got["sum"].tolist() == [1, 2, 3, 4] and got["b"][0].item() == 1
    assert vmap(lambda a: torch.ones(2))(x).shape == (2, 2)
    assert vmap(vmap(torch.dot, (0, None)), (None, 0))(x[0], x[1]).tolist() == (x[1] @ x[0].t()).tolist()
    assert torch.vmap(lambda a: a.sum(), chunk_size=2)(x.reshape(6, 4)).tolist() == x.reshape(6, 4).sum(1).tolist()


def test_keyword_arguments_are_shared():
    assert vmap(lambda a, b: a + b)(torch.ones(2), b=torch.tensor([1.0, 2.0])).tolist() == [[2, 3], [2, 3]]


def test_random_numbers():
    x = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda a: a + torch.rand(3))(x)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(F.dropout)(x)
    for draw in (lambda a: a + torch.rand(3), lambda a: F.dropout(a + 1), lambda a: a.clone().normal_(), lambda a: torch.randn_like(a),
                 lambda a: torch.bernoulli(a + 0.5), lambda a: torch.normal(a, 1.0), lambda a: torch.randperm(20) + a[0]):
        torch.manual_seed(0)
        same = vmap(draw, randomness="same")(x)
        assert (same == same[0]).all()
        torch.manual_seed(0)
        assert (same == vmap(draw, randomness="same")(x)).all()
        assert not all((row == d[0]).all() for d in [vmap(draw, randomness="different")(x)] for row in d)
    with pytest.raises(RuntimeError, match="unbatched"):
        vmap(lambda a: a + torch.zeros(3).normal_(), randomness="different")(x)
    with pytest.raises(RuntimeError, match="Only allowed values"):
        vmap(torch.sin, randomness="none")


@pytest.mark.parametrize("function,words", [
    (lambda x: x.sum().item(), "item"), (lambda x: x if x.sum() > 0 else -x, "control flow"), (lambda x: x[x > 0], "dynamic shape"),
    (lambda x: x.nonzero(), "dynamic shape"), (lambda x: torch.zeros(4).add_(x), "inplace"), (lambda x: torch.unique(x), "dynamic shape"),
    (lambda x: x.tolist(), "tolist"), (lambda x: x.requires_grad_(), "requires_grad_"), (lambda x: x.resize_(2), "resize_"),
])
def test_what_depends_on_values(function, words):
    with pytest.raises(RuntimeError, match=words):
        vmap(function)(X[0])


@pytest.mark.parametrize("call,words", [
    (lambda: vmap(torch.sin)(), "got no inputs"), (lambda: vmap(torch.sin, None)(X), "at least one Tensor"),
    (lambda: vmap(torch.sin, 3)(X), "dimensionality 3"), (lambda: vmap(torch.add)(X, X[:2]), "same size"),
    (lambda: vmap(torch.sin, (0, 0))(X), "not compatible"), (lambda: vmap(lambda a, b: a)(X, 2.0), "non-Tensor"),
    (lambda: vmap(lambda a: 1.0)(X), "only return Tensors"), (lambda: vmap(lambda a: a, 0, None)(X), "out_dim is None"),
    (lambda: vmap(lambda a: a, 0, (0, 0))(X), "not compatible"), (lambda: vmap(torch.sin, chunk_size=0), "chunk_size"),
    (lambda: vmap(torch.sin, 1.0)(X), "expected `in_dims`"),
])
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_tensor_that_outlives_its_vmap():
    kept = []
    vmap(lambda a: kept.append(a) or a)(X)
    for use in (lambda t: t + 1, lambda t: t.softmax(0), lambda t: t.sum(), lambda t: t.reshape(-1), lambda t: t.argmax()):
        with pytest.raises(RuntimeError, match="vmap"):
            use(kept[0])


def test_errors_close_the_vmap():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda a: 1 // 0)(X)
    assert torch.rand(2).shape == (2,) and torch.ones(3).softmax(0).sum().item() == pytest.approx(1)


def test_functions_of_users():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(Double.apply)(X)

    class ByLoop(Double):
        generate_vmap_rule = True

    class ByRule(Double):
        @staticmethod
        def vmap(info, in_dims, x):
            assert info.batch_size == 3 and in_dims == (0,)
            return ByRule.apply(x), 0
    for function in (ByLoop, ByRule):
        x = X.clone().requires_grad_()
        y = vmap(function.apply)(x)
        y.sum().backward()
        assert torch.equal(y, X * 2) and (x.grad == 2).all()


def test_against_pytorch():
    theirs = pytest.importorskip("torch")
    x = X.numpy()
    for name in ("softmax", "logsumexp", "cumsum", "argmax", "std"):
        want = theirs.vmap(lambda a, name=name: getattr(a, name)(0), in_dims=1, out_dims=0)(theirs.from_numpy(x))
        assert abs(vmap(lambda a, name=name: getattr(a, name)(0), in_dims=1)(X).numpy() - want.numpy()).max() < 1e-5


def test_one_index_a_sample():
    table = torch.arange(24.0).view(3, 2, 4)
    index = torch.tensor([1, 0, 1])
    assert vmap(lambda a, i: a[i])(table, index).tolist() == [table[k, i].tolist() for k, i in enumerate((1, 0, 1))]
    assert vmap(lambda a, i: a[:, i])(table, index).tolist() == [table[k, :, i].tolist() for k, i in enumerate((1, 0, 1))]
    assert vmap(lambda i: table[0, 0][i])(index).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("first, second", [((5, 5, 10), (10,)), ((2, 5, 10), (10, 4)), ((5, 10), (2, 10, 4)), ((10,), (2, 10, 3)), ((2, 1, 5, 10), (3, 10, 4))])
def test_products_whose_batches_differ_in_dimensions(first, second):
    torch.manual_seed(0)
    a, b = torch.randn(3, *first, dtype=torch.float64), torch.randn(3, *second, dtype=torch.float64)
    for dims in ((0, 0), (0, None), (None, 0)):
        x, y = (t if d == 0 else t[0] for t, d in zip((a, b), dims))
        made = torch.func.vmap(torch.matmul, dims)(x, y)
        each = torch.stack([torch.matmul(x[i] if dims[0] == 0 else x, y[i] if dims[1] == 0 else y) for i in range(3)])
        assert torch.allclose(made, each, rtol=1e-12)
        grads = torch.func.vmap(torch.func.grad(lambda x, y: torch.matmul(x, y).sum(), (0, 1)), dims)(x, y)
        for got in grads:
            assert got.isfinite().all() and got.shape[0] == 3


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64, torch.bool, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["mode", "median", "nanmedian", "max", "min", "kthvalue", "cummax", "aminmax"])
def test_selections_of_any_dtype(name, dtype):
    if dtype is torch.bool and name in ("median", "nanmedian", "kthvalue"):
        return
    x = torch.tensor([[[3, 1, 3, 2], [5, 4, 6, 7]], [[9, 8, 8, 8], [2, 2, 1, 0]]]).to(dtype)
    for dim in (0, 1, -1):
        def run(t, dim=dim):
            return tuple(getattr(torch, name)(t, 1, dim) if name == "kthvalue" else getattr(torch, name)(t, dim=dim))
        for made, each in zip(vmap(run)(x), zip(*(run(t) for t in x))):
            assert made.dtype is each[0].dtype and torch.equal(made, torch.stack(each))


@pytest.mark.parametrize("run", [
    lambda x: F.pixel_shuffle(x.reshape(1, 8, 2, 3), 2), lambda x: F.pixel_shuffle(x.reshape(8, 2, 3), 1),
    lambda x: F.pixel_unshuffle(x.reshape(1, 2, 4, 6), 2), lambda x: F.channel_shuffle(x.reshape(1, 4, 3, 4), 2),
    lambda x: torch.istft(torch.complex(x[:24], x[24:]).reshape(6, 4), 10, window=torch.ones(10)),
], ids=["pixel_shuffle", "pixel_shuffle by 1", "pixel_unshuffle", "channel_shuffle", "istft"])
def test_rearrangements_that_look_at_memory(run):
    x = torch.arange(144.0).reshape(3, 48)
    assert torch.allclose(vmap(run)(x), torch.stack([run(t) for t in x]))
    assert torch.allclose(vmap(run, 1)(x.t()), torch.stack([run(t) for t in x]))


def test_one_mask_for_all_samples():
    x, mask = torch.arange(24.0).reshape(3, 2, 4), torch.tensor([[True, False, True, True], [False, False, False, True]])
    assert torch.equal(vmap(lambda t: t.masked_select(mask))(x), torch.stack([t.masked_select(mask) for t in x]))
    assert torch.equal(vmap(lambda t: t[mask])(x), torch.stack([t[mask] for t in x]))
    assert vmap(lambda t: t.masked_select(torch.zeros(4, dtype=torch.bool)))(x).shape == (3, 0)
    made = vmap(torch.func.grad(lambda t: t.masked_select(mask).square().sum()))(x)
    assert torch.equal(made, 2 * x * mask)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda t: t.masked_select(t > 3))(x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_products_in_half_precision_are_rounded_once(dtype):
    torch.manual_seed(0)
    c, a, b = (torch.randn(3, 4, 4, dtype=dtype) for _ in range(3))
    run = lambda c, a, b: torch.addmm(c, a, b, beta=0.2, alpha=0.6)  # noqa: E731
    assert torch.equal(vmap(run)(c, a, b), torch.stack([run(*t) for t in zip(c, a, b)]))
    batch = lambda c, a, b: torch.baddbmm(c, a, b, beta=0.2, alpha=0.6)  # noqa: E731
    c, a, b = (t.reshape(3, 2, 2, 4) if t is not b else t.reshape(3, 2, 4, 2) for t in (c, a, b))
    c = c[..., :2]
    assert torch.equal(vmap(batch)(c, a, b), torch.stack([batch(*t) for t in zip(c, a, b)]))
