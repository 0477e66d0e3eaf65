"""Divergences between distributions of one family."""
import math

import fasttensor as torch
from fasttensor.nn.functional import softplus

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

inf = math.inf


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    yes = yes.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    return yes + no.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return kl.masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._cont_bern_log_norm() - torch.log1p(-q.probs)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def _dirichlet(a, b):
    """Of concentrations along the last dimension."""
    total_a, total_b = a.sum(-1), b.sum(-1)
    normalizers = total_a.lgamma() - total_b.lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - total_a.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    return _dirichlet(p.concentration, q.concentration)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    return _dirichlet(p._dirichlet.concentration, q._dirichlet.concentration)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a) + (a - b) * torch.digamma(a)
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer, whose gradient comes from autograd."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using Bregman divergences")
    own = [x if x.requires_grad else x.detach().requires_grad_() for x in p._natural_params]
    with torch.enable_grad():
        normalizer = p._log_normalizer(*own)
        slopes = torch.autograd.grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(own, q._natural_params, slopes):
        result = result - _sum_rightmost((other - mine) * slope, len(q.event_shape))
    return result


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return shift - ratio.log() + ratio * euler_constant + torch.exp((1 + ratio).lgamma() - shift) - (1 + euler_constant)


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    """Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return kl.masked_fill(p.scale < q.scale, inf)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), inf)


# --- normal vectors: 2 KL = log det q - log det p + tr(q^-1 p) + distance - n ---

def _of_one_size(p, q, what):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed: got {p.event_shape} and {q.event_shape}")


def _log_det(d):
    return d._log_det() if isinstance(d, LowRankMultivariateNormal) else 2 * _half_log_det(d._unbroadcasted_scale_tril)


def _columns(d):
    """Matrices whose products with their transposes add up to the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return [d._unbroadcasted_cov_factor, torch.diag_embed(d._unbroadcasted_cov_diag.sqrt())]
    return [d._unbroadcasted_scale_tril]


def _trace_and_distance(p, q):
    away = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        weight, diagonal, inner = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
        scaled = torch.linalg.solve_triangular(inner, weight.mT / diagonal.unsqueeze(-2), upper=False)
        if isinstance(p, LowRankMultivariateNormal):
            own = (p._unbroadcasted_cov_diag / diagonal).sum(-1) + (p._unbroadcasted_cov_factor.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1))
            removed = ((scaled @ p._unbroadcasted_cov_factor).pow(2).sum((-2, -1))
                       + (scaled.pow(2) * p._unbroadcasted_cov_diag.unsqueeze(-2)).sum((-2, -1)))
        else:
            own = (p._unbroadcasted_scale_tril.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1))
            removed = (scaled @ p._unbroadcasted_scale_tril).pow(2).sum((-2, -1))
        return own - removed, _batch_lowrank_mahalanobis(weight, diagonal, away, inner)
    factor = q._unbroadcasted_scale_tril
    trace = 0
    for columns in _columns(p):
        shape = torch.broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
        solved = torch.linalg.solve_triangular(factor.expand(shape + factor.shape[-2:]), columns.expand(shape + columns.shape[-2:]), upper=False)
        trace = trace + solved.pow(2).sum((-2, -1))
    return trace, _batch_mahalanobis(factor, away)


def _kl_normal_vectors(p, q):
    both = isinstance(p, MultivariateNormal) and isinstance(q, MultivariateNormal)
    _of_one_size(p, q, "Multivariate Normals" if both else "(Low Rank) Multivariate Normals")
    trace, distance = _trace_and_distance(p, q)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_kl_normal_vectors)


# --- distributions made of others ---

@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms:
        raise NotImplementedError("KL between TransformedDistributions needs equal transforms")
    if p.event_shape != q.event_shape:
        raise NotImplementedError(f"KL between TransformedDistributions needs equal event shapes, got {p.event_shape} and {q.event_shape}")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL between Independents needs the same number of reinterpreted dimensions, got "
                                  f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
