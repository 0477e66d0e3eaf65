"""Tables of vectors looked up by number: embedding, embedding_bag, one_hot."""
import warnings

from fasttensor.autograd.checks import flag, int_of, optional_tensor, real_number
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.index import Embedding
from fasttensor.autograd.rules.embedding_bag import EmbeddingBag
from fasttensor.functional.arguments import Tensor, backend, description, need_tensor

__all__ = []
MODES = ("sum", "mean", "max")


def check_input(input, weight, name):
    need_tensor(input, name, "input", 1)
    need_tensor(weight, name, "weight", 2)
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): Expected tensor for argument 'indices' to have scalar type Long or Int, but got "
                           f"{description(input)}; convert with .long()")
    if weight.dim() != 2:
        raise RuntimeError(f"{name}(): 'weight' must be 2-D, got {description(weight)}")


def wrap_padding(padding_idx, rows, name):
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name}(): Padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def renorm_rows(weight, input, max_norm, norm_type):
    """Scales, in place, the rows that are looked up and longer than max_norm."""
    if weight.is_meta:
        return
    from fasttensor.functional.searching import unique
    from fasttensor.autograd.grad_mode import no_grad
    with no_grad():
        rows = unique(input.reshape(-1))
        picked = weight.index_select(0, rows)
        norms = picked.norm(norm_type, 1, True) if norm_type != 2 else (picked * picked).sum(1, True).sqrt()
        scale = (max_norm / (norms + 1e-7)).where(norms > max_norm, norms.new_ones(()))
        weight.index_copy_(0, rows, picked * scale)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of weight[num, width] at the numbers in input (int64 or int32): input.shape + [width].

    padding_idx: a row that gets no gradient. max_norm: rows looked up are first scaled, in place, to at most this
    norm of order norm_type. scale_grad_by_freq: a row's gradient is divided by how often it was looked up. `sparse`
    is accepted; the gradient is dense. IndexError for a number outside the table.

    >>> torch.nn.functional.embedding(torch.tensor([1]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.]])
    """
    check_input(input, weight, "embedding")
    padding = wrap_padding(padding_idx, weight.shape[0], "embedding")
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    return apply(Embedding, weight, input, padding, bool(scale_grad_by_freq))


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums, means or maxima ("sum", "mean", "max") of rows of weight[num, width] over bags: [bags, width].

    input: [bags, size], or 1-d with `offsets`, the start of each bag. Empty bags give zeros, and padding_idx is left
    out. per_sample_weights (mode "sum" only) multiply the rows.

    >>> w = torch.tensor([[1., 2.], [3., 4.]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1]), w, torch.tensor([0]), mode="sum")
    tensor([[4., 6.]])
    """
    optional_tensor(offsets, "embedding_bag", "offsets", 3)
    if max_norm is not None:
        real_number(max_norm, "embedding_bag", "max_norm")
    real_number(norm_type, "embedding_bag", "norm_type")
    flag("embedding_bag", "scale_grad_by_freq", scale_grad_by_freq)
    flag("embedding_bag", "sparse", sparse)
    optional_tensor(per_sample_weights, "embedding_bag", "per_sample_weights", 9)
    flag("embedding_bag", "include_last_offset", include_last_offset)
    if padding_idx is not None:
        padding_idx = int_of(padding_idx, "embedding_bag", "padding_idx")
    if not isinstance(weight, Tensor) or weight.dtype.itemsize == 8 and not weight.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed: `embedding_bag(weight, input, ...)` is deprecated, the order is"
                      " (input, weight, ...)", stacklevel=2)
        input, weight = weight, input
    check_input(input, weight, "embedding_bag")
    if mode not in MODES:
        raise ValueError(f"embedding_bag(): mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise ValueError(f"embedding_bag(): If per_sample_weights ({description(per_sample_weights)}) is not None, then "
                             f"it must have the same shape as the input ({description(input)})")
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag(): per_sample_weights was not None, it is only supported for mode='sum' (got mode='{mode}').")
        if per_sample_weights.dtype is not weight.dtype:
            raise RuntimeError(f"embedding_bag(): expected weight and per_sample_weights of one dtype, got {description(weight)} and"
                               f" {description(per_sample_weights)}")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("embedding_bag(): max mode does not support scaling the gradient by the frequency")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag(): if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        closed = False
    elif input.dim() == 1:
        if offsets is None or offsets.dim() != 1:
            raise ValueError("embedding_bag(): offsets has to be a 1D Tensor if input is 1D"
                             + ("" if offsets is None else f", but got {description(offsets)}"))
        closed = bool(include_last_offset)
        if closed and not offsets.numel():
            raise RuntimeError("embedding_bag(): include_last_offset: number of offsets should be at least 1")
    else:
        raise ValueError(f"embedding_bag(): input has to be 1D or 2D Tensor, but got {description(input)}")
    padding = wrap_padding(padding_idx, weight.shape[0], "embedding_bag")
    if max_norm is not None:
        used = input[:int(offsets[-1])] if closed else input
        renorm_rows(weight, used[used != padding] if padding >= 0 else used, max_norm, norm_type)
    return apply(EmbeddingBag, weight, input, offsets, per_sample_weights, MODES.index(mode), padding, bool(scale_grad_by_freq), closed)


def one_hot(tensor, num_classes=-1):
    """Numbers below num_classes as rows of zeros with a single one: int64[..., num_classes].

    num_classes -1 means one more than the largest. RuntimeError for other dtypes than int64, negative numbers or
    numbers not below num_classes.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    num_classes = int_of(num_classes, "one_hot", "num_classes")
    need_tensor(tensor, "one_hot", "self", 1)
    if tensor.dtype.name != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {description(tensor)}.")
    if not tensor.numel():
        if num_classes <= 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if num_classes != -1 and num_classes < 1:
        raise RuntimeError(f"one_hot(): num_classes should be positive, got {num_classes}")
    return backend(tensor).one_hot(tensor, num_classes)


METHODS = {}
NN_FUNCTIONAL = ["embedding", "embedding_bag", "one_hot"]
