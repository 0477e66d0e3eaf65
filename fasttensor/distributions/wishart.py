"""The Wishart distribution."""
import math
import warnings
from numbers import Number

import fasttensor as torch

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import Scaled, _half_log_det

__all__ = ["Wishart"]


def _mvdigamma(x, p):
    """The derivative of log Gamma_p, the multivariate Gamma function's logarithm; x above (p - 1) / 2."""
    if not (x > (p - 1) / 2).all():
        raise AssertionError(f"x must be greater than (p - 1) / 2 = {(p - 1) / 2}, got {x}")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


class Wishart(Scaled, ExponentialFamily):
    """Sums of outer products of ``df`` normal vectors of mean zero: positive definite matrices ``[..., p, p]``.

    The vectors' covariance is given as ``covariance_matrix``, ``precision_matrix`` or ``scale_tril`` (exactly one, else AssertionError); df,
    which need not be whole, is above p - 1, else ValueError. Sampled by Bartlett's decomposition; matrices that are singular to rounding
    are drawn again, ``max_try_correction`` times at most.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import Wishart
    >>> Wishart(torch.tensor([4.0]), torch.eye(2)).mean
    tensor([[[4., 0.],
             [0., 4.]]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _keeps = ("_unbroadcasted_scale_tril",)
    _not_one = AssertionError

    _saved_for_pytorch = ("_batch_dims",)

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        if isinstance(df, Number):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device).expand(batch_shape)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        p = matrix.shape[-1]
        if (self.df <= p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if (self.df < p).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(name, matrix)
        self._dist_chi2 = self._diagonal_squares()

    @property
    def _batch_dims(self):
        return [-1 - dim for dim in range(len(self._batch_shape))]

    @property
    def arg_constraints(self):
        matrices = {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                    "scale_tril": constraints.lower_cholesky}
        return {**matrices, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._dist_chi2 = new._diagonal_squares()
        return new

    def _diagonal_squares(self):
        """The distribution of the squared diagonal in Bartlett's decomposition."""
        rows = torch.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - rows.expand(self._batch_shape + (-1,)))

    @property
    def mean(self):
        return self.df.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan).unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df.unsqueeze(-1).unsqueeze(-1) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape=torch.Size()):
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(p, p, offset=-1)
        shape = torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., i, j] = torch.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _whole_batch(self, found):
        """Whether it is found in any element of the batch."""
        return found.flatten(found.dim() - len(self._batch_shape)).any(-1) if self._batch_shape else found

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        sample_shape = torch.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        good = self.support.check(sample)
        if not good.all():
            warnings.warn("Singular sample detected.", stacklevel=2)
        # PyTorch draws once more what is not singular; the same is done here, so that a seed gives the same matrices
        again = self._whole_batch(good)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            fresh = self._bartlett_sampling(again[again].shape)
            sample[again] = fresh
            # a new mask: the old one belongs to the graph of the samples
            again, old = again.clone(), again
            again[old] = self._whole_batch(~self.support.check(fresh))
        return sample

    def log_prob(self, value):
        self._check(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * math.log(2) / 2 + _half_log_det(factor)) - torch.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        return ((p + 1) * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril)) + torch.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        shape = y + (p + 1) / 2
        return shape * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(shape, p=p)
