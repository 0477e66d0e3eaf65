"""Strides of results call by call: kept ones, and PyTorch's."""
import pytest

import fasttensor as torch
from helpers import oracle

X, Y = "t.ones(3, 4).t()", "t.ones(4, 3)"
KEPT = {
    f"t.rsub({X}, {Y})": (3, 1),
    f"t.rsub({Y}, {X})": (1, 4),
    f"t.addr({X}, t.ones(4), t.ones(3))": (1, 4),
    f"t.addr({X}, t.ones(4), t.ones(3), beta=0)": (1, 4),
    "t.addr(t.ones(1).expand(3, 4), t.ones(3), t.ones(4))": (4, 1),
    "t.einsum('ij,jk->ki', t.ones(3, 4), t.ones(4, 5))": (3, 1),
    "t.einsum('ij,kj->ki', t.ones(3, 4), t.ones(5, 4))": (3, 1),
    "t.einsum('i,j->ji', t.ones(3), t.ones(4))": (3, 1),
    "t.einsum('bij,bjk->kib', t.ones(2, 3, 4), t.ones(2, 4, 5))": (3, 1, 15),
    "t.einsum('bij,bjk->ikb', t.ones(2, 3, 4), t.ones(2, 4, 5))": (5, 1, 15),
    "t.einsum('ijk->kj', t.ones(3, 4, 5))": (4, 1),
    "t.einsum('ijk,kl->lij', t.ones(3, 4, 5), t.ones(5, 2))": (12, 4, 1),
    "t.einsum('abc,cd,de->abe', t.ones(2, 3, 4), t.ones(4, 5), t.ones(5, 6))": (18, 6, 1),
    "t.tensordot(t.ones(3, 4, 5), t.ones(4, 3, 2), ([1, 0], [0, 1]))": (2, 1),
    f"t.nn.functional.hinge_embedding_loss({X}, {X}, reduction='none')": (1, 4),
    f"t.nn.functional.mse_loss({X}, {Y}, reduction='none')": (1, 4),
    "t.quantile(t.ones(3, 4, 5), t.tensor([0.1, 0.5]), dim=1)": (1, 10, 2),
    "t.quantile(t.ones(3, 4, 5), t.tensor([0.1, 0.5]), dim=1, keepdim=True)": (1, 10, 10, 2),
    "t.nanquantile(t.ones(3, 4, 5), t.tensor([0.1, 0.5]), dim=0, keepdim=True)": (1, 40, 10, 2),
    "t.matrix_exp(t.eye(3))": (3, 1),
    "t.matrix_exp(t.eye(3).expand(2, 3, 3) * 10)": (9, 3, 1),
    f"t.renorm({X}, 2, 0, 1.0)": (3, 1),
    f"t.nn.functional.rrelu({X})": (3, 1),
    "t.stft(t.ones(2, 40), 8, window=t.ones(8), return_complex=True)": (105, 1, 5),
}
HEADS = ["t.ones(2, 3, 4, 8)", "t.ones(2, 4, 3, 8).transpose(1, 2)", "t.ones(2, 4, 72)[..., :24].view(2, 4, 3, 8).transpose(1, 2)",
         "t.ones(2, 3, 4, 16)[..., :8]", "t.ones(2, 3, 8, 4).transpose(2, 3)", "t.ones(2, 1, 4, 8).expand(2, 3, 4, 8)", "t.ones(2, 3, 8, 8)[:, :, ::2]"]


def run(text, t):
    return eval(text, {"t": t}).stride()


@pytest.mark.parametrize("text", KEPT)
def test_strides(text):
    assert run(text, torch) == KEPT[text] == run(text, oracle())


@pytest.mark.parametrize("q", HEADS)
@pytest.mark.parametrize("k", HEADS[:2])
@pytest.mark.parametrize("options", ["", ", is_causal=True", ", attn_mask=t.zeros(4, 4)"])
def test_attention_lies_as_its_queries(q, k, options):
    text = f"t.nn.functional.scaled_dot_product_attention({q}, {k}, {k}{options})"
    assert run(text, torch) == run(text, oracle())


def test_orders_of_our_own():
    assert torch.einsum("ij,jk,kl->li", torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 5)).stride() == (2, 1)
    assert torch.einsum("aij,bjk->bika", torch.ones(2, 7, 8), torch.ones(3, 8, 9)).stride() == (9, 27, 1, 189)
    q = torch.ones(3, 2, 4, 8).transpose(0, 1)
    assert torch.nn.functional.scaled_dot_product_attention(q, q, q).is_contiguous()
