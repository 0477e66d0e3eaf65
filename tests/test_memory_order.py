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


def F(t):
    return t.nn.functional


IMAGES = {
    **{f"interpolate {mode}": lambda t, x, mode=mode: F(t).interpolate(x, scale_factor=2, mode=mode)
       for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")},
    **{f"pad {mode}": lambda t, x, mode=mode: F(t).pad(x, (1, 1, 1, 1), mode=mode) for mode in ("constant", "reflect", "replicate", "circular")},
    "max_pool2d": lambda t, x: F(t).max_pool2d(x, 2), "avg_pool2d": lambda t, x: F(t).avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda t, x: F(t).adaptive_avg_pool2d(x, 3), "adaptive_max_pool2d": lambda t, x: F(t).adaptive_max_pool2d(x, 3),
    "lp_pool2d": lambda t, x: F(t).lp_pool2d(x, 2.0, 2), "unpool": lambda t, x: F(t).max_unpool2d(*F(t).max_pool2d(x, 2, return_indices=True), 2),
    "pixel_shuffle": lambda t, x: F(t).pixel_shuffle(x, 2), "pixel_unshuffle": lambda t, x: F(t).pixel_unshuffle(x, 2),
    "channel_shuffle": lambda t, x: F(t).channel_shuffle(x, 2), "dropout": lambda t, x: F(t).dropout(x, 0.0), "softmax": lambda t, x: x.softmax(1),
    "conv2d": lambda t, x: F(t).conv2d(x, t.ones(3, 8, 3, 3), t.ones(3), stride=2, padding=1), "conv2d 1x1": lambda t, x: F(t).conv2d(x, t.ones(3, 8, 1, 1)),
    "depthwise": lambda t, x: F(t).conv2d(x, t.ones(8, 1, 3, 3), groups=8), "conv_transpose2d": lambda t, x: F(t).conv_transpose2d(x, t.ones(8, 3, 3, 3)),
    "batch_norm": lambda t, x: F(t).batch_norm(x, t.zeros(8), t.ones(8), training=True), "instance_norm": lambda t, x: F(t).instance_norm(x),
    "batch_norm eval": lambda t, x: F(t).batch_norm(x, t.zeros(8), t.ones(8)), "group_norm": lambda t, x: F(t).group_norm(x, 2),
    "layer_norm": lambda t, x: F(t).layer_norm(x, x.shape[1:]), "rms_norm": lambda t, x: F(t).rms_norm(x, x.shape[-1:]),
    "relu": lambda t, x: x.relu(), "prelu": lambda t, x: F(t).prelu(x, t.ones(8)),
}
VOLUMES = {
    "trilinear": lambda t, x: F(t).interpolate(x, scale_factor=2, mode="trilinear"), "pad": lambda t, x: F(t).pad(x, (1,) * 6, mode="replicate"),
    "max_pool3d": lambda t, x: F(t).max_pool3d(x, 2), "avg_pool3d": lambda t, x: F(t).avg_pool3d(x, 2),
    "adaptive_max_pool3d": lambda t, x: F(t).adaptive_max_pool3d(x, 2), "batch_norm": lambda t, x: F(t).batch_norm(x, None, None, training=True),
    "conv3d": lambda t, x: F(t).conv3d(x, t.ones(3, 8, 3, 3, 3)), "conv_transpose3d": lambda t, x: F(t).conv_transpose3d(x, t.ones(8, 3, 3, 3, 3)),
}
SIGNALS = {
    "conv1d": lambda t, x: F(t).conv1d(x, t.ones(3, 8, 3)), "conv1d, weight": lambda t, x: F(t).conv1d(x, t.ones(3, 3, 8).transpose(1, 2)),
    "max_pool1d": lambda t, x: F(t).max_pool1d(x, 2), "max_pool1d indices": lambda t, x: F(t).max_pool1d(x, 2, return_indices=True)[0],
    "avg_pool1d": lambda t, x: F(t).avg_pool1d(x, 2), "adaptive_avg_pool1d": lambda t, x: F(t).adaptive_avg_pool1d(x, 3),
    "linear": lambda t, x: F(t).interpolate(x, scale_factor=2, mode="linear"), "pad": lambda t, x: F(t).pad(x, (1, 1), mode="reflect"),
}


def image_layouts(t, rank):
    x = t.arange(float(2 * 8 * 8 ** (rank - 2))).reshape((2, 8, 8, 8, 8)[:rank]) % 17 / 8
    inside = x.movedim(1, -1).contiguous().movedim(-1, 1)
    return {"plain": x, "transposed": x.transpose(-1, -2).contiguous().transpose(-1, -2), "channels inside": inside, "one image": inside[:1],
            "part of the channels": t.cat([x, x], 1).movedim(1, -1).contiguous().movedim(-1, 1)[:, :8], "every other column": inside[..., ::2]}


@pytest.mark.parametrize("name, operation, rank", [(f"{rank}: {name}", f, rank) for rank, table in ((4, IMAGES), (5, VOLUMES), (3, SIGNALS))
                                                   for name, f in table.items()])
def test_order_of_images(name, operation, rank):
    theirs = image_layouts(torch, rank)
    for layout, x in image_layouts(ft, rank).items():
        if "3d" in name and "conv" in name and layout == "one image":
            continue            # held by test_one_volume_keeps_its_order
        for record in (False, True):
            a, b = x.detach().requires_grad_(record), theirs[layout].detach().requires_grad_(record)
            got, want = operation(ft, a), operation(torch, b)
            assert strides(got) == strides(want), (layout, record)
            assert ft.tensor(want.tolist()).isclose(got, rtol=1e-4, atol=1e-4).all(), layout
            if record:
                got.square().sum().backward()
                want.square().sum().backward()
                assert strides(a.grad) == strides(b.grad) and ft.tensor(b.grad.tolist()).isclose(a.grad, rtol=1e-3, atol=1e-3).all(), layout


def test_one_volume_keeps_its_order():
    x = image_layouts(ft, 5)["one image"]
    assert ft.nn.functional.conv3d(x, ft.ones(3, 8, 3, 3, 3)).is_contiguous(memory_format=ft.channels_last_3d)


def test_networks_keep_channels_inside():
    nn = ft.nn
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 1), nn.GroupNorm(2, 16),
                        nn.Dropout(0.1), nn.Upsample(scale_factor=2), nn.AvgPool2d(2), nn.SiLU()).to(memory_format=ft.channels_last)
    seen = []
    for layer in net:
        layer.register_forward_hook(lambda layer, inputs, y: seen.append(y.is_contiguous(memory_format=ft.channels_last)))
    x = ft.randn(2, 3, 8, 8).contiguous(memory_format=ft.channels_last).requires_grad_()
    net(x).sum().backward()
    assert len(seen) == len(net) and all(seen)
    assert x.grad.stride() == x.stride() and all(p.grad.stride() == p.stride() for p in net.parameters())


