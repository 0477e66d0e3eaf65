"""Strides of results: the order in memory that operands give, beside PyTorch and as kept values."""
import pytest
from helpers import oracle

import fasttensor as ft

torch = oracle()
SHAPE = (2, 3, 4, 5)


def layouts(t):
    """One shape in several orders of memory, the same values in both libraries."""
    x = t.arange(120.0).reshape(SHAPE) / 60 + 0.25
    return {"plain": x, "transposed": x.reshape(2, 3, 5, 4).transpose(-1, -2), "reversed": x.reshape(SHAPE[::-1]).permute(3, 2, 1, 0),
            "channels_last": x.contiguous(memory_format=t.channels_last), "sliced": t.cat([x, x], -1)[..., ::2],
            "sliced, transposed": t.cat([x, x], -1).reshape(2, 3, 5, 8)[..., ::2].transpose(-1, -2),
            "expanded": x[:1].expand(SHAPE), "expanded inside": x[..., :1].expand(SHAPE)}


OPERATIONS = {
    "clone": lambda t, x: x.clone(), "double": lambda t, x: x.double(), "exp": lambda t, x: x.exp(), "neg": lambda t, x: -x,
    "gelu": lambda t, x: t.nn.functional.gelu(x), "isnan": lambda t, x: x.isnan(), "clamp": lambda t, x: x.clamp(0, 1),
    "add": lambda t, x: x + x, "add number": lambda t, x: x + 1, "add row": lambda t, x: x + t.ones(5), "where": lambda t, x: t.where(x > 1, x, -x),
    "lerp": lambda t, x: x.lerp(x * 2, 0.3), "empty_like": lambda t, x: t.empty_like(x), "complex": lambda t, x: t.complex(x, x),
    "complex exp": lambda t, x: t.complex(x, x).exp(), "flip": lambda t, x: x.flip([0, 1]), "roll": lambda t, x: x.roll(1, 1),
    "rolls": lambda t, x: x.roll((1, -1), (0, 3)), "sort": lambda t, x: x.sort(1), "cumsum": lambda t, x: x.cumsum(1),
    "softmax": lambda t, x: x.softmax(1), "cat": lambda t, x: t.cat([x, x]), "cat 1": lambda t, x: t.cat([x, x], 1),
    "cat last": lambda t, x: t.cat([x, x], 3), "cat mixed": lambda t, x: t.cat([x.contiguous(), x], 1), "stack": lambda t, x: t.stack([x, x]),
    "stack 1": lambda t, x: t.stack([x, x], 1), "stack last": lambda t, x: t.stack([x, x], 4), "hstack": lambda t, x: t.hstack([x, x]),
    "x[i]": lambda t, x: x[t.tensor([1, 0])], "x[:, i]": lambda t, x: x[:, t.tensor([1, 0])],
    "x[i, :, i]": lambda t, x: x[t.tensor([1, 0]), :, t.tensor([1, 0])],
    "index_select": lambda t, x: x.index_select(1, t.tensor([1, 0])), "index_fill": lambda t, x: x.index_fill(1, t.tensor([1]), 2.0),
    "masked_fill": lambda t, x: x.masked_fill(x > 1, 0.0), "gather": lambda t, x: x.gather(1, t.zeros(SHAPE, dtype=t.int64)),
    "sum": lambda t, x: x.sum(1), "mean": lambda t, x: x.mean(1, True), "tril": lambda t, x: x.tril(), "repeat": lambda t, x: x.repeat(1, 2, 1, 1),
}


def strides(r):
    """Those of dimensions of more than one element."""
    return [strides(v) for v in r] if isinstance(r, tuple) else [s for s, n in zip(r.stride(), r.shape) if n != 1]


@pytest.mark.parametrize("name", OPERATIONS)
def test_order_of_results(name):
    theirs = layouts(torch)
    for layout, x in layouts(ft).items():
        assert x.stride() == theirs[layout].stride()
        got, want = OPERATIONS[name](ft, x), OPERATIONS[name](torch, theirs[layout])
        assert strides(got) == strides(want), layout
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want))):
            assert name == "empty_like" or ft.tensor(b.tolist()).isclose(a.to(ft.tensor(b.tolist()).dtype), equal_nan=True).all(), layout


def test_images_keep_their_channels_inside():
    x = layouts(ft)["channels_last"]
    plain = x.contiguous()
    for dim in range(4):
        for join in (ft.cat, ft.stack):
            assert ft.equal(join([x, x + 1], dim), join([plain, plain + 1], dim))
        assert ft.equal(x.roll(2, dim), plain.roll(2, dim)) and x.roll(2, dim).stride() == (60, 1, 15, 3)
    assert ft.cat([x, x], 1).stride() == (120, 1, 30, 6) and ft.stack([x, x], 1).stride() == (120, 3, 1, 30, 6)
    volume = ft.arange(240.0).reshape(2, 3, 2, 4, 5).contiguous(memory_format=ft.channels_last_3d)
    assert ft.equal(ft.cat([volume, volume], 3), ft.cat([volume.contiguous()] * 2, 3))
    assert volume.roll(1, 2).is_contiguous(memory_format=ft.channels_last_3d)
    leaf = x.clone().requires_grad_()
    ft.stack([leaf, leaf * 2], 2).sum().backward()
    assert leaf.grad.unique().tolist() == [3]


def test_put_leaves_a_sliced_tensor_alone():
    x = ft.zeros(3, 4)[:, ::2]
    y = x.put(ft.tensor([1, 4]), ft.tensor([5.0, 6.0]))
    assert y.tolist() == [[0, 5], [0, 0], [6, 0]] and x.tolist() == [[0, 0]] * 3
    x.put_(ft.tensor([1, 4]), ft.tensor([5.0, 6.0]))
    assert x.tolist() == y.tolist()
