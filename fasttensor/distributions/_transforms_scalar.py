"""Transforms of single numbers."""
import math
from numbers import Number

import fasttensor as torch
from fasttensor.nn.functional import softplus

from . import constraints
from ._transform import Transform
from .utils import broadcast_all, lazy_property

__all__ = ["AbsTransform", "AffineTransform", "ExpTransform", "PowerTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform",
           "CumulativeDistributionTransform"]


class _Plain(Transform):
    """A map without parameters: any two of a kind are equal."""

    domain = constraints.real
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, type(self))


class ExpTransform(_Plain):
    """y = exp(x).

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import ExpTransform
    >>> ExpTransform()(torch.zeros(2))
    tensor([1., 1.])
    """

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class SigmoidTransform(_Plain):
    """y = 1 / (1 + exp(-x)), kept inside (0, 1) by one rounding step.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import SigmoidTransform
    >>> SigmoidTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = _inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


def _inside_unit(y):
    info = torch.finfo(y.dtype)
    return torch.clamp(y, min=info.tiny, max=1.0 - info.eps)


def _clipped_sigmoid(x):
    return _inside_unit(torch.sigmoid(x))


class SoftplusTransform(_Plain):
    """y = log(1 + exp(x)).

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import SoftplusTransform
    >>> SoftplusTransform()(torch.zeros(1))
    tensor([0.6931])
    """

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Plain):
    """y = tanh(x). Prefer ``cache_size=1``: the inverse is inexact near -1 and 1.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import TanhTransform
    >>> TanhTransform()(torch.zeros(1))
    tensor([0.])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x) ** 2) without cancellation
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    """y = |x|, with y itself as the inverse's value.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import AbsTransform
    >>> AbsTransform()(torch.tensor([-2.0]))
    tensor([2.])
    """

    codomain = constraints.positive
    bijective = False
    sign = Transform.sign

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class PowerTransform(Transform):
    """y = x ** exponent, for positive x.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import PowerTransform
    >>> PowerTransform(2.0)(torch.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.exponent, = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _same(a, b):
    return a == b if isinstance(a, Number) and isinstance(b, Number) else bool((a == b).all())


class AffineTransform(Transform):
    """y = loc + scale * x; ``event_dim`` of the last dimensions make a point.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import AffineTransform
    >>> AffineTransform(1.0, 2.0)(torch.tensor([3.0]))
    tensor([7.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self):
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Number):
            result = torch.full_like(x, math.log(abs(self.scale)))
        else:
            result = torch.abs(self.scale).log()
        shape = x.shape
        if self._event_dim:
            # one factor for each element of the point, also where the scale is broadcast over it
            result = result.expand(torch.broadcast_shapes(result.shape, shape[-self._event_dim:]))
            result = result.reshape(result.shape[:-self._event_dim] + (-1,)).sum(-1)
            shape = shape[:-self._event_dim]
        return result.expand(shape)

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x) with the cdf of a distribution of numbers: uniform on [0, 1] for points of that distribution.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import CumulativeDistributionTransform
    >>> CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))(torch.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
