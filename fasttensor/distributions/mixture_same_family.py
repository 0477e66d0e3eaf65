"""Mixtures of distributions of one family."""
import fasttensor as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Points of one of several components: ``mixture_distribution``, a Categorical, says which element of the last batch dimension of
    ``component_distribution``. ValueError where their shapes do not fit.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import MixtureSameFamily
    >>> from fasttensor.distributions import Categorical, Normal
    >>> mix = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
    >>> mix.variance
    tensor(2.)
    """

    arg_constraints = {}
    has_rsample = False
    _expands = {"_mixture_distribution": 0, "_component_distribution": 1}
    _keeps = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        weights, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for i, j in zip(reversed(weights), reversed(batch)):
            if i != j and 1 not in (i, j):
                raise ValueError(f"`mixture_distribution.batch_shape` ({weights}) is not compatible with `component_distribution.batch_shape`({batch})")
        count, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != parts:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({parts})")
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The Categorical of the weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _average(self, values):
        """The weighted sum over the components' dimension."""
        probs = self._mixture_distribution.probs
        return (probs.reshape(probs.shape + (1,) * self._event_ndims) * values).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self._component_distribution.mean)

    @property
    def variance(self):
        # the mean of the variances and the variance of the means
        parts = self._component_distribution
        return self._average(parts.variance) + self._average((parts.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x):
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        self._check(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(log_prob + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            weights = self._mixture_distribution
            if weights.batch_shape != self.batch_shape:
                weights = weights.expand(self.batch_shape)
            which = weights.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            which = which.reshape(which.shape + (1,) * (1 + self._event_ndims))
            return values.gather(dim, which.expand(values.shape[:dim] + (1,) + self.event_shape)).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
