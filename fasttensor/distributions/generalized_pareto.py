"""The generalized Pareto distribution."""
import math

import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over ``loc``: the survival function is ``(1 + concentration * (x - loc) / scale) ** (-1 / concentration)``, and
    ``exp(-(x - loc) / scale)`` for concentration zero.

    Parameters: numbers or floating-point tensors, which broadcast to ``batch_shape``. Raises ValueError for values outside of
    ``arg_constraints``, unless ``validate_args=False``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, torch.tensor([0.5])).mean
    tensor([2.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _expands = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _shape_or_one(self):
        """Where the concentration is zero, and it with ones there, so that it can be divided by."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._check(value)
        z = self._z(value)
        zero, c = self._shape_or_one()
        power = 1 / c + torch.ones_like(z)
        # a power of zero (concentration -1) gives zero, also at the end of the support where the logarithm is infinite
        return -self.scale.log() - torch.where(zero, z, torch.where(power == 0, power, power * torch.log1p(c * z)))

    def log_survival_function(self, value):
        """The logarithm of the probability of points above ``value``."""
        self._check(value)
        z = self._z(value)
        zero, c = self._shape_or_one()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of ``cdf``."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, c = self._shape_or_one()
        log_survival = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log_survival, self.loc + self.scale / c * torch.expm1(-c * log_survival))

    @property
    def mean(self):
        c = self.concentration
        finite = self.loc + self.scale / (1 - torch.where(c < 1, c, 0.5))
        return torch.where(c < 1, finite, math.nan)

    @property
    def variance(self):
        c = self.concentration
        inside = torch.where(c < 0.5, c, 0.25)
        return torch.where(c < 0.5, self.scale ** 2 / ((1 - inside) ** 2 * (1 - 2 * inside)), math.nan)

    @property
    def mode(self):
        return self.loc

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)
