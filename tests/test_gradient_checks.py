"""Gradients have their tensor's shape and dtype, whoever gives them; histories of overwritten tensors."""
import pytest

import fasttensor as torch
from helpers import assert_close


class Wrong(torch.autograd.Function):
    """Doubles, with a gradient that the test chooses."""
    gives = None

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return Wrong.gives(g)


@pytest.mark.parametrize("through", [lambda x: x, lambda x: x.tanh(), lambda x: x.sum(0, keepdim=True).expand(3)])
def test_function_gradient_of_another_shape_is_refused(through):
    x = torch.ones(3, requires_grad=True)
    Wrong.gives = lambda g: torch.ones(90000)
    with pytest.raises(RuntimeError, match=r"WrongBackward returned an invalid gradient at index 0 - got float32\[90000\]"):
        Wrong.apply(through(x)).sum().backward()


def test_function_gradient_is_converted_and_summed():
    x = torch.ones(1, requires_grad=True)
    Wrong.gives = lambda g: torch.ones(4, 1, dtype=torch.float64)
    Wrong.apply(x).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [4.0]


def test_hooks_keep_shape_and_dtype():
    x = torch.ones(4, requires_grad=True)
    for hook, text in ((lambda g: g.double(), "type of value"), (lambda g: torch.ones(5), "size of value")):
        for tensor in (lambda: x.tanh(), lambda: x * 1):
            y = tensor()
            y.register_hook(hook)
            with pytest.raises(RuntimeError, match=text):
                y.sum().backward()
    handle = x.register_hook(lambda g: torch.ones(5))
    with pytest.raises(RuntimeError, match="size of value"):
        (x * 1).sum().backward()
    handle.remove()
    assert x.grad is None


def test_seed_of_another_dtype_is_converted():
    x = torch.ones(4, requires_grad=True)
    x.tanh().backward(torch.ones(4, dtype=torch.float64))
    assert_close(x.grad, 1 - torch.ones(4).tanh() ** 2)


@pytest.mark.parametrize("low, high", [("float32", "float64"), ("bfloat16", "float32"), ("float16", "float64")])
def test_in_place_with_a_wider_operand(low, high):
    a = torch.ones(4, 2, dtype=getattr(torch, low), requires_grad=True)
    w = torch.full((1, 2), 1.5, dtype=getattr(torch, high), requires_grad=True)
    y = a * 1
    y.mul_(w)
    y.sum().backward()
    assert y.dtype is a.dtype and a.grad.dtype is a.dtype and w.grad.dtype is w.dtype
    assert a.grad.tolist() == [[1.5, 1.5]] * 4 and w.grad.tolist() == [[4.0, 4.0]]


@pytest.mark.parametrize("name", ["square_", "sin_", "exp_", "tanh_", "sigmoid_", "reciprocal_", "log_"])
@pytest.mark.parametrize("view", [False, True])
def test_second_derivatives_through_overwritten_values(name, view):
    def function(t):
        a = t * 1
        getattr(a[1:] if view else a, name)()
        return a
    x = torch.tensor([0.3, 0.7, 1.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))


def test_second_derivatives_through_overwritten_products():
    def function(t, w):
        a = t * 1
        a.mul_(w)
        a.mul_(a)
        return a
    x, w = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.3, 0.7], [1.1, -0.4]))
    assert torch.autograd.gradgradcheck(function, (x, w))


def test_selected_inputs_through_views_of_overwritten_bases():
    k = torch.ones(3, dtype=torch.float64, requires_grad=True)
    e = k * 1
    v = e[:2]
    e.mul_(4)
    assert torch.autograd.grad(v.sum(), k, retain_graph=True)[0].tolist() == [4.0, 4.0, 0.0]
    (v.sum() + k.sum()).backward(inputs=[k])
    assert k.grad.tolist() == [5.0, 5.0, 1.0]


def test_retained_gradients_follow_in_place_writes():
    a = torch.ones(3, requires_grad=True) * 1
    a.retain_grad()
    a.mul_(2)
    a.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0, 1.0]


def test_inputs_of_any_strides_are_checked():
    x = torch.randn(3, 5, dtype=torch.float64).mT.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: x.sin() @ x.mT, x)
    assert torch.autograd.gradcheck(lambda x: x ** 2, torch.randn(4, 6, dtype=torch.complex128)[1:, ::2].requires_grad_())
    with pytest.raises(RuntimeError, match="stride 0"):
        torch.autograd.gradcheck(torch.sin, torch.ones(3, 1, dtype=torch.float64).expand(3, 4).requires_grad_())
