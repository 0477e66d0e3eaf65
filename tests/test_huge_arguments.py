"""Counts and sizes beyond any memory are refused before any work is done for them; what is merely long is done by compiled loops."""
import pytest

import fasttensor as torch

F = torch.nn.functional
BIG = 2**60
x, image, signal = torch.ones(3), torch.ones(1, 1, 4, 4), torch.ones(1, 1, 4)


@pytest.mark.parametrize("call", [
    lambda: torch.combinations(torch.arange(200), 100), lambda: torch.combinations(torch.arange(3), BIG, with_replacement=True),
    lambda: F.interpolate(image, size=BIG), lambda: F.interpolate(image, size=(BIG, 4), mode="bicubic"), lambda: F.interpolate(signal, size=BIG, mode="linear"),
    lambda: F.interpolate(image, scale_factor=1e30), lambda: F.interpolate(image, size=(2**31, 2**31), mode="nearest-exact"),
    lambda: torch.tril_indices(BIG, BIG), lambda: torch.triu_indices(2**62, 2**62), lambda: F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2**31, 2**31)),
    lambda: torch.quantile(x, torch.ones(1).expand(2**50)), lambda: torch.arange(0, 1e300, 1e-300), lambda: x.repeat(2**62, 2**62),
    lambda: torch.diag_embed(x, 2**63 - 1), lambda: torch.diag(x, -2**63), lambda: torch.bincount(torch.tensor([2**63 - 1])),
    lambda: x.narrow(0, 1, 2**63 - 1), lambda: torch.vander(x, N=BIG), lambda: torch.randperm(BIG),
])
def test_what_no_memory_holds_is_refused(call):
    with pytest.raises(RuntimeError, match=r"overflow|memory|exceeds"):
        call()


@pytest.mark.parametrize("call, error", [
    (lambda: torch.zeros(2**63), TypeError), (lambda: torch.rand(3, 2**70), TypeError), (lambda: x.repeat(2**63), TypeError),
    (lambda: x.narrow(0, 0, 2**63), ValueError), (lambda: torch.eye(2**63), ValueError), (lambda: torch.linspace(0, 1, 2**63), ValueError),
    (lambda: x.topk(2**63), ValueError), (lambda: x.unsqueeze(2**63), ValueError), (lambda: torch.matrix_power(torch.eye(2), 2**63), ValueError),
])
def test_integers_beyond_64_bits(call, error):
    with pytest.raises(error, match="Overflow when unpacking"):
        call()


def test_few_results_of_huge_arguments():
    assert torch.combinations(torch.arange(3), BIG).shape == (0, BIG)
    assert torch.triu_indices(2**62, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert torch.tril_indices(2**40, 0).shape == (2, 0)
    assert torch.tril_indices(3, 2, -2).tolist() == [[2], [0]]
    assert F.local_response_norm(image, BIG, k=2.0).shape == image.shape
    m = torch.eye(2)
    assert torch.einsum(",".join(["ab"] * 100) + "->ab", *[m] * 100).equal(m)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
def test_long_signals_are_interpolated(mode):
    long = torch.arange(300_000.0).view(1, 1, -1)
    y = F.interpolate(long, scale_factor=2, mode=mode)[0, 0]
    assert y.shape == (600_000,)
    at = torch.arange(600_000.0)
    expected = (at / 2).floor() if mode != "linear" else ((at + 0.5) / 2 - 0.5).clamp(0, 299_999)
    assert torch.allclose(y, expected)


def test_many_quantiles_at_once():
    values = torch.arange(11.0).flip(0)
    q = torch.linspace(0, 1, 41)
    assert torch.allclose(torch.quantile(values, q), 10 * q)
    assert torch.quantile(values.expand(2, 11), q, dim=1, keepdim=True).shape == (41, 2, 1)
    with pytest.raises(RuntimeError, match=r"range \[0, 1\], got 2"):
        torch.quantile(values, torch.tensor([0.5, 2.0]))


def test_equal_extents_stay_whatever_the_factor():
    ramp = torch.arange(9.0).view(1, 1, 9)
    assert F.interpolate(ramp, scale_factor=1.1, mode="linear").equal(ramp)
    assert F.interpolate(ramp, scale_factor=1.1)[0, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7]
