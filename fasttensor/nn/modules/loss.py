"""Losses: each takes predictions and targets and gives their mean, sum or, with 'none', every element."""
import math
import warnings

from .. import functional as F
from .._reduction import legacy_get_string
from ..module import Module
from .linear import Linear


class _Loss(Module):
    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|input - target|.

    >>> nn.L1Loss()(torch.zeros(2), torch.tensor([1., 3.]))
    tensor(2.)
    """

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target)^2.

    >>> nn.MSELoss()(torch.zeros(2), torch.tensor([1., 3.]))
    tensor(5.)
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """-input[class], for log-probabilities (N, C, *) and class indices (N, *).

    >>> nn.NLLLoss()(torch.tensor([[-1., -2.]]), torch.tensor([1]))
    tensor(2.)
    """
    __constants__ = ["ignore_index", "reduction"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """Deprecated name of NLLLoss, whose shapes it has: scores (N, C, H, W), classes (N, H, W).

    >>> import warnings
    >>> with warnings.catch_warnings(record=True):
    ...     nn.NLLLoss2d()(torch.zeros(1, 2, 1, 1), torch.tensor([[[1]]])).abs()
    tensor(0.)
    """

    def __init__(self, *args, **kwargs):
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead.", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class CrossEntropyLoss(_WeightedLoss):
    """-log softmax(input)[class], for scores (N, C, *) and class indices (N, *) or probabilities (N, C, *).

    >>> nn.CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                 label_smoothing=0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
                               reduction=self.reduction, label_smoothing=self.label_smoothing)


class LinearCrossEntropyLoss(_WeightedLoss):
    """A Linear layer and CrossEntropyLoss in one: (N, in_features) and targets of num_classes.

    `out_features` (d1, ..., dK) gives each sample that many predictions; `options`
    (LinearCrossEntropyOptions) computes the loss in blocks of rows.

    >>> m = nn.LinearCrossEntropyLoss(5, 4)
    >>> m(torch.randn(8, 5), torch.randint(0, 4, (8,))).shape
    torch.Size([])
    """

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None,
                 reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0, options=None):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input, target):
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape((*shape, self.linear.in_features)), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
                f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
                f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}")


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input, or with `log_input=False` input - target * log(input + eps).

    `full` adds Stirling's approximation of log(target!) where target > 1. One shape, floating-point. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.PoissonNLLLoss()(torch.tensor([0., 1.]), torch.tensor([1., 2.]))
    tensor(0.8591)
    """
    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input, target):
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                  reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """(log max(var, eps) + (input - target)^2 / max(var, eps)) / 2.

    Input and target (N, *); `var` of the same shape, without the last dimension, or with it of size 1 (ValueError
    otherwise, or where it is negative). `full` adds log(2 pi) / 2. Nix and Weigend, 1994. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.GaussianNLLLoss()(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([4.]))
    tensor(1.1931)
    """
    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """target (log target - input), the input being log-probabilities; 'batchmean' divides by the batch size.

    Kullback and Leibler, 1951. Input and target of one shape, floating-point; with `log_target` the target is of logarithms too.

    >>> nn.KLDivLoss(reduction='batchmean')(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]))
    tensor(0.1308)
    """
    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities; each logarithm is kept above -100.

    Input and target of one shape, both in [0, 1] (RuntimeError otherwise); floating-point. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.BCELoss()(torch.tensor([0.9, 0.2]), torch.tensor([1., 0.]))
    tensor(0.1643)
    """

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of scores before the sigmoid.

    >>> nn.BCEWithLogitsLoss()(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight,
                                                  reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2: Girshick, 2015.

    Input and target of one shape, floating-point; beta = 0 is L1Loss. RuntimeError where beta < 0. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.SmoothL1Loss()(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d^2 / 2 where d = |input - target| <= delta, else delta (d - delta / 2): Huber, 1964.

    Input and target of one shape, floating-point. ValueError where delta <= 0. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.HuberLoss(delta=1.0)(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """
    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction="mean", delta=1.0):
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target input)), targets 1 or -1.

    One shape, floating-point. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.SoftMarginLoss()(torch.tensor([0., 2.]), torch.tensor([1., -1.]))
    tensor(1.4100)
    """

    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification of log-probabilities (T, N, C): Graves et al., 2006.

    Targets (N, S) padded, or all in one dimension, int64, without the `blank`; lengths of inputs and targets (N,). 'mean'
    divides each loss by its target's length; `zero_infinity` makes losses of targets that do not fit 0.

    >>> log_probs = torch.full((3, 1, 2), 0.5).log()
    >>> nn.CTCLoss()(log_probs, torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]))
    tensor(0.2877)
    """
    __constants__ = ["blank", "reduction"]

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)


from .loss_margin import (CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss,  # noqa: E402, F401
                          MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, TripletMarginLoss,
                          TripletMarginWithDistanceLoss)
