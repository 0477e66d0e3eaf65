"""Fisher and Snedecor's F distribution."""
import math

import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers of ``df1`` and ``df2`` degrees of freedom, each divided by its degrees.

    Parameters: numbers or floating-point tensors, which broadcast to ``batch_shape``. Raises ValueError for values outside of
    ``arg_constraints``, unless ``validate_args=False``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import FisherSnedecor
    >>> FisherSnedecor(torch.tensor([1.0]), 4.0).mean
    tensor([2.])
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expands = {"df1": 0, "df2": 0, "_gamma1": 0, "_gamma2": 0}

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def _where_above(self, bound, value):
        """NaN where there are too few degrees of freedom."""
        return value.masked_fill(~(self.df2 > bound), math.nan)

    @property
    def mean(self):
        return self._where_above(2, self.df2 / (self.df2 - 2))

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self):
        a, b = self.df1, self.df2
        return self._where_above(4, 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4)))

    def rsample(self, sample_shape=torch.Size(())):
        shape = self._extended_shape(sample_shape)
        tiny = torch.finfo(self.df1.dtype).tiny
        over = self._gamma1.rsample(sample_shape).view(shape)
        under = self._gamma2.rsample(sample_shape).view(shape).clamp(min=tiny)
        return (over / under).clamp(min=tiny)

    def log_prob(self, value):
        self._check(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = torch.lgamma(a + b) - torch.lgamma(a) - torch.lgamma(b)
        return normalizer + a * ratio.log() + (a - 1) * torch.log(value) - (a + b) * torch.log1p(ratio * value)