def test_gradients_lie_as_their_leaves():
    for x in layouts(ft).values():
        leaf = x.clone().requires_grad_()
        (leaf * ft.ones(5)).sum().backward()
        assert leaf.grad.stride() == leaf.stride()
        ft.autograd.grad((leaf ** 3).sum(), leaf, create_graph=True)[0].sum().backward()
        assert leaf.grad.stride() == leaf.stride() and leaf.grad.is_contiguous() == leaf.is_contiguous()
    holes = ft.zeros(4, 6)[:, ::2].requires_grad_()
    (holes * 2).sum().backward()
    assert holes.grad.is_contiguous()
    held = ft.zeros(3, 4).t().requires_grad_()
    (held ** 2).sum().backward(create_graph=True)
    assert held.grad.stride() == (1, 4) and held.grad.requires_grad


def test_several_operands_decide_the_order_together():
    def pairs(t):
        row, square = t.zeros(5, 1, 10).permute(2, 1, 0), t.zeros(4, 5).t()
        return [strides(r) for r in (row + t.zeros(10, 5), t.zeros(10, 5) + row, square + t.zeros(5, 4), t.zeros(5, 4) + square,
                                     t.where(square > 0, t.zeros(5, 4), 1.0), t.lerp(t.zeros(5, 1), square, square), row * t.zeros(10, 10, 1))]
    assert pairs(ft) == pairs(torch)
    assert pairs(ft)[0] == [1, 10, 100] and pairs(ft)[2:4] == [[1, 5], [4, 1]]


def test_parts_written_into_keep_the_strides_of_the_whole():
    x = ft.arange(24.0).reshape(4, 6)[:, ::2]
    for y in (x.select_scatter(ft.zeros(4), 1, 0), x.slice_scatter(ft.zeros(1, 3), 0, 0, 1), x.diagonal_scatter(ft.zeros(3))):
        assert y.stride() == x.stride() and y.data_ptr() != x.data_ptr()
    assert x.select_scatter(ft.zeros(4), 1, 0).tolist() == [[0, *row[1:]] for row in x.tolist()]


def test_positions_lie_dimension_by_dimension():
    assert ft.ones(2, 3).nonzero().stride() == (1, 6) and ft.ones(2, 3).argwhere().stride() == (1, 6)


