"""The half-Cauchy distribution."""
import math

import fasttensor as torch

from .cauchy import Cauchy
from .half import Half

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """Absolute values of Cauchy numbers of median zero and half width ``scale``.

    Parameters: numbers or floating-point tensors, which broadcast to ``batch_shape``. Raises ValueError for values outside of
    ``arg_constraints``, unless ``validate_args=False``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import HalfCauchy
    >>> HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    _whole = Cauchy

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self):
        return self.base_dist.variance
