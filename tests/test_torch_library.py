"""``torch.library``: operators that programs define."""
import numpy as np
import pytest

import fasttensor as torch
from fasttensor import Tensor
from fasttensor.utils._python_dispatch import TorchDispatchMode

library = torch.library


@library.custom_op("disptests::sine", mutates_args=())
def sine(x: Tensor, factor: float = 2.0) -> Tensor:
    return torch.from_numpy(np.sin(factor * x.numpy()))


@sine.register_fake
def _(x, factor=2.0):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.factor = inputs[1]


sine.register_autograd(lambda ctx, g: (g * ctx.factor * (ctx.factor * ctx.saved_tensors[0]).cos(), None), setup_context=keep)


def test_custom_operator():
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = torch.ops.disptests.sine(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * (2 * x.detach()).cos())
    assert torch.equal(torch.ops.disptests.sine.default(x, 3.0), sine(x, factor=3.0)) and y.grad_fn.name() == "GeneratedBackwardFor_disptests_sineBackward"
    assert sine(torch.ones(3, device="meta")).shape == (3,)
    assert str(torch.ops.disptests.sine.default._schema) == "disptests::sine(Tensor x, float factor=2.0) -> Tensor"
    assert library.opcheck(sine, (x, 3.0)) == dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor"), "SUCCESS")
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))
    with Seen():
        sine(x).sum().backward()
    assert torch.ops.disptests.sine.default in seen
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torch.ops.disptests.nothing


def test_lists_and_writes():
    @library.custom_op("disptests::joined", mutates_args=())
    def joined(parts: list[Tensor], n: int) -> tuple[Tensor, Tensor]:
        return torch.cat(parts) * n, torch.stack([p.sum() for p in parts])
    joined.register_autograd(lambda ctx, g, h: ([g[:2] * 3 + h[0], g[2:] * 3 + h[1]], None))
    a, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    out, sums = joined([a, b], 3)
    (out.sum() + sums.sum()).backward()
    assert out.tolist() == [3.0] * 3 and a.grad.tolist() == [4.0, 4.0] and b.grad.tolist() == [4.0]

    @library.custom_op("disptests::fill", mutates_args={"x"})
    def fill(x: Tensor) -> None:
        x.numpy()[:] = 7
    x = torch.zeros(2)
    fill(x)
    assert x.tolist() == [7.0, 7.0] and x._version >= 1 and fill._schema == "(Tensor(a0!) x) -> ()"
    with pytest.raises(RuntimeError, match="non-functional"):
        fill.register_autograd(lambda ctx: None)


def test_refusals():
    with pytest.raises(ValueError, match="must have a type annotation"):
        library.custom_op("disptests::bad", lambda x: x, mutates_args=())

    @library.custom_op("disptests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x
    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(2))

    @library.custom_op("disptests::ungraded", mutates_args=())
    def ungraded(x: Tensor) -> Tensor:
        return x + 1
    y = ungraded(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="cannot be read"):
        library.Library("disptests", "FRAGMENT").define("no arrow")


def test_library_of_kernels():
    lib = library.Library("displib", "DEF")
    assert lib.define("scaled(Tensor x, float by=2.0, *, bool twice=False) -> Tensor") == "displib::scaled"
    lib.impl("scaled", lambda x, by=2.0, *, twice=False: x * by * (2 if twice else 1), "CPU")

    @library.register_fake("displib::scaled")
    def _(x, by=2.0, *, twice=False):
        return torch.empty_like(x)
    assert torch.ops.displib.scaled(torch.ones(1), twice=True).item() == 4 and torch.ops.displib.scaled(torch.ones(2, device="meta")).is_meta
    with pytest.raises(RuntimeError, match="multiple times"):
        lib.define("scaled(Tensor x) -> Tensor")
    library.define("displib::other", "(Tensor x) -> Tensor")
    library.impl("displib::other", "default")(lambda x: x - 1)
    assert torch.ops.displib.other(torch.ones(1)).item() == 0
    lib._destroy()
    assert not hasattr(torch.ops.displib, "scaled")


def test_vmap_rule():
    @library.custom_op("disptests::cubed", mutates_args=())
    def cubed(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() ** 3)
    cubed.register_vmap(lambda info, dims, x: (cubed(x), dims[0]))
    assert torch.vmap(cubed)(torch.arange(3.0)).tolist() == [0.0, 1.0, 8.0]
