"""Losses of numbers and of probabilities, and CTC, whose heart is a kernel or one elementwise row."""
import warnings

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import flag, need_tensor, optional_tensor, real_number
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.loss import CtcLoss
from fasttensor.functional.common import check_tensor
from fasttensor.functional.loss_arguments import broadcast_pair, need_common_shape, reduced, reduction_of, same_dtype

__all__ = ["ctc_loss", "kl_div", "poisson_nll_loss", "binary_cross_entropy_with_logits"]

METHODS = {}
NN_FUNCTIONAL = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
                 "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "soft_margin_loss",
                 "ctc_loss"]


def row_loss(name, row, input, target, how, **parameters):
    """A loss that is one row of the operation table, reduced."""
    input, target = broadcast_pair(name, input, target)
    return reduced(FUNCTIONS[row](input, target, **parameters), how)


def weighted(loss, weight, how):
    if weight is None:
        return reduced(loss, how)
    if how == "mean":
        return (loss * weight).sum() / (weight.expand(loss.shape).sum())
    return reduced(loss * weight, how)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Squared error (input - target)^2; with `weight` the mean divides by the weights.

    Shapes: any, broadcast with a warning where they differ, to a number ("mean", "sum") or the elements' losses ("none"). dtypes: floating
    point or complex. Raises ValueError for another `reduction`, RuntimeError where shapes do not broadcast.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """
    check_tensor("mse_loss", input, target)
    how = reduction_of("mse_loss", reduction, size_average, reduce)
    input, target = broadcast_pair("mse_loss", input, target)
    if input.dtype.is_complex or target.dtype.is_complex:
        raise NotImplementedError(f"mse_loss(): not implemented for complex dtypes, got {description(input)}")
    return weighted(FUNCTIONS["_squared_error"](input, target), checked_weight("mse_loss", weight, input), how)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute error |input - target|.

    Shapes: any, broadcast with a warning where they differ, to a number ("mean", "sum") or the elements' losses ("none"). dtypes: floating
    point or complex. Raises ValueError for another `reduction`, RuntimeError where shapes do not broadcast.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(1.)
    """
    check_tensor("l1_loss", input, target)
    how = reduction_of("l1_loss", reduction, size_average, reduce)
    input, target = broadcast_pair("l1_loss", input, target)
    loss = (input - target).abs() if input.dtype.is_complex or target.dtype.is_complex else FUNCTIONS["_absolute_error"](input, target)
    return weighted(loss, checked_weight("l1_loss", weight, input), how)


