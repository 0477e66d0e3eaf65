"""``torch.nn.attention.flex_attention``: attention with a score function that PyTorch's compiler makes kernels of. Libraries import its names
and use it where it is chosen; choosing it raises here."""

__all__ = ["BlockMask", "create_block_mask", "create_mask", "flex_attention", "and_masks", "or_masks", "noop_mask", "AuxRequest"]


def _refuse(*args, **kwargs):
    raise NotImplementedError("flex_attention: kernels are not compiled from score functions here; use nn.functional.scaled_dot_product_attention "
                              "with attn_mask (in transformers: attn_implementation='sdpa')")


class BlockMask:
    """A mask by blocks. Never made: ``isinstance`` answers False."""

    def __new__(cls, *args, **kwargs):
        _refuse()


class AuxRequest(BlockMask):
    """What else attention returns. Never made."""


flex_attention = create_block_mask = create_mask = and_masks = or_masks = noop_mask = _refuse
_DEFAULT_SPARSE_BLOCK_SIZE = 128
