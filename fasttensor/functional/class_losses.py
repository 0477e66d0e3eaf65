"""Losses of classes: cross entropy and negative log-likelihood."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import int_of, optional_tensor
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.loss import NllLoss
from fasttensor.autograd.rules.softmax import CrossEntropyLoss
from fasttensor.functional.common import check_tensor
from fasttensor.functional.loss_arguments import reduction_of, same_dtype
from fasttensor.functional.softmax import log_softmax

__all__ = ["nll_loss"]
METHODS = {}
NN_FUNCTIONAL = ["cross_entropy", "nll_loss"]
INT64, FLOAT32 = DTYPES["int64"], DTYPES["float32"]


def rows_of_classes(name, input, target):
    """(logits [N, C, d1, ...], target [N, d1, ...]): a single sample [C] gets its batch dimension."""
    if input.ndim == 0:
        raise RuntimeError(f"{name}(): input must have at least one dimension, got {description(input)}")
    if input.ndim == 1:
        if target.ndim > 1 or target.numel() != 1:
            raise RuntimeError(f"{name}(): a single sample needs one target, got {description(target)} for {description(input)}")
        return input.unsqueeze(0), target.reshape(1)
    if not classes_fit(input, target):
        message = (f"{name}(): Expected target of shape {list(input.shape[:1] + input.shape[2:])} for input {description(input)}, "
                   f"got {description(target)}")
        if target.ndim == 1 and input.ndim == 2 or target.ndim == 0 or input.size(0) != target.size(0):
            raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size "
                             f"({target.size(0) if target.ndim else 0}). {message}")
        raise RuntimeError(message)
    return input, target


def classes_fit(input, target):
    """Whether the target is [N, d1, ...] for an input [N, C, d1, ...]."""
    shape = tuple(input.shape)      # without Size's own slices, which are Python
    return tuple(target.shape) == shape[:1] + shape[2:]


def need_classes(name, input, target):
    """RuntimeError for rows of no classes over one dimension of places, or over more than two, as in PyTorch."""
    if input.ndim > 2 and input.ndim != 4 and input.size(1) == 0 and target.numel():
        raise RuntimeError(f"{name}(): size mismatch: there are no classes in {description(input)} for target {description(target)}")


def check_weight(name, input, weight, classes):
    if weight is None:
        return
    same_dtype(name, input, weight, "weight")
    if tuple(weight.shape) != (classes,):
        raise RuntimeError(f"{name}(): weight tensor should be defined either for all {classes} classes or no classes but got weight"
                           f" tensor of shape: {list(weight.shape)}")


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """Loss of logits [N, C, ...] against class indices [N, ...] (int64) or class probabilities [N, C, ...].

    `weight` [C] weighs the classes, rows of `ignore_index` do not count, and `label_smoothing` mixes in the
    uniform distribution. With indices the loss and its gradient are one pass each over the logits.

    Returns the mean over the rows that count (`reduction` "mean"), their sum, or the losses [N, ...] ("none"), of the logits' dtype.
    Raises RuntimeError where shapes do not fit, IndexError for a class outside of 0 .. C - 1.

    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    check_tensor("cross_entropy", input, target)
    if reduction == "mean" and weight is None and label_smoothing == 0.0 and size_average is None and reduce is None:
        if target.dtype is INT64 and input.dtype is FLOAT32 and input.ndim == 2 and target.ndim == 1 and len(input) == len(target):
            return apply(CrossEntropyLoss, input, target, None, ignore_index, 0.0, "mean")      # what training calls
    how = reduction_of("cross_entropy", reduction, size_average, reduce)
    optional_tensor(weight, "cross_entropy", "weight", 3)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"cross_entropy(): label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"cross_entropy(): not implemented for {description(input)}; a floating-point input is needed")
    if target.dtype.is_floating_point:
        return probability_loss(input, target, weight, ignore_index, how, label_smoothing)
    if target.dtype.code not in (1, 5):
        raise RuntimeError(f"cross_entropy(): expected target dtype int64 or floating point, got {description(target)}")
    rows, classes = rows_of_classes("cross_entropy", input, target)
    need_classes("cross_entropy", input, target)
    check_weight("cross_entropy", input, weight, rows.size(1))
    loss = apply(CrossEntropyLoss, rows, classes.long(), weight, ignore_index, float(label_smoothing), how)
    return loss.reshape(target.shape) if how == "none" and input.ndim == 1 else loss


def probability_loss(input, target, weight, ignore_index, how, smoothing):
    if input.shape != target.shape:
        raise RuntimeError(f"cross_entropy(): expected class probabilities of the input's shape, got {description(target)}"
                           f" for {description(input)}")
    if ignore_index >= 0:
        raise RuntimeError("cross_entropy(): ignore_index is not supported for floating point target")
    d = 0 if input.ndim == 1 else 1
    classes = input.size(d)
    check_weight("cross_entropy", weight, weight, classes)      # which is promoted here
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    parts = log_softmax(input, d) * target
    if weight is not None:
        parts = parts * weight.reshape([-1] + [1] * (input.ndim - 2) if input.ndim > 1 else [-1])
    loss = -parts.sum(d)
    if how == "mean":
        return loss.sum() / (input.numel() // classes if classes else 0)
    return loss.sum() if how == "sum" else loss


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-weight[t] input[n, t, ...] for log-probabilities [N, C, ...] and classes t [N, ...]; the mean divides by the weights.

    Shapes: [N, C, ...] and [N, ...] to a number, or with reduction "none" to [N, ...]. Rows of `ignore_index` count nothing. dtypes: floating
    point, int64 classes. Raises ValueError where the batches differ, IndexError for a class outside of 0 .. C - 1.

    >>> torch.nn.functional.nll_loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """
    optional_tensor(weight, "nll_loss", "weight", 3)
    ignore_index = int_of(ignore_index, "nll_loss", "ignore_index")
    check_tensor("nll_loss", input, target)
    how = reduction_of("nll_loss", reduction, size_average, reduce)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"nll_loss(): not implemented for {description(input)}; a floating-point input is needed")
    if target.dtype.code not in (1, 5):
        raise RuntimeError(f"nll_loss(): expected target dtype int64, got {description(target)}")
    if input.ndim == 0:
        raise RuntimeError(f"nll_loss(): input must have at least one dimension, got {description(input)}")
    if input.ndim > 1 and not classes_fit(input, target):
        rows_of_classes("nll_loss", input, target)
    need_classes("nll_loss", input, target)
    x, t = (input.unsqueeze(0), target.reshape(1)) if input.ndim == 1 else (input, target)
    check_weight("nll_loss", x, weight, x.size(1))
    loss = apply(NllLoss, x, t if t.dtype is INT64 else t.long(), weight, ignore_index, how)
    return loss.reshape(target.shape) if how == "none" and input.ndim == 1 else loss
