"""Gradients of gradients: that they are recorded where PyTorch records them, and their values far out."""
import math

import pytest

import fasttensor
import fasttensor as torch
from helpers import oracle, to_lists

# Gradients that do not change with the input, or are missing its derivative, but are functions of it all the same.
PIECEWISE = {
    "relu": "F.relu(x)", "relu_": "F.relu_(x * 1)", "relu6": "F.relu6(x)", "hardtanh": "F.hardtanh(x)", "leaky_relu": "F.leaky_relu(x)",
    "hardsigmoid": "F.hardsigmoid(x)", "hardshrink": "F.hardshrink(x)", "softshrink": "F.softshrink(x)", "threshold": "F.threshold(x, 0.1, 2)",
    "prelu": "F.prelu(x, torch.ones(1) * 0.5)", "rrelu": "F.rrelu(x, training=True)", "max_pool1d": "F.max_pool1d(x, 2)",
    "max_pool2d": "F.max_pool2d(x[None], 2)", "avg_pool1d": "F.avg_pool1d(x, 2)", "avg_pool2d": "F.avg_pool2d(x[None], 2)",
    "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(x[None], 2)", "adaptive_max_pool1d": "F.adaptive_max_pool1d(x, 2)",
    "reflect": "F.pad(x, (1, 1), 'reflect')", "replicate": "F.pad(x, (1, 1), 'replicate')",
    "nll_loss": "F.nll_loss(x, torch.tensor([0, 1, 2]))", "multi_margin_loss": "F.multi_margin_loss(x, torch.tensor([0, 1, 2]))",
}
APART = {
    "clamp": "x.clamp(-1, 1)", "max": "x.max(1).values", "sort": "x.sort(1).values", "topk": "x.topk(2, 1).values", "amax": "x.amax(1)",
    "cummax": "x.cummax(1).values", "sum": "x.sum()", "circular": "F.pad(x, (1, 1), 'circular')", "dropout": "F.dropout(x)",
}


def recorded(lib, text, seed):
    x = lib.tensor([[-2.5, -0.4, 0.3, 1.2], [0.7, 7.0, -1.5, 2.0], [3.5, 0.2, -4.0, 0.9]], requires_grad=True)
    y = eval(text, {"torch": lib, "F": lib.nn.functional, "x": x})
    g = lib.ones_like(y).requires_grad_(seed)
    first, = lib.autograd.grad(y, x, g, create_graph=True)
    return first, x, g


@pytest.mark.parametrize("name", PIECEWISE)
def test_piecewise_gradients_are_recorded(name):
    for seed in (False, True):
        first, x, g = recorded(fasttensor, PIECEWISE[name], seed)
        assert first.requires_grad and first.grad_fn is not None
        second, = torch.autograd.grad(first.sum(), x, retain_graph=True)
        assert second.shape == x.shape and not second.any()
        if seed:
            assert torch.autograd.grad(first.sum(), g)[0].shape == g.shape


@pytest.mark.parametrize("name", APART)
def test_gradients_apart_from_the_input_are_not_recorded(name):
    assert not recorded(fasttensor, APART[name], False)[0].requires_grad


@pytest.mark.parametrize("text", ["x.floor()", "x.sign()", "x.div(2, rounding_mode='floor')", "x.round(decimals=1)"])
def test_gradients_that_are_zero_everywhere_depend_on_nothing(text):
    first, _, g = recorded(fasttensor, text, True)
    assert not first.requires_grad and not first.any()
    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.grad(x.floor(), x, torch.tensor([math.inf]), create_graph=True)[0].tolist() == [0.0]


