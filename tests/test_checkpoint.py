"""Checkpoints: gradients as without, memory really free, random numbers and autocast as in forward, clear errors."""
import warnings

import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def run(wrap):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Dropout(0.5), nn.Linear(6, 6), nn.Softmax(-1))
    x = torch.linspace(-1, 1, 12).reshape(2, 6).requires_grad_()
    y = wrap(net, x)
    torch.rand(3)
    (y * y).sum().backward()
    return [x.grad, *(p.grad for p in net.parameters()), torch.rand(1)]


@pytest.mark.parametrize("wrap", [
    lambda net, x: checkpoint(net, x, use_reentrant=True),
    lambda net, x: checkpoint(net, x, use_reentrant=False),
    lambda net, x: checkpoint(net, x, use_reentrant=False, early_stop=False),
    lambda net, x: checkpoint(lambda z: checkpoint(net[3:], checkpoint(net[:3], z, use_reentrant=False), use_reentrant=False), x,
                              use_reentrant=False),
    lambda net, x: checkpoint(lambda z: net[3:](checkpoint(net[:3], z, use_reentrant=True)), x, use_reentrant=True),
    lambda net, x: checkpoint_sequential(net, 3, x, use_reentrant=False),
    lambda net, x: checkpoint_sequential(net, 2, x, use_reentrant=True),
], ids=["reentrant", "plain", "whole", "nested", "nested reentrant", "sequential", "sequential reentrant"])
def test_gradients_and_random_numbers_are_as_without(wrap):
    for got, expected in zip(run(wrap), run(lambda net, x: net(x))):
        assert torch.equal(got, expected)


@pytest.mark.parametrize("reentrant", [True, False])
def test_memory_is_free_between_forward_and_backward(reentrant):
    layers = [nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.Tanh()) for _ in range(8)]
    one = 4 << 17

    def used(wrap):
        x = torch.zeros(1 << 17, requires_grad=True)
        before = torch.memory_stats()["current"]
        y = x
        for layer in layers:
            y = wrap(layer, y)
        after = torch.memory_stats()["current"]
        torch.reset_peak_memory_stats()
        y.sum().backward()
        return (after - before) / one, (torch.memory_stats()["peak"] - before) / one
    kept, peak = used(lambda layer, y: layer(y))
    assert kept > 23        # tanh and sigmoid keep their outputs
    small, small_peak = used(lambda layer, y: checkpoint(layer, y, use_reentrant=reentrant))
    assert small < 9 and small_peak < peak - 8
    whole, _ = used(lambda layer, y: checkpoint(lambda z: checkpoint(layer, layer(z), use_reentrant=False), y, use_reentrant=False))
    assert whole < 9


def test_only_what_is_needed_is_computed_again():
    calls = []

    def function(x):
        calls.append("first")
        y = x.exp()
        calls.append("second")
        return y + 3
    x = torch.ones(2, requires_grad=True)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert calls == ["first", "second", "first"]
    with set_checkpoint_early_stop(False):
        checkpoint(function, x, use_reentrant=False).sum().backward()
    assert calls[3:] == ["first", "second", "first", "second"]


