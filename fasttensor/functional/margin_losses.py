"""Losses that compare scores or distances with a margin."""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import flag, need_tensor, optional_tensor, real_number
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.loss import MultiMarginLoss, MultilabelMarginLoss, multi_margin
from fasttensor.functional.common import check_tensor, describe
from fasttensor.functional.distance import pairwise_distance
from fasttensor.functional.elementwise import where
from fasttensor.functional.loss_arguments import need_common_shape, reduced, reduction_of

__all__ = ["hinge_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "cosine_embedding_loss"]
METHODS = {}
NN_FUNCTIONAL = ["hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
                 "multilabel_soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss", "cosine_embedding_loss"]


def positive(x):
    """x above zero, else zero, with the gradient of clamp at the bound."""
    return x.clamp(min=0)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where the target is 1, max(0, margin - input) where it is -1.

    Shapes: broadcast, to a number ("mean", "sum") or the elements' losses ("none"). dtypes: floating point. ValueError for another `reduction`.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.25]), torch.tensor([-1.0]))
    tensor(0.7500)
    """
    real_number(margin, "hinge_embedding_loss", "margin")
    check_tensor("hinge_embedding_loss", input, target)
    how = reduction_of("hinge_embedding_loss", reduction, size_average, reduce)
    need_common_shape("hinge_embedding_loss", input, target)
    apart = where(target != 1, positive(margin - input), 0.0)
    together = where(target != -1, input, 0.0)
    return reduced(apart + together, how)


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target (input1 - input2) + margin).

    Shapes: broadcast, to a number ("mean", "sum") or the elements' losses ("none"). dtypes: floating point, targets of 1 and -1. Raises
    RuntimeError where the numbers of dimensions differ, ValueError for another `reduction`.

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    real_number(margin, "margin_ranking_loss", "margin")
    check_tensor("margin_ranking_loss", input1, input2, target)
    how = reduction_of("margin_ranking_loss", reduction, size_average, reduce)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1:"
                           f" {input1.shape}, input2: {input2.shape}, target: {target.shape}")
    need_common_shape("margin_ranking_loss", input1, input2, target)
    if input1.dtype.is_floating_point and input1.dtype is input2.dtype is target.dtype:
        return reduced(FUNCTIONS["_margin_ranking"](input1, input2, target, margin=float(margin)), how)
    return reduced(positive(-target * (input1 - input2) + margin), how)


def rows_and_targets(name, input, target):
    ok = input.ndim <= 1 and target.numel() == 1 and target.ndim <= 1 or input.ndim == 2 and tuple(target.shape) == (input.size(0),)
    if not ok or input.ndim and input.size(-1) == 0:
        raise RuntimeError(f"{name}(): expected input [N, C] with target [N], or [C] with one target; got {description(input)} and"
                           f" {description(target)}")
    return (input.reshape(1, -1) if input.ndim < 2 else input), target.reshape(-1)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over classes i other than the target y of max(0, margin - x[y] + x[i])^p, weighed by weight[y].

    Shapes: x [N, C] and y [N] (int64), or [C] and a number, to a number or, with reduction "none", [N]. dtypes: floating point. Raises
    RuntimeError for shapes that do not fit and classes outside of 0 .. C - 1, ValueError for a `p` other than 1 and 2.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.0, 0.5]]), torch.tensor([0]))
    tensor(0.7500)
    """
    real_number(margin, "multi_margin_loss", "margin")
    optional_tensor(weight, "multi_margin_loss", "weight", 5)
    check_tensor("multi_margin_loss", input, target)
    how = reduction_of("multi_margin_loss", reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): only p == 1 and p == 2 supported, got {p}")
    if target.dtype.name != "int64":
        raise RuntimeError(f"multi_margin_loss(): expected target of dtype int64, got {describe(target)}: use .long()")
    x, y = rows_and_targets("multi_margin_loss", input, target)
    classes = x.size(1)
    if weight is not None and (weight.ndim != 1 or weight.size(0) != classes):
        raise RuntimeError(f"multi_margin_loss(): weight must be one-dimensional with {classes} elements, got {description(weight)}")
    if weight is not None and weight.dtype is not x.dtype:
        raise RuntimeError(f"multi_margin_loss(): expected weight of dtype {x.dtype.name} but found {description(weight)} for input {description(x)}")
    if weight is not None and weight.requires_grad:         # the kernel has no gradient of the weights
        loss = multi_margin(x, y, p, margin, weight, how)
    else:
        loss = apply(MultiMarginLoss, x, y, p, float(margin), weight, how)
    return loss.reshape(target.shape) if how == "none" and input.ndim < 2 else loss


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Sum over targets j and other classes i of max(0, 1 - (x[j] - x[i])) / C; a row's targets end at the first -1.

    Shapes: input and target (int64) [N, C] or [C], to a number or, with reduction "none", [N]. dtypes: floating point. Raises RuntimeError for
    shapes that do not fit.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.0, 0.5]]), torch.tensor([[0, -1]]))
    tensor(0.7500)
    """
    check_tensor("multilabel_margin_loss", input, target)
    how = reduction_of("multilabel_margin_loss", reduction, size_average, reduce)
    if input.ndim > 2 or input.shape != target.shape or input.ndim and input.size(-1) == 0:
        raise RuntimeError(f"multilabel_margin_loss(): expected input and target of one shape [N, C] or [C], got {description(input)} and"
                           f" {description(target)}")
    if target.dtype.name != "int64":
        raise RuntimeError(f"multilabel_margin_loss(): expected target of dtype int64, got {description(target)}: use .long()")
    x, t = (input.reshape(1, -1), target.reshape(1, -1)) if input.ndim < 2 else (input, target)
    loss = apply(MultilabelMarginLoss, x, t, how)
    return loss.reshape(()) if input.ndim < 2 else loss


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over classes of -(t log(sigmoid(x)) + (1 - t) log(sigmoid(-x))).

    Shapes: input and target [..., C], to a number or, with reduction "none", [...]; `weight` broadcasts to [C]. dtypes: floating point.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    check_tensor("multilabel_soft_margin_loss", input, target)
    how = reduction_of("multilabel_soft_margin_loss", reduction, size_average, reduce)
    logsigmoid = FUNCTIONS["logsigmoid"]
    need_common_shape("multilabel_soft_margin_loss", input, target)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        need_common_shape("multilabel_soft_margin_loss", loss, need_tensor(weight, "multilabel_soft_margin_loss", "weight", 3))
        loss = loss * weight
    loss = loss.sum(input.ndim - 1) / input.size(-1)
    return reduced(loss, how)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) of p-norm distances; `swap` takes the nearer negative.

    Shapes: [N, D] or [D], broadcast, to a number or, with reduction "none", [N]. dtypes: floating point. Raises ValueError for a `margin` that is
    not positive, RuntimeError where the numbers of dimensions differ. Source: Balntas et al., BMVC 2016.

    >>> a, b = torch.tensor([[0.0]]), torch.tensor([[2.0]])
    >>> torch.nn.functional.triplet_margin_loss(a, a, b, margin=3.0)
    tensor(1.0000)
    """
    real_number(margin, "triplet_margin_loss", "margin")
    flag("triplet_margin_loss", "swap", swap)
    check_tensor("triplet_margin_loss", anchor, positive, negative)
    how = reduction_of("triplet_margin_loss", reduction, size_average, reduce)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(f"triplet_margin_loss(): The anchor, positive, and negative tensors are expected to have the same number of"
                           f" dimensions, but got: {anchor.ndim}D, {positive.ndim}D, and {negative.ndim}D inputs ({describe(anchor, positive, negative)})")
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")
    need_pairs("triplet_margin_loss", anchor, positive, negative)
    return triplet(anchor, positive, negative, margin, swap, how, lambda a, b: pairwise_distance(a, b, p, eps))


