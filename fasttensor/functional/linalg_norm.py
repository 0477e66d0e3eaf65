"""The norms of ``linalg``: of vectors, of matrices, and the one that chooses between them."""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import flag, int_of
from fasttensor.functional.dims import deliver, numpy_names, require_float, tensor_argument, wrap_all
from fasttensor.functional.distance import INF, vector

__all__ = ["nuclear_norm", "frobenius_norm", "norm_except_dim"]
METHODS = {}


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None, **names):
    """(sum |x|^ord)^(1/ord) over all elements or `dim`; inf, -inf and 0 are the largest, the smallest and the count of nonzeros.

    Shape: `dim` dropped, or with keepdim of size 1. dtypes: floating point or complex, which gives its real dtype, or `dtype`. Raises
    RuntimeError for integers, IndexError for a dimension out of range.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if names:
        dim, keepdim = numpy_names("vector_norm", names, dim, keepdim)
    flag("vector_norm", "keepdim", keepdim)
    return vector("linalg.vector_norm", x, ord, dim, keepdim, dtype, out)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None, **names):
    """Norm of matrices over two dimensions: "fro", "nuc", 1, -1, inf, -inf (sums of columns or rows), 2, -2 (singular values).

    Shape (..., m, n) to (...), or with keepdim (..., 1, 1). dtypes: floating point or complex, which gives its real dtype. Raises RuntimeError
    for another `ord` and for fewer than two dimensions.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if names:
        dim, keepdim = numpy_names("matrix_norm", names, dim, keepdim, (-2, -1))
    flag("matrix_norm", "keepdim", keepdim)
    name = "linalg.matrix_norm"
    tensor_argument(name, A)
    A = A if dtype is None else A.to(dtype)
    require_float(A, name)
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions, got {description(A)}")
    dim = tuple(dim) if not hasattr(dim, "__index__") else (dim,)
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple, got {dim}")
    rows, columns = wrap_all(A, dim, name)
    if ord == "fro":
        return vector(name, A, 2, (rows, columns), keepdim, None, out)
    if isinstance(ord, str) and ord != "nuc" or not isinstance(ord, str) and abs(ord) not in (1, 2, INF):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if ord == "nuc" or abs(ord) == 2:
        values = singular_values(A, rows, columns)
        y = values.sum(-1) if ord == "nuc" else largest(values, -1, False) if ord == 2 else values.amin(-1)
        if keepdim:
            for d in sorted((rows, columns)):
                y = y.unsqueeze(d)
        return deliver(name, out, y, True)
    along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector(name, A, 1, along, True, None, None)
    y = largest(sums, across, True) if ord > 0 else sums.amin(across, True)
    if not keepdim:
        y = y.squeeze(max(rows, columns)).squeeze(min(rows, columns))
    return deliver(name, out, y, True)


def largest(x, dim, keepdim):
    """The largest norm; 0 where there is none."""
    return x.amax(dim, keepdim) if x.shape[dim] else x.sum(dim, keepdim)


def singular_values(A, rows, columns):
    from fasttensor import linalg
    order = [d for d in range(A.ndim) if d not in (rows, columns)] + [rows, columns]
    return linalg.svdvals(A.permute(order))


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None, **names):
    """The 2-norm of all elements without `ord`; else a vector norm over one dimension or a matrix norm over two.

    >>> torch.linalg.norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 1)
    tensor(4.)
    """
    if names:
        dim, keepdim = numpy_names("norm", names, dim, keepdim)
    flag("norm", "keepdim", keepdim)
    tensor_argument("linalg.norm", A)
    if ord is None:
        return vector("linalg.norm", A, 2, dim, keepdim, dtype, out)
    dims = None if dim is None else (dim,) if hasattr(dim, "__index__") else tuple(dim)
    if dims is None and A.ndim not in (1, 2) or dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D, and dim must name one or two"
                           f" dimensions; got {description(A)}, dim={dim}")
    if len(dims) == 2 if dims is not None else A.ndim == 2:
        return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: Order {ord} not supported for vectors.")
    return vector("linalg.norm", A, ord, dims, keepdim, dtype, out)


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None, **names):
    """The sum of the singular values of matrices over two dimensions.

    Shape (m, n) to a number, or (..., m, n) with two `dim` to (...). dtypes: floating point or complex, which gives its real dtype.

    >>> torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    if names:
        dim, keepdim = numpy_names("nuclear_norm", names, dim, keepdim, (-2, -1))
    return matrix_norm(input, "nuc", dim, keepdim, out=out)


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of the squared absolute values, over `dim`.

    Shape: `dim` dropped, or with keepdim of size 1. dtypes: floating point or complex, which gives its real dtype.

    >>> torch.frobenius_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return vector("frobenius_norm", input, 2, dim, keepdim, None, out)


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but `dim`, which are kept with size 1; dim=-1: over all of them.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    tensor_argument("norm_except_dim", v)
    if dim == -1:
        return vector("norm_except_dim", v, pow, None, False, None, None)
    keep, = wrap_all(v, dim, "norm_except_dim")
    others = [d for d in range(v.ndim) if d != keep]
    return vector("norm_except_dim", v, pow, others, True, None, None) if others else v.abs()


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of the diagonals of matrices: `torch.diagonal` over the last two dimensions.

    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    offset = int_of(offset, "diagonal", "offset")
    dim1 = int_of(dim1, "diagonal", "dim1")
    dim2 = int_of(dim2, "diagonal", "dim2")
    return tensor_argument("linalg.diagonal", A).diagonal(offset, dim1, dim2)


LINALG = ["vector_norm", "matrix_norm", "norm", "diagonal"]
