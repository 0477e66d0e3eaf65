"""Batch dimensions as dimensions of the event."""
import types

import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last ``reinterpreted_batch_ndims`` batch dimensions belong to the event: log probabilities are summed over them.

    ValueError where there are fewer batch dimensions.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import Independent
    >>> from fasttensor.distributions import Normal
    >>> Independent(Normal(torch.zeros(3), torch.ones(3)), 1).log_prob(torch.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints = {}
    _expands = {}
    _keeps = ("reinterpreted_batch_ndims",)
    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > batch:
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {reinterpreted_batch_ndims} vs {batch}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = batch - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._begun(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[:self.reinterpreted_batch_ndims])
        return self._finished(new, batch_shape)

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        support = self.base_dist.support
        return constraints.independent(support, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else support

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=torch.Size()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
