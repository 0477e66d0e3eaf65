"""softmax and the normalisations against PyTorch: values, statistics, gradients of both orders, threads."""
import pytest
from helpers import assert_close, from_oracle, oracle

import fasttensor as ft

torch = oracle()
F, TF = ft.nn.functional, torch.nn.functional


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_along_every_dimension(name, dtype):
    for shape in [(), (1,), (7,), (70, 9), (3, 130), (4, 13, 70), (2, 0)]:
        x = torch.randn(shape, dtype=torch.float64).mul(5).to(getattr(torch, dtype))
        for source in (x, x.permute(tuple(range(x.ndim))[::-1])):
            for d in range(max(x.ndim, 1)):
                want = getattr(TF, name)(source.double(), d).to(x.dtype)
                assert_close(getattr(F, name)(from_oracle(source), d), want)


def test_softmax_of_special_values():
    inf, nan = float("inf"), float("nan")
    for row in ([-inf, 0.0, 1.0], [-inf, -inf, -inf], [inf, 0.0, 1.0], [nan, 0.0, 1.0], [1000.0, 1001.0, -1000.0]):
        x = torch.tensor([row] * 2)
        for d in (0, 1):
            for name in ("softmax", "log_softmax"):
                assert_close(getattr(ft, name)(from_oracle(x), d), getattr(torch, name)(x, d))


LAYERS = {
    "softmax": (lambda f, x, w, b: f.softmax(x, 1), (3, 4, 5)),
    "softmax last": (lambda f, x, w, b: f.softmax(x, -1), (3, 4, 5)),
    "log_softmax": (lambda f, x, w, b: f.log_softmax(x, 0), (3, 4, 5)),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (4,), w, b), (3, 4)),
    "layer_norm plain": (lambda f, x, w, b: f.layer_norm(x, (4, 5)), (2, 4, 5)),
    "rms_norm": (lambda f, x, w, b: f.rms_norm(x, (4,), w, 1e-3), (3, 4)),
    "group_norm": (lambda f, x, w, b: f.group_norm(x, 2, w, b), (2, 4, 3)),
    "group_norm plain": (lambda f, x, w, b: f.group_norm(x, 2), (2, 4, 3)),
    "batch_norm": (lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), (3, 4, 2)),
    "batch_norm 2d": (lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), (6, 4)),
    "batch_norm eval": (lambda f, x, w, b: f.batch_norm(x, w.detach() * 0 + 0.5, w.detach() * 0 + 2, w, b, False), (3, 4, 2)),
    "instance_norm": (lambda f, x, w, b: f.instance_norm(x, None, None, w, b), (2, 4, 5)),
    "local_response_norm": (lambda f, x, w, b: f.local_response_norm(x, 3), (2, 4, 5)),
    "normalize": (lambda f, x, w, b: f.normalize(x, 2.0, 1), (3, 4)),
}


@pytest.mark.parametrize("name", list(LAYERS))
def test_values_and_gradients(name):
    f, shape = LAYERS[name]
    for dtype in (torch.float32, torch.float64):
        ours, theirs = [], []
        for size in (shape, (4,), (4,)):
            x = torch.randn(size, dtype=dtype, requires_grad=True)
            theirs.append(x)
            ours.append(from_oracle(x.detach()).requires_grad_())
        want, got = f(TF, *theirs), f(F, *ours)
        assert_close(got, want, atol=1e-5)
        g = torch.randn(want.shape, dtype=dtype)
        want.backward(g)
        got.backward(from_oracle(g))
        for x, y in zip(ours, theirs):
            if y.grad is not None:
                assert_close(x.grad, y.grad, atol=1e-4 if dtype == torch.float32 else 1e-9)
    inputs = [ft.randn(*size, dtype=ft.float64, requires_grad=True) for size in (shape, (4,), (4,))]
    used = 3 if "w, b" in str(name) or name.split()[0] in ("layer_norm", "group_norm", "batch_norm", "instance_norm") and "plain" not in name else 1
    call = (lambda *a: f(F, *a)) if used == 3 else (lambda a: f(F, a, inputs[1].detach(), inputs[2].detach()))
    assert ft.autograd.gradcheck(call, tuple(inputs[:used]))
    assert ft.autograd.gradgradcheck(call, tuple(inputs[:used]))


