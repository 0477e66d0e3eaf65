"""Dual numbers: values by hand, in-place writes, views, gradients of duals, users' Functions."""
import pytest

import fasttensor as torch
from fasttensor.autograd import forward_ad as fwAD
from fasttensor.autograd import gradcheck, gradgradcheck


def tangent(function, x, t):
    with fwAD.dual_level():
        return fwAD.unpack_dual(function(fwAD.make_dual(torch.tensor(x), torch.tensor(t)))).tangent


X, T = [1., 2., 4.], [1., -1., .5]


@pytest.mark.parametrize("function, want", [
    (lambda x: x * x, [2., -4., 4.]), (lambda x: x[1:] * 3, [-3., 1.5]), (lambda x: x.sum(), .5), (lambda x: torch.cat([x, x])[2:4], [.5, 1.]),
    (lambda x: torch.stack([x, x * 2]).max(0)[0], [2., -2., 1.]), (lambda x: x.round(), [0., 0., 0.]), (lambda x: x.outer(x)[0], [2., 1., 4.5]),
    (lambda x: torch.complex(x, x * 2).conj().imag, [-2., 2., -1.]), (lambda x: (x > 1).float() * x, [0., -1., .5]),
    (lambda x: x.clone().mul_(x).add_(x)[:2], [3., -5.])])
def test_values(function, want):
    assert tangent(function, X, T).tolist() == pytest.approx(want) if isinstance(want, list) else tangent(function, X, T).item() == want


def test_writes_and_views():
    with fwAD.dual_level():
        y = fwAD.make_dual(torch.ones(2), torch.ones(2))
        y.add_(y * y)
        y[0] = y[1] * 3
        y[1:].mul_(y[0])
        primal, t = fwAD.unpack_dual(y)
        assert primal.tolist() == [6., 12.] and t.tolist() == [9., 36.]
        a = torch.zeros(3)
        a[1:] = y
        assert fwAD.unpack_dual(a).tangent.tolist() == [0., 9., 36.]
        assert fwAD.unpack_dual(y.detach()).tangent is None
        leaf = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            assert fwAD.unpack_dual(leaf.add_(1)).tangent is None and leaf.is_leaf
            with pytest.raises(RuntimeError, match="tangent is written into a leaf"):
                leaf.add_(y)
    assert not y.requires_grad and y.is_leaf and y.grad_fn is None and fwAD.unpack_dual(y).tangent is None


@pytest.mark.parametrize("write", [
    lambda x: x.masked_fill_(x > 1, .25), lambda x: x.index_fill_(0, torch.tensor([0]), 1.), lambda x: x.normal_(),
    lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1)), lambda x: x.scatter_(0, torch.tensor([0]), 1.)])
def test_tangents_of_what_was_computed_before_a_write(write):
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor([1., 2., 3.]), torch.ones(3)) * 1
        y = x * x
        write(x)
        z = x * 1
        assert fwAD.unpack_dual(y).tangent.tolist() == [2., 4., 6.]
        assert fwAD.unpack_dual(z).tangent is not None


def test_gradients_of_tangents_from_before_a_write():
    a = torch.tensor([1., 2.], requires_grad=True)
    with fwAD.dual_level():
        x = fwAD.make_dual(a, torch.ones(2)) * 1
        y = x * x
        x.masked_fill_(x > 1, .25)
        fwAD.unpack_dual(y).tangent.sum().backward()
    assert a.grad.tolist() == [2., 2.]


def test_a_function_that_writes_before_it_says_so():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor([1., 2.]), torch.ones(2)) * 1
        y = x * x
        z = Double.apply(x) * 1
        assert fwAD.unpack_dual(y).tangent.tolist() == [2., 4.] and fwAD.unpack_dual(z).tangent.tolist() == [2., 2.]


def test_views_that_were_recorded_again_after_a_write():
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor([[1., 2.], [3., 4.]]), torch.ones(2, 2)) * 1
        part = x.narrow(0, 0, 2)
        row = part[0]
        part.mul_(part)
        row.mul_(3)
        row.relu_()
        assert fwAD.unpack_dual(row).tangent.tolist() == [6., 12.] and fwAD.unpack_dual(x).tangent.tolist() == [[6., 12.], [6., 8.]]


def test_no_grad_lets_tangents_pass_but_no_gradients():
    w = torch.tensor([1., 2.], requires_grad=True)
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor([3., 5.]), torch.ones(2))
        with torch.no_grad():
            hidden = w * x
            assert not torch.is_grad_enabled() and not hidden.requires_grad
            assert fwAD.unpack_dual(hidden).tangent.tolist() == [1., 2.]
        (hidden * w).sum().backward()
        assert w.grad.tolist() == [3., 10.]
        with torch.inference_mode():
            assert fwAD.unpack_dual(x.clone() * 2).tangent is None
    with torch.no_grad(), fwAD.dual_level():
        assert fwAD.unpack_dual(fwAD.make_dual(torch.ones(1), torch.ones(1)).exp()).tangent.item() == pytest.approx(2.7182817)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_gradients_of_duals_and_of_tangents():
    x = torch.tensor([1., 2.], requires_grad=True)
    v = torch.tensor([1., .5])
    with fwAD.dual_level():
        y = (fwAD.make_dual(x, v) ** 3).sum()
        assert y.requires_grad
        g, = torch.autograd.grad(y, x)
        primal, t = fwAD.unpack_dual(g)
        assert not g.requires_grad and primal.tolist() == [3., 12.] and t.tolist() == [6., 6.]      # 6 x v
    with fwAD.dual_level():
        t = fwAD.unpack_dual((fwAD.make_dual(x, v) ** 3).sum()).tangent
        assert t.requires_grad and torch.autograd.grad(t, x)[0].tolist() == [6., 6.]      # and again by x
        model = torch.nn.Linear(2, 1)
        model(torch.ones(1, 2)).sum().backward()
        assert all(p.is_leaf and p.grad.is_leaf for p in model.parameters())


