"""Functions of nn.functional that `torch` names too, with its own order of arguments, and in-place functions."""
from fasttensor.autograd.generated_functions import INPLACE, NAMESPACES

from . import embedding as _embedding
from .conv import conv1d
from .einsum import bilinear

_in_place = {name: function for name, function in INPLACE.items() if name[:-1] in NAMESPACES["torch"]}
globals().update(_in_place)

__all__ = ["embedding", "embedding_bag", "bilinear", "conv_tbc", *_in_place]
METHODS = {}


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table, `nn.functional.embedding` with the table first; padding_idx -1 means none.

    >>> torch.embedding(torch.eye(3), torch.tensor([2]))
    tensor([[0., 0., 1.]])
    """
    return _embedding.embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """Sums (mode 0), means (1) or maxima (2) of rows of a table over bags: see `nn.functional.embedding_bag`.

    Returns (result, None, None, None): what PyTorch adds serves its own backward.
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    result = _embedding.embedding_bag(indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse,
                                      per_sample_weights, include_last_offset, padding_idx)
    return result, None, None, None


def conv_tbc(input, weight, bias, pad=0):
    """conv1d of (time, batch, channels) with a weight (kernel, in, out) and zeros on both ends.

    >>> torch.conv_tbc(torch.ones(4, 1, 2), torch.ones(3, 2, 1), torch.zeros(1)).shape
    torch.Size([2, 1, 1])
    """
    for name, t in (("input", input), ("weight", weight)):
        if t.dim() != 3:
            raise RuntimeError(f"conv_tbc: {name} must have 3 dims, got shape {tuple(t.shape)}")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


NN_FUNCTIONAL = {"conv_tbc": conv_tbc, **{name: INPLACE[name] for name in (
    "relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "threshold_")}}
