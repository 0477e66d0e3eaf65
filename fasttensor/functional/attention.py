"""Attention: scaled dot product, and the multi-head form around it."""
import math
import warnings

from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.checks import need_tensor, optional_tensor
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.attention import ScaledDotProductFlashAttentionForCpu as Attention

from .joining import cat
from .matmul import linear
from .dropout import dropout
from .softmax import softmax

FUSED, HALVES = (DTYPES["float32"], DTYPES["float64"]), (DTYPES["float16"], DTYPES["bfloat16"])
__all__ = []
METHODS = {}
NN_FUNCTIONAL = ["scaled_dot_product_attention", "multi_head_attention_forward", "_canonical_mask", "_none_or_dtype"]


def _check(query, key, value, attn_mask, is_causal):
    for name, t in (("query", query), ("key", key), ("value", value)):
        if not isinstance(t, Tensor):
            raise TypeError(f"scaled_dot_product_attention(): argument '{name}' must be Tensor, not {type(t).__name__}")
        if t.dim() < 2:
            raise RuntimeError("scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
                               f"dimensional, but got {name} with {t.dim()}")
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead.")
    if query.device != key.device or query.device != value.device:
        raise RuntimeError("Expected query, key, and value to have the same device type, but got query.device: "
                           f"{query.device} key.device: {key.device} and value.device: {value.device} instead.")
    optional_tensor(attn_mask, "scaled_dot_product_attention", "attn_mask", 4)
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        if attn_mask.dtype != query.dtype and not _is_bool(attn_mask):
            raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                               f"attn_mask.dtype: {attn_mask.dtype} and  query.dtype: {query.dtype} instead.")


def _is_bool(t):
    return str(t.dtype).rsplit(".", 1)[-1] == "bool"


