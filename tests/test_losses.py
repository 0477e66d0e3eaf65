"""Every loss of nn.functional against PyTorch: values, reductions, gradients of both orders, errors."""
import pytest
from helpers import assert_close, from_oracle, oracle

import fasttensor as ft

torch = oracle()
F, TF = ft.nn.functional, torch.nn.functional


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


def sign(*shape):
    return (torch.rand(shape) > 0.5).double() * 2 - 1


CASES = {
    "cross_entropy": lambda: ((randn(6, 5), torch.randint(0, 5, (6,))), {}),
    "cross_entropy weight": lambda: ((randn(6, 5), torch.randint(0, 5, (6,))), {"weight": torch.rand(5).double()}),
    "cross_entropy ignore": lambda: ((randn(6, 5), torch.tensor([1, 2, -100, 4, 0, -100])), {"label_smoothing": 0.1}),
    "cross_entropy images": lambda: ((randn(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4))), {"weight": torch.rand(5).double(), "label_smoothing": 0.2}),
    "cross_entropy probabilities": lambda: ((randn(6, 5), randn(6, 5).softmax(1)), {"weight": torch.rand(5).double()}),
    "cross_entropy one": lambda: ((randn(5), torch.tensor(3)), {}),
    "nll_loss": lambda: ((randn(6, 5), torch.randint(0, 5, (6,))), {"weight": torch.rand(5).double()}),
    "nll_loss images": lambda: ((randn(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4))), {"ignore_index": 2}),
    "mse_loss": lambda: ((randn(3, 4), randn(3, 4)), {}),
    "l1_loss": lambda: ((randn(3, 4), randn(3, 4)), {}),
    "smooth_l1_loss": lambda: ((randn(3, 4), randn(3, 4)), {"beta": 0.7}),
    "huber_loss": lambda: ((randn(3, 4), randn(3, 4)), {"delta": 0.7}),
    "binary_cross_entropy": lambda: ((torch.rand(3, 4).double() * 0.8 + 0.1, torch.rand(3, 4).double()), {"weight": torch.rand(4).double()}),
    "binary_cross_entropy_with_logits": lambda: ((randn(3, 4), torch.rand(3, 4).double()), {"pos_weight": torch.rand(4).double()}),
    "kl_div": lambda: ((randn(3, 4).log_softmax(1), randn(3, 4).softmax(1)), {}),
    "kl_div log": lambda: ((randn(3, 4).log_softmax(1), randn(3, 4).log_softmax(1)), {"log_target": True}),
    "poisson_nll_loss": lambda: ((randn(3, 4), torch.rand(3, 4).double() * 3), {"full": True}),
    "gaussian_nll_loss": lambda: ((randn(3, 4), randn(3, 4), torch.rand(3, 1).double() + 0.1), {"full": True}),
    "soft_margin_loss": lambda: ((randn(3, 4), sign(3, 4)), {}),
    "hinge_embedding_loss": lambda: ((randn(3, 4), sign(3, 4)), {"margin": 0.5}),
    "margin_ranking_loss": lambda: ((randn(5), randn(5), sign(5)), {"margin": 0.3}),
    "multi_margin_loss": lambda: ((randn(6, 5), torch.randint(0, 5, (6,))), {"p": 2, "weight": torch.rand(5).double()}),
    "multilabel_margin_loss": lambda: ((randn(2, 4), torch.tensor([[3, 0, -1, 1], [2, -1, 0, 1]])), {}),
    "multilabel_soft_margin_loss": lambda: ((randn(3, 4), (torch.rand(3, 4) > 0.5).double()), {}),
    "triplet_margin_loss": lambda: ((randn(3, 4), randn(3, 4), randn(3, 4)), {"swap": True}),
    "triplet_margin_with_distance_loss": lambda: ((randn(3, 4), randn(3, 4), randn(3, 4)), {}),
    "cosine_embedding_loss": lambda: ((randn(3, 4), randn(3, 4), sign(3)), {"margin": 0.1}),
    "ctc_loss": lambda: ((randn(8, 2, 5).log_softmax(2), torch.tensor([[1, 2, 2], [3, 1, 4]])), {"input_lengths": (8, 7), "target_lengths": (3, 2)}),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name, reduction):
    function = name.split()[0]
    args, kwargs = CASES[name]()
    differentiable = [i for i, a in enumerate(args) if a.is_floating_point() and not (name.startswith("cross_entropy prob") and i)]
    theirs = [a.clone().requires_grad_(i in differentiable[:1]) for i, a in enumerate(args)]
    ours = [from_oracle(a.detach()).requires_grad_(a.requires_grad) for a in theirs]
    options = {k: from_oracle(v) for k, v in kwargs.items()}
    want, got = getattr(TF, function)(*theirs, reduction=reduction, **kwargs), getattr(F, function)(*ours, reduction=reduction, **options)
    assert_close(got, want)
    g = torch.randn(want.shape, dtype=want.dtype)
    want.backward(g)
    got.backward(from_oracle(g))
    assert_close(ours[0].grad, theirs[0].grad)
    if function == "ctc_loss":
        return

    def call(x):
        return getattr(F, function)(x, *(a.detach() for a in ours[1:]), reduction=reduction, **options)
    x = ours[0].detach().requires_grad_()
    assert ft.autograd.gradcheck(call, (x,))
    assert ft.autograd.gradgradcheck(call, (x,))


