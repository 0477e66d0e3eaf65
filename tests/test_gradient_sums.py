"""Backward writes over a gradient, to add another or to map it, only where nobody else can see the memory."""
import numpy as np
import pytest

import fasttensor as t
from fasttensor import autograd


class Given(autograd.Function):
    """The input itself; its backward returns what `make` makes."""

    @staticmethod
    def forward(ctx, x, make):
        ctx.make = make
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return ctx.make(), None


def meeting(make):
    """x reaches the loss over two Functions; returns x.grad."""
    x = t.zeros(4, requires_grad=True)
    y = x * 1
    (Given.apply(y, make) + Given.apply(y, make)).sum().backward()
    return x.grad


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.view(2, 2).view(4), lambda a: a.detach()])
def test_a_tensor_that_backward_keeps_is_not_written(view):
    kept = t.ones(4)
    assert meeting(lambda: view(kept)).tolist() == [2.0] * 4
    assert kept.tolist() == [1.0] * 4


def test_memory_of_another_owner_is_not_written():
    array = np.ones(4, dtype=np.float32)
    assert meeting(lambda: t.from_numpy(array)).tolist() == [2.0] * 4
    assert array.tolist() == [1.0] * 4


def test_one_gradient_for_two_inputs_and_a_retained_one():
    x = t.ones(3, requires_grad=True)
    a, b = x * 2, x * 3
    a.retain_grad()
    b.retain_grad()
    c = a + b                           # hands the same tensor to both
    (c * 5 + a * 7 + b * 11 + c).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([13.0] * 3, [17.0] * 3)
    assert x.grad.tolist() == [77.0] * 3


def test_seed_is_not_written_and_second_derivatives_see_sums():
    x = t.tensor([2.0], requires_grad=True)
    seed = t.ones(1)
    y = x + x
    t.autograd.backward([y, y], [seed, seed])
    assert x.grad.tolist() == [4.0] and seed.tolist() == [1.0]
    g, = t.autograd.grad((x ** 3 + x ** 2).sum(), x, create_graph=True)
    h, = t.autograd.grad(g.sum(), x)
    assert (g.tolist(), h.tolist()) == ([16.0], [14.0])


@pytest.mark.parametrize("function", [lambda y: y.exp(), lambda y: y.tanh(), lambda y: y * 3, lambda y: 1 - y, lambda y: y * y])
def test_a_mapped_gradient_leaves_what_is_seen_alone(function):
    seen, kept = [], t.full((4,), 2.0)
    x = t.zeros(4, requires_grad=True)
    inner = function(x)
    inner.register_hook(seen.append)
    outer = function(inner)
    outer.retain_grad()
    Given.apply(outer, lambda: kept).sum().backward(retain_graph=True)
    assert kept.tolist() == outer.grad.tolist() == [2.0] * 4
    before, first = seen[0].tolist(), x.grad.tolist()
    x.grad = None
    Given.apply(outer, lambda: kept).sum().backward()
    assert seen[0].tolist() == seen[1].tolist() == before and x.grad.tolist() == first


def test_seed_that_is_mapped_is_not_written():
    x = t.ones(4, requires_grad=True)
    seed = t.ones(4)
    (x * 2).backward(seed)
    y = x * 2
    g, = t.autograd.grad(y.exp(), y, t.ones(4), retain_graph=True)
    assert seed.tolist() == [1.0] * 4 and x.grad.tolist() == [2.0] * 4
    assert g.tolist() == pytest.approx([7.389056] * 4)


def test_hooks_of_nodes_see_both_gradients():
    x = t.ones(2, requires_grad=True)
    y = (x * 3).exp()
    seen = []
    y.grad_fn.register_hook(lambda into, out: seen.append((into[0].tolist(), out[0].tolist())))
    (y * 1).sum().backward()
    assert seen == [(pytest.approx([20.085537] * 2), [1.0, 1.0])]


def test_a_leaf_takes_the_memory_of_its_first_gradient():
    places = []

    def make():
        made = t.ones(300, 300)
        places.append(made.data_ptr())
        return made
    x = t.zeros(300, 300, requires_grad=True)
    Given.apply(x, make).sum().backward()
    assert [x.grad.data_ptr()] == places
