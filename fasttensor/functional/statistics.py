"""Small results from whole tensors: trace, cross, vander, cov, corrcoef, equal, allclose, isclose."""
import warnings

from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import flag, int_of, optional_tensor, real_number
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.matmul import Cross
from fasttensor.functional.arguments import backend, description, need_tensor, with_out_apart, wrap
from fasttensor.functional.common import check_tensor
from fasttensor.functional.dims import numpy_axis

__all__ = ["trace", "cross", "vander", "cov", "corrcoef", "equal", "allclose", "isclose"]


def trace(input):
    """The sum of the diagonal of a matrix.

    Any dtype; integers give int64. RuntimeError for what is no matrix.

    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    need_tensor(input, "trace")
    if input.dtype.code == 0:
        raise NotImplementedError(f"trace(): not implemented for {description(input)}: convert with .int()")
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()} ({description(input)})")
    return input.diagonal().sum()


@with_out_apart
def cross(input, other, dim=None, **names):
    """The cross product of vectors of size 3 along dim (default: the first dimension of that size).

    Any numeric dtype; shapes broadcast. Raises RuntimeError where no dimension, or the one named, has size 3.

    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if names:
        dim = numpy_axis("cross", names, dim)
    check_tensor("cross", input, other)
    need_tensor(input, "cross")
    need_tensor(other, "cross", "other", 2)
    if input.dim() != other.dim():
        raise RuntimeError(f"cross: inputs must have the same number of dimensions, got {description(input)} and {description(other)}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"cross: inputs must have one dtype, got {description(input)} and {description(other)}: convert one with .to()")
    a, b = input, other
    if a.shape != b.shape:
        from fasttensor.functional.rearranging import broadcast_tensors
        a, b = broadcast_tensors(input, other)
    if dim is None:
        warnings.warn("Using torch.cross without specifying the dim arg is deprecated: the first dimension of size 3 is taken, where linalg.cross"
                      " takes the last", stacklevel=3)
        sizes = [d for d, n in enumerate(a.shape) if n == 3]
        if not sizes:
            raise RuntimeError(f"cross: no dimension of size 3 in input {description(input)}")
        dim = sizes[0]
    dim = wrap(a, dim, "cross")
    if not a.dim() or a.shape[dim] != 3:
        raise RuntimeError(f"cross: inputs dimension {dim} must have length 3. Got {description(input)} and {description(other)}")
    if a.dtype.name == "bool":
        raise NotImplementedError(f"cross: not implemented for bool, got {description(input)} and {description(other)}: convert with .int()")
    return apply(Cross, a, b, dim)


def linalg_cross(input, other, *, dim=-1, out=None, **names):
    """The cross product of vectors of size 3 along dim, the other dimensions broadcasting.

    Any numeric dtype. Raises RuntimeError where the dimension does not have size 3.

    >>> torch.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if names:
        dim = numpy_axis("linalg.cross", names, dim, -1)
    check_tensor("linalg.cross", input, other)
    if input.dim() != other.dim():
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {description(input)} and {description(other)}")
    d = wrap(input, dim, "linalg.cross")
    if not input.dim() or input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {description(input)} and {description(other)}")
    return cross(input, other, d, out=out)


def vander(x, N=None, increasing=False):
    """Rows of powers of each element of x[..., n]: [..., n, N], falling unless increasing.

    Any numeric dtype. RuntimeError for a negative `N` and for what is not 1-d.

    >>> torch.vander(torch.tensor([1, 2, 3]), 3)
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    need_tensor(x, "vander", "x", 1)
    if x.dim() != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor, got {description(x)}.")
    N = None if N is None else int_of(N, "vander", "N", 2)
    if N is not None and N < 0:
        raise RuntimeError(f"vander(): N must be non-negative, got {N}.")
    return powers(x, x.shape[0] if N is None else N, increasing)


def powers(x, count, increasing):
    if not x.is_floating_point() and not x.is_complex():
        x = x.long()
    if count == 0:
        return x.new_empty((*x.shape, 0))
    from fasttensor.functional.joining import cat
    from fasttensor.functional.scan import cumprod
    ones, column = x.new_ones((*x.shape, 1)), x.unsqueeze(-1)
    columns = [ones, cumprod(column.expand(*x.shape, count - 1), -1)] if count > 1 else [ones]
    return cat(columns, -1) if increasing else cat(columns, -1).flip(-1)


def linalg_vander(x, *, N=None):
    """Rows of rising powers of each element of x[..., n]: [..., n, N].

    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    need_tensor(x, "linalg_vander", "x", 1)
    if N is not None:
        N = int_of(N, "linalg_vander", "N")
    if N is not None and N <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {N}")
    x = x if x.dim() else x.reshape(1)
    return powers(x, x.shape[-1] if N is None else N, True)


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables in rows and observations in columns (a 1-d input is one variable).

    fweights: how often to count each observation (integers). aweights: how much to trust each (floating point).

    >>> torch.cov(torch.tensor([[0., 2.], [2., 0.]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    optional_tensor(fweights, "cov", "fweights", 3)
    optional_tensor(aweights, "cov", "aweights", 4)
    need_tensor(input, "cov")
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {description(input)}")
    if input.dtype.name == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.dim() < 2 else input
    n = x.shape[1]
    w = None
    for name, weights, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is None:
            continue
        if weights.dim() > 1 or weights.numel() != n or weights.is_floating_point() == integral or weights.is_complex():
            raise RuntimeError(f"cov(): expected {name} to be a 1-d tensor of {n} "
                               f"{'integers' if integral else 'floating point numbers'}, got {description(weights)}")
        if n and not weights.is_meta and not all_samples(weights.detach()).min().item() >= 0:
            raise RuntimeError(f"cov(): {name} cannot be negative")
        w = weights.reshape(-1) if w is None else w * weights.reshape(-1)
    x = x if x.is_floating_point() or x.is_complex() else x.float()
    total = n if w is None else w.sum()
    if w is not None and not total.is_meta and bool((all_samples(total) == 0).any()):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = x.mean(1, True) if w is None else (x * w).sum(1, True) / total
    if w is not None and aweights is not None and correction != 0:
        norm = total - correction * (w * aweights.reshape(-1)).sum() / total
    else:
        norm = total - correction
    if not isinstance(norm, (int, float)):
        few = not norm.is_meta and bool(all_samples(norm.detach() <= 0).any())
    else:
        few = norm <= 0
    if few:
        warnings.warn(f"cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations, got {correction} for"
                      f" {description(input)}", stacklevel=3)
    if isinstance(norm, (int, float)):
        norm = x.new_full((), max(norm, 0)).abs()
    else:
        norm = norm.clamp(min=0)
    centred = x - mean
    turned = (centred if w is None else centred * w).transpose(0, 1)
    c = centred @ (turned.conj() if turned.is_complex() else turned)
    c = c / norm
    return c.squeeze()


def corrcoef(input):
    """The correlation coefficients of variables in rows and observations in columns.

    Shape (v, n) to (v, v), or (n,) to a number; floating point or complex, integers become the default float dtype. RuntimeError for more than
    two dimensions.

    >>> torch.corrcoef(torch.tensor([[0., 2.], [2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    need_tensor(input, "corrcoef")
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got {description(input)}")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    d = c.diagonal()
    spread = (d.real if d.is_complex() else d).sqrt()
    c = c / spread.unsqueeze(1) / spread.unsqueeze(0)
    if c.is_complex():
        from fasttensor.functional.data import complex as make_complex
        return make_complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


def equal(input, other):
    """Whether both tensors have the same shape and elements, which are compared in their common dtype.

    Any dtypes; NaN equals nothing. TypeError for what is no tensor.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    need_tensor(input, "equal")
    need_tensor(other, "equal", "other", 2)
    if input.shape != other.shape:
        return False
    if input.dtype is not other.dtype:
        return bool((input.detach() == other.detach()).all())
    return backend(input).equal(input.detach(), other.detach())


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Elementwise |input - other| <= atol + rtol * |other|; equal infinities are close, NaN only with equal_nan.

    A bool tensor of the shapes broadcast. Raises RuntimeError for unlike dtypes and for negative tolerances.

    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1., 2.1]))
    tensor([ True, False])
    """
    real_number(rtol, "isclose", "rtol")
    real_number(atol, "isclose", "atol")
    flag("isclose", "equal_nan", equal_nan)
    need_tensor(input, "isclose")
    need_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"isclose(): expected both inputs to have the same dtype, got {description(input)} and {description(other)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"isclose(): {name} must be greater than or equal to zero, but got {value}")
    a, b = input.detach(), other.detach()
    close = a == b
    fractional = a.is_floating_point() or a.is_complex()
    if equal_nan and fractional:
        close = close | ((a != a) & (b != b))
    if rtol == 0 and atol == 0:
        return close
    if not fractional:
        # Differences of large integers would overflow.
        a, b = a.double(), b.double()
    gap = (a - b).abs()
    return close | ((gap <= atol + rtol * b.abs()) & (gap < float("inf")))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``isclose`` holds for all elements.

    Shapes broadcast; RuntimeError for unlike dtypes and for negative tolerances.

    >>> torch.allclose(torch.tensor([1.]), torch.tensor([1. + 1e-9]))
    True
    """
    real_number(rtol, "allclose", "rtol")
    real_number(atol, "allclose", "atol")
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


METHODS = {"trace": trace, "cross": cross, "cov": cov, "corrcoef": corrcoef, "equal": equal, "allclose": allclose, "isclose": isclose}
NN_FUNCTIONAL = []
LINALG = {"cross": linalg_cross, "vander": linalg_vander}
