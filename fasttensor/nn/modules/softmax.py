"""Softmax and its kin."""
from .. import functional as F
from ..module import Module


class _Dim(Module):
    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_Dim):
    """exp(x) / sum(exp(x)) along `dim`.

    >>> nn.Softmax(dim=1)(torch.zeros(1, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_Dim):
    """log(softmax(x)) along `dim`, computed without overflow.

    Any shape, floating-point. Without `dim` a warning and a guess: 0 for 0, 1 and 3 dimensions, else 1.

    >>> nn.LogSoftmax(dim=0)(torch.tensor([0., 1000.]))
    tensor([-1000.,     0.])
    """

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_Dim):
    """softmax(-x) along `dim`.

    Any shape, floating-point.

    >>> nn.Softmin(dim=0)(torch.tensor([0., 1.]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    ValueError for other numbers of dimensions.

    >>> nn.Softmax2d()(torch.zeros(1, 4, 2, 2)).unique()
    tensor([0.2500])
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