def test_ctc_of_joined_targets_and_impossible_alignments():
    lp = torch.randn(4, 3, 5).log_softmax(2).requires_grad_()
    targets, lengths = torch.tensor([1, 2, 3, 3, 3, 1]), (2, 3, 1)
    mine = from_oracle(lp.detach()).requires_grad_()
    want = TF.ctc_loss(lp, targets, (4, 4, 3), lengths, reduction="none", zero_infinity=True)
    got = F.ctc_loss(mine, from_oracle(targets), (4, 4, 3), lengths, reduction="none", zero_infinity=True)
    assert_close(got, want)
    want.sum().backward()
    got.sum().backward()
    assert_close(mine.grad, lp.grad, atol=1e-5)


def test_cross_entropy_of_many_classes_in_float():
    x = torch.randn(64, 3000, requires_grad=True)
    y = torch.randint(0, 3000, (64,))
    mine = from_oracle(x.detach()).requires_grad_()
    want, got = TF.cross_entropy(x, y), F.cross_entropy(mine, from_oracle(y))
    want.backward()
    got.backward()
    assert_close(got, want)
    assert_close(mine.grad, x.grad, atol=1e-8)


def test_all_rows_ignored_gives_nan_as_pytorch():
    x, y = ft.randn(2, 3), ft.tensor([-100, -100])
    assert ft.isnan(F.cross_entropy(x, y)).item() and F.cross_entropy(x, y, reduction="sum").item() == 0


def test_errors():
    x, y = ft.randn(4, 3), ft.tensor([0, 1, 2, 0])
    for bad, error in ((lambda: F.cross_entropy(x, ft.tensor([0, 1, 2, 3])), IndexError), (lambda: F.cross_entropy(x, y[:3]), ValueError),
                       (lambda: F.cross_entropy(x, y, ft.ones(2)), RuntimeError), (lambda: F.cross_entropy(x, y, reduction="median"), ValueError),
                       (lambda: F.nll_loss(x, ft.tensor([0, 1, 2, -1])), IndexError), (lambda: F.mse_loss(x, ft.randn(4, 2)), RuntimeError),
                       (lambda: F.binary_cross_entropy(x * 0 + 2, x * 0), RuntimeError), (lambda: F.binary_cross_entropy(x, x[0]), ValueError),
                       (lambda: F.huber_loss(x, x, delta=0.0), RuntimeError), (lambda: F.triplet_margin_loss(x, x, x, margin=-1.0), ValueError),
                       (lambda: F.multi_margin_loss(x, y + 5), RuntimeError), (lambda: F.ctc_loss(x, y, (5,), (2,)), RuntimeError)):
        with pytest.raises(error):
            bad()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 7, 4), (2, 3, 300), (2, 70, 3, 130), (2, 5, 0), (0, 5, 3)])
def test_cross_entropy_over_columns(shape, dtype, reduction):
    x, t = torch.randn(shape, dtype=dtype), torch.randint(0, shape[1], shape[:1] + shape[2:])
    weight = torch.rand(shape[1], dtype=dtype)
    for options in ({}, {"weight": weight, "ignore_index": 1}, {"label_smoothing": 0.2}, {"weight": weight, "label_smoothing": 0.1, "ignore_index": 2}):
        theirs, ours = x.clone().requires_grad_(), from_oracle(x).requires_grad_()
        want = TF.cross_entropy(theirs, t, reduction=reduction, **options)
        got = F.cross_entropy(ours, from_oracle(t), reduction=reduction, **{k: from_oracle(v) for k, v in options.items()})
        g = torch.randn(want.shape, dtype=dtype)
        want.backward(g)
        got.backward(from_oracle(g))
        assert_close(got, want)
        assert_close(ours.grad, theirs.grad)