@pytest.mark.parametrize("shape", [(8, 5), (4, 5, 3), (4, 5, 6, 7), (300, 70), (3, 64, 40, 40)])
def test_running_statistics(shape):
    x = torch.randn(shape) * 3 + 1
    mean, var = torch.zeros(shape[1]), torch.ones(shape[1])
    m, v = from_oracle(mean), from_oracle(var)
    for _ in range(2):
        want = TF.batch_norm(x, mean, var, training=True, momentum=0.3)
        got = F.batch_norm(from_oracle(x), m, v, training=True, momentum=0.3)
    assert_close(got, want, atol=1e-5)
    assert_close(m, mean)
    assert_close(v, var)
    assert_close(F.batch_norm(from_oracle(x), m, v), TF.batch_norm(x, mean, var), atol=1e-5)


def test_running_statistics_of_instances():
    x, m, v = torch.randn(3, 4, 5), torch.zeros(4), torch.ones(4)
    a, b = from_oracle(m), from_oracle(v)
    assert_close(F.instance_norm(from_oracle(x), a, b), TF.instance_norm(x, m, v))
    assert_close(a, m)
    assert_close(b, v)
    assert_close(F.instance_norm(from_oracle(x), a, b, use_input_stats=False), TF.instance_norm(x, m, v, use_input_stats=False))


def test_same_bits_at_any_thread_count():
    x, w = ft.randn(300, 700, requires_grad=True), ft.randn(700, requires_grad=True)
    image = ft.randn(6, 32, 30, 30, requires_grad=True)
    results = []
    for threads in (1, 2, 4):
        ft.set_num_threads(threads)
        x.grad = w.grad = image.grad = None
        (F.layer_norm(x, (700,), w) * F.softmax(x, 0) * F.log_softmax(x, 1)).sum().backward()
        F.batch_norm(image, None, None, training=True).square().sum().backward()
        F.group_norm(image, 4).pow(3).sum().backward()
        results.append((x.grad.tolist(), w.grad.tolist(), image.grad.tolist()))
    assert results[0] == results[1] == results[2]


def test_large_offsets_keep_their_variance():
    x = torch.randn(4, 1000, dtype=torch.float64) + 1e4
    got = F.layer_norm(from_oracle(x.float()), (1000,))
    assert_close(got, TF.layer_norm(x.float().double(), (1000,)).float(), atol=2e-3, rtol=1e-3)


def test_errors():
    x = ft.randn(4, 6)
    for bad, error in ((lambda: ft.softmax(ft.ones(2, dtype=ft.int64), 0), RuntimeError), (lambda: ft.softmax(x, 2), IndexError),
                       (lambda: F.layer_norm(x, (5,)), RuntimeError), (lambda: F.layer_norm(x, (6,), ft.ones(5)), RuntimeError),
                       (lambda: F.group_norm(x, 4), RuntimeError), (lambda: F.batch_norm(ft.ones(1, 3), None, None, training=True), ValueError),
                       (lambda: F.batch_norm(x, None, None), RuntimeError), (lambda: F.batch_norm(x, None, None, ft.ones(5), training=True), RuntimeError),
                       (lambda: F.instance_norm(ft.ones(2, 3, 1)), ValueError), (lambda: F.local_response_norm(x, 2), ValueError)):
        with pytest.raises(error):
            bad()


def test_softmin_of_bytes_converts_before_it_negates():
    got = F.softmin(ft.tensor([0, 1], dtype=ft.uint8), 0, dtype=ft.float64)
    assert_close(got, torch.tensor([0.0, 1.0], dtype=torch.float64).neg().softmax(0))
