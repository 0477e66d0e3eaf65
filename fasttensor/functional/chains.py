"""Products of many matrices, powers, and dot products along a dimension."""

import warnings
from importlib import import_module

from fasttensor.autograd.checks import int_of, need_tensor
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.matmul import Unit
from fasttensor.functional.common import give
from fasttensor.functional.dims import numpy_axis
from fasttensor.functional.matmul import check_dtypes, check_tensors, matmul, mm, show

__all__ = ["chain_matmul", "matrix_power"]


def chain_matmul(*matrices, out=None):
    """Product of 2-d tensors in the cheapest order; see `linalg.multi_dot`.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 5)).shape
    torch.Size([2, 5])
    """
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    warnings.warn("torch.chain_matmul is deprecated. Use torch.linalg.multi_dot instead, which takes a list of tensors.", stacklevel=2)
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for place, m in enumerate(matrices):
        if need_tensor(m, "chain_matmul", "matrices", place + 1).ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor {place} must be a matrix, got {show(m)}")
    return give(out, matrices[0] if len(matrices) == 1 else multi_dot(matrices), "chain_matmul")


def multi_dot(tensors, *, out=None):
    """Product of two or more matrices, multiplied in the order that takes the fewest operations.

    The first and the last may be vectors: a row and a column, dropped from the result. The order is found by
    dynamic programming (Cormen et al., Introduction to Algorithms, 15.2).

    All of one dtype; the first and the last may be vectors. RuntimeError for fewer than two tensors and sizes that do not fit.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3), ]).shape
    torch.Size([2])
    """
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"linalg.multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    tensors = list(tensors)
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    check_tensors("multi_dot", *tensors)
    check_dtypes("multi_dot", *tensors)
    for place, t in enumerate(tensors):
        inside = 0 < place < n - 1
        if t.ndim != 2 and (inside or t.ndim != 1):
            raise RuntimeError(
                f"multi_dot(): {'tensor' if inside else 'the first and last tensors'} {place} must be "
                f"{'2D' if inside else '1D or 2D'} but got {t.ndim}D ({show(t)})"
            )
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for place in range(n - 1):
        if tensors[place].shape[1] != tensors[place + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(tensors[place].shape)} and "
                f"{list(tensors[place + 1].shape)} cannot be multiplied"
            )
    result = in_order(tensors, cheapest_order([t.shape[0] for t in tensors] + [tensors[-1].shape[1]]), 0, n - 1)
    if row:
        result = result.squeeze(0)
    if column:
        result = result.squeeze(-1)
    return give(out, result, "multi_dot", True)


def cheapest_order(sizes):
    n = len(sizes) - 1
    if n == 3:
        a, b, c, d = sizes
        return {(0, 1): 0, (1, 2): 1, (0, 2): 0 if b * c * d + a * b * d <= a * b * c + a * c * d else 1}
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return cut


def in_order(tensors, cut, i, j):
    if i == j:
        return tensors[i]
    return mm(in_order(tensors, cut, i, cut[i, j]), in_order(tensors, cut, cut[i, j] + 1, j))


def vecdot(x, y, *, dim=-1, out=None, **names):
    """Dot products of vectors along `dim`, the first conjugated; the other dimensions broadcast.

    dtypes: any numeric one, the same of both; the result lacks `dim`. RuntimeError for unlike dtypes and shapes that do not broadcast.

    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if names:
        dim = numpy_axis("vecdot", names, dim, -1)
    dim = int_of(dim, "vecdot", "dim")
    check_tensors("linalg.vecdot", x, y)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input, got {show(x)}")
    check_dtypes("linalg.vecdot", x, y)
    rank = max(x.ndim, y.ndim, 1)
    if not -rank <= dim < rank:
        raise IndexError(f"linalg.vecdot: dimension {dim} is out of range for {show(x, y)}")
    if x.ndim and y.ndim and x.shape[dim] != y.shape[dim]:
        raise RuntimeError(f"linalg.vecdot: the sizes along dim {dim} must match, got {show(x, y)}")
    return give(out, ((x.conj() if x.is_complex() else x) * y).sum(dim), "linalg.vecdot", True)


def matrix_power(input, n, *, out=None):
    """The n-th power of square matrices, by repeated squaring; n < 0 inverts first.

    input: (..., m, m). Raises RuntimeError when it is not square.

    >>> torch.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    n = int_of(n, "matrix_power", "n")
    check_tensors("linalg.matrix_power", input)
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but got {show(input)}")
    if n < 0:
        input, n = import_module("fasttensor.linalg").inv(input), -n
    if n == 0:
        from fasttensor.functional.ranges import eye

        unit = eye(input.shape[-1], dtype=input.dtype, device=input.device)
        return give(out, apply(Unit, input, unit), "linalg.matrix_power", True)
    result = None
    while n:
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        if n:
            input = matmul(input, input)
    return give(out, result.clone() if result is input else result, "linalg.matrix_power", True)


METHODS = {"matrix_power": matrix_power}
LINALG = ["multi_dot", "vecdot", "matrix_power"]
