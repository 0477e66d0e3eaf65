"""The transformer of Vaswani et al., 2017, and its layers."""
import copy
import warnings
from types import BuiltinFunctionType

import fasttensor as ft

from .. import functional as F
from .. import init
from ..module import Module
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    return ft.triu(ft.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_clones(module, n):
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _own_layer(layer):
    """An encoder layer of another library that has PyTorch's attributes, as one of ours with the same values."""
    if isinstance(layer, Module) or not hasattr(layer, "self_attn"):
        return layer
    attention, name = layer.self_attn, getattr(layer.activation, "__name__", "relu")
    own = TransformerEncoderLayer(
        attention.embed_dim, attention.num_heads, layer.linear1.out_features, layer.dropout.p, name,
        layer.norm1.eps, attention.batch_first, layer.norm_first, layer.linear1.bias is not None)
    own.load_state_dict({k: ft.tensor(v.detach().cpu().numpy()) for k, v in layer.state_dict().items()})
    return own.train(layer.training)


def _get_activation_fn(activation):
    if isinstance(activation, BuiltinFunctionType) and activation.__name__ in ("relu", "gelu"):
        activation = activation.__name__    # another library's compiled function, which knows no tensor of ours
    if not isinstance(activation, str):
        return activation
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether a mask is the causal one, so that attention can skip half the work."""
    if is_causal is None and mask is not None:
        n = size if size is not None else mask.size(-2)
        causal = _generate_square_subsequent_mask(n, device=mask.device, dtype=mask.dtype if mask.is_floating_point() else None)
        return mask.size() == causal.size() and mask.is_floating_point() and bool((mask == causal).all())
    return is_causal is True


def _get_seq_len(src, batch_first):
    size = src.size()
    return size[0] if len(size) == 2 else size[1 if batch_first else 0]


def _why_not_nested(layer):
    """What keeps PyTorch from packing padded sequences in such a layer; nothing is packed here, but programs look for the warning."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention, name = layer.self_attn, "encoder_layer.self_attn"
    reasons = ((layer.norm_first, "encoder_layer.norm_first was True"), (not attention.batch_first, f"{name}.batch_first was not True"),
               (attention.in_proj_weight is None, f"{name} did not project its inputs at once"),
               (attention.in_proj_bias is None, f"{name} was passed bias=False"), (layer.norm1.eps != layer.norm2.eps,
               "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"), (attention.num_heads % 2 == 1, f"{name}.num_heads is odd"))
    return next((text for found, text in reasons if found), "")


class TransformerEncoder(Module):
    """A stack of `num_layers` copies of an encoder layer.

    >>> layer = nn.TransformerEncoderLayer(8, 2, 16)
    >>> nn.TransformerEncoder(layer, 2)(torch.rand(10, 3, 8)).shape
    torch.Size([10, 3, 8])
    """
    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _get_clones(_own_layer(encoder_layer), num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = False
        why = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        if why:
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why}", stacklevel=2)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        src_key_padding_mask = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(mask),
                                                 "mask", src.dtype)
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, False)
        first = self.layers[0] if len(self.layers) else None
        batch_first = first.self_attn.batch_first if isinstance(first, TransformerEncoderLayer) else False
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return self.norm(output) if self.norm is not None else output


class TransformerDecoder(Module):
    """A stack of `num_layers` copies of a decoder layer.

    >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
    >>> nn.TransformerDecoder(layer, 2)(torch.rand(5, 3, 8), torch.rand(10, 3, 8)).shape
    torch.Size([5, 3, 8])
    """
    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        batch_first = getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False) if len(self.layers) else False
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _get_seq_len(tgt, batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                           tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                           tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
        return self.norm(output) if self.norm is not None else output


class _Layer(Module):
    __constants__ = ["norm_first"]

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a LayerNorm.

    Shapes (S, N, E), (N, S, E) with `batch_first`, or (S, E). `norm_first` normalizes before each part.

    >>> nn.TransformerEncoderLayer(8, 2, 16)(torch.rand(10, 3, 8)).shape
    torch.Size([10, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **like)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **like)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = (1 if self.activation is F.relu or isinstance(self.activation, ReLU) else
                                        2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask",
                                                 F._none_or_dtype(src_mask), "src_mask", src.dtype)
        src_mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                            need_weights=False, is_causal=is_causal)[0])

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention over `memory` and a feed-forward network, each with a residual and a LayerNorm.

    >>> nn.TransformerDecoderLayer(8, 2, 16)(torch.rand(5, 3, 8), torch.rand(10, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **like)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias,
                                                 **like)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **like)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                            is_causal=is_causal, need_weights=False)[0])

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                                 is_causal=is_causal, need_weights=False)[0])

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class Transformer(Module):
    """Encoder and decoder stacks: src (S, N, E) and tgt (T, N, E) -> (T, N, E).

    >>> m = nn.Transformer(8, 2, 1, 1, 16)
    >>> m(torch.rand(10, 3, 8), torch.rand(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
                 dropout=0.1, activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        like = {"device": device, "dtype": dtype}
        args = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*args, **like)
            self.encoder = TransformerEncoder(layer, num_encoder_layers,
                                              LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*args, **like)
            self.decoder = TransformerDecoder(layer, num_decoder_layers,
                                              LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like))
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        batched = src.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if batched and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask: -inf above the diagonal, 0 elsewhere.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