def test_kept_values_of_images_and_margins():
    x = ft.tensor([[[[0.0, 1.0]], [[2.0, -1.0]], [[0.5, 0.0]]]], requires_grad=True)       # [1, 3, 1, 2]
    loss = F.cross_entropy(x, ft.tensor([[[1, 2]]]), reduction="none")
    assert_close(loss, ft.tensor([[[0.306331, 1.407606]]]))
    loss.sum().backward()
    assert_close(x.grad[0, :, 0], ft.tensor([[0.099625, 0.665241], [-0.263858, 0.090031], [0.164253, -0.755272]]), atol=2e-5)
    rows = ft.tensor([[0.0, 0.5, -2.0], [1.0, 0.25, 0.75]], requires_grad=True)
    assert F.multi_margin_loss(rows, ft.tensor([0, 1]), reduction="none").tolist() == pytest.approx([0.5, 3.25 / 3])
    assert F.multi_margin_loss(rows, ft.tensor([0, 1]), p=2, weight=ft.tensor([2.0, 1.0, 1.0]), reduction="sum").item() == pytest.approx(3.270833)
    loss = F.multilabel_margin_loss(rows, ft.tensor([[2, -1, 0], [0, 1, -1]]), reduction="none")
    assert loss.tolist() == pytest.approx([6.5 / 3, 2.25 / 3])
    loss.sum().backward()
    assert_close(rows.grad * 3, ft.tensor([[1.0, 1.0, -2.0], [-1.0, -1.0, 2.0]]))
    assert ft.isnan(F.multi_margin_loss(ft.tensor([[0.0, float("nan")]]), ft.tensor([0])))          # PyTorch drops it
    ranking = F.margin_ranking_loss(ft.tensor([1.0, 2.0]), ft.tensor([3.0, 0.0]), ft.tensor([1.0, 1.0]), margin=0.5, reduction="none")
    assert ranking.tolist() == [2.5, 0.0]
    assert F.margin_ranking_loss(ft.tensor([1]), ft.tensor([3]), ft.tensor([1]), reduction="sum").item() == 2


@pytest.mark.parametrize("shape", [(5, 7), (300, 3), (4, 200), (9,), (3, 1)])
def test_margins_of_many_shapes(shape):
    x, one = torch.randn(shape), torch.randint(0, shape[-1], shape[:-1] or (1,))
    listed, weight = torch.randint(-1, shape[-1], shape), torch.rand(shape[-1])
    listed.view(-1, shape[-1])[0] = 0       # a label named again and again
    calls = [("multi_margin_loss", one, {"p": p, "margin": m, "weight": w}) for p in (1, 2) for m in (1.0, 0.3) for w in (None, weight)]
    for name, target, options in [*calls, ("multilabel_margin_loss", listed, {})]:
        theirs, ours = x.clone().requires_grad_(), from_oracle(x).requires_grad_()
        want, got = getattr(TF, name)(theirs, target, **options), getattr(F, name)(ours, from_oracle(target), **{k: from_oracle(v) for k, v in options.items()})
        want.backward()
        got.backward()
        assert_close(got, want)
        assert_close(ours.grad, theirs.grad)


def test_multi_margin_loss_of_a_weight_that_requires_grad():
    x, w = ft.tensor([[0.0, 0.5]], dtype=ft.float64), ft.ones(2, dtype=ft.float64, requires_grad=True)
    F.multi_margin_loss(x, ft.tensor([0]), weight=w).backward()
    assert w.grad.tolist() == [0.75, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(3, 12, 6, 4), (8, 64, 16, 4), (2, 40, 5, 10), (1, 5, 3, 0)])
def test_ctc_of_many_sizes(sizes, dtype):
    n, steps, classes, labels = sizes
    lp, targets = torch.randn(steps, n, classes, dtype=dtype).log_softmax(2), torch.randint(1, classes, (n, labels))
    times, lengths = torch.randint(steps // 2, steps + 1, (n,)), torch.randint(0, labels + 1, (n,))
    theirs, ours = lp.clone().requires_grad_(), from_oracle(lp).requires_grad_()
    want = TF.ctc_loss(theirs, targets, times, lengths, reduction="none")
    got = F.ctc_loss(ours, from_oracle(targets), from_oracle(times), from_oracle(lengths), reduction="none")
    assert_close(got, want)
    want.sum().backward()
    got.sum().backward()
    assert_close(ours.grad, theirs.grad, atol=1e-4 if dtype is torch.float32 else 1e-11)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5, 7), (3, 7, 4), (20, 3, 1000), (2, 5, 0)])
def test_nll_loss_of_many_targets(shape, reduction):
    x, t = torch.randn(shape), torch.randint(0, shape[1], shape[:1] + shape[2:])
    for options in ({}, {"weight": torch.rand(shape[1])}, {"weight": torch.rand(shape[1]), "ignore_index": 1}):
        theirs, ours = x.clone().requires_grad_(), from_oracle(x).requires_grad_()
        want = TF.nll_loss(theirs, t, reduction=reduction, **options)
        got = F.nll_loss(ours, from_oracle(t), reduction=reduction, **{k: from_oracle(v) for k, v in options.items()})
        want.sum().backward()
        got.sum().backward()
        assert_close(got, want)
        assert_close(ours.grad, theirs.grad)
