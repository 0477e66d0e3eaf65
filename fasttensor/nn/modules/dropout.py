"""Dropout and its kin."""
from .. import functional as F
from ..module import Module


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, zeroes each element with probability p and scales the rest by 1 / (1 - p).

    >>> nn.Dropout(0.3).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L).

    In training each channel is zero with probability `p`, else divided by 1 - p (Tompson et al., 2015); in eval the input
    itself. ValueError unless 0 <= p <= 1.

    >>> nn.Dropout1d(0.5)(torch.ones(1, 32, 4)).unique()
    tensor([0., 2.])
    >>> nn.Dropout1d(0.5).eval()(torch.ones(1, 32, 4)).unique()
    tensor([1.])
    """

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W).

    In training each channel is zero with probability `p`, else divided by 1 - p (Tompson et al., 2015); in eval the input
    itself. ValueError unless 0 <= p <= 1.

    >>> nn.Dropout2d(0.5)(torch.ones(1, 32, 2, 2)).unique()
    tensor([0., 2.])
    >>> nn.Dropout2d(0.5).eval()(torch.ones(1, 32, 2, 2)).unique()
    tensor([1.])
    """

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    In training each channel is zero with probability `p`, else divided by 1 - p (Tompson et al., 2015); in eval the input
    itself. ValueError unless 0 <= p <= 1.

    >>> nn.Dropout3d(0.5)(torch.ones(1, 32, 1, 2, 2)).unique()
    tensor([0., 2.])
    >>> nn.Dropout3d(0.5).eval()(torch.ones(1, 32, 1, 2, 2)).unique()
    tensor([1.])
    """

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1 of SELU networks: Klambauer et al., 2017.

    In training each element becomes the negative limit of SELU with probability `p`, and all are scaled and
    shifted; in eval the input itself. ValueError unless 0 <= p <= 1.

    >>> x = torch.ones(3)
    >>> nn.AlphaDropout(0.5).eval()(x)
    tensor([1., 1., 1.])
    >>> nn.AlphaDropout(0.0)(x)
    tensor([1., 1., 1.])
    """

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    Input (N, C, *), in training only: Klambauer et al., 2017. ValueError unless 0 <= p <= 1.

    >>> nn.FeatureAlphaDropout(0.5).eval()(torch.ones(1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)
