"""Calls that PyTorch warns about are warned about here, under the words that programs filter on."""
import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.nn import functional as F

X = torch.arange(24.0).reshape(2, 3, 4) / 24


@pytest.mark.parametrize("call, kind, words", [
    (lambda: X.T, UserWarning, "The use of `x.T` on tensors of dimension other than 2"),
    (lambda: torch.tensor(1.0).H, UserWarning, "Tensor.H is deprecated on 0-D tensors"),
    (lambda: torch.chain_matmul(torch.eye(2), torch.eye(2)), UserWarning, "torch.chain_matmul is deprecated"),
    (lambda: torch.meshgrid(torch.ones(2), torch.ones(2)), UserWarning, "torch.meshgrid: in an upcoming release"),
    (lambda: F.mse_loss(X, X, size_average=False), UserWarning, "please use reduction='sum' instead"),
    (lambda: F.kl_div(X, X), UserWarning, "reduction: 'mean' divides the total loss by both"),
    (lambda: torch.ones(1).std(), UserWarning, r"std\(\): degrees of freedom is <= 0"),
    (lambda: torch.ones(3).var(correction=3), UserWarning, r"var\(\): degrees of freedom is <= 0"),
    (lambda: torch.ones(3, 1).var(1), UserWarning, r"var\(\): degrees of freedom is <= 0"),
    (lambda: torch.cov(torch.ones(2, 1)), UserWarning, r"cov\(\): degrees of freedom is <= 0"),
    (lambda: F.upsample(X, size=2), UserWarning, "`nn.functional.upsample` is deprecated"),
    (lambda: F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 2, 2, 2)), UserWarning, "Default grid_sample and affine_grid behavior has changed"),
    (lambda: torch.cross(X.mT[:, :3], X.mT[:, :3]), UserWarning, "Using torch.cross without specifying the dim arg is deprecated"),
    (lambda: nn.Hardtanh(min_value=-1), FutureWarning, "keyword argument `min_value` is deprecated"),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1), UserWarning, "enable_nested_tensor is True, but"),
])
def test_warned(call, kind, words, recwarn):
    call()
    assert [w.category for w in recwarn] == [kind]
    with pytest.warns(kind, match=words):
        call()


def test_resized_outputs():
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(X, X, out=torch.ones(2))


def test_silent(recwarn):
    for call in (lambda: torch.ones(2, 3).T, lambda: torch.meshgrid(torch.ones(2), indexing="ij"), lambda: F.kl_div(X, X, reduction="batchmean"),
                 lambda: torch.ones(2).std(), lambda: torch.ones(1).var(correction=0), lambda: torch.cartesian_prod(torch.ones(2), torch.ones(2)),
                 lambda: F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 2, 2, 2), align_corners=False),
                 lambda: torch.linalg.cross(torch.ones(3), torch.ones(3)), lambda: torch.add(X, X, out=torch.ones(0))):
        call()
    assert not recwarn.list


@pytest.mark.parametrize("call, error", [
    (lambda: torch.dot(torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool)), NotImplementedError),
    (lambda: torch.eye(2, dtype=torch.bool) @ torch.eye(2, dtype=torch.bool), NotImplementedError),
    (lambda: torch.cross(torch.ones(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool), 0), NotImplementedError),
    (lambda: torch.trace(torch.eye(2, dtype=torch.bool)), NotImplementedError),
    (lambda: torch.maximum(torch.ones(2, dtype=torch.complex64), torch.ones(2)), RuntimeError),
    (lambda: torch.heaviside(torch.ones(2), torch.ones(2, dtype=torch.float64)), RuntimeError),
    (lambda: F.hardtanh(torch.ones(2, dtype=torch.bool)), RuntimeError),
    (lambda: torch.clamp(X, torch.zeros(4), 1.0), TypeError),
    (lambda: torch.isin(torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool)), RuntimeError),
])
def test_dtypes_are_refused(call, error):
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error


def test_dtypes_are_compared():
    assert torch.equal(torch.ones(2), torch.ones(2, dtype=torch.int64)) and not torch.equal(torch.full((2,), 1.5), torch.ones(2, dtype=torch.int64))
    assert torch.clamp(torch.arange(3), 0.5, torch.tensor(1)).tolist() == [0.5, 1, 1]


@pytest.mark.parametrize("call, error", [
    (lambda: torch.randint(2.5, (2,)), TypeError), (lambda: torch.randint(0, 2.0, (2,)), TypeError), (lambda: F.layer_norm(X, 4), TypeError),
    (lambda: torch.device("cpu", -5), RuntimeError), (lambda: torch.bernoulli(torch.arange(2)), NotImplementedError),
])
def test_arguments_are_refused(call, error):
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error


def test_groups_of_an_optimizer_are_apart():
    p = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    assert "    weight_decay: 0\n\nParameter Group 1\n" in repr(torch.optim.SGD([{"params": [each]} for each in p], lr=0.1))


def test_integers_of_64_bits_beside_bools_are_refused():
    x = torch.ones(2, dtype=torch.bool)
    for call in (lambda: x + 2 ** 63, lambda: 2 ** 63 / x, lambda: x == 2 ** 64 - 1, lambda: torch.where(x, 2 ** 63, x)):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            call()
    assert (x + (2 ** 63 - 1)).tolist() == [-2 ** 63] * 2
