"""Cross entropy of a linear map of the input, in blocks of rows where asked."""
import math
import warnings

from .common import describe
from .joining import cat
from .class_losses import cross_entropy
from .matmul import linear
from fasttensor.autograd.checks import need_tensor

__all__ = []
METHODS = {}
NN_FUNCTIONAL = ["linear_cross_entropy", "LinearCrossEntropyOptions"]


class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` cuts its rows into blocks.

    `batch_chunk_size`: rows a block; `chunking_method`: "aspect_ratio" makes a block's scores about as large as
    the input, "aspect_ratio:N" an Nth of that, "auto" N = 2. The other fields are PyTorch's and change nothing
    here: blocks are recomputed by autograd's own rules, in the input's dtype.

    >>> options = F.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> F.linear_cross_entropy(torch.ones(4, 3), torch.zeros(5, 3), torch.tensor([0, 1, 2, 3]), options=options)
    tensor(1.6094)
    """

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto", acc_dtype=None):
        self.allow_retain_graph, self.batch_chunk_size, self.chunking_method = allow_retain_graph, batch_chunk_size, chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype


def _rows_of_a_block(options, n, features, classes):
    if options.batch_chunk_size is not None:
        return max(1, options.batch_chunk_size)
    method = "aspect_ratio:2" if options.chunking_method == "auto" else options.chunking_method
    if method is None:
        return max(1, n)
    name, _, parts = method.partition(":")
    if name != "aspect_ratio" or (parts and not parts.isdigit()) or parts == "0":
        raise ValueError(f"chunking_method must be 'auto', 'aspect_ratio', 'aspect_ratio:N' or None, got {method!r}")
    rows = math.ceil(n / max(1, math.ceil(classes / max(1, features))))
    return max(1, (1 << max(0, rows - 1).bit_length()) // int(parts or 1))


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean",
                         ignore_index=None, label_smoothing=0.0, options=None):
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    input (N, I) or (I), linear_weight (C, I) or (C, d1, ..., dK, I), target class indices (N, d1, ..., dK) or
    probabilities (N, C, d1, ..., dK). With `options` the rows are worked off in blocks.
    Raises RuntimeError for shapes that do not fit, and for `ignore_index` together with probabilities.

    >>> F.linear_cross_entropy(torch.zeros(2, 3), torch.zeros(4, 3), torch.tensor([0, 1]))
    tensor(1.3863)
    """
    need_tensor(input, "linear_cross_entropy", "input", 1)
    need_tensor(linear_weight, "linear_cross_entropy", "linear_weight", 2)
    need_tensor(target, "linear_cross_entropy", "target", 3)
    if input.dim() not in (1, 2):
        raise RuntimeError(f"linear_cross_entropy: expected input with dimensionality 1 or 2, got {input.dim()}: {describe(input)}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"linear_cross_entropy: expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}: {describe(linear_weight)}")
    features = input.shape[-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError("linear_cross_entropy: expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.shape[-1]}, respectively ({describe(input, linear_weight)})")
    classes, outs = linear_weight.shape[0], tuple(linear_weight.shape[1:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *outs):
        raise RuntimeError(f"linear_cross_entropy: expected linear_bias shape {(classes, *outs)}, got {tuple(linear_bias.shape)}")
    if outs and input.dim() == 1:
        raise RuntimeError(f"linear_cross_entropy: K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
                           f"batched input, (N, {features}), got unbatched input with shape {tuple(input.shape)}")
    if tuple(target.shape) == (*input.shape[:-1], classes, *outs) and ignore_index is not None:
        raise RuntimeError("linear_cross_entropy: ignore_index cannot be specified when target contains probabilities")
    if target.dim() and input.dim() == 2 and target.size(0) != input.size(0):
        raise ValueError(f"linear_cross_entropy: Expected input batch_size ({input.size(0)}) to match target batch_size ({target.size(0)}):"
                         f" {describe(input, target)}")
    ignore_index = -100 if ignore_index is None else ignore_index

    if options is not None and (outs or label_smoothing or reduction not in ("mean", "sum", "none")
                                or target.is_floating_point()):
        warnings.warn("linear_cross_entropy: ``options`` ignored; blocks need reduction in {'mean','sum','none'}, "
                      "label_smoothing == 0, class indices and a 2-d weight", stacklevel=2)
        options = None
    # How many rows one block of scores has: all, unless told otherwise.
    rows = _rows_of_a_block(options, input.size(0), features, classes) if options is not None and input.dim() == 2 else 0
    if 0 < rows < input.size(0):
        parts = [cross_entropy(linear(x, linear_weight, linear_bias), t, weight, ignore_index=ignore_index,
                               reduction="none") for x, t in zip(input.split(rows), target.split(rows))]
        losses = cat(parts)
        if reduction == "none":
            return losses
        if reduction == "sum":
            return losses.sum()
        counted = target != ignore_index
        if weight is None:
            return losses.sum() / counted.sum()
        return losses.sum() / (weight[target.masked_fill(~counted, 0)] * counted).sum()
    if outs:
        linear_weight = linear_weight.reshape(math.prod(linear_weight.shape[:-1]), features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(linear_weight.shape[0])
    scores = linear(input, linear_weight, linear_bias)
    if outs:
        scores = scores.view(input.size(0), classes, *outs)
    return cross_entropy(scores, target, weight, ignore_index=ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)
