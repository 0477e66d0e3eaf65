"""Writing through indices over every arrangement of long, short and single dimensions, against a loop in Python."""
import itertools
import math

import pytest

import fasttensor as ft

NAN = float("nan")
STEPS = {"set": lambda a, b: b, "sum": lambda a, b: a + b, "prod": lambda a, b: a * b,
         "amax": lambda a, b: NAN if math.isnan(a) or math.isnan(b) else max(a, b),
         "amin": lambda a, b: NAN if math.isnan(a) or math.isnan(b) else min(a, b)}


def by_hand(x, dim, index, src, how):
    out = {at: x[at].item() for at in itertools.product(*map(range, x.shape))}
    for at in itertools.product(*map(range, index.shape)):
        to = (*at[:dim], index[at].item(), *at[dim + 1:])
        out[to] = STEPS[how](out[to], src[at].item())
    return [out[at] for at in itertools.product(*map(range, x.shape))]


@pytest.mark.parametrize("how", STEPS)
@pytest.mark.parametrize("shape, dim", [((9, 1), 0), ((9, 1), 1), ((1, 9), 0), ((1, 9), 1), ((3, 1, 4), 0), ((3, 1, 4), 1), ((3, 1, 4), 2),
                                        ((1, 1), 1), ((5,), 0)])
def test_scatter(shape, dim, how):
    x, src = (ft.arange(math.prod(shape)).reshape(shape) % 5 + k for k in (1.0, 2.0))
    src = src.clone()
    src.view(-1)[-1] = NAN
    index = (ft.arange(math.prod(shape)).reshape(shape) * 7) % shape[dim]
    y = x.scatter(dim, index, src) if how == "set" else x.scatter_reduce(dim, index, src, how)
    assert y.reshape(-1).tolist() == pytest.approx(by_hand(x, dim, index, src, how), nan_ok=True)
    picked = ft.gather(y, dim, index)
    back = [y[(*at[:dim], index[at].item(), *at[dim + 1:])].item() for at in itertools.product(*map(range, shape))]
    assert picked.reshape(-1).tolist() == pytest.approx(back, nan_ok=True)


@pytest.mark.parametrize("shape, dim, count", [((6, 1), 1, 1), ((6, 2), 1, 2), ((2, 9), 1, 12), ((9,), 0, 12), ((2, 3, 5), 2, 4), ((300, 3), 1, 2),
                                               ((3, 300, 200), 1, 5)])
def test_index_add_and_copy(shape, dim, count):
    # short and long runs before, at and behind the index
    x = (ft.arange(math.prod(shape)).reshape(shape) % 11).float()
    size = (*shape[:dim], count, *shape[dim + 1:])
    src = (ft.arange(math.prod(size)).reshape(size) % 7 + 1).float()
    index = ft.arange(count) * 5 % shape[dim]
    added, copied = x.clone(), x.clone()
    for k in range(count):
        added.select(dim, int(index[k])).add_(src.select(dim, k))
        copied.select(dim, int(index[k])).copy_(src.select(dim, k))
    assert ft.equal(x.index_add(dim, index, src), added) and ft.equal(x.index_copy(dim, index, src), copied)


def test_a_bad_position_is_named():
    with pytest.raises(RuntimeError, match="index 7 is out of bounds for dimension 1 with size 1"):
        ft.zeros(5, 1).scatter(1, ft.tensor([[0], [0], [7], [0], [0]]), 1.0)
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 0 with size 5"):
        ft.zeros(5, 1).gather(0, ft.tensor([[0], [9], [-1]]))


@pytest.mark.parametrize("how", ["set", "sum", "prod", "amax", "amin"])
def test_long_rows_in_pieces(how):
    # rows of more than one piece, each with indices in any order, the last one named late
    x = (ft.arange(2 * 1500).reshape(2, 1500) % 13 - 6).float()
    index = (ft.arange(2 * 1300).reshape(2, 1300) * 37) % 1500
    index[0, 7:90] = 3
    src = (ft.arange(2 * 1300).reshape(2, 1300) % 3 + 0.5).float()
    src[1, 1299] = NAN
    y = x.scatter(1, index, src) if how == "set" else x.scatter_reduce(1, index, src, how)
    assert y.reshape(-1).tolist() == pytest.approx(by_hand(x, 1, index, src, how), nan_ok=True)
    assert x.gather(1, index).tolist() == [[row[i] for i in at] for row, at in zip(x.tolist(), index.tolist())]
    index[1, 1100] = 1500
    for bad in (lambda: x.gather(1, index), lambda: x.scatter(1, index, src), lambda: x.scatter_add(1, index, src)):
        with pytest.raises(RuntimeError, match="index 1500 is out of bounds for dimension 1 with size 1500"):
            bad()


@pytest.mark.parametrize("dtype", [ft.float16, ft.bfloat16, ft.float32, ft.float64, ft.complex64])
@pytest.mark.parametrize("width", [(), (1,), (2,), (5,), (8,), (3, 7)])
def test_gradients_of_picked_rows(width, dtype):
    # narrow rows are added as they come, wide ones grouped first; small parts of a half sum are not lost
    index = ft.tensor([4, -1, 0, 0, 3] + [2] * 600 + [-6])
    want = [3.0, 0.0, 600.0, 1.0, 1.0, 1.0]
    x = ft.zeros(6, *width, dtype=dtype).requires_grad_()
    for picked in (x[index], x.index_select(0, index % 6), ft.nn.functional.embedding(index % 6, x) if x.dim() == 2 else x[index]):
        g, = ft.autograd.grad(picked, x, ft.ones_like(picked))
        assert g.shape == x.shape and g.dtype is dtype
        assert g.reshape(6, -1).real.float().tolist() == [[v] * math.prod(width) for v in want]
    if len(width) == 1:
        skipped = ft.nn.functional.embedding(index % 6, x, padding_idx=2)
        assert ft.autograd.grad(skipped, x, ft.ones_like(skipped))[0].real[:, 0].tolist() == [*want[:2], 0.0, *want[3:]]
