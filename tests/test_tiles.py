"""Strided operands of every layout: tiles, short rows, broadcast columns."""

import numpy as np
import pytest

import fasttensor as ft

KINDS = [np.bool_, np.int16, np.float32, np.float64, np.complex128]
SIZES = [(9, 9), (16, 16), (64, 64), (65, 130), (100, 257), (1, 300), (300, 3)]


def draw(shape, kind):
    x = np.random.default_rng(sum(shape)).uniform(-100, 100, shape)
    return (x > 0) if kind == np.bool_ else x.astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SIZES)
def test_transposed_copy(shape, kind):
    x = draw(shape, kind)
    assert (ft.from_numpy(x).t().contiguous().numpy() == x.T).all()
    stacked = draw((3, *shape), kind)
    for order in [(0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1)]:
        copied = ft.from_numpy(stacked).permute(order).contiguous().numpy()
        assert copied.flags.c_contiguous and (copied == stacked.transpose(order)).all()
    target = ft.zeros(shape, dtype=ft.from_numpy(x).dtype).t()
    target.copy_(ft.from_numpy(np.ascontiguousarray(x.T)))
    assert (target.numpy() == x.T).all()


@pytest.mark.parametrize("kind", [np.int16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", SIZES)
def test_mixed_layouts(shape, kind):
    a, b, c = draw(shape, kind), draw(shape[::-1], kind), draw((shape[0] * 2, shape[1] * 3), kind)[::2, ::3]
    ta, tb, tc = ft.from_numpy(a), ft.from_numpy(b).t(), ft.from_numpy(np.ascontiguousarray(c.T)).t()
    step = ft.from_numpy(draw((shape[1] * 2, shape[0]), kind))[::2].t()
    assert ((ta + tb).numpy() == a + b.T).all()
    assert ((tb - ta).numpy() == b.T - a).all()
    assert (ft.where(ta.abs() > 50, tb, tc).numpy() == np.where(np.abs(ta.numpy()) > 50, b.T, c)).all()
    assert ((ta * step).numpy() == a * step.numpy()).all()
    out = ft.empty(shape[::-1], dtype=ta.dtype).t()
    assert (ft.add(ta, tb, out=out).numpy() == a + b.T).all()
    assert (tb.clone().add_(ta).numpy() == b.T + a).all()


@pytest.mark.parametrize("kind", [np.int16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 7), (40, 1000), (3, 20, 64)])
def test_repeated_operands(shape, kind):
    a = draw(shape, kind)
    column, row = a[..., :1].copy(), a[..., :1, :].copy()
    ta, tc, tr = ft.from_numpy(a), ft.from_numpy(column), ft.from_numpy(row)
    for op in (np.add, np.subtract, np.multiply, np.maximum, np.less):
        ours = {"add": ft.add, "subtract": ft.sub, "multiply": ft.mul, "maximum": ft.maximum, "less": ft.lt}[op.__name__]
        for small, name in ((column, tc), (row, tr)):
            assert (ours(ta, name).numpy() == op(a, small)).all()
            assert (ours(name, ta).numpy() == op(small, a)).all()
        assert (ours(tc, tr).numpy() == op(column, row)).all()
    assert (ta.clone().mul_(tc).numpy() == a * column).all()


@pytest.mark.parametrize("width", [1, 3, 15, 16, 17, 31, 64, 100, 1000, 3000])
def test_short_rows(width):
    x = draw((6, 50, width + 2), np.float32)
    part = ft.from_numpy(x)[:, ::2, 1:-1]
    assert (part.contiguous().numpy() == x[:, ::2, 1:-1]).all()
    assert (part.permute(1, 0, 2).contiguous().numpy() == x[:, ::2, 1:-1].transpose(1, 0, 2)).all()
    target = ft.from_numpy(x.copy())
    target[:, ::2, 1:-1] = part + 1
    wanted = x.copy()
    wanted[:, ::2, 1:-1] += 1
    assert (target.numpy() == wanted).all()


def spread(t, shape):
    """The broadcast operand with memory of its own."""
    return t.expand(shape).clone()


@pytest.mark.parametrize("width", [2, 3, 4, 7, 16, 17, 31, 64, 100, 256, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bfloat16", "complex64"])
def test_short_rows_run_in_blocks_with_the_same_bits(width, dtype):
    dtype = getattr(ft, dtype)
    shape = (1037, width)
    x = (ft.arange(1037 * width).reshape(shape) % 251).to(dtype)
    wide = ft.stack([x, x + 1], 1)                       # rows with a gap between them
    row, column, one = (ft.arange(width) % 13).to(dtype), (ft.arange(1037) % 11).to(dtype)[:, None], ft.tensor(3, dtype=dtype)
    for a, b in [(x, row), (x, column), (row, x), (column, x), (row, column), (x, one), (wide[:, 0], row), (x, wide[:, 1]),
                 (wide[:, 0], column), (x.t().contiguous().t(), row)]:
        want = spread(a, shape) * spread(b, shape)
        assert ft.equal(a * b, want)
        if a.shape == shape:
            into = wide.clone()[:, 1]
            into.copy_(a)
            into *= b
            assert ft.equal(into, want)
            if a.data_ptr() == wide.data_ptr():
                assert ft.equal(wide, ft.stack([x, x + 1], 1))
    mask = row != 0
    assert ft.equal(ft.where(mask, x, one), ft.where(spread(mask, shape), x, spread(one, shape)))
    assert ft.equal(x == row, x == spread(row, shape))


def test_short_rows_of_a_volume_and_a_transposed_result():
    x = ft.arange(6 * 50 * 9 * 5.0).reshape(6, 50, 9, 5)
    scale, plane = ft.arange(50.0)[:, None, None], ft.arange(9.0)[:, None]
    assert ft.equal(x * scale, x * spread(scale, x.shape))
    assert ft.equal(x - plane, x - spread(plane, x.shape))
    y = ft.zeros(5, 500).t()
    y += ft.arange(5.0)
    assert ft.equal(y, ft.arange(5.0).expand(500, 5))


def test_a_loop_that_leaves_elements_alone_leaves_them_alone_in_short_rows():
    x = ft.arange(2000 * 6.0).reshape(2000, 6)
    mask = ft.arange(2000)[:, None] % 3 == ft.arange(3)
    want = x.clone()
    for i in range(2000):
        want[i, i % 3] = -1
    x[:, :3].masked_fill_(mask, -1)
    assert ft.equal(x, want)