def test_derivatives_of_derivatives_and_retained_graphs():
    x = torch.tensor([0.5], requires_grad=True)

    def f(z):
        return z.exp().sin().tanh()
    for function in (f, lambda z: checkpoint(f, z, use_reentrant=False)):
        first, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        second, = torch.autograd.grad(first.sum(), x)
        assert first.item() == pytest.approx(-0.0541517, abs=1e-5) and second.item() == pytest.approx(-1.2081, abs=1e-3)
    y = checkpoint(f, x, use_reentrant=False)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == pytest.approx(2 * -0.0541517, abs=1e-5)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_history_survives_hooks_on_saved_tensors():
    x = torch.tensor([0.5], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        first, = torch.autograd.grad((x * x.exp()).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert second.item() == pytest.approx(2.5 * 2.718281828 ** 0.5, rel=1e-5)


def test_keyword_arguments_structures_and_contexts():
    seen = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *exc):
            pass

    def function(pair, *, scale):
        return {"y": pair[0].exp() * scale, "n": 3}
    x = torch.ones(2, requires_grad=True)
    out = checkpoint(function, (x, None), scale=2.0, use_reentrant=False, context_fn=lambda: (Note("forward"), Note("again")))
    out["y"].sum().backward()
    assert out["n"] == 3 and seen == ["forward", "again"] and torch.allclose(x.grad, 2 * torch.ones(2).exp())
    with torch.no_grad():
        assert not checkpoint(torch.exp, x, use_reentrant=False).requires_grad


def test_autocast_is_as_in_forward():
    layer, x = nn.Linear(3, 3), torch.ones(2, 3)
    seen = []

    def function(x):
        y = layer(x)
        seen.append(y.dtype)
        return y.exp()
    with torch.autocast("cpu"):
        y = checkpoint(function, x, use_reentrant=False)
    y.float().sum().backward()
    assert seen == [torch.bfloat16] * 2


def test_errors_name_what_differs():
    x = torch.ones(2, requires_grad=True)

    def alternate(*functions):
        turns = iter(functions)
        return lambda z: next(turns)(z)
    with pytest.raises(CheckpointError, match=r"(?s)position 0.*float32.*float64"):
        checkpoint(alternate(torch.exp, lambda z: z.double().exp()), x, use_reentrant=False).sum().backward()
    with pytest.raises(CheckpointError, match=r"forward: 2\n.*recomputation: 1"):
        checkpoint(alternate(lambda z: z.exp().sin(), torch.exp), x, use_reentrant=False).sum().backward()
    with set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError, match=r"(?s)aten::sin  at .*test_checkpoint.*recomputation:.*aten::exp"):
        checkpoint(alternate(lambda z: z.exp().sin(), torch.exp), x, use_reentrant=False).sum().backward()
    checkpoint(alternate(torch.exp, lambda z: z.double().exp().float()), x, use_reentrant=False, determinism_check="none").sum().backward()
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(torch.exp, x, use_reentrant=False, determinism_check="often")
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
    with pytest.raises(ValueError, match="keyword"):
        checkpoint(torch.exp, x, use_reentrant=True, other=1)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(torch.exp, x)
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(torch.exp, torch.ones(2), use_reentrant=True)
    y = checkpoint(torch.exp, z := x * 2, use_reentrant=False)
    with torch.no_grad():
        z.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_training_matches_pytorch():
    theirs = pytest.importorskip("torch")
    results = []
    for lib in (torch, theirs):
        import importlib
        wrap = importlib.import_module(lib.__name__ + ".utils.checkpoint").checkpoint
        net = lib.nn.Sequential(lib.nn.Linear(4, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
        with lib.no_grad():
            for parameter in net.parameters():
                parameter.copy_(lib.linspace(-0.5, 0.5, parameter.numel()).reshape(parameter.shape))
        x = lib.linspace(-1, 1, 32).reshape(8, 4)
        wrap(net, x, use_reentrant=False).square().sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrap(net, x.requires_grad_(), use_reentrant=True).sum().backward()
        results.append([p.grad.flatten().tolist() for p in net.parameters()])
    for ours, expected in zip(*results):
        assert ours == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_selective_checkpoints_keep_what_the_policy_names():
    from fasttensor.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
    w = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
    calls, seen = [], []

    def part(x):
        calls.append(None)
        return (x @ w).exp() @ w

    def policy(context, op, *args):
        seen.append(op.__name__)
        assert not context.is_recompute and context.op_output.shape == (3, 3)
        return keep

    x = torch.ones(3, 3, requires_grad=True)
    part(x).sum().backward()
    want, x.grad, w.grad = x.grad, None, None
    for keep, runs in ((CheckpointPolicy.MUST_SAVE, 1), (CheckpointPolicy.PREFER_RECOMPUTE, 2)):
        calls.clear()
        y = checkpoint(part, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
        assert {"mm.default", "exp.default"} <= set(seen)
        y.sum().backward()
        assert torch.equal(x.grad, want), keep
        x.grad = None
        assert len(calls) == runs or keep is CheckpointPolicy.MUST_SAVE
    y = checkpoint(part, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default]))
    y.sum().backward()
    assert torch.equal(x.grad, want)
    with pytest.raises(TypeError, match="function or a list"):
        create_selective_checkpoint_contexts(3)


def test_saved_tensors_may_be_written():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y ** 2).sum()
        y.sin_()
        z.backward()
        late = (x.clone() ** 2).sum()
    assert x.grad.tolist() == [2., 2.]
    with pytest.raises(RuntimeError, match="outside of the 'allow_mutation"):
        late.backward()
    a = torch.ones(2, requires_grad=True)
    y = a.exp()
    z = y * y
    torch.autograd.graph.increment_version([y])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