def need_pairs(name, anchor, positive, negative):
    need_common_shape(name, anchor, positive)
    need_common_shape(name, anchor, negative)


def triplet(anchor, near, far, margin, swap, how, distance):
    apart = distance(anchor, far)
    if swap:
        apart = apart.minimum(distance(near, far))
    return reduced(positive(margin + distance(anchor, near) - apart), how)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss with a distance of the caller's.

    Shapes: what the distance takes, [N, D] by default (the 2-norm of the difference), to a number or, with reduction "none", [N]. dtypes:
    floating point. ValueError for another `reduction`.

    >>> a, b = torch.tensor([[0.0]]), torch.tensor([[2.0]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(a, a, b, margin=3.0)
    tensor(1.0000)
    """
    need_tensor(anchor, "triplet_margin_with_distance_loss", "anchor", 1)
    need_tensor(positive, "triplet_margin_with_distance_loss", "positive", 2)
    need_tensor(negative, "triplet_margin_with_distance_loss", "negative", 3)
    real_number(margin, "triplet_margin_with_distance_loss", "margin")
    how = reduction_of("triplet_margin_with_distance_loss", reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss(): margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(f"triplet_margin_with_distance_loss(): The anchor, positive, and negative tensors are expected to have the same"
                           f" number of dimensions, but got: {anchor.ndim}D, {positive.ndim}D,"
                           f" and {negative.ndim}D inputs ({describe(anchor, positive, negative)})")
    if distance_function is None:
        need_pairs("triplet_margin_with_distance_loss", anchor, positive, negative)
    return triplet(anchor, positive, negative, margin, swap, how, distance_function or pairwise_distance)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1.

    Shapes: [N, D] and targets [N], or [D] and a target without dimensions, to a number or, with reduction "none", [N]. dtypes: floating point.
    Raises RuntimeError where the shapes do not fit.

    >>> x = torch.tensor([[1.0, 0.0]])
    >>> torch.nn.functional.cosine_embedding_loss(x, x, torch.tensor([-1]))
    tensor(1.)
    """
    real_number(margin, "cosine_embedding_loss", "margin")
    check_tensor("cosine_embedding_loss", input1, input2, target)
    how = reduction_of("cosine_embedding_loss", reduction, size_average, reduce)
    if target.ndim > 1 or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(f"cosine_embedding_loss(): expected target [N] with inputs [N, D], or a 0-d target with [D]; got"
                           f" {description(input1)}, {description(input2)} and {description(target)}")
    d = target.ndim
    need_common_shape("cosine_embedding_loss", input1, input2)
    # the small constant under each root is PyTorch's
    small = 1e-12
    cos = (input1 * input2).sum(d) / (((input1 * input1).sum(d) + small) * ((input2 * input2).sum(d) + small)).sqrt()
    loss = (1 - cos).masked_fill(target != 1, 0) + positive(cos - margin).masked_fill(target != -1, 0)
    return reduced(loss, how)
