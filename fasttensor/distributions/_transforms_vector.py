"""Transforms of vectors and matrices, and of parts along a dimension."""
import math

import fasttensor as torch
from fasttensor.nn.functional import logsigmoid, pad, softplus

from . import constraints
from ._transform import Transform, _enough_dims
from .utils import _sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform", "StackTransform",
           "StickBreakingTransform"]


class _PlainVector(Transform):
    def __eq__(self, other):
        return isinstance(other, type(self))


class SoftmaxTransform(_PlainVector):
    """Vectors to the simplex by ``softmax``: not one to one, but every coordinate is treated alike.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import SoftmaxTransform
    >>> SoftmaxTransform()(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _enough_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_PlainVector):
    """Vectors of n - 1 numbers to the simplex of n: each number says which part of what is left is broken off (one to one).

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import StickBreakingTransform
    >>> StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _shift(like, n):
        """log(n - k) for break k = 0 .. n - 1 of n: equal parts at zero."""
        return (n + 1 - like.new_ones(n).cumsum(-1)).log()

    def _call(self, x):
        part = torch.sigmoid(x - self._shift(x, x.shape[-1]))
        left = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        most = y[..., :-1]
        left = torch.clamp(1 - most.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return most.log() - left.log() + self._shift(y, most.shape[-1])

    def log_abs_det_jacobian(self, x, y):
        x = x - self._shift(x, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        _enough_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        _enough_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlation matrices.

    Each row breaks a stick of length one with parts tanh(x) (Lewandowski, Kurowicka and Joe, "Generating random correlation
    matrices based on vines and extended onion method", 2009). ValueError for other lengths.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import CorrCholeskyTransform
    >>> CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        step = torch.finfo(x.dtype).eps
        part = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + step, max=1 - step), diag=-1)
        left = (1 - part ** 2).sqrt().cumprod(-1)
        part = part + torch.eye(part.shape[-1], dtype=part.dtype, device=part.device)
        return part * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = 1 - torch.cumsum(y * y, dim=-1)
        left = pad(left[..., :-1], [1, 0], value=1)
        part = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (part.log1p() - (-part).log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        sticks = 0.5 * left.log().sum(-1)
        return sticks - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        _enough_dims(shape, 1)
        size = shape[-1]
        n = round((0.25 + 2 * size) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != size:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        _enough_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(_PlainVector):
    """Square matrices to lower triangular ones with a positive diagonal: the upper part is dropped.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import LowerCholeskyTransform
    >>> LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_PlainVector):
    """Square matrices to positive definite ones, the products of a :class:`LowerCholeskyTransform`'s factor with its transpose.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import PositiveDefiniteTransform
    >>> PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class _Parts(Transform):
    """Maps of parts along a dimension."""

    def __init__(self, tseq, dim, cache_size):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    def _call(self, x):
        return self._join([t(part) for t, part in zip(self.transforms, self._cut(x))])

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._cut(y))])

    def _must_have_dim(self, x):
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for input with {x.dim()} dimensions")


class CatTransform(_Parts):
    """Maps of pieces of given ``lengths`` along ``dim``, joined again; each may be a map of vectors that keeps its length.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import CatTransform
    >>> from fasttensor.distributions import ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], 0, [1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match tseq ({len(self.transforms)})")

    @property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _cut(self, x):
        self._must_have_dim(x)
        if x.size(self.dim) != self.length:
            raise AssertionError(f"dimension {self.dim} has size {x.size(self.dim)}, but the lengths {self.lengths} make {self.length}")
        return x.split(self.lengths, self.dim)

    def _join(self, parts):
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, a, b in zip(self.transforms, self._cut(x), self._cut(y)):
            terms.append(_sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        # the pieces lie along a batch dimension, or inside of the point
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """A map for each slice along ``dim``.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import StackTransform
    >>> from fasttensor.distributions import ExpTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform], 1)(torch.zeros(2, 2))
    tensor([[1., 0.],
            [1., 0.]])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _cut(self, x):
        self._must_have_dim(x)
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(f"dimension {self.dim} has size {x.size(self.dim)}, but there are {len(self.transforms)} transforms")
        return x.unbind(self.dim)

    def _join(self, parts):
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        return self._join([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._cut(x), self._cut(y))])

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
