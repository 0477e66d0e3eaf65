"""Distances between rows."""
from .. import functional as F
from ..module import Module


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension: (N, D), (N, D) -> (N).

    >>> nn.PairwiseDistance()(torch.zeros(1, 2), torch.tensor([[3., 4.]])).round()
    tensor([5.])
    """
    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """x1 . x2 / max(|x1| |x2|, eps) along `dim`.

    >>> nn.CosineSimilarity()(torch.ones(1, 3), torch.ones(1, 3)).round()
    tensor([1.])
    """
    __constants__ = ["dim", "eps"]

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
