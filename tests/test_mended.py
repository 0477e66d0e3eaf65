"""PyTorch's behaviour in corners: ties, NaN, bools in arithmetic, missing sizes, byte masks."""
import math
import warnings

import pytest

import fasttensor as torch
from fasttensor.nn import functional
from helpers import assert_close, oracle


@pytest.mark.parametrize("values", [[1.0, 1, 2], [3.0, 1, 2], [2.0, 2, 2, 2], [1.0, 1, 2, math.nan, math.nan]])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_gradient_of_median_is_shared_by_ties(values, name):
    theirs = oracle().tensor(values, requires_grad=True)
    ours = torch.tensor(values, requires_grad=True)
    getattr(theirs, name)().backward()
    getattr(ours, name)().backward()
    assert_close(ours.grad, theirs.grad)
    assert getattr(ours, name)().grad_fn.name() == name.capitalize() + "Backward0"


def test_second_derivative_of_median():
    x = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: (t * t).median(), (x,))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_grid_sample_where_the_grid_is_not_finite(mode, padding, bad):
    theirs, image = oracle(), [[[[1.0, 2.0], [3.0, 4.0]]]]
    points = [[[[0.5, 0.5], [bad, 0.0]]]]
    want = theirs.nn.functional.grid_sample(theirs.tensor(image), theirs.tensor(points), mode, padding, align_corners=False)
    got = functional.grid_sample(torch.tensor(image), torch.tensor(points), mode, padding, align_corners=False)
    assert_close(got[..., 0], want[..., 0])
    if math.isnan(bad) or (padding, mode) == ("zeros", "bilinear"):
        assert_close(got, want)
    else:               # PyTorch's answer to an infinity depends on the vector instructions
        assert mode == "bicubic" or got.isfinite().all()


@pytest.mark.parametrize("call", [
    lambda t: t.tensor([True]) - 2,
    lambda t: 2 - t.tensor([True]),
    lambda t: t.tensor([1]) - True,
    lambda t: True - t.tensor([1.0]),
    lambda t: t.tensor([1.0]).half() - True,
    lambda t: t.tensor([True]) - t.tensor([True]),
    lambda t: t.sub(t.tensor([1.0]), t.tensor([True])),
    lambda t: t.rsub(t.tensor([1.0]), True),
    lambda t: t.tensor([1.0]).sub_(True),
    lambda t: t.tensor([1.0]).sub_(t.tensor([True])),
])
def test_bool_is_refused_in_subtraction(call):
    for library in (oracle(), torch):
        with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with (a|two) bool tensors? is not supported"):
            call(library)


def test_powers_of_bool():
    x = torch.tensor([True, False])
    for exponent, want in ((True, [True, False]), (False, [True, True])):
        assert (x ** exponent).tolist() == torch.pow(x, exponent).tolist() == want
        assert (x ** exponent).dtype == torch.bool
        assert x.clone().pow_(exponent).tolist() == want
    assert (x ** 2).dtype == torch.int64


@pytest.mark.parametrize("name", ["permute", "reshape", "view", "expand", "repeat", "tile", "flip", "resize_"])
def test_sizes_are_required(name):
    for library in (oracle(), torch):
        with pytest.raises(TypeError):
            getattr(library.tensor(1.0), name)()
    assert getattr(torch.tensor(1.0), name)(()).shape == ()


@pytest.mark.parametrize("index", [
    lambda m: m, lambda m: (m,), lambda m: (slice(None), m[0]), lambda m: (None, m), lambda m: m[0, 0], lambda m: (None, m[0, 1]),
    lambda m: (0, m[1]),
])
def test_bytes_are_masks(index):
    values, mask = [[0, 1, 2], [3, 4, 5]], [[1, 0, 2], [0, 1, 1]]
    theirs = oracle().tensor(values)
    want = theirs[index(oracle().tensor(mask, dtype=oracle().uint8))]
    ours, chosen = torch.tensor(values), index(torch.tensor(mask, dtype=torch.uint8))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert ours[chosen].tolist() == want.tolist()
        ours[chosen] = 9
    flat = chosen if isinstance(chosen, tuple) else (chosen,)
    if all(t.dim() for t in flat if isinstance(t, torch.Tensor)):
        assert len(seen) == 2 and all("uint8 is now deprecated" in str(w.message) for w in seen)
    theirs[index(oracle().tensor(mask).bool())] = 9
    assert ours.tolist() == theirs.tolist()


def test_causal_attention_with_weights_needs_the_mask():
    layer = torch.nn.MultiheadAttention(4, 2)
    x = torch.randn(3, 1, 4)
    with pytest.raises((AssertionError, RuntimeError), match="attn_mask"):
        layer(x, x, x, is_causal=True, need_weights=True)


def test_powers_by_a_whole_number_take_negative_bases_and_keep_their_derivatives():
    x = torch.tensor([-2.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = x ** 3
    y.sum().backward()
    assert y.tolist() == [-8.0, 0.0, 27.0] and x.grad.tolist() == [12.0, 0.0, 27.0] and y.grad_fn.name() == "PowBackward0"
    assert (x ** 7).tolist() == [-128.0, 0.0, 2187.0] and (x ** -1).tolist() == [-0.5, float("inf"), 1 / 3] and (x ** 8).tolist() == [256.0, 0.0, 6561.0]
    assert torch.autograd.gradgradcheck(lambda a: a ** 5, (torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True),))


def test_division_of_large_integers_is_exact():
    top, wide = 2 ** 63 - 1, 2 ** 53
    a = torch.tensor([top, -top - 1, wide - 1, -wide, wide + 1, -7, 7, -top - 1])
    b = torch.tensor([3, 3, -2, 7, -1, 2, -2, -1])
    quotients = [x // y if (x, y) != (-top - 1, -1) else x for x, y in zip(a.tolist(), b.tolist())]
    assert (a // b).tolist() == quotients and (a % b).tolist() == [x % y for x, y in zip(a.tolist(), b.tolist())]
    assert torch.fmod(a, b).tolist() == [abs(x) % abs(y) * (1 if x > 0 else -1) for x, y in zip(a.tolist(), b.tolist())]
    low = torch.tensor([-2 ** 31, 2 ** 31 - 1, -7], dtype=torch.int32)
    assert (low // torch.tensor([3, -2, 2], dtype=torch.int32)).tolist() == [-715827883, -1073741824, -4]
