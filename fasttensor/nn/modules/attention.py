"""Multi-head attention."""
import fasttensor as ft

from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear


class MultiheadAttention(Module):
    """Attention of `num_heads` heads with learned projections: Vaswani et al., 2017.

    Takes query (L, N, E), key (S, N, kdim), value (S, N, vdim), or (N, L, E) with `batch_first`, or
    without N; gives the output in the query's shape and, with `need_weights`, the weights (N, L, S)
    averaged over heads, or (N, heads, L, S). AssertionError when heads do not divide embed_dim.

    >>> m = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(3, 5, 8)
    >>> out, weights = m(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """
    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False,
                 kdim=None, vdim=None, batch_first=False, device=None, dtype=None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(ft.empty((3 * embed_dim, embed_dim), **like))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(ft.empty((embed_dim, embed_dim), **like))
            self.k_proj_weight = Parameter(ft.empty((embed_dim, self.kdim), **like))
            self.v_proj_weight = Parameter(ft.empty((embed_dim, self.vdim), **like))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(ft.empty(3 * embed_dim, **like)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **like)
        self.bias_k = Parameter(ft.empty((1, 1, embed_dim), **like)) if add_bias_kv else None
        self.bias_v = Parameter(ft.empty((1, 1, embed_dim), **like)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        batched = query.dim() == 3
        if self.batch_first and batched:
            # Keep query, key and value one object where they are: one projection then serves.
            if key is value:
                if query is key:
                    query = key = value = query.transpose(1, 0)
                else:
                    query, key = query.transpose(1, 0), key.transpose(1, 0)
                    value = key
            else:
                query, key, value = (t.transpose(1, 0) for t in (query, key, value))
        apart = {} if self._qkv_same_embed_dim else dict(
            use_separate_proj_weight=True, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal, **apart)
        return (out.transpose(1, 0) if self.batch_first and batched else out), weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """One mask for the two, and its kind: 0 attn_mask, 1 key_padding_mask, 2 both, None for none."""
        if key_padding_mask is None:
            return attn_mask, None if attn_mask is None else 0
        if attn_mask is None:
            return key_padding_mask, 1
        batch, length = query.shape[0], query.shape[1]
        wide = attn_mask.view(batch, -1, length, length) if attn_mask.dim() == 3 else \
            attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        return wide + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2