def _safe_softmax(scores):
    """Softmax over the last dimension in which rows of -inf alone give zeros."""
    weights = softmax(scores, -1)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    return weights.masked_fill(empty, 0.0)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """softmax(query key^T scale + mask) value.

    query (..., L, E), key (..., S, E), value (..., S, V), leading dimensions broadcast -> (..., L, V).
    `attn_mask` (..., L, S): bool (True takes part) or added; `is_causal` lets row i see columns up to i;
    `scale` defaults to 1 / sqrt(E); `enable_gqa` repeats the heads (dimension -3) of key and value.
    Raises RuntimeError for fewer than 2 dimensions, mixed dtypes, or a mask together with `is_causal`.
    Source: Vaswani et al., arXiv 1706.03762; in blocks after Dao et al., arXiv 2205.14135.

    >>> q = torch.zeros(1, 2, 4); v = torch.eye(2).unsqueeze(0)
    >>> F.scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[[1.0000, 0.0000],
             [0.5000, 0.5000]]])
    """
    _check(query, key, value, attn_mask, is_causal)
    if query.dtype in HALVES:
        # scores, weights and sums of half precision stay in float32 until the result
        mask = attn_mask if attn_mask is None or _is_bool(attn_mask) else attn_mask.float()
        return scaled_dot_product_attention(query.float(), key.float(), value.float(), mask, dropout_p, is_causal, scale,
                                            enable_gqa).to(query.dtype)
    if enable_gqa:
        heads = query.size(-3)
        for name, t in (("key", key), ("value", value)):
            if heads % t.size(-3) != 0:
                raise RuntimeError("Number of heads in key and value must divide the number of heads in query, but "
                                   f"got {name} with {t.size(-3)} heads for {heads}")
    if scale is None:
        width = query.size(-1)
        scale = 1.0 / math.sqrt(width) if width else 1.0
    fused = _fused(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if fused is not None:
        return fused
    return (_grouped if enable_gqa else _composite)(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _fused(query, key, value, mask, dropout_p, is_causal, scale, grouped=False):
    """The result of the compiled kernel, or None where it does not apply."""
    q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)      # without Size's own slices, which are Python
    if query.dtype not in FUSED or query.is_cuda or dropout_p > 0.0 or len(q) < 3 or 0 in q or 0 in k or 0 in v \
            or k[:-1] != v[:-1] or q[-1] != k[-1] or len(k) != len(q):
        return None
    lead = q[:-2]
    if k[:-2] != lead and (k[:-3] != lead[:-1] or lead[-1] % k[-3] or not (grouped or k[-3] == 1)):
        return None
    if mask is not None:
        if needs_history(mask):
            return None
        if not mask.is_floating_point():
            mask = query.new_zeros(mask.shape).masked_fill_(mask == 0, -math.inf)
        mask = mask.expand(*lead, query.size(-2), key.size(-2))
    composite = _composite if k[:-2] == lead else _grouped
    if len(q) <= 4:
        return apply(Attention, query, key, value, mask, is_causal, scale, composite)
    flat = [None if t is None else t.reshape(-1, *t.shape[-3:]) for t in (query, key, value, mask)]
    return apply(Attention, *flat, is_causal, scale, composite).view(*lead, query.size(-2), value.size(-1))


def _grouped(query, key, value, *options):
    """`_composite` of key and value with fewer heads, each of which serves several of the query's."""
    heads = query.size(-3)
    key, value = (t if t.size(-3) == heads else t.repeat_interleave(heads // t.size(-3), -3) for t in (key, value))
    return _composite(query, key, value, *options)


def _composite(query, key, value, attn_mask, dropout_p, is_causal, scale):
    n_query, n_key = query.size(-2), key.size(-2)
    # half the scale on each side keeps the products small
    root = math.sqrt(abs(scale))
    scores = (query * math.copysign(root, scale)) @ (key.transpose(-2, -1) * root)
    if is_causal:
        mask = query.new_ones((n_query, n_key)).tril()
        scores = scores.masked_fill(mask == 0, -math.inf)
    elif attn_mask is not None:
        if attn_mask.is_floating_point():
            scores = scores + attn_mask
        else:
            scores = scores.masked_fill(attn_mask == 0, -math.inf)
    weights = softmax(scores, -1) if attn_mask is None else _safe_softmax(scores)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return weights @ value


def _none_or_dtype(input):
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A bool or floating mask as one that is added; -inf takes the place of True."""
    if mask is None:
        return None
    floating = mask.is_floating_point()
    if not floating and not _is_bool(mask):
        raise RuntimeError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both "
                      "instead.", stacklevel=3)
    if floating:
        return mask
    return mask.new_zeros(mask.shape, dtype=target_type).masked_fill_(mask, -math.inf)


def _shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    for place, (name, t) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        need_tensor(t, "multi_head_attention_forward", name, place)
    for name, t in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        optional_tensor(t, "multi_head_attention_forward", name, 15 if name == "key_padding_mask" else 17)
    batched = query.dim() == 3
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    want = query.dim()
    if key.dim() != want or value.dim() != want:
        raise AssertionError(f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected `key` and `value` "
                             f"to be {want}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != want - 1:
        raise AssertionError(f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected `key_padding_mask` "
                             f"to be `None` or {want - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError("expected `attn_mask` to be `None`, 2-D or 3-D but found "
                             f"{attn_mask.dim()}-D tensor instead")
    if attn_mask is not None and not batched and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}")
    return batched


def _project(query, key, value, weight, bias):
    """Query, key and value through one packed weight (3 E, E)."""
    e = query.size(-1)
    if key is value:
        if query is key:
            packed = linear(query, weight, bias)
            return packed[..., :e], packed[..., e:2 * e], packed[..., 2 * e:]
        w, b = (weight[:e], weight[e:]), (None, None) if bias is None else (bias[:e], bias[e:])
        packed = linear(key, w[1], b[1])
        return linear(query, w[0], b[0]), packed[..., :e], packed[..., e:]
    return tuple(linear(x, weight[i * e:(i + 1) * e], None if bias is None else bias[i * e:(i + 1) * e])
                 for i, x in enumerate((query, key, value)))


def multi_head_attention_forward(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
        dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True,
        attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None,
        static_k=None, static_v=None, average_attn_weights=True, is_causal=False):
    """What `nn.MultiheadAttention` computes: projections, attention of each head, output projection.

    query (L, N, E), key (S, N, K), value (S, N, V) or without N; in_proj_weight (3 E, E), out_proj_weight (E, E); masks are bool (True: left
    out) or added to the scores. Returns (output, weights or None), weights (N, L, S) or with ``average_attn_weights=False`` (N, heads, L, S).
    Raises AssertionError and RuntimeError for shapes that do not fit. Source: Vaswani et al., 2017.

    >>> x = torch.ones(1, 1, 2)
    >>> F.multi_head_attention_forward(x, x, x, 2, 1, torch.ones(6, 2), None, None, None, False, 0.0, torch.eye(2), None)
    (tensor([[[2., 2.]]]), tensor([[[1.]]]))
    """
    batched = _shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)) if not (query is key is value) \
            else (query.unsqueeze(1),) * 3
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, e = query.shape
    source = key.size(0)
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask",
                                       query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if key_padding_mask is not None:
            is_causal = False
    if e != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {e}")
    head = e // num_heads
    if head * num_heads != e:
        raise AssertionError(f"embed_dim {e} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        bias = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = (linear(x, w, b) for x, w, b in
                   zip((query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), bias))
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if tuple(attn_mask.shape) != (length, source):
                raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(length, source)}.")
            attn_mask = attn_mask.unsqueeze(0)
        elif tuple(attn_mask.shape) != (batch * num_heads, length, source):
            raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be "
                               f"{(batch * num_heads, length, source)}.")

    def one_more(mask):
        return None if mask is None else cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)

    if bias_k is not None and bias_v is not None:
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    k = k.reshape(k.shape[0], batch * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.reshape(v.shape[0], batch * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        zero = k.new_zeros((batch * num_heads, 1, head))
        k, v = cat([k, zero], 1), cat([v, zero], 1)
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    source = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, source)}, but got {key_padding_mask.shape}")
        wide = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1) \
            .reshape(batch * num_heads, 1, source)
        attn_mask = wide if attn_mask is None else attn_mask + wide
    if not training:
        dropout_p = 0.0

    if need_weights:
        if is_causal and attn_mask is None:
            raise AssertionError("multi_head_attention_forward: is_causal with need_weights=True needs attn_mask as well: "
                                 "pass the causal mask, or need_weights=False")
        scores = (q * math.sqrt(1.0 / head)) @ k.transpose(-2, -1)
        weights = softmax(scores if attn_mask is None else scores + attn_mask, -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p, True)
        out = (weights @ v).transpose(0, 1).reshape(length * batch, e)
        out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, e)
        weights = weights.view(batch, num_heads, length, source)
        if average_attn_weights:
            weights = weights.mean(1)
        return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 else attn_mask.view(batch, num_heads, -1, source)
    q, k, v = (t.view(batch, num_heads, -1, head) for t in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).reshape(batch * length, e)
    out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, e)
    return (out if batched else out.squeeze(1)), None
