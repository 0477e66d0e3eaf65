"""Divergences between distributions of two families: -E_p log q(x), from moments of p, less the entropy of p.

A divergence is infinite where p has points that q excludes.
"""
import math

import fasttensor as torch

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

inf = math.inf

# --- moments of p ---


def _x_log_x(x):
    return torch.special.xlogy(x, x)


def _mean_of_log(p):
    """E log x."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1      # Uniform


def _mean_of_log_rest(p):
    """E log(1 - x), Uniform."""
    return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1


def _mean_of_exp(p, q):
    """E exp(-(x - loc) / scale) with the loc and scale of q."""
    if isinstance(p, Uniform):
        low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
        return (torch.exp(-low) - torch.exp(-high)) / (high - low)
    if isinstance(p, Normal):
        return torch.exp((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2))
    start = torch.exp(q.loc / q.scale)
    if isinstance(p, Exponential):
        return start * p.rate / (p.rate + 1 / q.scale)
    return start * (1 + 1 / (p.rate * q.scale)).pow(-p.concentration)       # Gamma


# --- E_p log q ---

def _log_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _log_gamma(p, q):
    return q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _mean_of_log(p) - q.rate * p.mean


def _log_normal(p, q):
    return -0.5 * math.log(2 * math.pi) - q.scale.log() - (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def _log_uniform(p, q):
    return -(q.high - q.low).log()


def _log_continuous_bernoulli(p, q):
    return p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()


def _log_gumbel(p, q):
    return -q.scale.log() - (p.mean - q.loc) / q.scale - _mean_of_exp(p, q)


def _log_beta(p, q):
    a, b = q.concentration1, q.concentration0
    return (a + b).lgamma() - a.lgamma() - b.lgamma() + (a - 1) * _mean_of_log(p) + (b - 1) * _mean_of_log_rest(p)


def _log_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_of_log(p)


_EXPECTED = {Exponential: _log_exponential, Gamma: _log_gamma, Normal: _log_normal, Uniform: _log_uniform,
             ContinuousBernoulli: _log_continuous_bernoulli, Gumbel: _log_gumbel, Beta: _log_beta, Pareto: _log_pareto}


def _finite(type_p, type_q, infinite=None):
    """Register the divergence, infinite where `infinite(p, q)` says so."""
    expected = _EXPECTED[type_q]

    @register_kl(type_p, type_q)
    def divergence(p, q):
        kl = -p.entropy() - expected(p, q)
        return kl if infinite is None else kl.masked_fill(infinite(p, q), inf)


def _around_unit_interval(p, q):
    return (q.low > 0) | (q.high < 1)


def _not_in_unit_interval(p, q):
    return (p.low < 0) | (p.high > 1)


for _q in (ContinuousBernoulli, Exponential, Gamma, Normal):
    _finite(Beta, _q)
_finite(Beta, Uniform, _around_unit_interval)
for _q in (Exponential, Normal):
    _finite(ContinuousBernoulli, _q)
_finite(ContinuousBernoulli, Uniform, _around_unit_interval)
for _q in (Gamma, Gumbel, Normal):
    _finite(Exponential, _q)
for _q in (Exponential, Gumbel, Normal):
    _finite(Gamma, _q)
for _p in (Gumbel, Laplace):
    _finite(_p, Normal)
_finite(Normal, Gumbel)
for _q in (Exponential, Gamma):
    _finite(Pareto, _q, lambda p, q: p.alpha <= 1)
_finite(Pareto, Normal, lambda p, q: p.alpha <= 2)
for _q in (Beta, ContinuousBernoulli):
    _finite(Uniform, _q, _not_in_unit_interval)
for _q in (Exponential, Gamma):
    _finite(Uniform, _q, lambda p, q: p.low < 0)
for _q in (Gumbel, Normal):
    _finite(Uniform, _q)
_finite(Uniform, Pareto, lambda p, q: p.low < q.scale)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    away = p.loc - q.loc
    scaled = away / p.scale
    # E |x - q.loc|, the mean of a folded normal number
    distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * scaled.pow(2)) + away * torch.erf(scaled / math.sqrt(2))
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _infinite(p, q):
    given = p.mean
    return torch.full(torch.broadcast_shapes(p.batch_shape, q.batch_shape), inf, dtype=given.dtype, device=given.device)


_ALWAYS_INFINITE = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Poisson: (Bernoulli, Binomial),
    **dict.fromkeys((Exponential, Gamma), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    **dict.fromkeys((Gumbel, Laplace, Normal), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
}
for _p, _kinds in _ALWAYS_INFINITE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
