"""Vector norms, and distances between vectors."""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import flag, int_of, need_tensor, real_number
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.distance import Cdist, DirectCdist, Pdist
from fasttensor.autograd.rules.reduce import Norm
from fasttensor.functional.common import check_tensor, in_place, refuse_shared
from fasttensor.functional.view_copies import broadcast_shapes
from fasttensor.functional.dims import deliver, numpy_axis, require_float, tensor_argument, wrap_all

__all__ = ["norm", "dist", "renorm", "cdist", "pdist", "cosine_similarity", "pairwise_distance"]

INF = float("inf")
REAL = {10: 8, 11: 9}


def vector(name, input, ord, dim, keepdim, dtype, out):
    """The p-norm over any dimensions; the core of all norms here."""
    x = tensor_argument(name, input) if dtype is None else input.to(dtype)
    if dtype is not None and input.dtype.is_complex and not x.dtype.is_complex:
        raise RuntimeError(f"{name}(): the dtype of the input ({input.dtype}) should be convertible without narrowing to {dtype}")
    require_float(x, name)
    ord = real_number(ord, name, "ord")
    dims = wrap_all(x, dim, name)
    if x.numel() == 0 and (ord < 0 or ord == INF):
        for d in range(x.ndim) if dims is None else dims:
            if x.size(d) == 0:
                raise RuntimeError(f"{name} cannot compute the {ord} norm on an empty tensor because the operation does not have an"
                                   f" identity ({description(x)})")
    code = x.dtype.code
    return deliver(name, out, apply(Norm, x, ord, dims, keepdim, REAL.get(code, code)), True)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of all elements or over `dim`; "fro" is the 2-norm, "nuc" the sum of singular values of matrices.

    Shape: `dim` dropped, or with keepdim of size 1. dtypes: floating point or complex, which gives its real dtype. RuntimeError for integers.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    flag("norm", "keepdim", keepdim)
    if isinstance(p, str) and p == "nuc":
        from fasttensor.functional.linalg_norm import matrix_norm
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): only valid string values are 'fro' and 'nuc', found {p!r}")
    return vector("norm", input, 2.0 if p is None or isinstance(p, str) else p, dim, keepdim, dtype, out)


