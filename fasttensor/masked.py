"""Reductions and normalisations of the elements that a mask selects, as in ``torch.masked``.

``mask`` is a bool tensor that broadcasts to the input; without it every element counts. Elements outside
the mask act as the operation's neutral value.

>>> import fasttensor as torch
>>> torch.masked.sum(torch.tensor([1, 2, 4]), 0, mask=torch.tensor([True, False, True]))
tensor(5)
"""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import need_tensor
from fasttensor.autograd.batched import all_samples
from fasttensor.functional import distance, moments, reduction, scan
from fasttensor.functional import softmax as softmaxes
from fasttensor.functional.dims import wrap_all

__all__ = ["sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std",
           "softmax", "log_softmax", "softmin", "normalize", "logaddexp", "logsumexp"]

INF = float("inf")
LIMITS = {"bool": (0, 1), "uint8": (0, 255), **{f"int{n}": (-2 ** (n - 1), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)}}


def lowest(x):
    return LIMITS[x.dtype.name][0] if x.dtype.name in LIMITS else -INF


def highest(x):
    return LIMITS[x.dtype.name][1] if x.dtype.name in LIMITS else INF


def expanded(name, x, mask):
    """The mask in the input's shape."""
    if need_tensor(mask, name, "mask", 2).dtype.name != "bool":
        raise TypeError(f"masked.{name}: mask must be a bool tensor, got {description(mask)}")
    if mask.ndim > x.ndim:
        raise IndexError(f"masked.{name}: mask {description(mask)} has more dimensions than the input {description(x)}")
    return mask.expand(x.shape)


def filled(name, x, mask, value):
    return x if mask is None else x.masked_fill(~expanded(name, x, mask), value)


def dims_of(dim):
    return None if isinstance(dim, (tuple, list)) and not dim else dim


def converted(x, dtype):
    return x if dtype is None else x.to(dtype)


