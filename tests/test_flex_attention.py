"""flex_attention: functions of scores, masks by blocks; and causal masks of two corners."""
import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.nn import functional as F
from fasttensor.nn.attention.bias import causal_lower_right, causal_upper_left
from fasttensor.nn.attention.flex_attention import (AuxRequest, BlockMask, and_masks, create_block_mask, create_mask, flex_attention,
                                                    noop_mask, or_masks)
from helpers import assert_close, from_oracle, oracle


def causal(b, h, q, k):
    return q >= k


def qkv(*shapes, grad=False):
    torch.manual_seed(1)
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=grad) for shape in shapes]


def test_plain_causal_and_shared_heads_are_scaled_dot_product_attention():
    q, k, v = qkv((2, 4, 9, 8), (2, 2, 9, 8), (2, 2, 9, 6))
    assert torch.allclose(flex_attention(q, k, v, enable_gqa=True), F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    mask = create_block_mask(causal, None, None, 9, 9, BLOCK_SIZE=4)
    wanted = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert torch.allclose(flex_attention(q, k, v, block_mask=mask, enable_gqa=True), wanted)
    scored = flex_attention(q, k, v, enable_gqa=True, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")))
    assert torch.allclose(scored, wanted)


def test_score_functions_take_tables_and_give_gradients():
    q, k, v = qkv((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), grad=True)
    table = torch.randn(3, 12, dtype=torch.float64, requires_grad=True)

    def moved(score, b, h, i, j):
        return score * (b + 1) + table[h, i - j + 6]

    def by_hand(q, k, v, table):
        i, j = torch.arange(5).view(5, 1), torch.arange(7)
        scores = q @ k.transpose(-2, -1) / 2 * torch.arange(1, 3).view(2, 1, 1, 1) + table[:, i - j + 6]
        return scores.softmax(-1) @ v, scores.logsumexp(-1)
    got, aux = flex_attention(q, k, v, moved, return_aux=AuxRequest(lse=True))
    wanted, lse = by_hand(q, k, v, table)
    assert torch.allclose(got, wanted) and torch.allclose(aux.lse, lse) and aux.max_scores is None
    ours = torch.autograd.grad(got.sin().sum() + aux.lse.sum(), (q, k, v, table))
    theirs = torch.autograd.grad(wanted.sin().sum() + lse.sum(), (q, k, v, table))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs))


def test_rows_without_a_key():
    q, k, v = qkv((1, 1, 3, 2), (1, 1, 3, 2), (1, 1, 3, 2), grad=True)
    mask = create_block_mask(lambda b, h, i, j: i > j, None, None, 3, 3)
    result, lse = flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert result[0, 0, 0].tolist() == [0, 0] and lse[0, 0, 0] == -float("inf")
    result.sum().backward()
    assert not q.grad.isnan().any() and q.grad[0, 0, 0].tolist() == [0, 0]
    assert flex_attention(q, k, v, block_mask=mask)[0, 0, 0].tolist() == [0, 0]


def test_blocks_of_a_mask():
    mask = create_block_mask(causal, 1, 1, 300, 300)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]] and mask.kv_indices.dtype == torch.int32
    assert mask.q_num_blocks.tolist() == [[[2, 2, 1]]] and mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0], [2, 0, 1]]]]
    assert round(mask.sparsity(), 4) == -9.2267 and mask.numel() == 90000
    assert mask.to_string() == "(0, 0)\n██    \n████  \n██████\n"
    assert mask._adjust(200, 200).to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert torch.equal(mask.elements(), create_mask(causal, 1, 1, 300, 300))
    whole = create_block_mask(causal, 2, 3, 8, 8, BLOCK_SIZE=(4, 2), separate_full_blocks=False)
    assert whole.full_kv_indices is None and whole[1, 1:].shape == (1, 2, 8, 8)
    with pytest.raises(RuntimeError, match="mask_mod"):
        whole[0].elements()
    # blocks that are given hide what lies outside of them
    given = BlockMask.from_kv_blocks(torch.tensor([[[1, 1]]]), torch.tensor([[[[0, 1], [1, 0]]]]), BLOCK_SIZE=2)
    assert given.mask_mod is noop_mask and torch.equal(given.elements()[0, 0], torch.block_diag(*[torch.ones(2, 2)] * 2) == 1)


def test_masks_put_together():
    near = and_masks(causal, lambda b, h, q, k: q - k < 2)
    assert create_mask(near, 1, 1, 3, 3).int().tolist() == [[[[1, 0, 0], [1, 1, 0], [0, 1, 1]]]]
    assert create_mask(or_masks(near, lambda b, h, q, k: k == 0), 1, 1, 3, 3).int().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    documents = torch.tensor([0, 0, 1])
    assert create_mask(lambda b, h, q, k: documents[q] == documents[k], 1, 1, 3, 3).sum() == 5


def test_what_does_not_fit():
    q, = qkv((1, 2, 5, 4))
    with pytest.raises(NotImplementedError, match="4D"):
        flex_attention(q[0], q[0], q[0])
    for arguments, message in (((q, q[:, :1], q[:, :1]), "enable_gqa"), ((q, q[..., :3], q), "features"), ((q, q, q.float()), "dtype")):
        with pytest.raises(ValueError, match=message):
            flex_attention(*arguments)
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex_attention(q, q, q, block_mask=create_block_mask(causal, 1, 1, 8, 8))
    with pytest.raises(AssertionError, match="4 or 5"):
        create_mask(lambda a, b: a, 1, 1, 2, 2)
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(1)


def test_causal_corners():
    assert causal_upper_left(2, 3).int().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert causal_lower_right(2, 3).int().tolist() == [[1, 1, 0], [1, 1, 1]]
    q, k = qkv((1, 2, 3, 4), (1, 2, 5, 4))
    for corner, plain in ((causal_upper_left(3, 5), torch.ones(3, 5).tril() > 0), (causal_lower_right(3, 5), torch.ones(3, 5).tril(2) > 0)):
        got = F.scaled_dot_product_attention(q, k, k, attn_mask=corner)
        assert torch.allclose(got, F.scaled_dot_product_attention(q, k, k, attn_mask=plain))
    with pytest.raises(ValueError, match="3 queries"):
        F.scaled_dot_product_attention(k, k, k, attn_mask=causal_lower_right(3, 5))


def test_as_pytorch():
    reference = oracle()
    theirs = pytest.importorskip("torch.nn.attention.flex_attention")
    for size in (4, (8, 2)):
        def far(b, h, q, k):
            return (q >= k) & (h >= b) & (k > q - 7)
        a, b = create_block_mask(far, 2, 3, 21, 19, BLOCK_SIZE=size), theirs.create_block_mask(far, 2, 3, 21, 19, "cpu", BLOCK_SIZE=size)
        assert str(a) == str(b)
        for mine, other in zip(a.as_tuple()[2:10], b.as_tuple()[2:10]):
            assert mine.tolist() == other.tolist()
    reference.manual_seed(0)
    q = reference.randn(2, 3, 21, 4)
    k = reference.randn(2, 3, 19, 4)

    def score(s, b, h, i, j):
        return s * 2 - (i - j) * 0.1 * h
    wanted = theirs.flex_attention(q, k, k, score_mod=score, block_mask=b)
    got = flex_attention(from_oracle(q), from_oracle(k), from_oracle(k), score_mod=score, block_mask=a)
    assert_close(got, wanted)
    assert nn.attention.flex_attention.BlockMask is BlockMask
