"""torch.func: gradients, products with Jacobians, their nesting with vmap and with each other, modules as functions."""
import pytest

import fasttensor as torch
from fasttensor import func
from fasttensor.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

F = torch.nn.functional
torch.manual_seed(0)
X = torch.tensor([1.0, 2.0, 3.0])


def cubes(x):
    return (x ** 3).sum()


def test_gradients():
    assert grad(cubes)(X).tolist() == [3.0, 12.0, 27.0]
    assert not grad(cubes)(X).requires_grad and not X.requires_grad
    g, value = grad_and_value(cubes)(X)
    assert (g.tolist(), value.item()) == ([3.0, 12.0, 27.0], 36.0)
    g = grad(lambda p, s: (p["w"] * s).sum() + p["b"][0], argnums=(0, 1))({"w": X, "b": [torch.tensor(2.0)]}, X + 1)
    assert g[0]["w"].tolist() == [2, 3, 4] and g[0]["b"][0].item() == 1 and g[1].tolist() == [1, 2, 3]
    assert grad(lambda x: (cubes(x), "aux"), has_aux=True)(X)[1] == "aux"
    assert grad(lambda x, y: x, argnums=-1)(torch.tensor(1.0), torch.tensor(2.0)).item() == 0
    with torch.no_grad():
        assert grad(cubes)(X).tolist() == [3.0, 12.0, 27.0]


def test_nested_gradients():
    x = torch.tensor(2.0)
    def f(x):
        return x ** 4
    assert [grad(f)(x).item(), grad(grad(f))(x).item(), grad(grad(grad(f)))(x).item()] == [32.0, 48.0, 48.0]
    # each level differentiates its own variable
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(x).item() == 4.0
    assert grad(lambda x: grad(lambda y: y * x)(x.detach()))(x).item() == 1.0


def test_outer_graphs_go_on():
    w = torch.tensor(3.0, requires_grad=True)
    g = grad(lambda x: w * x ** 2)(torch.tensor(2.0))
    assert g.requires_grad
    g.backward()
    assert w.grad.item() == 4.0
    x = torch.tensor(2.0, requires_grad=True)
    grad(lambda x: x ** 3)(x).backward()
    assert x.grad.item() == 12.0


def test_products():
    y, pull = vjp(lambda x: (x ** 2, x.sum()), X)
    assert y[0].tolist() == [1, 4, 9] and pull((torch.ones(3), torch.tensor(10.0)))[0].tolist() == [12, 14, 16]
    assert vmap(lambda c: pull((c, c[0]))[0])(torch.eye(3)).tolist() == [[3, 1, 1], [0, 4, 0], [0, 0, 6]]
    value, tangent = jvp(lambda x, y: x * y, (X, X + 1), (torch.ones(3), torch.zeros(3)))
    assert value.tolist() == [2, 6, 12] and tangent.tolist() == [2, 3, 4]
    value, push = linearize(lambda x: x ** 2, X)
    assert push(torch.ones(3)).tolist() == [2, 4, 6] and vmap(push)(torch.eye(3)).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert jvp(lambda x: torch.ones(2), (X,), (X,))[1].tolist() == [0, 0]
    # forward over reverse
    assert jvp(grad(cubes), (X,), (torch.tensor([1.0, 0.0, 0.0]),))[1].tolist() == [6, 0, 0]


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_jacobians(transform):
    def f(x):
        return torch.stack([x.sum(), x[0] * x[1]]).unsqueeze(0)
    assert transform(f)(X).tolist() == [[[1, 1, 1], [2, 1, 0]]]
    j = transform(lambda a, b: {"p": a.outer(b), "s": a.sum()}, argnums=(0, 1))(X[:2], X)
    assert j["p"][0].shape == (2, 3, 2) and j["p"][1].shape == (2, 3, 3) and j["s"][1].tolist() == [0, 0, 0]
    assert j["p"][0][1, 2].tolist() == [0, 3]
    assert transform(lambda x: (x * 2, x), has_aux=True)(X[:1])[1].tolist() == [1]
    batch = torch.rand(4, 3)
    assert torch.allclose(vmap(transform(torch.sin))(batch), torch.diag_embed(batch.cos()))
    j = transform(vmap(cubes))(batch)
    assert torch.allclose(j.diagonal(dim1=0, dim2=1).t(), 3 * batch ** 2) and j.count_nonzero().item() == 12


def test_hessians():
    assert hessian(cubes)(X).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    assert torch.equal(jacfwd(jacrev(cubes))(X), jacrev(jacfwd(cubes))(X))
    h = hessian(lambda a, b: (a ** 2 * b).sum(), argnums=(0, 1))(X, X)
    assert h[0][1].tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]] and h[1][1].abs().sum().item() == 0
    batch = torch.stack([X, X * 2])
    assert torch.equal(vmap(hessian(cubes))(batch), torch.diag_embed(6 * batch))


def network():
    return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.GroupNorm(3, 3), torch.nn.AvgPool2d(2), torch.nn.Flatten(),
                               torch.nn.Linear(12, 5))