def test_levels():
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(torch.ones(2), torch.ones(2))
    assert fwAD.unpack_dual(torch.ones(2)).tangent is None
    with fwAD.dual_level():
        d = fwAD.make_dual(torch.ones(2), torch.ones(2))
        assert repr(d) == "tensor([1., 1.], tangent=tensor([1., 1.]))" and not d.requires_grad
        for call, text in ((fwAD.enter_dual_level, "Nested"), (lambda: fwAD.make_dual(d, d), "already has a forward gradient"),
                           (lambda: fwAD.make_dual(torch.ones(2), torch.ones(3)), "different size")):
            with pytest.raises(RuntimeError, match=text):
                call()
        with pytest.raises(ValueError, match="floating point or complex"):
            fwAD.make_dual(torch.ones(2), torch.ones(2).long())
        with pytest.raises(RuntimeError, match="func.jvp"):
            torch.vmap(lambda x: fwAD.make_dual(x, x))(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="exit a forward AD level"):
        fwAD.exit_dual_level()


def test_functions_with_jvp():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_forward(x)
            ctx.k = k
            return x * x * k

        @staticmethod
        def jvp(ctx, t, _):
            x, = ctx.saved_tensors
            return 10 * t * x * ctx.k           # a wrong factor on purpose: it is this that is asked

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Twice(Doubled):
        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2
    assert tangent(lambda x: Square.apply(x, 2), X, T).tolist() == [20., -40., 40.]
    assert tangent(Doubled.apply, X, T).tolist() == [2., -2., 1.]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        tangent(Twice.apply, X, T)


def test_gradcheck_by_tangents():
    def function(x, y):
        return torch.logcumsumexp(x, 0) * y.conj().abs(), torch.linalg.inv(x.outer(x) + torch.eye(3, dtype=x.dtype))
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1 + 1j, 2 - 1j, 1j], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(function, (x, y), check_forward_ad=True)
    assert gradgradcheck(lambda x: x.sin() * x, x, check_fwd_over_rev=True)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            return t

        @staticmethod
        def backward(ctx, g):
            return g * 2
    with pytest.raises(RuntimeError, match="forward mode"):
        gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_second_derivative_of_conj():
    u = torch.tensor([1 + 0j], requires_grad=True)
    x = torch.tensor([1 + 2j], requires_grad=True)
    g, = torch.autograd.grad(torch.conj(x), x, u, create_graph=True)
    assert torch.autograd.grad(g, u, torch.tensor([1 - 1j]))[0].item() == 1 + 1j


def test_no_gradients_of_what_is_recorded_for_tangents():
    x = torch.ones(3, requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(3), torch.ones(3))
        total = (dual * 2).sum()
        for refused in (total.backward, lambda: torch.autograd.backward([total]), lambda: torch.autograd.grad(total, dual),
                        lambda: torch.autograd.grad(total + x.sum(), dual)):
            with pytest.raises(RuntimeError, match="does not require grad"):
                refused()
        assert fwAD.unpack_dual(total).tangent.item() == 6.0
        (total * x.sum()).backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_tangents_beside_differences_where_pytorch_has_others():
    torch.manual_seed(0)
    a, b = torch.randn(3, 3, dtype=torch.float64) + 3 * torch.eye(3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    at, src = torch.tensor([[0, 1], [1, 1], [2, 0]]), torch.randn(3, 2, dtype=torch.float64)
    rows, classes = torch.randn(4, 3, dtype=torch.float64), torch.tensor([0, 2, 1, 1])
    for function, inputs in (
            (lambda b, a: torch.triangular_solve(b, a)[0], (b, a)), (lambda b, a: torch.triangular_solve(b, a, False, True)[0], (b, a)),
            (lambda x, s: x.scatter_reduce(0, at, s, "prod"), (a, src)),
            (lambda x, w: torch.nn.functional.linear_cross_entropy(x, w, classes), (rows, a))):
        step = [torch.randn_like(t) for t in inputs]
        high, low = (function(*(t + h * s for t, s in zip(inputs, step))) for h in (1e-6, -1e-6))
        assert torch.allclose(torch.func.jvp(function, tuple(inputs), tuple(step))[1], (high - low) / 2e-6, rtol=1e-5, atol=1e-7)