def checked_weight(name, weight, input):
    if weight is not None and need_tensor(weight, name, "weight", 6).shape != input.shape:
        raise ValueError(f"{name}(): weights and input must have the same size, got {description(weight)} for {description(input)}")
    return weight


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Half the squared error over `beta` below `beta`, the absolute error less beta / 2 above.

    Shapes: any, broadcast with a warning where they differ, to a number or, with reduction "none", the elements' losses. dtypes: floating
    point. Raises RuntimeError for a negative `beta`, ValueError for another `reduction`. Source: Girshick, Fast R-CNN, 2015.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(1.5000)
    """
    real_number(beta, "smooth_l1_loss", "beta")
    check_tensor("smooth_l1_loss", input, target)
    how = reduction_of("smooth_l1_loss", reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss(): does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=how)
    return row_loss("smooth_l1_loss", "_smooth_l1", input, target, how, beta=float(beta))


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared error up to `delta`, beyond it delta (|input - target| - delta / 2).

    Shapes: any, broadcast with a warning where they differ, to a number or, with reduction "none", the elements' losses. dtypes: floating
    point. Raises RuntimeError for a `delta` that is not positive, ValueError for another `reduction`. Source: Huber, 1964.

    >>> torch.nn.functional.huber_loss(torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(1.5000)
    """
    real_number(delta, "huber_loss", "delta")
    check_tensor("huber_loss", input, target)
    how = reduction_of("huber_loss", reduction)
    if not delta > 0:
        raise RuntimeError(f"huber_loss(): does not support non-positive values for delta, got {delta}")
    input, target = broadcast_pair("huber_loss", input, target)
    return weighted(FUNCTIONS["_huber"](input, target, delta=float(delta)).to(input.dtype), checked_weight("huber_loss", weight, input), how)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log p + (1 - t) log(1 - p)) of probabilities p in [0, 1]; logarithms are at least -100.

    Shapes: input and target alike, to a number or, with reduction "none", the elements' losses; `weight` broadcasts. dtypes: floating point.
    Raises ValueError for unlike shapes, RuntimeError for probabilities outside of [0, 1].

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    optional_tensor(weight, "binary_cross_entropy", "weight", 3)
    check_tensor("binary_cross_entropy", input, target)
    how = reduction_of("binary_cross_entropy", reduction, size_average, reduce)
    if input.shape != target.shape:
        raise ValueError(f"binary_cross_entropy(): Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated."
                         " Please ensure they have the same size.")
    same_dtype("binary_cross_entropy", input, target, "target")
    values = input.detach()
    values = all_samples(values)
    if input.numel() and not values.is_meta and not bool(((values >= 0) & (values <= 1)).all()):
        raise RuntimeError(f"binary_cross_entropy(): all elements of input should be between 0 and 1, got {description(input)}"
                           " with others; use binary_cross_entropy_with_logits for logits")
    if weight is not None:
        need_common_shape("binary_cross_entropy", input, weight)
        weight = weight.to(input.dtype)
    loss = FUNCTIONS["_bce"](input, target)
    return reduced(loss if weight is None else loss * weight, how)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """binary_cross_entropy of sigmoid(input), without overflow; `pos_weight` weighs the positive part.

    Shapes: input and target alike, to a number or, with reduction "none", the elements' losses; `weight` and `pos_weight` broadcast. dtypes:
    floating point. Raises ValueError for unlike shapes.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    optional_tensor(weight, "binary_cross_entropy_with_logits", "weight", 3)
    optional_tensor(pos_weight, "binary_cross_entropy_with_logits", "pos_weight", 7)
    check_tensor("binary_cross_entropy_with_logits", input, target)
    how = reduction_of("binary_cross_entropy_with_logits", reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"binary_cross_entropy_with_logits(): Target size ({target.shape}) must be the same as input size ({input.shape})")
    if weight is not None:
        need_common_shape("binary_cross_entropy_with_logits", input, weight)
        weight = weight.to(input.dtype)
    if pos_weight is not None:
        need_common_shape("binary_cross_entropy_with_logits", input, pos_weight)
        pos_weight = pos_weight.to(input.dtype)
    if pos_weight is None:
        loss = FUNCTIONS["_bce_logits"](input, target)
    else:
        loss = FUNCTIONS["_bce_logits_weighted"](input, target, pos_weight)
    return reduced(loss if weight is None else loss * weight, how)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log target - input) for log-probabilities `input`; reduction "batchmean" divides by the batch.

    Shapes: any, broadcast, to a number or, with reduction "none", the elements' losses. dtypes: floating point. With `log_target` the target
    is a log-probability too. Raises ValueError for another `reduction`. Source: Kullback and Leibler, 1951.

    >>> torch.nn.functional.kl_div(torch.tensor([-0.6931]), torch.tensor([1.0]), reduction="sum")
    tensor(0.6931)
    """
    flag("kl_div", "log_target", log_target)
    check_tensor("kl_div", input, target)
    how = "batchmean" if reduction == "batchmean" else reduction_of("kl_div", reduction, size_average, reduce)
    if how == "mean" and size_average is None and reduce is None:
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size: 'batchmean' divides by the batch size"
                      " alone, as the divergence is defined", stacklevel=2)
    loss = FUNCTIONS["_kl_div_log" if log_target else "_kl_div"](input, target)
    if how == "batchmean":
        return loss.sum() / input.size(0) if input.ndim else loss.sum()
    return reduced(loss, how)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """exp(x) - t x, or x - t log(x + eps) unless `log_input`; `full` adds Stirling's term for t > 1.

    Shapes: broadcast, to a number or, with reduction "none", the elements' losses. dtypes: floating point. Raises ValueError for another
    `reduction`.

    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(1.)
    """
    flag("poisson_nll_loss", "log_input", log_input)
    flag("poisson_nll_loss", "full", full)
    real_number(eps, "poisson_nll_loss", "eps")
    check_tensor("poisson_nll_loss", input, target)
    how = reduction_of("poisson_nll_loss", reduction, size_average, reduce)
    need_common_shape("poisson_nll_loss", input, target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * 3.141592653589793 * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, how)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(var) + (input - target)^2 / var) / 2 with var at least eps; `full` adds log(2 pi) / 2.

    Shapes: input and target alike; `var` the same, without the last dimension, or with it 1. dtypes: floating point. Raises ValueError where
    `var` has another shape or a negative element, and for another `reduction`.

    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    check_tensor("gaussian_nll_loss", input, target)
    how = reduction_of("gaussian_nll_loss", reduction)
    if not isinstance(var, Tensor):
        var = (input.detach() * 0 + 1) * var
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(a != b for a, b in zip(input.shape, var.shape)) > 1 or \
                not all(a == b or b == 1 for a, b in zip(input.shape, var.shape)):
            raise ValueError(f"gaussian_nll_loss(): var is of incorrect size, got {description(var)} for {description(input)}")
    if not var.is_meta and bool((all_samples(var) < 0).any()):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    low = (eps - var.detach()).clamp(min=0)         # 0 for infinity, too
    var = var + low                 # the bound is not differentiated
    need_common_shape("gaussian_nll_loss", input, target, var)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.9189385332046727
    return reduced(loss, how)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target input)) for targets of 1 and -1.

    Shapes: broadcast, to a number or, with reduction "none", the elements' losses. dtypes: floating point. Raises ValueError for another
    `reduction`.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    check_tensor("soft_margin_loss", input, target)
    how = reduction_of("soft_margin_loss", reduction, size_average, reduce)
    return row_loss("soft_margin_loss", "_soft_margin", input, target, how)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification (Graves et al. 2006).

    log_probs [T, N, C] (or [T, C]) are log-probabilities; targets [N, S] or all sequences joined [sum]; lengths [N].
    The mean divides each loss by its target's length.

    Returns a number, or with reduction "none" the losses [N]; `zero_infinity` makes losses that no alignment has, and their gradients, zero.
    dtypes: float32 or float64, integer targets and lengths. Raises RuntimeError for lengths that do not fit and for a `blank` outside of the classes.

    >>> lp = torch.zeros(2, 1, 2).log_softmax(2)
    >>> torch.nn.functional.ctc_loss(lp, torch.tensor([[1]]), [2], [1], reduction="sum")
    tensor(0.2877)
    """
    check_tensor("ctc_loss", log_probs, targets)
    how = reduction_of("ctc_loss", reduction)
    if log_probs.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"ctc_loss(): log_probs must be float32 or float64, got {description(log_probs)}")
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    if x.ndim != 3:
        raise RuntimeError(f"ctc_loss(): expected log_probs [T, N, C] or [T, C], got {description(log_probs)}")
    lengths = [values.reshape(-1).tolist() if isinstance(values, Tensor) else list(values) for values in (input_lengths, target_lengths)]
    for key, values in zip(("input_lengths", "target_lengths"), lengths):
        if len(values) != x.size(1):
            raise RuntimeError(f"ctc_loss(): {key} must be of size batch_size {x.size(1)}, got {len(values)}")
    if not 0 <= blank < x.size(2):
        raise RuntimeError(f"ctc_loss(): blank must be in label range, got {blank} for {x.size(2)} classes")
    losses = apply(CtcLoss, x, targets, lengths[0], lengths[1], blank, bool(zero_infinity))
    if how == "none":
        return losses.reshape(()) if single else losses
    if how == "sum":
        return losses.sum()
    from fasttensor.functional.data import tensor
    divisors = tensor([float(max(n, 1)) for n in lengths[1]], dtype=losses.dtype, device=losses.device)
    return (losses / divisors).mean()
