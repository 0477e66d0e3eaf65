"""Multivariate normal distributions whose covariance is a low-rank matrix plus a diagonal."""
import math

import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, _half_log_det
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(factor, diagonal):
    """The Cholesky factor of the capacitance matrix I + W^T D^-1 W, of the small size."""
    capacitance = (factor.mT / diagonal.unsqueeze(-2)) @ factor
    return torch.linalg.cholesky(capacitance + torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device))


def _batch_lowrank_logdet(factor, diagonal, capacitance_tril):
    """log |W W^T + D| by the matrix determinant lemma."""
    return 2 * _half_log_det(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor, diagonal, x, capacitance_tril):
    """x^T (W W^T + D)^-1 x by the Woodbury identity."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    return (x.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(scaled, x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` ``[..., n]`` and covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``, with a factor ``[..., n, m]``
    of few columns. Densities cost n m^2 instead of n^3. ValueError where shapes do not fit.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import LowRankMultivariateNormal
    >>> m = LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> m.variance
    tensor([2., 1.])
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _expands = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    _keeps = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}") from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        return (self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag).expand(self._batch_shape + self._event_shape)

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape * 2)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        # W W^T + D = D^1/2 (I + V V^T) D^1/2 keeps the eigenvalues of what is factored at one or above
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = scaled @ scaled.mT + torch.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._whole(root * torch.linalg.cholesky(inner))

    @lazy_property
    def covariance_matrix(self):
        """The covariance as a full matrix."""
        factor = self._unbroadcasted_cov_factor
        return self._whole(factor @ factor.mT + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by the Woodbury identity."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        root = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._whole(torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - root.mT @ root)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        shared = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        own = _standard_normal(shape, **options)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, shared) + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_det(self):
        return _batch_lowrank_logdet(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_lowrank_mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self):
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)
