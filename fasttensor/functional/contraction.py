"""Products over named dimensions: tensordot, kron and bilinear, each one matrix product or a product that broadcasts."""

from functools import lru_cache

from fasttensor._core.tensor import Tensor
from fasttensor.functional.common import give
from fasttensor.functional.einsum import run_pair
from fasttensor.functional.matmul import check_dtypes, check_tensors, matmul, numel, show

__all__ = ["kron", "tensordot"]


def tensordot(a, b, dims=2, out=None):
    """Sum of products over several dimensions at once.

    dims: an int n for the last n dimensions of `a` and the first n of `b`, or a pair of lists of dimensions. The
    result has the other dimensions of a, then those of b.
    Raises RuntimeError when the sizes of a pair differ.

    >>> torch.tensordot(torch.ones(3, 4, 5), torch.ones(4, 3, 2), dims=([1, 0], [0, 1])).shape
    torch.Size([5, 2])
    """
    check_tensors("tensordot", a, b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for {show(a, b)}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {left} and {right}")
    check_dtypes("tensordot", a, b)
    left, right = tuple(left), tuple(right)
    plan = dims_plan(a.shape, b.shape, left, right)
    if plan is not None:
        return give(out, run_pair(plan, a, b), "tensordot", True)
    left, right = wrapped(a, left), wrapped(b, right)
    for p, q in zip(left, right):
        if a.shape[p] != b.shape[q]:
            if a.shape[p] == 1:
                b = b.sum(q, keepdim=True, dtype=b.dtype)
            elif b.shape[q] == 1:
                a = a.sum(p, keepdim=True, dtype=a.dtype)
            else:
                raise RuntimeError(
                    f"tensordot: contracted dimensions need to match, but first has size {a.shape[p]} in dim "
                    f"{p} and second has size {b.shape[q]} in dim {q}"
                )
    return give(out, run_pair(dims_plan(a.shape, b.shape, tuple(left), tuple(right)), a, b), "tensordot", True)


@lru_cache(512)
def dims_plan(p, q, left, right):
    """The plan of `run_pair` for a product over the dimensions left of shape p and right of shape q; None where they do not fit."""
    m, n = len(p), len(q)
    left, right = [d + m if d < 0 else d for d in left], [d + n if d < 0 else d for d in right]
    if any(not 0 <= d < m for d in left) or any(not 0 <= d < n for d in right) or len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    if any(p[a] != q[b] for a, b in zip(left, right)):
        return None
    rest_a, rest_b = [d for d in range(m) if d not in left], [d for d in range(n) if d not in right]
    k, rows, columns = numel(p[d] for d in left), numel(p[d] for d in rest_a), numel(q[d] for d in rest_b)
    shape = tuple([p[d] for d in rest_a] + [q[d] for d in rest_b])
    order_a, order_b = tuple(rest_a + left), tuple(right + rest_b)
    return (False, order_a if order_a != tuple(range(m)) else None, (rows, k) if len(rest_a) != 1 or len(left) != 1 else None,
            order_b if order_b != tuple(range(n)) else None, (k, columns) if len(rest_b) != 1 or len(right) != 1 else None,
            None if shape == (rows, columns) else shape, None)


def wrapped(t, dims):
    found = []
    for d in dims:
        if not -t.ndim <= d < t.ndim:
            raise IndexError(
                f"tensordot: Dimension out of range (expected to be in range of [{-t.ndim}, {t.ndim - 1}], but got {d})"
            )
        found.append(d % t.ndim)
    if len(set(found)) < len(found):
        raise RuntimeError(f"tensordot: a dimension appears twice in {dims}")
    return found


def kron(input, other, *, out=None):
    """Kronecker product: every element of `input` times all of `other`. Dimensions are aligned from the right and
    the dtypes promoted.

    >>> torch.kron(torch.eye(2), torch.ones(1, 2))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    """
    check_tensors("kron", input, other)
    rank = max(input.ndim, other.ndim)
    p = (1,) * (rank - input.ndim) + tuple(input.shape)
    q = (1,) * (rank - other.ndim) + tuple(other.shape)
    a = input.reshape([size for s in p for size in (s, 1)])
    b = other.reshape([size for s in q for size in (1, s)])
    return give(out, (a * b).reshape([s * t for s, t in zip(p, q)]), "kron")


def bilinear(input1, input2, weight, bias=None):
    """``y[..., o] = sum over i, j of input1[..., i] * weight[o, i, j] * input2[..., j] + bias[o]``.

    input1: (..., in1); input2: (..., in2) with the same leading sizes; weight: (out, in1, in2); bias: (out,) or None.

    dtypes: floating point or complex, all the same. RuntimeError where the last dimensions do not fit the weight.

    >>> F = torch.nn.functional
    >>> F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    check_tensors("bilinear", input1, input2, weight, *(() if bias is None else (bias,)))
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {show(input1, input2)}")
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): the inputs' last sizes do not match the weight's: got {show(input1, input2)} with "
            f"weight {show(weight)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {show(bias)} and {show(weight)}")
    check_dtypes("bilinear", input1, input2, weight)
    outs, in1, in2 = weight.shape
    lead, rows = tuple(input1.shape[:-1]), numel(input1.shape[:-1])
    left = matmul(input1.reshape(rows, in1), weight.transpose(0, 1).reshape(in1, outs * in2)).reshape(rows, outs, in2)
    product = matmul(left, input2.reshape(rows, in2, 1)).reshape(lead + (outs,))
    return product if bias is None else product + bias


METHODS = {"kron": kron}
NN_FUNCTIONAL = ["bilinear"]
