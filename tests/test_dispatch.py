"""``__torch_dispatch__``: modes, classes of tensors that wrap others, operators of ``torch.ops``."""
import functools

import pytest

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn
from fasttensor.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass, return_and_correct_aliasing
from fasttensor.utils._pytree import tree_map, tree_map_only
from fasttensor.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten


class Logged(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert not torch.is_grad_enabled()
        self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


class Two(torch.Tensor):
    """Two tensors that everything is done to."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, device=a.device, requires_grad=a.requires_grad)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Two(inner["a"], inner["b"])

    def __repr__(self):
        return f"Two({self.a}, {self.b})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        parts = [func(*tree_map_only(Two, part, args), **tree_map_only(Two, part, kwargs or {})) for part in (lambda t: t.a, lambda t: t.b)]
        rest = iter(torch.utils._pytree.tree_leaves(parts[1]))
        wrapped = tree_map(lambda x: Two(x, next(rest)) if isinstance(x, torch.Tensor) else (next(rest), x)[1], parts[0])
        return return_and_correct_aliasing(func, args, kwargs, wrapped)


class Silent(Two):
    __torch_function__ = torch._C._disabled_torch_function_impl


@pytest.mark.parametrize("code, names", [
    ("x + 1", "add.Tensor"), ("1 - x", "rsub.Scalar"), ("x @ x", "mm.default"), ("x > 0", "gt.Scalar"), ("x ** 2", "pow.Tensor_Scalar"),
    ("x.sum(0)", "sum.dim_IntList"), ("torch.relu(x)", "relu.default"), ("F.softmax(x, 0)", "_softmax.default"), ("x.T", "t.default"),
    ("x.double()", "_to_copy.default"), ("x[0]", "select.int"), ("x[:1]", "slice.Tensor"), ("torch.ones(2)", "ones.default"),
    ("x.add_(1)", "add_.Tensor"), ("F.linear(x, x, x[0])", "select.int t.default addmm.default"), ("torch.cat([x, x])", "cat.default"),
    ("x.shape, x.dtype, x.requires_grad", ""), ("torch.linalg.inv(x + torch.eye(2))", "eye.default add.Tensor linalg_inv.default"),
    ("F.conv2d(x[None, None], x[None, None])", "unsqueeze.default unsqueeze.default unsqueeze.default unsqueeze.default convolution.default")])
def test_what_a_mode_sees(code, names):
    x = torch.ones(2, 2)
    with Logged() as log:
        got = eval(code, {"torch": torch, "F": F, "x": x})
    assert log.seen == names.split()
    want = eval(code, {"torch": torch, "F": F, "x": x})
    assert not isinstance(got, torch.Tensor) or torch.equal(got, want)


def test_modes_of_modes_and_backward():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    model(torch.ones(2, 3)).sum().backward()
    want = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    x = torch.ones(2, 3)
    with Logged() as outer, Logged() as inner:
        model(x).sum().backward()
    assert outer.seen == inner.seen and inner.seen[:3] == ["t.default", "addmm.default", "relu.default"]
    assert inner.seen.count("mm.default") == 3 and "threshold_backward.default" in inner.seen
    assert all(torch.equal(p.grad, w) for p, w in zip(model.parameters(), want))
    assert not torch._C._len_torch_function_stack() and (torch.ones(1) + 1).item() == 2


def test_a_mode_may_change_results_and_keeps_gradients():
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is aten.exp.default else out
    x = torch.zeros(2, requires_grad=True)
    with Doubled():
        y = x.exp()
    y.sum().backward()
    assert y.tolist() == [2.0, 2.0] and x.grad is not None
    with pytest.raises(TypeError, match="NotImplemented"):
        class No(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return NotImplemented
        with No():
            torch.add(x, 1)
    assert (x + 1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", [Two, Silent])
@pytest.mark.parametrize("function", [
    lambda x: x * 2 + x.sin(), lambda x: x @ x, lambda x: F.linear(x, x, x[0]), lambda x: F.softmax(x, -1) * x, lambda x: x.reshape(-1).cumsum(0),
    lambda x: F.layer_norm(x, (3,)), lambda x: torch.stack([x, x.t()]).mean(), lambda x: x[1:, None].expand(2, 4, 3).exp().sum((0, 1)),
    lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1])), lambda x: (x - x.mean(1, keepdim=True)) / x.std()])
def test_a_wrapper_computes_as_its_parts_and_has_gradients(kind, function):
    a, b = torch.arange(9.0).reshape(3, 3) / 7 + 0.1, torch.ones(3, 3).cumsum(0) * torch.arange(3.0) / 5 + 0.2
    plain = [t.clone().requires_grad_() for t in (a, b)]
    for t in plain:
        function(t).sum().backward()
    x = kind(a, b).requires_grad_()
    y = function(x)
    assert isinstance(y, Two) and y.requires_grad and y.shape == function(a).shape and y.device == a.device
    torch.testing.assert_close(y.a, function(a))
    torch.testing.assert_close(y.b, function(b))
    y.sum().backward()
    assert isinstance(x.grad, Two)
    torch.testing.assert_close(x.grad.a, plain[0].grad)
    torch.testing.assert_close(x.grad.b, plain[1].grad)


def test_wrappers_in_place_in_modules_and_in_modes():
    x = Two(torch.zeros(2, 3), torch.ones(2, 3))
    assert x.add_(1) is x and x.a[0, 0] == 1 and x.b[0, 0] == 2 and is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(x.a)
    layer = nn.Linear(3, 2)
    out = layer(x)
    torch.testing.assert_close(out.b, layer(x.b))
    out.sum().backward()
    torch.testing.assert_close(layer.weight.grad.b, torch.autograd.grad(layer(x.b).sum(), layer.weight)[0])
    with Logged() as log:
        Two(torch.ones(2), torch.ones(2)) * 2
    assert "mul.Tensor" in log.seen
    with pytest.raises(RuntimeError, match="no class of tensors with __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))


def test_operators():
    op = aten.add.Tensor
    assert (op.name(), str(op), op.__name__) == ("aten::add.Tensor", "aten.add.Tensor", "add.Tensor")
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert op.overloadpacket is aten.add and op is aten.add.Tensor and op != aten.add.Scalar and aten.mm.default.name() == "aten::mm"
    assert str(aten.add) == "aten.add" and aten.add(torch.ones(1), 2).item() == 3 and op(torch.ones(1), torch.ones(1)).item() == 2
    assert {op: 1}[aten.add.Tensor] == 1 and op._schema.name == "aten::add" and aten.add_.Tensor._schema.is_mutable


def test_selective_checkpoints_are_asked_with_overloads():
    def policy(context, op, *args, **kwargs):
        asked.append(op)
        return CheckpointPolicy.MUST_SAVE if op == aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE
    asked, x = [], torch.ones(2, 2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    checkpoint(lambda t: torch.mm(t, t).exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert aten.mm.default in asked and aten.exp.default in asked and x.grad.shape == (2, 2)


def test_methods_of_classes_that_are_no_tensors_are_not_called():
    class Foreign:
        def __torch_dispatch__(self, *call):
            raise AssertionError("asked")

    with pytest.raises(TypeError, match="must be Tensor"):
        torch.add(Foreign(), torch.ones(1))


def test_batched_gradients_and_jacobians_of_wrappers():
    x = Two(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).requires_grad_()
    seeds = Two(torch.eye(2), 2 * torch.eye(2))
    rows, = torch.autograd.grad(x * x, x, seeds, is_grads_batched=True)
    assert rows.a.tolist() == [[2.0, 0.0], [0.0, 4.0]] and rows.b.tolist() == [[12.0, 0.0], [0.0, 16.0]]