def test_gradients_of_a_bias_are_recorded_with_the_others():
    F = torch.nn.functional
    x, w, b = torch.ones(1, 2, 5, requires_grad=True), torch.ones(3, 2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    calls = [F.conv1d(x, w, b), F.conv_transpose1d(x, w.transpose(0, 1), b), F.layer_norm(x, (5,), torch.ones(5), torch.ones(5, requires_grad=True))]
    for y in calls[:2]:
        assert torch.autograd.grad(y.sum(), b, create_graph=True)[0].requires_grad
    scale, shift = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
    assert torch.autograd.grad(F.layer_norm(x, (5,), scale, shift).sum(), shift, create_graph=True)[0].requires_grad


@pytest.mark.parametrize("text", [*PIECEWISE.values(), *APART.values()])
def test_recorded_as_in_pytorch(text):
    reference = oracle()
    for seed in (False, True):
        ours, theirs = recorded(fasttensor, text, seed), recorded(reference, text, seed)
        assert ours[0].requires_grad == theirs[0].requires_grad


# name: argument, first and second derivative in float64 (from 60 digits by mpmath)
FAR = {
    "log_ndtr": [(20.0, 5.52094836215976e-88, -1.104189672431953e-86), (-60.0, 60.016657420241125, -0.9997226841165852), (1e4, 0.0, 0.0),
                 (-1e30, 1e30, -1.0)],
    "erfcx": [(1e4, -5.641895750849127e-09, 1.1283791332441388e-12), (1e10, -5.641895835477563e-21, 1.1283791670955126e-30)],
    "i1": [(1e-8, 0.5, 3.75e-09), (1e-310, 0.5, 0.0)], "i1e": [(1e-8, 0.49999999, -0.9999999812500002), (1e-310, 0.5, -1.0), (1e300, 0.0, 0.0)],
    "i0e": [(1e-310, -1.0, 1.5)], "sinc": [(1e300, 0.0, 0.0)], "mish": [(1e4, 1.0, 0.0), (60.0, 1.0, 0.0)],
    "logsigmoid": [(-20.0, 0.9999999979388464, -2.0611536139418496e-09), (0.0, 0.5, -0.25), (900.0, 0.0, 0.0), (-900.0, 1.0, 0.0)],
    "gelu_tanh": [(1e300, 1.0, 0.0), (-1e300, 0.0, 0.0)], "elu": [(0.0, 1.0, 0.0)], "celu": [(0.0, 1.0, 0.0)],
}


def call(name, x):
    if name == "gelu_tanh":
        return torch.nn.functional.gelu(x, approximate="tanh")
    return next(getattr(place, name) for place in (torch, torch.special, torch.nn.functional) if hasattr(place, name))(x)


@pytest.mark.parametrize("name", FAR)
def test_derivatives_far_out(name):
    for at, first, second in FAR[name]:
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        g, = torch.autograd.grad(call(name, x), x, create_graph=True)
        h, = torch.autograd.grad(g, x)
        for got, expected in ((g, first), (h, second)):
            assert abs(to_lists(got) - expected) <= 1e-9 * abs(expected) + 1e-290, (at, to_lists(got), expected)


def test_gradient_of_logit_outside_of_its_domain():
    x = torch.tensor([-0.5, 0.25, 1.5], requires_grad=True)
    torch.logit(x).sum().backward()
    assert [math.isnan(v) for v in x.grad.tolist()] == [True, False, True]


SINGULAR = {"zero": [[0.0, 0.0], [0.0, 0.0]], "one": [[0.0]], "rank 1 of 2": [[1.0, 2.0], [2.0, 4.0]],
            "rank 2 of 3": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
            "rank 1 of 3": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]], "zero of 3": [[0.0] * 3] * 3,
            "batch": [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]]}


def expanded(a):
    """The determinant as the polynomial that it is."""
    if a.shape[-1] == 1:
        return a[..., 0, 0]
    if a.shape[-1] == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    rest = [[j for j in range(3) if j != i] for i in range(3)]
    return sum((-1) ** i * a[..., 0, i] * expanded(a[..., 1:, :][..., rest[i]]) for i in range(3))


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_det_where_there_is_no_inverse(name, dtype):
    x = torch.tensor(SINGULAR[name], dtype=torch.float64).to(getattr(torch, dtype)).requires_grad_()
    if dtype == "complex128":
        x = (x.detach() * (0.6 + 0.8j)).requires_grad_()
    along = torch.linspace(-1, 2, x.numel(), dtype=torch.float64).reshape(x.shape).to(x.dtype)
    found = []
    for det in (torch.det, expanded):
        y = det(x)
        seed = torch.full_like(y, 1.5).requires_grad_()
        first, = torch.autograd.grad(y, x, seed, create_graph=True)
        plain, = torch.autograd.grad(det(x), x, seed.detach())
        found.append((plain, first, *torch.autograd.grad(first, [x, seed], along, allow_unused=True, materialize_grads=True)))
    for got, expected in zip(*found):
        assert (got - expected).abs().max().item() < 1e-12


def test_third_derivatives_of_det_where_there_is_no_inverse_say_so():
    x = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(torch.det(x), x, create_graph=True)
    second, = torch.autograd.grad(first, x, torch.eye(3, dtype=torch.float64), create_graph=True)
    with pytest.raises(NotImplementedError, match="det: third derivatives"):
        torch.autograd.grad(second.sum(), x)


def test_zeros_where_pytorch_has_none():
    for function in (lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1).sum(), lambda x: (x ** 0).sum()):
        x = torch.ones(1, 1, 2, 2, requires_grad=True)
        g, = torch.autograd.grad(function(x), x, create_graph=True)
        assert not torch.autograd.grad(g.sum(), x)[0].any()
