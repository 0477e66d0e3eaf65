"""Loops and branches as functions, beside PyTorch's; iterators of loaders that are not DataLoaders; another `__dict__` for a tensor."""
import pytest
from helpers import oracle, to_oracle

import fasttensor as torch
from fasttensor._higher_order_ops import associative_scan, cond, map as map_slices, scan, while_loop


def values(made):
    leaves = torch.utils._pytree.tree_flatten(made)[0]
    return [leaf.tolist() for leaf in leaves]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse):
    a, x = torch.rand(2, n, 3, dtype=torch.float64), torch.randn(2, n, 3, dtype=torch.float64)
    a.requires_grad_()

    def recurrence(left, right):
        return right["a"] * left["a"], right["a"] * left["x"] + right["x"]
    made = associative_scan(lambda p, q: dict(zip("ax", recurrence(p, q))), {"a": a, "x": x}, 1, reverse, "generic")
    order = reversed(range(n)) if reverse else range(n)
    state, expected = None, {}
    for k in order:
        now = {"a": a[:, k], "x": x[:, k]}
        state = now if state is None else dict(zip("ax", recurrence(state, now)))
        expected[k] = state["x"]
    want = torch.stack([expected[k] for k in range(n)], 1)
    assert torch.allclose(made["x"], want)
    if n > 1:
        assert torch.allclose(*(torch.autograd.grad(y.sum(), a, retain_graph=True)[0] for y in (made["x"], want)))


def test_scan_and_map_beside_pytorch():
    pt = oracle()
    from torch._higher_order_ops import map as pt_map, scan as pt_scan
    x = torch.randn(3, 4)
    for dim, reverse, size in ((0, False, 4), (1, True, 3)):
        made = scan(lambda c, v: (c + v, {"y": c * v}), torch.zeros(size), x, dim=dim, reverse=reverse)
        want = pt_scan(lambda c, v: (c + v, {"y": c * v}), pt.zeros(size), to_oracle(x), dim=dim, reverse=reverse)
        assert values(made) == [want[0].tolist(), want[1]["y"].tolist()]
    want = pt_map(lambda v, w: v * w - 1, to_oracle(x), pt.full((4,), 2.0))
    assert values(map_slices(lambda v, w: v * w - 1, x, torch.full((4,), 2.0))) == [want.tolist()]
    assert cond(torch.tensor(False), lambda v: v + 1, lambda v: v - 1, (torch.ones(1),)).tolist() == [0]
    assert while_loop(lambda v: v < 5, lambda v: (v * 2,), (torch.tensor(1),))[0].item() == 8


def test_errors_of_loops():
    x = torch.ones(3, 2)
    with pytest.raises(ValueError, match="need to be on CUDA"):
        associative_scan(lambda a, b: a + b, x, 0)
    with pytest.raises(RuntimeError, match="must give what it takes"):
        associative_scan(lambda a, b: (a + b).sum(), x, 0, combine_mode="generic")
    with pytest.raises(ValueError, match="carry of combine_fn must keep"):
        scan(lambda c, v: (v.sum(), v), torch.zeros(2), x)
    with pytest.raises(ValueError, match="at least one slice"):
        scan(lambda c, v: (c, v), torch.zeros(2), x[:0])
    with pytest.raises(TypeError, match="must be tensors"):
        map_slices(lambda v: v, [x, 3])


@pytest.mark.parametrize("workers", [0, 2])
def test_iterators_of_other_loaders(workers):
    """Libraries make a DataLoader's iterator of an object with its attributes."""
    from itertools import count
    from other_loader import Loader
    from fasttensor.utils.data import dataloader
    kind = (dataloader._MultiProcessingDataLoaderIter if workers else dataloader._SingleProcessDataLoaderIter)
    assert dataloader._DatasetKind.Iterable == 1
    batches = list(kind(Loader(workers, count)))
    assert sorted(int(b.sum()) for b in batches) == sorted([0, 2, 4, 6] * max(workers, 1))


def test_another_dict_for_a_tensor():
    x, y = torch.ones(2), torch.nn.Parameter(torch.ones(2))
    x.__dict__ = {"note": 1}
    y.__dict__ = x.__dict__
    y.more = 2
    assert x.note == 1 and x.more == 2 and vars(y) is vars(x)
    with pytest.raises(TypeError):
        x.__dict__ = 3
    assert y._cdata != x._cdata
