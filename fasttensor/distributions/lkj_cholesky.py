"""Random correlation matrices."""
import math

import fasttensor as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of ``dim`` x ``dim`` correlation matrices with density proportional to det(L L^T) ** (concentration - 1), one for uniform.

    Sampled row by row, the onion method of Lewandowski, Kurowicka and Joe ("Generating random correlation matrices based on vines and
    extended onion method", 2009). ValueError for dim < 2.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import LKJCholesky
    >>> LKJCholesky(3, 0.5).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expands = {"concentration": 0, "_beta": 1}
    _keeps = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        # row k lies in a ball of k dimensions; its squared radius is a Beta number
        below = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        below = torch.cat([below.new_zeros((1,)), below])
        self._beta = Beta(below + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * below)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            square = self._beta.sample(sample_shape).unsqueeze(-1)
            direction = torch.randn(self._extended_shape(sample_shape), dtype=square.dtype, device=square.device).tril(-1)
            direction = direction / direction.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)
            rows = square.sqrt() * direction
            diagonal = torch.clamp(1 - (rows ** 2).sum(-1), min=torch.finfo(rows.dtype).tiny).sqrt()
            return rows + torch.diag_embed(diagonal)

    def log_prob(self, value):
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        less = self.dim - 1
        top = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + torch.mvlgamma(top - 0.5, less) - torch.lgamma(top) * less
        return (powers * diagonal.log()).sum(-1) - normalizer
