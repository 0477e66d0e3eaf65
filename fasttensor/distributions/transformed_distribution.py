"""Images of a distribution's points under transforms."""
import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Points of ``base_distribution`` after a transform, or a list of transforms of which the first comes first.

    ``log_prob`` is the base's at the inverse image, less the log determinants of the Jacobians. Raises ValueError for anything but
    transforms, and where the base has too few dimensions for them.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import TransformedDistribution
    >>> from fasttensor.distributions import ExpTransform, Normal
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints = {}
    _expands = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        chain = ComposeTransform(transforms)
        inner, outer = chain.domain.event_dim, chain.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < inner:
            raise ValueError(f"base_distribution needs to have shape with size at least {inner}, but got {base_shape}.")
        base_dims = len(base_distribution.event_shape)
        shape = chain.forward_shape(base_shape)
        needed = chain.inverse_shape(shape)
        if needed != base_shape:
            # parameters of the transforms are broadcast over the base
            base_distribution = base_distribution.expand(needed[:len(needed) - base_dims])
        if inner > base_dims:
            base_distribution = Independent(base_distribution, inner - base_dims)
        self.base_dist = base_distribution
        cut = len(shape) - max(outer, base_dims + outer - inner)
        if cut < 0:
            raise AssertionError(f"the transforms' image of shape {shape} has fewer dimensions than their codomain's events")
        super().__init__(torch.Size(shape[:cut]), torch.Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._begun(batch_shape, _instance)
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms        # their parameters are broadcast
        return self._finished(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _image(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self._image(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return self._image(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        dims, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """value, or 1 - value where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._image(self.base_dist.icdf(self._monotonize_cdf(value)))
