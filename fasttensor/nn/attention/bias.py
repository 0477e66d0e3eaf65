"""Causal masks as objects, for queries and keys of different numbers."""
from enum import IntEnum, auto

import fasttensor as ft
from fasttensor import Tensor

from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask of L x S begins.

    UPPER_LEFT: query i sees keys 0 to i. LOWER_RIGHT: the last query sees all keys, as when earlier keys are kept from
    steps before.
    """
    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask of `seq_len_q` x `seq_len_kv`, bool, True where a query sees a key; `attn_mask` of
    `scaled_dot_product_attention`, which skips the hidden half where the variant lets it.

    >>> nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise TypeError(f"CausalBias: variant must be a CausalVariant, got {variant!r}")
        shift = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        made = ft.ones(seq_len_q, seq_len_kv, dtype=ft.bool).tril(shift).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def _materialize(self, device=None):
        return self.as_subclass(Tensor).to(device or "cpu")

    def __repr__(self):
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is not F.scaled_dot_product_attention:
            with ft._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
        given = dict(zip(names, args)) | kwargs
        mask = given.pop("attn_mask")
        if given.get("is_causal"):
            raise ValueError("scaled_dot_product_attention: a CausalBias and is_causal=True exclude each other")
        if not isinstance(mask, CausalBias):
            raise TypeError("scaled_dot_product_attention: a CausalBias is taken as attn_mask only")
        lengths = given["query"].shape[-2], given["key"].shape[-2]
        if lengths != (mask.seq_len_q, mask.seq_len_kv):
            raise ValueError(f"scaled_dot_product_attention: the mask is of {mask.seq_len_q} queries and {mask.seq_len_kv} keys, "
                             f"the arguments have {lengths[0]} and {lengths[1]}")
        if mask.variant is CausalVariant.UPPER_LEFT or mask.seq_len_q == mask.seq_len_kv:
            return F.scaled_dot_product_attention(**given | {"is_causal": True})
        return F.scaled_dot_product_attention(**given, attn_mask=mask._materialize(given["query"].device))


def causal_upper_left(*size):
    """A causal mask of (queries, keys) whose diagonal begins in the upper left corner.

    >>> nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise RuntimeError(f"causal_upper_left only supports 2D tensors, got sizes {size}")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size):
    """A causal mask of (queries, keys) whose diagonal ends in the lower right corner.

    Rows that see no key, where there are more queries than keys, give zeros.

    >>> q, k = torch.ones(1, 1, 3, 2), torch.ones(1, 1, 2, 2)
    >>> F.scaled_dot_product_attention(q, k, k, attn_mask=nn.attention.bias.causal_lower_right(3, 2))
    tensor([[[[0., 0.],
              [1., 1.],
              [1., 1.]]]])
    """
    if len(size) != 2:
        raise RuntimeError(f"causal_lower_right only supports 2D tensors, got sizes {size}")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
