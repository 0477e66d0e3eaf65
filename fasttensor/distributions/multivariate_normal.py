"""The multivariate normal distribution."""
import math

import fasttensor as torch

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix, vector):
    """Products of matrices ``[..., n, m]`` and vectors ``[..., m]``, broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _solved(factor, x):
    """L^-1 x for lower triangular matrices ``[..., n, n]`` and vectors ``[..., n]``, broadcast."""
    if factor.dim() == 2:
        # one matrix: all vectors are columns of one system
        rows = x.reshape(-1, x.shape[-1])
        return torch.linalg.solve_triangular(factor, rows.mT, upper=False).mT.reshape(x.shape)
    return torch.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False).squeeze(-1)


def _batch_mahalanobis(factor, x):
    """x^T (L L^T)^-1 x."""
    return _solved(factor, x).pow(2).sum(-1)


def _half_log_det(factor):
    """Half the log determinant of L L^T."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse of P: with rows and columns reversed, P = U U^T for an upper triangular U, and P^-1 = (U^-T)(U^-T)^T."""
    upper = torch.flip(torch.linalg.cholesky(torch.flip(precision, (-2, -1))), (-2, -1)).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(upper, identity, upper=False)


class Scaled:
    """Matrix parameters of which one is given: a covariance, its inverse, or its Cholesky factor, which `_unbroadcasted_scale_tril` holds."""

    _MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")

    @classmethod
    def _one_matrix(cls, *matrices):
        """(name, matrix) of the one that is given."""
        given = [(name, m) for name, m in zip(cls._MATRICES, matrices) if m is not None]
        if len(given) != 1:
            raise cls._not_one("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        return name, matrix

    def _factor(self, name, matrix):
        if name == "scale_tril":
            return matrix
        return torch.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance, of shape ``batch_shape + (n, n)``."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance, of shape ``batch_shape + (n, n)``."""
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, of shape ``batch_shape + (n, n)``."""
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(Scaled, Distribution):
    """Normal vectors of mean ``loc`` ``[..., n]`` and a covariance, given as ``covariance_matrix``, its inverse ``precision_matrix`` or its
    Cholesky factor ``scale_tril`` (the cheapest). ValueError unless it is exactly one of them.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import MultivariateNormal
    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _expands = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _keeps = ("_unbroadcasted_scale_tril",)
    _not_one = ValueError

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(name, matrix)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):
        noise = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + _half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)
