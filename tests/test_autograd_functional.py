"""autograd.functional: kept values, PyTorch's values, strictness, and graphs of the results."""
import pytest

import fasttensor as torch
from helpers import oracle

A = torch.autograd.functional
X = torch.tensor([1.0, 2.0])
Y = torch.tensor([3.0, -1.0])


def two(x, y):
    return x * y, (x ** 2).sum()


def one(x, y):
    return (x ** 2 * y).sum()


def cubes(x):
    return (x ** 3).sum()


def test_products():
    out, g = A.vjp(two, (X, Y), (torch.ones(2), torch.tensor(1.0)))
    assert out[0].tolist() == [3, -2] and g[0].tolist() == [5, 3] and g[1].tolist() == [1, 2]
    out, t = A.jvp(two, (X, Y), (torch.ones(2), torch.zeros(2)))
    assert t[0].tolist() == [3, -1] and t[1].item() == 6
    assert A.vhp(cubes, X, torch.ones(2))[1].tolist() == [6, 12] and A.hvp(cubes, X, torch.ones(2))[1].tolist() == [6, 12]
    assert A.hvp(one, (X, Y), (X, Y))[1][0].tolist() == [12, -8]


def test_matrices():
    for options in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        j = A.jacobian(two, (X, Y), **options)
        assert j[0][0].tolist() == [[3, 0], [0, -1]] and j[1][0].tolist() == [2, 4] and j[1][1].tolist() == [0, 0]
    h = A.hessian(one, (X, Y))
    assert h[0][0].tolist() == [[6, 0], [0, -2]] and h[0][1].tolist() == [[2, 0], [0, 4]] and h[1][1].tolist() == [[0, 0], [0, 0]]
    assert A.hessian(cubes, X).tolist() == [[6, 0], [0, 12]]


def test_graphs_of_the_results():
    x = X.clone().requires_grad_()
    for run in (lambda: A.jacobian(cubes, x, create_graph=True), lambda: A.vjp(cubes, x, create_graph=True)[1],
                lambda: A.jvp(lambda x: x ** 3, x, torch.ones(2), create_graph=True)[1]):
        assert torch.autograd.grad(run().sum(), x)[0].tolist() == [6, 12]
    for run in (lambda: A.hessian(cubes, x, create_graph=True), lambda: A.vhp(cubes, x, torch.ones(2), create_graph=True)[1],
                lambda: A.hvp(cubes, x, torch.ones(2), create_graph=True)[1]):
        assert torch.autograd.grad(run().sum(), x)[0].tolist() == [6, 6]
    assert not A.jacobian(cubes, x).requires_grad and x.grad is None


@pytest.mark.parametrize("call,words", [
    (lambda: A.jacobian(lambda x: torch.ones(2), X, strict=True), "does not require gradients"),
    (lambda: A.vjp(lambda x, y: x.sum(), (X, Y), strict=True), "independent of input 1"),
    (lambda: A.hessian(lambda x: x.sum(), X, strict=True), "does not require gradients|independent"),
    (lambda: A.jvp(two, (X, Y), X), "single Tensor"), (lambda: A.vjp(cubes, X, torch.ones(2)), "invalid size"),
    (lambda: A.vjp(lambda x: x, X), "can only be None"), (lambda: A.hessian(lambda x: x, X), "single element"),
    (lambda: A.jacobian(cubes, X, strict=True, vectorize=True), "not supported together"),
])
def test_bad_calls(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_wrong_types():
    with pytest.raises(TypeError, match="either a Tensor or a tuple"):
        A.jacobian(cubes, [1.0])
    with pytest.raises(TypeError, match="outputs of the user-provided function"):
        A.jacobian(lambda x: 1.0, X)
    with pytest.raises(NotImplementedError):
        A.jacobian(cubes, X, strategy="forward-mode")
    with pytest.raises(AssertionError, match="expected strategy to be either"):
        A.jacobian(cubes, X, strategy="q")


def test_against_pytorch():
    theirs = oracle()
    ours = [A.jacobian(two, (X, Y))[0][1], A.hessian(one, (X, Y))[1][0], A.vhp(one, (X, Y), (Y, X))[1][1]]
    B = theirs.autograd.functional
    x, y = theirs.tensor(X.tolist()), theirs.tensor(Y.tolist())
    wanted = [B.jacobian(two, (x, y))[0][1], B.hessian(one, (x, y))[1][0], B.vhp(one, (x, y), (y, x))[1][1]]
    assert [a.tolist() for a in ours] == [b.tolist() for b in wanted]
