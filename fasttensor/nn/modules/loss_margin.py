"""Losses with a margin; PyTorch keeps them in loss.py, which imports them from here."""
from .. import functional as F
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss


class HingeEmbeddingLoss(_Loss):
    """x where the target is 1, max(0, margin - x) where it is -1.

    One shape, targets 1 or -1. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.HingeEmbeddingLoss()(torch.tensor([0.3, 0.4]), torch.tensor([1., -1.]))
    tensor(0.4500)
    """
    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Hinge between every true and every other class; targets list classes, ended by -1.

    sum over true y and other i of max(0, 1 - x[y] + x[i]) / C. Input (N, C) or (C,), targets int64 of its shape.
    `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1.

    x1, x2 (N, D) with target (N,), or (D,) with a target without dimensions. `margin` in [-1, 1]. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.CosineEmbeddingLoss()(torch.tensor([[1., 0.]]), torch.tensor([[1., 1.]]), torch.tensor([1.]))
    tensor(0.2929)
    """
    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, -target (x1 - x2) + margin).

    x1, x2 and target (1 where x1 should rank higher, else -1) of one shape. `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.MarginRankingLoss(margin=0.5)(torch.tensor([1., 2.]), torch.tensor([2., 1.]), torch.tensor([1., 1.]))
    tensor(0.7500)
    """
    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over classes of the binary cross entropy of scores.

    Input and targets of 0 and 1 (N, C), `weight` (C,). `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[0., 2.]]), torch.tensor([[1., 0.]]))
    tensor(1.4100)
    """

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """sum_i max(0, margin - x[y] + x[i])^p / C.

    The sum leaves out i = y. Input (N, C) or (C,), class indices (N,) or without dimensions, int64; p is 1 or 2
    (ValueError otherwise); `weight` (C,). `reduction`: 'mean', 'sum' or 'none'.

    >>> nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """
    __constants__ = ["p", "margin", "reduction"]

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        if p != 1 and p != 2:
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin

    def forward(self, input, target):
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight,
                                   reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm as distance.

    >>> nn.TripletMarginLoss()(torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    tensor(1.)
    """
    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
                                     swap=self.swap, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with any function as distance.

    max(0, d(anchor, positive) - d(anchor, negative) + margin), d the Euclidean distance by default; `swap` takes
    d(positive, negative) where it is smaller. ValueError where margin <= 0. `reduction`: 'mean', 'sum' or 'none'.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1))
    >>> loss(torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 0.5))
    tensor(2.)
    """
    __constants__ = ["margin", "swap", "reduction"]

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative,
                                                   distance_function=self.distance_function, margin=self.margin,
                                                   swap=self.swap, reduction=self.reduction)
