"""Memory that runs out raises, and memory that an operation both reads and writes is read first."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fasttensor as torch

ROOT = Path(torch.__file__).resolve().parents[1]

# Every case runs once without a limit, so that what is imported at first use is there, and then in the address space that it had.
EXHAUSTED = """
import resource
import fasttensor as torch
from fasttensor._core.storage import empty_cache, set_cache_limit
F = torch.nn.functional
set_cache_limit(0)
n = 1 << 18
x, m, image = torch.randn(n), torch.randn(256, 256), torch.randn(1, 32, 64, 64)
weight, depthwise, i = torch.randn(32, 32, 3, 3), torch.randn(32, 1, 3, 3), torch.randint(n, (n,))
lstm, sequence = torch.nn.LSTM(64, 256), torch.randn(50, 8, 64)
queries = torch.randn(2, 4, 512, 32)
log_p = torch.randn(500, 16, 300).log_softmax(-1).requires_grad_()

def grad(function, *tensors, **options):
    function(*(t.clone().requires_grad_() for t in tensors), **options).sum().backward()

cases = {
    "add": lambda: x + x, "exp": lambda: x.exp(), "mm": lambda: m @ m, "sort": x.sort, "mode": x.mode, "cumsum": lambda: x.cumsum(0),
    "cumsum backward": lambda: grad(lambda t: t.cumsum(0), x), "conv2d": lambda: F.conv2d(image, weight),
    "conv2d, stride": lambda: F.conv2d(image, weight, stride=2), "conv2d backward": lambda: grad(F.conv2d, image, weight),
    "depthwise backward": lambda: grad(F.conv2d, image, depthwise, groups=32), "interpolate": lambda: F.interpolate(image, scale_factor=2, mode="bicubic"),
    "lstm backward": lambda: lstm(sequence)[0].sum().backward(), "attention backward": lambda: grad(F.scaled_dot_product_attention, *[queries] * 3),
    "ctc_loss backward": lambda: F.ctc_loss(log_p, torch.ones(16, 10, dtype=torch.int64), [500] * 16, [10] * 16).backward(),
    "gather": lambda: x.gather(0, i), "x[i]": lambda: x[i], "x[mask]": lambda: x[x > 0], "scatter_add": lambda: x.scatter_add(0, i, x),
    "embedding backward": lambda: grad(lambda t: F.embedding(i % 256, t), m),
    "cat": lambda: torch.cat([x, x]), "unique": i.unique, "svd": lambda: torch.linalg.svd(m),
    "fft": lambda: torch.fft.fft(x), "batch_norm": lambda: F.batch_norm(image, None, None, training=True), "sum": lambda: m.sum(0), "var": lambda: m.var(0),
    "randn": lambda: torch.randn(n), "randperm": lambda: torch.randperm(n), "tolist": x.tolist,
}
for run in cases.values():
    run()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for room in 0, 1 << 18, 1 << 20, 1 << 22:
    for name, run in cases.items():
        empty_cache()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + room, hard))
        try:
            run()
            error = None
        except (MemoryError, RuntimeError) as caught:
            error = caught
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        if error is not None and room == 0:
            print(name)