def widened(x, dtype):
    """Integers become int64, as sums have it."""
    return x.to(dtype) if dtype is not None else x.long() if x.dtype.code < 5 else x


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Sum of the selected elements; 0 where there is none.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([5., 8.])
    """
    x = filled("sum", widened(input, dtype), mask, 0)
    return reduction.sum(x, dims_of(dim), keepdim, dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Product of the selected elements; 1 where there is none.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.prod(x, 1, mask=mask)
    tensor([ 4., 15.])
    """
    x = filled("prod", widened(input, dtype), mask, 1)
    dims = wrap_all(x, dims_of(dim), "masked.prod")
    for d in sorted(range(x.ndim) if dims is None else dims, reverse=True):
        x = reduction.prod(x, d, keepdim)
    return x


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.cumsum(x, 1, mask=mask)
    tensor([[1., 1., 5.],
            [3., 8., 8.]])
    """
    x = converted(input, dtype)
    return scan.cumsum(filled("cumsum", x, mask, 0), dim, dtype=x.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.cumprod(x, 1, mask=mask)
    tensor([[ 1.,  1.,  4.],
            [ 3., 15., 15.]])
    """
    x = converted(input, dtype)
    return scan.cumprod(filled("cumprod", x, mask, 1), dim, dtype=x.dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Largest of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.amax(x, 1, mask=mask)
    tensor([4., 5.])
    """
    x = converted(input, dtype)
    return reduction.amax(filled("amax", x, mask, lowest(x)), () if dim is None else dim, keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Smallest of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.amin(x, 1, mask=mask)
    tensor([1., 3.])
    """
    x = converted(input, dtype)
    return reduction.amin(filled("amin", x, mask, highest(x)), () if dim is None else dim, keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Index of the largest selected element, in the input's dtype (or `dtype`) as in PyTorch.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.argmax(x, 1, mask=mask)
    tensor([2., 1.])
    """
    x = converted(input, dtype)
    return reduction.argmax(filled("argmax", x, mask, lowest(x)), dim, bool(keepdim)).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Index of the smallest selected element, in the input's dtype (or `dtype`) as in PyTorch.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.argmin(x, 1, mask=mask)
    tensor([0., 0.])
    """
    x = converted(input, dtype)
    return reduction.argmin(filled("argmin", x, mask, highest(x)), dim, bool(keepdim)).to(x.dtype)


def count(name, x, dim, keepdim, mask):
    """How many elements are selected."""
    if mask is None:
        mask = x.detach() == x.detach()
        mask = mask | ~mask
    return reduction.sum(expanded(name, x, mask), dim, keepdim)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Mean of the selected elements; NaN where there is none. ValueError for integers without `dtype`.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.mean(x, 1, mask=mask)
    tensor([2.5000, 4.0000])
    """
    x = converted(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise ValueError(f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got:"
                         f" {description(x)}")
    dim = dims_of(dim)
    if mask is None:
        return reduction.mean(x, dim, keepdim)
    return reduction.sum(filled("mean", x, mask, 0), dim, keepdim) / count("mean", x, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Lower median of the selected elements along one dimension; NaN where there is none.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.median(x, 1, mask=mask)
    tensor([1., 3.])
    """
    x = converted(input, dtype)
    if not x.dtype.is_floating_point:
        raise ValueError(f"median(): expects a floating-point input, got {description(x)}")
    if mask is None:
        return x.median(dim, keepdim)[0]
    if not x.is_meta and bool((all_samples(x) != all_samples(x)).any()):
        raise ValueError("median(): input containing only non-NaN elements is expected where a mask is given")
    return filled("median", x, mask, float("nan")).nanmedian(dim, keepdim)[0]


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Vector norm of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.norm(x, 2.0, 1, mask=mask)
    tensor([4.1231, 5.8310])
    """
    x = filled("norm", converted(input, dtype), mask, INF if ord == -INF else 0)
    return distance.vector("masked.norm", x, 2.0 if ord is None else ord, dims_of(dim), keepdim, None, None)


def variance(name, input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{name}: give either unbiased or correction, not both")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    x = converted(input, dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.float()
    dim = dims_of(dim)
    if mask is None:
        return moments.var(x, dim=dim, correction=correction, keepdim=keepdim)
    inside = expanded(name, x, mask)
    n = reduction.sum(inside, dim, True)
    centred = x - reduction.sum(filled(name, x, mask, 0), dim, True) / n
    squares = (centred * centred.conj()).real if x.dtype.is_complex else centred * centred
    total = reduction.sum(squares.masked_fill(~inside, 0), dim, keepdim)
    free = reduction.sum(inside, dim, keepdim) - correction
    return total / free.clamp(min=0)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Variance of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.var(x, 1, mask=mask)
    tensor([4.5000, 2.0000])
    """
    y = variance("var", input, dim, unbiased, correction, keepdim, dtype, mask)
    return y.to(input.dtype) if input.dtype.is_complex and dtype is None else y


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Standard deviation of the selected elements.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.std(x, 1, mask=mask)
    tensor([2.1213, 1.4142])
    """
    y = variance("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()
    return y.to(input.dtype) if input.dtype.is_complex and dtype is None else y


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax of the selected elements; the others get 0.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.softmax(x, 1, mask=mask)
    tensor([[0.0474, 0.0000, 0.9526],
            [0.1192, 0.8808, 0.0000]])
    """
    return softmaxes.softmax(filled("softmax", converted(input, dtype), mask, -INF), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax of the selected elements; the others get -inf.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.log_softmax(x, 1, mask=mask)
    tensor([[-3.0486,    -inf, -0.0486],
            [-2.1269, -0.1269,    -inf]])
    """
    return softmaxes.log_softmax(filled("log_softmax", converted(input, dtype), mask, -INF), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmin of the selected elements; the others get 0.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.softmin(x, 1, mask=mask)
    tensor([[0.9526, 0.0000, 0.0474],
            [0.8808, 0.1192, 0.0000]])
    """
    return softmaxes.softmin(filled("softmin", converted(input, dtype), mask, INF), dim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The selected elements over their norm along `dim`, which counts at least as eps; the others get 0.

    `mask` is bool and broadcasts to the input. Raises TypeError for another mask, IndexError for one of more dimensions and for a `dim` out of range.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.normalize(x, 2.0, 1, mask=mask)
    tensor([[0.2425, 0.0000, 0.9701],
            [0.5145, 0.8575, 0.0000]])
    """
    x = converted(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask).clamp(min=eps)
    return filled("normalize", x, mask, 0) / size


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), where elements outside their mask count as exp(-inf).

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.logaddexp(x, x, other_mask=mask)
    tensor([[ 1.6931, -2.0000,  4.6931],
            [ 3.6931,  5.6931,  6.0000]])
    """
    a = filled("logaddexp", converted(input, dtype), input_mask, -INF)
    return a.logaddexp(filled("logaddexp", converted(other, dtype), other_mask, -INF))


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp)) of the selected elements; -inf where there is none, the least number + log(count) of integers.

    >>> x, mask = torch.tensor([[1., -2., 4.], [3., 5., 6.]]), torch.tensor([[True, False, True], [True, True, False]])
    >>> torch.masked.logsumexp(x, 1, mask=mask)
    tensor([4.0486, 5.1269])
    """
    x = converted(input, dtype)
    x = filled("logsumexp", x, mask, lowest(x))
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.float()
    dims = wrap_all(x, dims_of(dim), "masked.logsumexp")
    return reduction.logsumexp(x, list(range(x.ndim)) if dims is None else dims,
                               keepdim).to(input.dtype if dtype is None else dtype)
