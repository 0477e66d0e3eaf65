"""Sobol' points and trees of containers: values that PyTorch gives."""
from collections import OrderedDict, namedtuple

import pytest

import fasttensor as torch
from fasttensor.utils import _pytree as pytree

MAY_KEEP = 64           # the first direction numbers of each degree of polynomials are kept

Pair = namedtuple("Pair", "x y")


def test_sobol_points():
    engine = torch.quasirandom.SobolEngine(3)
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    rest = engine.draw(4)
    assert torch.equal(torch.quasirandom.SobolEngine(3).fast_forward(4).draw(4), rest)
    assert torch.equal(engine.reset().draw(8)[4:], rest)


def test_scrambled_sobol_points_follow_the_seed():
    got = torch.quasirandom.SobolEngine(50, scramble=True, seed=7).draw(2)[:, :3]
    want = torch.tensor([[0.19947312772274017, 0.17093220353126526, 0.7493569254875183], [0.8126639127731323, 0.89472895860672, 0.26284119486808777]])
    assert torch.equal(got, want)


def test_points_of_every_dimension_fill_all_64ths():
    points = torch.quasirandom.SobolEngine(2000).draw(64)
    assert (((points * 64).sort(0).values) == torch.arange(64.0)[:, None]).all()


def test_trees():
    tree = {"a": [1, (2, 3)], "b": Pair(4, None), "c": OrderedDict(z=5)}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, None, 5] and pytree.tree_unflatten(leaves, spec) == tree
    doubled = pytree.tree_map_only(int, lambda v: 2 * v, tree)
    assert doubled == {"a": [2, (4, 6)], "b": Pair(8, None), "c": OrderedDict(z=10)} and isinstance(doubled["b"], Pair)
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(tree)[0]]
    assert paths == ["['a'][0]", "['a'][1][0]", "['a'][1][1]", "['b'].x", "['b'].y", "['c']['z']"]
    with pytest.raises(ValueError):
        pytree.tree_unflatten(leaves[:-1], spec)
