"""The Kumaraswamy distribution."""
import math

import fasttensor as torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a, b, n):
    """E x ** n = b * B(1 + n / a, b)."""
    first = 1 + n / a
    return torch.exp(torch.lgamma(first) + torch.lgamma(b) - torch.lgamma(first + b)) * b


class Kumaraswamy(TransformedDistribution):
    """Numbers of [0, 1] with cumulative distribution 1 - (1 - x ** concentration1) ** concentration0.

    Parameters: numbers or floating-point tensors, which broadcast to ``batch_shape``. Raises ValueError for values outside of
    ``arg_constraints``, unless ``validate_args=False``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import Kumaraswamy
    >>> Kumaraswamy(torch.tensor([1.0]), torch.tensor([1.0])).mean
    tensor([0.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _expands = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                      PowerTransform(exponent=self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        # the density is highest at an end, or at both, where one of them is below one
        return ((a - 1) / (a * b - 1)).pow(a.reciprocal()).masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self):
        return _moments(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self):
        a, b = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return b + a * harmonic - torch.log(self.concentration1) - torch.log(self.concentration0)