assert float((torch.ones(n) + 1).sum()) == 2 * n
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on address space, and how much is in use, are Linux's")
def test_exhausted_memory_raises():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "32768", "MALLOC_TRIM_THRESHOLD_": "0",
                   "MALLOC_TOP_PAD_": "0"}        # free memory goes back at once, so that the limit is felt
    done = subprocess.run([sys.executable, "-c", EXHAUSTED], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    if "glibc" in os.confstr("CS_GNU_LIBC_VERSION"):
        assert {"add", "mm", "mode", "conv2d", "conv2d backward", "interpolate", "gather", "fft", "randn"} <= set(done.stdout.splitlines())


N = 5000
PLACES = torch.arange(1, N)
OVERLAPPING = {
    "copy_": lambda x, y: x[1::2].copy_(y[:N // 2]),
    "copy_ transposed": lambda x, y: x.view(50, 100)[:, :50].copy_(y.view(50, 100)[:, :50].t()),
    "add_": lambda x, y: x[1::2].add_(y[:N // 2]),
    "lerp_": lambda x, y: x[1::2].lerp_(y[:N // 2], 0.25),
    "x[:] = x[0]": lambda x, y: x.view(50, 100).__setitem__(slice(None), y.view(50, 100)[0]),
    "x[places] = ": lambda x, y: x.__setitem__(PLACES, y[:-1]),
    "index_put_": lambda x, y: x.index_put_((PLACES,), y[:-1]),
    "index_copy_": lambda x, y: x.index_copy_(0, PLACES, y[:-1]),
    "index_add_": lambda x, y: x.index_add_(0, PLACES, y[:-1]),
    "index_reduce_": lambda x, y: x.index_reduce_(0, PLACES, y[:-1], "amax"),
    "put_": lambda x, y: x.put_(PLACES, y[:-1]),
    "scatter_": lambda x, y: x.scatter_(0, PLACES, y[:-1]),
    "scatter_add_": lambda x, y: x.scatter_add_(0, PLACES, y[:-1]),
    "masked_scatter_": lambda x, y: x[1:].masked_scatter_(PLACES > 3, y[:-1]),
    "addmm_": lambda x, y: x[1:2501].view(50, 50).addmm_(y[:2500].view(50, 50), y[:2500].view(50, 50)),
    "mm out": lambda x, y: torch.mm(y[:2500].view(50, 50), y[:2500].view(50, 50), out=x[1:2501].view(50, 50)),
    "sum out": lambda x, y: torch.sum(y.view(50, 100), 0, out=x[30:130]),
    "cat out": lambda x, y: torch.cat([y[1000:2000], y[:1000]], out=x[1:2001]),
    "_foreach_add_": lambda x, y: torch._foreach_add_([x[1::2]], [y[:N // 2]]),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_what_is_written_is_read_first(name):
    values = torch.arange(float(N)) % 13
    expected = values.clone()
    OVERLAPPING[name](expected, values)
    assert not torch.equal(expected, values)
    array = values.numpy().copy()
    own = [values.clone() for _ in range(3)]
    for x, y in ((own[0], own[0]), (own[1], own[1].data), (own[2], torch.from_dlpack(own[2])), (torch.from_numpy(array), torch.from_numpy(array))):
        OVERLAPPING[name](x, y)
        assert torch.equal(x, expected)


IN_PLACE = {
    **{name: lambda x, y, name=name: getattr(x, name)(y) for name in (
        "add_", "sub_", "mul_", "div_", "pow_", "atan2_", "fmod_", "remainder_", "hypot_", "copysign_", "nextafter_", "xlogy_", "igamma_", "heaviside_",
        "eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_and_", "logical_or_", "logical_xor_", "floor_divide_", "clamp_min_", "clamp_max_", "copy_")},
    "lerp_": lambda x, y: x.lerp_(y, 0.5), "addcmul_": lambda x, y: x.addcmul_(y, y), "addcdiv_": lambda x, y: x.addcdiv_(y, y),
    "clamp_": lambda x, y: x.clamp_(y, y), "x += y": lambda x, y: x.__iadd__(y), "x[:] = y": lambda x, y: x.__setitem__(slice(None), y),
    "_foreach_add_": lambda x, y: torch._foreach_add_([x], [y])}


@pytest.mark.parametrize("name", IN_PLACE)
def test_operands_that_show_other_elements_are_refused(name):
    x = torch.arange(1.0, 7.0)
    square = torch.ones(2, 2)
    for target, operand in ((x[1:], x[:-1]), (x[:-1], x.data[1:]), (square, square.t())):
        with pytest.raises(RuntimeError, match="some elements of the input tensor .* refer to a single memory location"):
            IN_PLACE[name](target, operand)
    IN_PLACE[name](x, x)
    IN_PLACE[name](x[:3], x[3:])
    IN_PLACE[name](x[::2], x[1::2])
    if name not in ("copy_", "x[:] = y", "_foreach_add_"):
        with pytest.raises(RuntimeError, match="single memory location"):
            IN_PLACE[name](x.view(2, 3), x[:3])


@pytest.mark.parametrize("write", [
    lambda x, i: x.scatter_(0, i, 10 ** 12), lambda x, i: x.scatter_add_(0, i, torch.full((7,), 10 ** 12)),
    lambda x, i: x.scatter_reduce_(0, i, torch.full((7,), 10 ** 12), "sum"), lambda x, i: x.index_fill_(0, i, 10 ** 12),
    lambda x, i: x.index_put_((i,), torch.full((7,), 10 ** 12)), lambda x, i: x.index_add_(0, i, torch.full((7,), 10 ** 12)),
    lambda x, i: x.put_(i, torch.full((7,), 10 ** 12)), lambda x, i: x.__setitem__(i, 10 ** 12)])
def test_indices_are_read_before_they_are_overwritten(write):
    x = torch.arange(8) % 3
    expected = x.clone()
    write(expected[1:], x[:-1].clone())
    write(x[1:], x[:-1])
    assert torch.equal(x, expected)


def test_mask_is_read_before_it_is_overwritten():
    x = torch.tensor([True] + [False] * 99)
    x[1:].masked_fill_(x[:-1], True)
    assert x.sum() == 2
    assert np.asarray(x)[:2].all()