POOLS = {
    "max": lambda x: ft.nn.functional.max_pool2d(x, 3, 2, 1), "max, dilated": lambda x: ft.nn.functional.max_pool2d(x, 2, 1, 0, 2),
    "max, ceil": lambda x: ft.nn.functional.max_pool2d(x, 2, ceil_mode=True), "avg": lambda x: ft.nn.functional.avg_pool2d(x, 3, 2, 1),
    "avg, uncounted": lambda x: ft.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True),
    "avg, divisor": lambda x: ft.nn.functional.avg_pool2d(x, 2, divisor_override=3), "adaptive max": lambda x: ft.nn.functional.adaptive_max_pool2d(x, 3),
    "adaptive avg": lambda x: ft.nn.functional.adaptive_avg_pool2d(x, (3, 5)), "pad": lambda x: ft.nn.functional.pad(x, (1, 2, -1, 1), value=3.0),
    "bicubic": lambda x: ft.nn.functional.interpolate(x, size=(5, 11), mode="bicubic"), "nearest": lambda x: ft.nn.functional.interpolate(x, size=(5, 11)),
    "1x1": lambda x: ft.nn.functional.conv2d(x, ft.arange(3.0 * x.shape[1]).view(3, -1, 1, 1).to(x.dtype) / 99, ft.ones(3, dtype=x.dtype)),
    "batch_norm": lambda x: ft.nn.functional.batch_norm(x, None, None, training=True),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_pixel_by_pixel_as_plane_by_plane(name, dtype):
    run, dtype = POOLS[name], getattr(ft, dtype)
    for channels, one in ((5, False), (130, False), (3, True)):
        x = ((ft.arange(2.0 * channels * 63).view(2, channels, 7, 9) * 37) % 101 / 16).to(dtype)
        x = x[:1] if one else x
        if name.startswith("max") and dtype is ft.float32:
            x[0, 1, 2, 3] = float("nan")
        results = []
        for threads in (1, 2):
            ft.set_num_threads(threads)
            for form in (ft.contiguous_format, ft.channels_last):
                leaf = x.contiguous(memory_format=form).detach().requires_grad_()
                y = run(leaf)
                (y * (ft.arange(float(y.numel())).view(y.shape) % 7).to(dtype)).sum().backward()
                assert y.is_contiguous(memory_format=form) and leaf.grad.is_contiguous(memory_format=form)
                results.append((y.detach(), leaf.grad))
        close = {"rtol": 2e-2, "atol": 5e-2} if dtype is ft.bfloat16 else {"rtol": 1e-4, "atol": 1e-4}
        for y, grad in results[1:]:
            assert ft.allclose(y, results[0][0], equal_nan=True, **close) and ft.allclose(grad, results[0][1], equal_nan=True, **close)
        assert all(ft.equal(a.nan_to_num(), b.nan_to_num()) for k in (0, 1) for a, b in zip(results[k], results[k + 2])), "threads change no bits"


def test_places_of_maxima_are_checked():
    x = ft.ones(1, 4, 4, 4).contiguous(memory_format=ft.channels_last)
    places = ft.full((1, 4, 2, 2), 16).contiguous(memory_format=ft.channels_last)
    with pytest.raises((RuntimeError, IndexError)):
        ft.ops.aten.max_pool2d_with_indices_backward(places * 0.5, x, [2, 2], [2, 2], [0, 0], [1, 1], False, places)
    values, places = ft.nn.functional.max_pool2d(ft.arange(64.0).view(1, 4, 4, 4).contiguous(memory_format=ft.channels_last), 2, return_indices=True)
    assert places[0, 0].tolist() == [[5, 7], [13, 15]] and values[0, 1].tolist() == [[21, 23], [29, 31]]
    assert places.is_contiguous(memory_format=ft.channels_last)


def test_matrices_and_transforms_lie_row_by_row():
    a = ft.eye(3) * 4 + 1
    results = {
        "cholesky": ft.linalg.cholesky(a, upper=True), "qr": ft.linalg.qr(a).R, "inv": ft.linalg.inv_ex(a).inverse, "ldl": ft.linalg.ldl_factor(a).LD,
        "fft": ft.fft.fft(ft.ones(2, 3, 4), dim=1), "unique": a.unique(dim=1),
        "unravel_index": ft.unravel_index(ft.tensor([[1, 2, 3], [4, 5, 6]]), (4, 5))[0],
    }
    assert [name for name, r in results.items() if not r.is_contiguous()] == []
