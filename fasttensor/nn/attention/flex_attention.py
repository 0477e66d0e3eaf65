"""Attention whose scores a function changes and whose mask another function gives: Dong et al., 2024 (arXiv:2412.05496)."""
import inspect
import math
from typing import NamedTuple, Optional, TypedDict

import fasttensor as ft

from .. import functional as F
from .block_mask import _DEFAULT_SPARSE_BLOCK_SIZE, BlockMask, _ordered, _two, each_index, noop_mask, numbers

__all__ = ["BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask", "create_mask", "or_masks",
           "and_masks", "noop_mask"]


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's GPU kernels, accepted and not used."""
    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    BACKEND: str


class AuxRequest(NamedTuple):
    """What `flex_attention` gives beside its result: log-sum-exp of the scores, their maxima."""
    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What an AuxRequest asked for, float32 (B, Hq, L) each, else None."""
    lse: Optional[ft.Tensor] = None
    max_scores: Optional[ft.Tensor] = None


def _checked_masks(name, mask_mods):
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"{name}: all inputs should be callable mask_mods, got {mask_mods}")


def or_masks(*mask_mods):
    """A mask_mod that sees what any of the given ones sees; RuntimeError for one that is no function.

    >>> from fasttensor.nn.attention.flex_attention import create_mask, or_masks
    >>> create_mask(or_masks(lambda b, h, q, k: q > k, lambda b, h, q, k: q == k), 1, 1, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    _checked_masks("or_masks", mask_mods)

    def either(b, h, q, k):
        seen = b.new_zeros((), dtype=ft.bool)
        for mask in mask_mods:
            seen = seen | mask(b, h, q, k)
        return seen
    return either


def and_masks(*mask_mods):
    """A mask_mod that sees what all of the given ones see; RuntimeError for one that is no function.

    >>> from fasttensor.nn.attention.flex_attention import and_masks, create_mask
    >>> create_mask(and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 1), 1, 1, 2, 2)
    tensor([[[[ True, False],
              [False,  True]]]])
    """
    _checked_masks("and_masks", mask_mods)

    def all_of(b, h, q, k):
        seen = b.new_ones((), dtype=ft.bool)
        for mask in mask_mods:
            seen = seen & mask(b, h, q, k)
        return seen
    return all_of


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The values of a function of (batch, head, query, key) numbers, each a tensor without dimensions: bool (B, H, Q_LEN, KV_LEN).

    A function of five, (score, batch, head, query, key), is a score_mod, and seen is where it turns the score 0 into something above
    -inf. B and H of None are 1; AssertionError for functions of other numbers of arguments.

    >>> from fasttensor.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    shape = B or 1, H or 1, Q_LEN, KV_LEN
    wanted = [p for p in inspect.signature(mod_fn).parameters.values()
              if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(mod_fn).parameters.values()):
        wanted = wanted[:4] if len(wanted) > 4 else [None] * 4
    if len(wanted) not in (4, 5):
        raise AssertionError(f"create_mask: expected 4 or 5 positional args of the function, got {len(wanted)}")
    if len(wanted) == 5:
        scores = each_index(mod_fn, True)(ft.zeros(shape, device=device), *numbers(*shape, device=device))
        return ~ft.isneginf(scores).expand(shape)
    return each_index(mod_fn, False)(*numbers(*shape, device=device)).expand(shape)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False,
                      separate_full_blocks=True, compute_dq_write_order=False, dq_kv_order=True):
    """The BlockMask of a function of (batch, head, query, key) numbers that is True where the query sees the key.

    Args:
        mask_mod: the function, of tensors without dimensions.
        B, H: batches and heads, None where the mask is the same for all.
        Q_LEN, KV_LEN: numbers of queries and of keys.
        BLOCK_SIZE: queries and keys of a block, one number or two; ValueError otherwise.
        separate_full_blocks: keep blocks that are seen in full apart from the others.

    >>> from fasttensor.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 512, 512)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 512, 512), 37.5)
    """
    rows, columns = _two(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype != ft.bool:
        raise TypeError(f"create_block_mask: mask_mod must give bool tensors, got {mask.dtype}")
    mask = F.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    b, h, q, k = mask.shape
    seen = mask.view(b, h, q // rows, rows, k // columns, columns).sum((3, 5))
    partial, full = seen > 0, (None, None)
    if separate_full_blocks:
        full = _ordered(seen == rows * columns)
        partial = partial & (seen < rows * columns)
    return BlockMask.from_kv_blocks(*_ordered(partial), *full, (rows, columns), mask_mod, (Q_LEN, KV_LEN))


def _check(query, key, value, block_mask, enable_gqa):
    given = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError(f"flex_attention: query, key and value must be 4D (B, H, length, features), got {given}")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(f"flex_attention: expected one dtype, got {query.dtype}, {key.dtype} and {value.dtype}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"flex_attention: query and key must have as many features, got {given}")
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(f"flex_attention: key and value must have the same batch, heads and length, got {given}")
    if key.shape[0] not in (1, query.shape[0]):
        raise ValueError(f"flex_attention: key and value must have the query's batch size or 1, got {given}")
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared and not enable_gqa:
        raise ValueError(f"flex_attention: got Hq={heads} and Hkv={shared}; enable_gqa=True lets query heads share those of key and value")
    if heads % shared:
        raise ValueError(f"flex_attention: Hq={heads} must be a multiple of Hkv={shared}")
    if block_mask is None:
        return
    batch, mask_heads, q_len, kv_len = block_mask.shape
    if (q_len, kv_len) != (query.shape[2], key.shape[2]):
        raise ValueError(f"flex_attention: block_mask was created for {block_mask.shape}, but got q_len={query.shape[2]} and "
                         f"kv_len={key.shape[2]}: create another one, or adjust it by block_mask._adjust(q_len, kv_len)")
    if batch not in (1, query.shape[0]) or mask_heads not in (1, heads):
        raise ValueError(f"flex_attention: block_mask {block_mask.shape} does not fit {given}")


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None,
                   *, return_aux=None):
    """softmax(score_mod(scale query key^T)) value, over the keys that `block_mask` lets each query see.

    Args:
        query: (B, Hq, L, E), floating-point.
        key, value: (B, Hkv, S, E) and (B, Hkv, S, Ev) of the same dtype; Hkv is Hq, or divides it with `enable_gqa`.
        score_mod: a function of (score, batch, head, query number, key number), tensors without dimensions, that gives the new score.
        block_mask: from `create_block_mask`.
        scale: 1 / sqrt(E) where None.
        return_lse: give (result, log-sum-exp) instead, the latter (B, Hq, L) in float32; kept for old programs.
        return_aux: an AuxRequest; the result is then (result, AuxOutput).

    Rows that see no key give zeros, and -inf as log-sum-exp. ValueError or NotImplementedError for shapes that do not fit.

    >>> from fasttensor.nn.attention.flex_attention import flex_attention
    >>> q = torch.eye(2).reshape(1, 1, 2, 2)
    >>> flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score, -float("inf")))
    tensor([[[[1.0000, 0.0000],
              [0.3302, 0.6698]]]])
    """
    if return_lse and return_aux is not None:
        raise ValueError("flex_attention: give return_lse or return_aux, not both")
    _check(query, key, value, block_mask, enable_gqa)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if key.shape[0] != query.shape[0]:
        key, value = (t.expand(query.shape[0], -1, -1, -1) for t in (key, value))
    mask = None if block_mask is None else block_mask.elements(query.device)
    if score_mod is None and not return_lse and return_aux is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    work = ft.float64 if query.dtype == ft.float64 else ft.float32
    scores = (query.to(work) * scale) @ key.to(work).transpose(-2, -1)
    if score_mod is not None:
        scores = each_index(score_mod, True)(scores, *numbers(*scores.shape, device=query.device)).to(work)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    # Rows without a key keep clear of -inf - -inf, in the gradient too.
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(hidden, 0).softmax(-1).masked_fill(hidden, 0)
    result = (weights @ value.to(work)).to(query.dtype)
    if not return_lse and return_aux is None:
        return result
    asked = AuxRequest(lse=True) if return_aux is None else return_aux
    lse = ft.logsumexp(scores.masked_fill(hidden, 0), -1).masked_fill(hidden.squeeze(-1), -math.inf) if asked.lse else None
    if return_lse:
        return result, lse
    return result, AuxOutput(lse, scores.amax(-1) if asked.max_scores else None)
