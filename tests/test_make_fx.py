"""Graphs of operators: what make_fx writes gives what the function gives, for other values too; tensors without values."""
import pytest
from helpers import oracle

import fasttensor as torch
from fasttensor.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from fasttensor.standin.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode, is_fake
from fasttensor.utils._python_dispatch import TorchDispatchMode

NET = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
CONV = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 2))


def mixed(x, w):
    y = torch.relu(x @ w)
    y = y * x.sum() + 1
    highest, _ = y.max(1)
    y.add_(1)
    return {"a": highest.sum(), "b": [y[0], torch.ones(2)]}


def slope(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x.sin() * x + x * 2 + x.exp().sum() * x).sum(), x)[0]


def curvature(x):
    x = x.detach().requires_grad_()
    first = torch.autograd.grad((x.sin()).sum(), x, create_graph=True)[0]
    return torch.autograd.grad(first.sum(), x)[0]


def step(net):
    def function(x, y):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        return (loss, *torch.autograd.grad(loss, tuple(net.parameters())))
    return function


def broadcast(x, y):
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    out = (x * y + y - x / 2).softmax(-1)
    return torch.autograd.grad(out[:, 0].sum(), (x, y))


def accumulated(x):
    x = x.detach().requires_grad_()
    (x * x).sum().backward()
    (x * 3).sum().backward()
    return x.grad


CASES = {
    "mixed": (mixed, (2, 3), (3, 4)), "slope": (slope, (3,)), "broadcast": (broadcast, (4, 3), (3,)), "accumulated": (accumulated, (3,)),
    "functional": (lambda x: torch.func.grad(lambda v: (v.cos() * v).sum())(x), (3,)),
    "nested": (lambda d, k: d["a"] * d["b"][0] + k, {"a": (2,), "b": [(2,)]}, (2,)),
    "factory": (lambda x: torch.zeros(2, 3).copy_(x) + torch.arange(3), (3,)), "cat": (lambda x, y: torch.cat([x, y]).cumsum(0), (2,), (3,)),
}


def made(sizes):
    if isinstance(sizes, dict):
        return {k: made(v) for k, v in sizes.items()}
    return [made(v) for v in sizes] if isinstance(sizes, list) else torch.randn(sizes)


def same(graph, function, args):
    leaves = torch.utils._pytree.tree_leaves
    got, want = leaves(graph(*args)), leaves(function(*args))
    assert len(got) == len(want)
    assert all(torch.allclose(g, w, atol=1e-6) for g, w in zip(got, want))


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("case", CASES)
def test_graphs_give_what_the_function_gives(case, mode):
    function, *sizes = CASES[case]
    graph = make_fx(function, tracing_mode=mode)(*map(made, sizes))
    same(graph, function, [made(s) for s in sizes])


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("net, shape", [(NET, (5, 3)), (CONV, (5, 1, 6, 6))])
def test_a_step_with_gradients(net, shape, mode):
    labels = torch.tensor([0, 1, 1, 0, 1])
    graph = make_fx(step(net), tracing_mode=mode)(torch.randn(shape), labels)
    same(graph, step(net), (torch.randn(shape), 1 - labels))


def test_beside_pytorch():
    """The same operators, in the same order and with the same names."""
    pt = oracle()
    from torch.fx.experimental.proxy_tensor import make_fx as pt_make_fx
    texts = []
    for t, make in ((torch, make_fx), (pt, pt_make_fx)):
        texts.append(make(lambda x, w: (x @ w).relu().sum() * 2 + w[0, 0])(t.ones(2, 3), t.ones(3, 4)).code)
    assert texts[0] == texts[1]


def test_what_cannot_be_written():
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))
    with pytest.raises(NotImplementedError, match="symbolic sizes"):
        make_fx(lambda x: x, tracing_mode="symbolic")(torch.ones(2))
    with pytest.raises(AssertionError, match="tracing_mode must be"):
        make_fx(lambda x: x, tracing_mode="other")
    w = torch.ones(2, requires_grad=True)
    before = w * 2
    with pytest.raises(NotImplementedError, match="from before or outside of the graph"):
        make_fx(lambda x: torch.autograd.grad((before * x).sum(), w)[0])(torch.ones(2))
    with pytest.raises(NotImplementedError, match="create_graph=True"):
        make_fx(curvature)(torch.ones(2))
    assert get_proxy_mode() is None


def test_decompositions():
    graph = make_fx(lambda x: torch.nn.functional.silu(x), {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)})(torch.ones(2))
    assert [n.name for n in graph.graph.nodes] == ["x_1", "sigmoid", "mul", "output"]


def test_tensors_without_values():
    with FakeTensorMode() as mode:
        x = torch.randn(2, 3)
        layer = torch.nn.Linear(3, 5)
        y = layer(x).relu()
        assert is_fake(y) and y.shape == (2, 5) and y.device.type == "cpu" and y.requires_grad
        y.sum().backward()
        assert is_fake(layer.weight.grad) and layer.weight.grad.shape == (5, 3)
        with pytest.raises(DataDependentOutputException):
            x.sum().item()
        with pytest.raises(DynamicOutputShapeException):
            x.nonzero()
    assert repr(x) == "FakeTensor(..., size=(2, 3))" and not is_fake(torch.ones(1))
    fake = mode.from_tensor(torch.ones(4, 2).t())
    assert isinstance(fake, FakeTensor) and fake.stride() == (1, 2) and (fake @ fake.t()).shape == (2, 2)
    with pytest.raises(AssertionError, match="convert all Tensors to FakeTensors"):
        fake + torch.ones(2, 4)


def test_modes_see_sums_of_gradients():
    """Two paths to one tensor: the addition is an operation as well."""
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    seen, x = [], torch.ones(2, requires_grad=True)
    with Log():
        y = x * x
        seen.clear()
        torch.autograd.grad((y.sin() + y.cos()).sum(), x)
    assert seen.count("aten.add.Tensor") == 3       # of the program, of y's two gradients and of x's


def test_calls_with_keywords_pass_a_gate_once():
    with FakeTensorMode():
        w = torch.empty(3, 3)
        assert torch.nn.init.kaiming_uniform_(w, a=2.0) is not None
