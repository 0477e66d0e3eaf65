"""What distributions share: broadcasting of parameters, probabilities and log-odds, triangular vectors."""
import math
from functools import update_wrapper
from numbers import Number

import fasttensor as torch
import fasttensor.nn.functional as F

__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape.

    Numbers take the dtype and device of the first tensor, or the default dtype. Raises ValueError for anything else,
    RuntimeError where shapes do not broadcast.

    >>> import fasttensor as torch
    >>> broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    first, plain = None, False
    for value in values:
        if isinstance(value, torch.Tensor):
            first = value if first is None else first
        elif isinstance(value, Number):
            plain = True
        else:
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    if plain:
        options = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
        values = [value if isinstance(value, torch.Tensor) else torch.tensor(value, **options) for value in values]
    return tuple(torch.broadcast_tensors(*values))


def _standard_normal(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def _uniform_inside(shape, like):
    """Uniform numbers of the open interval (0, 1): the ends of the dtype's range are kept away from."""
    info = torch.finfo(like.dtype)
    return like.new_empty(shape).uniform_(info.tiny, 1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log-odds (binary), or of unnormalized log probabilities along the last dimension.

    >>> import fasttensor as torch
    >>> logits_to_probs(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept at least one rounding step away from zero and one, so that their logarithms are finite."""
    step = torch.finfo(probs.dtype).eps
    return probs.clamp(min=step, max=1 - step)


def probs_to_logits(probs, is_binary=False):
    """Log-odds (binary), or logarithms of probabilities, after :func:`clamp_probs`.

    >>> import fasttensor as torch
    >>> probs_to_logits(torch.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


class lazy_property:
    """A method whose value is computed, with gradients, when it is first read, and kept from then on as a plain attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        # not a data descriptor: the attribute is found before this object from now on
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows for a lazy property: both kinds, so that documentation tools see a property."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)
        self.wrapped = wrapped


def _below_diagonal(n, diag, device):
    """The mask [n, n] of places at or below the diagonal number `diag`."""
    index = torch.arange(n, device=device)
    return index < index.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of matrices ``[..., n, n]`` as vectors, row by row; ``diag`` as in :func:`torch.tril`.

    >>> import fasttensor as torch
    >>> tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below_diagonal(n, diag, mat.device)]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of :func:`tril_matrix_to_vec`; ValueError where no square matrix has so many elements.

    >>> import fasttensor as torch
    >>> vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    # n solves: elements at or below diagonal `diag` of an n x n matrix = size
    odd, size = 1 + 2 * diag, vec.shape[-1]
    root = (-odd + math.sqrt(odd * odd + 8 * size + 4 * abs(diag) * (diag + 1))) / 2
    if abs(round(root) - root) > torch.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {size} which cannot be expressed as the lower triangular part of a square D x D matrix.")
    n = round(root)
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _below_diagonal(n, diag, vec.device)] = vec
    return mat
