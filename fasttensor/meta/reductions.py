"""Shapes of reductions, sorts and running sums."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import code_of, like, new

INT64 = DTYPES["int64"].code


def _kept(x, dims, keepdim):
    """The sizes that stay; dims None: all are reduced, an int: one."""
    if isinstance(dims, int):
        dims = (dims,)
    gone = range(x.ndim) if dims is None else [d % x.ndim for d in dims if x.ndim]
    return [1 if d in gone else n for d, n in enumerate(x.shape) if keepdim or d not in gone]


def sum(x, dims, keepdim, code):
    return new(_kept(x, dims, keepdim), code)


mean = nansum = prod = any = all = sum


def amax(x, dims, keepdim):
    return new(_kept(x, dims, keepdim), code_of(x))


amin = amax


def logsumexp(x, dims, keepdim):
    return amax(x, dims, keepdim)


def count_nonzero(x, dims):
    return new(_kept(x, dims, False), INT64)


def norm(x, p, dims, keepdim, code):
    return new(_kept(x, dims, keepdim), code)


def var(x, dims, correction, keepdim, root, with_mean):
    sizes = _kept(x, dims, keepdim)
    code = DTYPES[{"complex64": "float32", "complex128": "float64"}.get(x.dtype.name, x.dtype.name)].code
    return new(sizes, code), new(sizes, code_of(x)) if with_mean else None


def extreme(x, dim, keepdim, least):
    sizes = _kept(x, dim, keepdim)
    return new(sizes, code_of(x)), new(sizes, INT64)


def argextreme(x, dim, keepdim, least):
    return new(_kept(x, dim, keepdim), INT64)


def mode(x, dim, keepdim):
    return extreme(x, dim, keepdim, False)


def place(g, index, dim, n):
    return _along(g, dim, n)


def pick(x, index, dim):
    return new(index.shape, code_of(x))


def _along(x, dim, n, code=None):
    sizes = list(x.shape)
    if sizes:
        sizes[dim] = n
    return new(sizes, code_of(x) if code is None else code)


def _ordered(op, x):
    if x.dtype.is_complex:
        raise RuntimeError(f"{op}: complex numbers have no order, got {description(x)}; sort x.abs() or a part")


def sort(x, dim, descending=False, stable=True):
    _ordered("sort", x)
    return like(x), like(x, INT64)


def topk(x, k, dim, largest=True):
    _ordered("topk", x)
    return _along(x, dim, k), _along(x, dim, k, INT64)


def kthvalue(x, k, dim):
    _ordered("kthvalue", x)
    return _along(x, dim, 1), _along(x, dim, 1, INT64)


def median(x, dim, ignore_nan=False):
    _ordered("median", x)
    return _along(x, dim, 1), _along(x, dim, 1, INT64)


def cumsum(x, dim, back):
    return like(x)


def cumprod(x, dim):
    return like(x)


logcumsumexp = cumsum


def cumextreme(x, dim, least):
    return like(x), like(x, INT64)
