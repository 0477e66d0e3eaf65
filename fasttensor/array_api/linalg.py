"""The standard's linear algebra, of matrices in the last two axes."""
from typing import NamedTuple

import fasttensor as torch
from fasttensor import Tensor

from .data_types import promoted
from .statistical import _sum_dtype

__all__ = ["cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1, x2, /):
    """Products of matrices and vectors."""
    x1, x2 = promoted(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: expected arrays of at least one dimension, got a 0-d array")
    return torch.matmul(x1, x2)


def matrix_transpose(x, /):
    """Rows and columns exchanged; ValueError below two dimensions."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions, got shape {tuple(x.shape)}")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over the last axes of x1 and the first of x2, or over pairs of axes."""
    x1, x2 = promoted(x1, x2)
    return torch.tensordot(x1, x2, dims=axes if isinstance(axes, int) else tuple(list(a) for a in axes))


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along an axis, where x1 is conjugated."""
    x1, x2 = promoted(x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < max(x1.ndim, x2.ndim):
        raise IndexError(f"vecdot: axis {axis} is out of range for shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: axis {axis} of shapes {tuple(x1.shape)} and {tuple(x2.shape)} differ")
    x1, x2 = torch.broadcast_tensors(x1, x2)
    if x1.dtype.is_floating_point or x1.dtype.is_complex:
        return torch.linalg.vecdot(x1, x2, dim=axis)
    return torch.sum(x1 * x2, axis, dtype=x1.dtype)


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive-definite matrices."""
    return torch.linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements."""
    x1, x2 = promoted(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: axis {axis} of shapes {tuple(x1.shape)} and {tuple(x2.shape)} must have size 3")
    x1, x2 = torch.broadcast_tensors(x1, x2)
    return torch.linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """Determinants."""
    return torch.linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices."""
    return torch.diagonal(x, offset, -2, -1)


def eig(x, /):
    """Complex eigenvalues and eigenvectors of square matrices."""
    return EigResult(*torch.linalg.eig(x))


def eigvals(x, /):
    """Complex eigenvalues of square matrices."""
    return torch.linalg.eigvals(x)


def eigh(x, /):
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*torch.linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues of Hermitian matrices."""
    return torch.linalg.eigvalsh(x)


def inv(x, /):
    """Inverses."""
    return torch.linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices."""
    return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_power(x, n, /):
    """Powers of square matrices by an integer."""
    return torch.linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are larger than rtol times the largest."""
    if x.ndim < 2:
        raise ValueError(f"matrix_rank: expected at least 2 dimensions, got shape {tuple(x.shape)}")
    return torch.linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """The products of all pairs of two vectors' elements."""
    return torch.outer(*promoted(x1, x2))


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses, in which singular values below rtol times the largest count as zero."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    return torch.linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """An orthonormal and an upper triangular factor; mode is 'reduced' or 'complete'."""
    return QRResult(*torch.linalg.qr(x, mode))


def slogdet(x, /):
    """Signs and logarithms of absolute values of determinants."""
    return SlogdetResult(*torch.linalg.slogdet(x))


def solve(x1, x2, /):
    """The solutions of linear systems; x2 is a vector only where it has one dimension."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return torch.linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    shape = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return torch.linalg.solve(x1.expand(*shape, *x1.shape[-2:]), x2.expand(*shape, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    """Singular value decompositions."""
    return SVDResult(*torch.linalg.svd(x, full_matrices))


def svdvals(x, /):
    """Singular values, largest first."""
    return torch.linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals; integers are added as int64.

    >>> import fasttensor as torch
    >>> trace(torch.eye(3))
    tensor(3.)
    """
    return torch.sum(diagonal(x, offset=offset), -1, dtype=_sum_dtype(x, dtype))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along axes, or of all elements."""
    if axis == ():
        shape = x.shape
        return torch.linalg.vector_norm(x.unsqueeze(-1), ord, -1).reshape(shape)
    return torch.linalg.vector_norm(x, ord, axis, keepdims)