def norm_method(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of this tensor, over all its elements or over `dim`: see :func:`norm` for what `p` may be, and for errors.

    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    return norm(self, p, dim, keepdim, dtype=dtype)


def dist(input, other, p=2):
    """The p-norm of input - other.

    A number; shapes broadcast. dtypes: floating point or complex.

    >>> torch.dist(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0]))
    tensor(5.)
    """
    real_number(p, "dist", "p")
    check_tensor("dist", input, other)
    return norm(input - other, p)


def renorm(input, p, dim, maxnorm, *, out=None):
    """input with each slice along `dim` scaled down so that its p-norm is at most `maxnorm`.

    Shape and dtype are input's, floating point or complex, at least 2-d. Raises RuntimeError for a `p` that is not positive and a negative
    `maxnorm`.

    >>> torch.renorm(torch.tensor([[3.0, 4.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000]])
    """
    real_number(p, "renorm", "p")
    dim = int_of(dim, "renorm", "dim")
    real_number(maxnorm, "renorm", "maxnorm")
    tensor_argument("renorm", input)
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError(f"renorm(): non-positive-norm not supported, got p={p}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm(): input needs at least 2 dimensions, got {input.ndim} dimensions")
    if isinstance(maxnorm, complex) or maxnorm < 0:
        raise RuntimeError(f"renorm(): expected maxnorm to be >= 0 but got {maxnorm}")
    if out is not None:
        refuse_shared("renorm", out, (input,), True)
    d = wrap_all(input, dim, "renorm")[0]
    sizes = vector("renorm", input, p, [k for k in range(input.ndim) if k != d], True, None, None)
    # a norm that is NaN leaves its slice as it is
    factor = (maxnorm / (sizes + 1e-7)).masked_fill(~(sizes > maxnorm), 1.0)
    return deliver("renorm", out, input.contiguous() * factor, True)


def cosine_similarity(x1, x2, dim=1, eps=1e-8, **names):
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`, shapes broadcast.

    The result lacks `dim`. dtypes: floating point, promoted. RuntimeError where shapes do not broadcast, IndexError for a dimension out of range.

    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if names:
        dim = numpy_axis("cosine_similarity", names, dim, 1)
    dim = int_of(dim, "cosine_similarity", "dim")
    check_tensor("cosine_similarity", x1, x2)
    for name, x in (("x1", x1), ("x2", x2)):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cosine_similarity(): expected common dtype to be floating point, yet {name} is {description(x)}")

    if x1.shape != x2.shape:
        from fasttensor.functional.loss_arguments import broadcast
        x1, x2 = broadcast("cosine_similarity", x1, x2)

    def unit(x):
        size = norm(x, 2, dim, True)
        # the bound changes the value only: the gradient is the norm's, as in PyTorch
        return x / (size + (eps - size.detach()).clamp(min=0))
    return (unit(x1) * unit(x2)).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """p-norm of x1 - x2 + eps over the last dimension, shapes broadcast.

    Shapes (N, D) or (D) to (N) or a number, with keepdim (N, 1). dtypes: floating point or complex. RuntimeError where shapes do not broadcast.

    >>> torch.pairwise_distance(torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    real_number(p, "pairwise_distance", "p")
    real_number(eps, "pairwise_distance", "eps")
    flag("pairwise_distance", "keepdim", keepdim)
    check_tensor("pairwise_distance", x1, x2)
    from fasttensor.functional.loss_arguments import need_common_shape
    need_common_shape("pairwise_distance", x1, x2)
    return norm(x1 - x2 + eps, p, -1, keepdim)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """p-norm distances of every row of x1 [..., P, M] to every row of x2 [..., R, M]: [..., P, R].

    Euclidean distances of more than 25 rows go through a matrix product, as in PyTorch, unless
    compute_mode is "donot_use_mm_for_euclid_dist".

    dtypes: float32 and float64, both the same. Raises RuntimeError where M or the dtypes differ, or `p` is negative.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    need_tensor(x1, "cdist", "x1", 1)
    need_tensor(x2, "cdist", "x2", 2)
    real_number(p, "cdist", "p")
    for x in (x1, x2):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, got {description(x1)} and {description(x2)}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, got {description(x1)} and {description(x2)}")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"cdist: expected X1 and X2 of one dtype, got {description(x1)} and {description(x2)}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"cdist: X1 and X2 must have the same number of columns, got {description(x1)} and {description(x2)}")
    if p < 0:
        raise RuntimeError(f"cdist: only supports non-negative p values, got {p}")
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True, "donot_use_mm_for_euclid_dist": False}
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    product = modes[compute_mode]
    if product is None:
        product = x1.size(-2) > 25 or x2.size(-2) > 25
    lead = tuple(x1.shape[:-2])
    if lead != tuple(x2.shape[:-2]):
        lead = tuple(broadcast_shapes(lead, x2.shape[:-2]))
        x1, x2 = x1.expand(lead + tuple(x1.shape[-2:])), x2.expand(lead + tuple(x2.shape[-2:]))
    if p == 2 and product and x1.size(-1):
        if x1.dtype.itemsize > 2:
            return apply(Cdist, x1, x2)
        return apply(Cdist, x1.float(), x2.float()).to(x1.dtype)
    return apply(DirectCdist, x1, x2, float(p))


def pdist(input, p=2.0):
    """p-norm distances between each two rows of input [N, M], i < j in order: N (N - 1) / 2 values.

    dtypes: float32 and float64. RuntimeError for what is no matrix and for a negative `p`.

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])
    """
    real_number(p, "pdist", "p")
    tensor_argument("pdist", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {description(input)}")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    return apply(Pdist, input, float(p))


METHODS = {"norm": norm_method, "dist": dist, "renorm": renorm, "renorm_": in_place(renorm)}
NN_FUNCTIONAL = ["cosine_similarity", "pairwise_distance", "pdist"]
