"""Order along a dimension: sort, argsort, msort, topk, kthvalue, median."""
from fasttensor._core.dtype import DTYPES
from fasttensor.autograd.checks import topk_arguments, int_of
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.sort import Kthvalue, Median, MedianOfAll, Sort, Topk
from fasttensor.functional.arguments import deliver, description, need_tensor, refuse_shared, RESULTS, with_out, wrap
from fasttensor.functional.dims import flag, numpy_axis, numpy_names

__all__ = ["sort", "argsort", "msort", "topk", "kthvalue", "median", "nanmedian"]


BOOL = DTYPES["bool"]
named = tuple.__new__       # a result's type and a tuple of its parts, without a look at them
SortResult, TopkResult = RESULTS["sort"], RESULTS["topk"]


def pair(name, values, indices):
    return RESULTS[name](values, indices)


def sort(input, dim=-1, descending=False, stable=False, *, out=None, **names):
    """(values, indices) of input sorted along dim.

    NaN counts as the greatest value. The order of equal elements is kept with `stable`, and for all dtypes of
    more than two bytes without it.
    RuntimeError for complex dtypes.

    >>> torch.sort(torch.tensor([3, 1, 2])).indices
    tensor([1, 2, 0])
    """
    if names:
        dim = numpy_axis("sort", names, dim, -1)
    if stable:
        flag("sort", "stable", stable)
    need_tensor(input, "sort")
    flag("sort", "descending", descending)
    if out is not None:
        refuse_shared("sort", out, (input,), True)
    made = named(SortResult, apply(Sort, input, wrap(input, dim, "sort"), bool(descending), bool(stable)))
    return made if out is None else deliver(out, made, "sort", True)


def sort_method(self, dim=-1, descending=False, *, stable=False, **names):
    return sort(self, dim, descending, stable, **names)


sort_method.__doc__ = sort.__doc__


def argsort(input, dim=-1, descending=False, stable=False, *, out=None, **names):
    """The indices that sort input along dim: int64 of input's shape.

    >>> torch.argsort(torch.tensor([3, 1, 2]), descending=True)
    tensor([0, 2, 1])
    """
    if names:
        dim = numpy_axis("argsort", names, dim, -1)
    flag("argsort", "stable", stable)
    need_tensor(input, "argsort")
    flag("argsort", "descending", descending)
    made = apply(Sort, input.detach(), wrap(input, dim, "argsort"), bool(descending), bool(stable))[1]
    return made if out is None else deliver(out, made, "argsort", True)


def msort(input, *, out=None):
    """input sorted along its first dimension.

    Any shape with a dimension, real dtypes; the values of ``sort(input, 0)``.

    >>> torch.msort(torch.tensor([[2, 1], [1, 3]]))
    tensor([[1, 1],
            [2, 3]])
    """
    need_tensor(input, "msort")
    if out is not None:
        refuse_shared("msort", out, (input,), True)
    return deliver(out, apply(Sort, input, 0, False, True)[0], "msort", True)


def topk(input, k, dim=-1, largest=True, sorted=True, *, out=None, **names):
    """(values, indices) of the k largest (or smallest) elements along dim, in order.

    RuntimeError where k exceeds the size.

    >>> torch.topk(torch.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    if names:
        dim = numpy_axis("topk", names, dim, -1)
    if largest is not True:
        flag("topk", "largest", largest)
    if sorted is not True:
        flag("topk", "sorted", sorted)
    k, dim = topk_arguments(input, k, dim)
    if input.dtype is BOOL:
        raise RuntimeError(f"topk(): does not support bool dtypes on CPU, got {description(input)}: convert with .to(torch.uint8)")
    if out is not None:
        refuse_shared("topk", out, (input,), True)
    made = named(TopkResult, apply(Topk, input, k, dim, bool(largest)))
    return made if out is None else deliver(out, made, "topk", True)


def need_order(name, x):
    """NotImplementedError for bools, of which there are but two, and complex numbers, which have no order."""
    if x.dtype is BOOL or x.is_complex():
        raise NotImplementedError(f"{name}(): not implemented for {description(x)}: convert with .to(torch.uint8), or sort x.abs() or a part")


def drop(values, indices, dim, keepdim):
    if keepdim or values.dim() == 0:
        return values, indices
    return values.squeeze(dim), indices.squeeze(dim)


def kthvalue(input, k, dim=-1, keepdim=False, *, out=None, **names):
    """(values, indices) of the k-th smallest elements along dim, k from 1.

    Shape: `dim` dropped, or with keepdim of size 1; indices are int64. Real dtypes. Raises RuntimeError for a k outside of the size, IndexError
    for a dimension out of range.

    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    if names:
        dim, keepdim = numpy_names("kthvalue", names, dim, keepdim, -1)
    k = int_of(k, "kthvalue", "k")
    flag("kthvalue", "keepdim", keepdim)
    need_tensor(input, "kthvalue")
    dim = wrap(input, dim, "kthvalue")
    size = input.shape[dim] if input.dim() else 1
    if input.dim() and size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size, got {description(input)}.")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}: k = {k}, size {size} of {description(input)}")
    need_order("kthvalue", input)
    if out is not None:
        refuse_shared("kthvalue", out, (input,), True)
    return deliver(out, pair("kthvalue", *drop(*apply(Kthvalue, input, k - 1, dim), dim, keepdim)), "kthvalue", True)


def lower_median(input, dim, keepdim, ignore_nan, name):
    need_tensor(input, name)
    flag(name, "keepdim", keepdim)
    if input.numel():
        need_order(name, input)
    if dim is None:
        if not input.numel() and not input.is_floating_point():
            return input.new_full((), float("nan") if input.is_complex() else -2 ** 63 if input.dtype.itemsize == 8 else 0)
        return apply(MedianOfAll, input, ignore_nan)
    dim = wrap(input, dim, name)
    if input.dim() and input.shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size, got {description(input)}.")
    return pair(name, *drop(*apply(Median, input, dim, ignore_nan), dim, keepdim))


@with_out
def median(input, dim=None, keepdim=False, **names):
    """The median: of two middle values the lower. Without dim of all elements, else (values, indices) along dim.

    A NaN is the median of the row that has one.

    Shape: `dim` dropped, or with keepdim of size 1; indices are int64. Real dtypes. IndexError for a dimension out of range.

    >>> torch.median(torch.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    if names:
        dim, keepdim = numpy_names("median", names, dim, keepdim)
    return lower_median(input, dim, keepdim, False, "median")


@with_out
def nanmedian(input, dim=None, keepdim=False, **names):
    """``median`` of the elements that are not NaN.

    Shapes, dtypes and errors are those of :func:`median`; of a row of NaN alone it is NaN.

    >>> torch.nanmedian(torch.tensor([1., float("nan"), 3.]))
    tensor(1.)
    """
    if names:
        dim, keepdim = numpy_names("nanmedian", names, dim, keepdim)
    return lower_median(input, dim, keepdim, True, "nanmedian")


METHODS = {"sort": sort_method, "argsort": argsort, "msort": msort, "topk": topk, "kthvalue": kthvalue, "median": median,
           "nanmedian": nanmedian}
NN_FUNCTIONAL = []
