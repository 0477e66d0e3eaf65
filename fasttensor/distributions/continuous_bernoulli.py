"""The continuous Bernoulli distribution on [0, 1]."""
import math

import fasttensor as torch
from fasttensor.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._choice import Binary
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Numbers of [0, 1] with density proportional to ``probs ** x * (1 - probs) ** (1 - x)`` (Loaiza-Ganem and Cunningham, 2019, arXiv:1907.06845).

    Between ``lims``, around probs = 1/2 where the formulas divide zero by zero, Taylor series are used.

    Parameters: numbers or floating-point tensors, which broadcast to ``batch_shape``. Raises ValueError for values outside of
    ``arg_constraints``, unless ``validate_args=False``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(torch.tensor([0.5])).mean
    tensor([0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _expands = {"probs": 0, "logits": 0}
    _keeps = ("_lims",)

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError(f"The parameter probs has invalid values: ContinuousBernoulli needs numbers of [0, 1], got {self.probs}")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """Probabilities with those near 1/2 replaced: the value that is not taken must not give NaN gradients."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        p = self._cut_probs()
        low = torch.where(p <= 0.5, p, torch.zeros_like(p))
        high = torch.where(p >= 0.5, p, torch.ones_like(p))
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - torch.where(p <= 0.5, torch.log1p(-2.0 * low), torch.log(2.0 * high - 1.0))
        x = (self.probs - 0.5) ** 2
        return torch.where(self._outside_unstable_region(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p = self._cut_probs()
        x = self.probs - 0.5
        return torch.where(self._outside_unstable_region(), p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p)),
                           0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x ** 2) * x)

    @property
    def variance(self):
        p = self._cut_probs()
        x = (self.probs - 0.5) ** 2
        return torch.where(self._outside_unstable_region(), p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / (torch.log1p(-p) - torch.log(p)) ** 2,
                           1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        self._check(value)
        p = self._cut_probs()
        inside = (p ** value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._outside_unstable_region(), inside, value)
        return torch.where(value <= 0.0, torch.zeros_like(value), torch.where(value >= 1.0, torch.ones_like(value), inside))

    def icdf(self, value):
        p = self._cut_probs()
        solved = (torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)) / (torch.log(p) - torch.log1p(-p))
        return torch.where(self._outside_unstable_region(), solved, value)

    def entropy(self):
        no, yes = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (no - yes) - self._cont_bern_log_norm() - no

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, exact, 0.5 * x + x ** 2 / 24.0 - x ** 4 / 2880.0)