def test_gradients_of_each_sample():
    model, images, targets = network(), torch.randn(4, 2, 4, 4), torch.tensor([0, 3, 1, 4])
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss(params, image, target):
        return F.cross_entropy(func.functional_call(model, params, (image.unsqueeze(0),)), target.unsqueeze(0))
    together = vmap(grad(loss), in_dims=(None, 0, 0))(params, images, targets)
    for i in range(4):
        model.zero_grad()
        F.cross_entropy(model(images[i:i + 1]), targets[i:i + 1]).backward()
        for name, p in model.named_parameters():
            assert torch.allclose(together[name][i], p.grad, rtol=1e-4, atol=1e-6), name


def test_second_derivatives_of_each_sample():
    w, b = torch.randn(3, 4), torch.randn(3)
    x = torch.randn(5, 4)
    def loss(w, b, x):
        return (F.linear(x, w, b).tanh() ** 2).sum()
    def penalty(w, b, x):
        return (grad(loss, argnums=2)(w, b, x) ** 2).sum()
    got = vmap(grad(penalty, argnums=(0, 1)), in_dims=(None, None, 0))(w, b, x)
    for i in range(5):
        for g, want in zip(got, grad(penalty, argnums=(0, 1))(w, b, x[i])):
            assert torch.allclose(g[i], want, rtol=1e-3, atol=1e-4)


def test_ensembles():
    models = [network() for _ in range(3)]
    x = torch.randn(2, 2, 4, 4)
    params, buffers = func.stack_module_state(models)
    assert params["0.weight"].is_leaf and params["0.weight"].requires_grad and params["0.weight"].shape == (3, 3, 2, 3, 3)
    def call(p, b, x):
        return func.functional_call(models[0], (p, b), (x,))
    y = vmap(call, in_dims=(0, 0, None))(params, buffers, x)
    assert torch.allclose(y, torch.stack([m(x) for m in models]), atol=1e-5)
    y.sum().backward()
    models[1](x).sum().backward()
    assert torch.allclose(params["0.weight"].grad[1], models[1][0].weight.grad, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="same class"):
        func.stack_module_state([models[0], torch.nn.Linear(1, 1)])
    with pytest.raises(RuntimeError, match="at least one model"):
        func.stack_module_state([])


@pytest.mark.parametrize("call,words", [
    (lambda: grad(torch.sin)(X), "scalar tensor"), (lambda: grad(lambda x: 1.0)(X), "Tensors"), (lambda: grad(cubes)(1.0), "Tensors"),
    (lambda: grad(cubes, 3)(X), "argnum=3"),
    (lambda: grad(lambda x: (x, x))(X), "single tensor"),
    (lambda: grad(cubes)(torch.ones(2, dtype=torch.int64)), "floating point"),
    (lambda: jvp(torch.sin, X, X), "tuple"), (lambda: jvp(torch.sin, (X,), (X, X)), "structure"), (lambda: jvp(torch.sin, (X,), (X[:1],)), "tangent"),
    (lambda: vjp(torch.sin, X)[1](X, X), "structure"), (lambda: vjp(torch.sin, X)[1](X[:1]), "cotangent"),
])
def test_bad_calls(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_small_tools():
    assert func.functionalize(torch.sin) is torch.sin
    seen = []
    vmap(lambda x: seen.append(func.debug_unwrap(x)) or x)(X)
    assert seen[0] is not None and seen[0].tolist() == [1, 2, 3]
    model = func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    assert model[0].running_mean is None
    x = torch.arange(12).reshape(1, 6, 2)
    assert func.rearrange(x, "b (h w) c -> b c w h", h=2).shape == (1, 2, 3, 2)
    assert func.rearrange(x, "... c -> (...) c").shape == (6, 2) and func.rearrange([x, x], "n 1 a b -> a (n b)").tolist()[0] == [0, 1, 0, 1]
    for pattern in ("a b -> b a", "a b c -> a b", "a (b c) d -> a b c d", "a b c"):
        with pytest.raises(ValueError):
            func.rearrange(x, pattern)


def test_trees():
    from collections import OrderedDict, deque, namedtuple

    from fasttensor.utils import _pytree as tree
    Point = namedtuple("Point", "x y")
    value = {"a": [1, (2, Point(3, 4))], "b": OrderedDict(c=deque([5], 2)), "d": None}
    leaves, spec = tree.tree_flatten(value)
    assert leaves == [1, 2, 3, 4, 5, None] and spec.num_leaves == 6
    back = tree.tree_unflatten(leaves, spec)
    assert back == value and isinstance(back["a"][1][1], Point) and back["b"]["c"].maxlen == 2
    assert tree.tree_map(lambda a, b: a + b, [1, 2], [3, 4]) == [4, 6]
    assert tree.tree_map_only(int, str, [1, 2.0]) == ["1", 2.0] and tree.tree_all(bool, (1, [2]))
    with pytest.raises(ValueError):
        tree.tree_unflatten([1], spec)
