"""Reductions: sums, products, extremes, logical tests."""

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import reduce as rules
from fasttensor.autograd.sums import mean, sum
from fasttensor.functional.common import need_out, refuse_shared
from fasttensor.functional.dims import (
    deliver,
    numpy_dim,
    numpy_names,
    require_float,
    require_size,
    tensor_argument,
    wrap,
    wrap_all,
)
from fasttensor.functional.results import RESULTS

__all__ = ["sum", "nansum", "mean", "nanmean", "prod", "amax", "amin", "max", "min", "aminmax", "argmax", "argmin", "any",
           "all", "count_nonzero", "logsumexp"]

MaxResult = RESULTS["max"]
MinResult = RESULTS["min"]
AminmaxResult = RESULTS["aminmax"]
BOOL, UINT8, INT64 = 0, 1, 5


def accumulated(input, dtype):
    """(input in the dtype to sum in, code of the result): integers are summed as int64."""
    if dtype is not None:
        input = input.to(dtype)
        return input, input.dtype.code
    code = input.dtype.code
    return input, INT64 if code < INT64 else code


def general_sum(input, dim, keepdim, dtype, out):
    """``sum`` of any dtype, over any dimensions."""
    tensor_argument("sum", input, keepdim)
    need_out("sum", out)
    if dtype is None and out is not None:
        dtype = out.dtype
    x, code = accumulated(input, dtype)
    return deliver("sum", out, apply(rules.Sum, x, wrap_all(x, dim, "sum"), bool(keepdim), code))


def general_mean(input, dim, keepdim, dtype, out):
    """``mean`` of any dtype, over any dimensions."""
    tensor_argument("mean", input, keepdim)
    x = input if dtype is None else input.to(dtype)
    require_float(x, "mean")
    return deliver("mean", out, apply(rules.Mean, x, wrap_all(x, dim, "mean"), bool(keepdim), x.dtype.code))


HOOKS = {"sum": general_sum, "mean": general_mean}


def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None, **names):
    """Sum that leaves NaN out.

    Shape: all dimensions, or `dim`, dropped, or with keepdim of size 1. Real dtypes; integers give int64. RuntimeError for complex dtypes.

    >>> torch.nansum(torch.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    if names:
        dim, keepdim = numpy_names("nansum", names, dim, keepdim)
    tensor_argument("nansum", input, keepdim)
    if input.dtype.is_complex:
        raise RuntimeError(f"nansum(): does not support complex inputs, got {description(input)}")
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype
        if dtype.is_complex or input.dtype.is_floating_point and not dtype.is_floating_point:
            raise NotImplementedError(f"nansum(): not implemented for an output of dtype {dtype.name}, got {description(input)}")
    x, code = accumulated(input, dtype)
    rule = rules.Nansum if x.dtype.is_floating_point else rules.Sum
    return deliver("nansum", out, apply(rule, x, wrap_all(x, dim, "nansum"), keepdim, code))


def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None, **names):
    """Mean that leaves NaN out.

    Shape: all dimensions, or `dim`, dropped, or with keepdim of size 1. Floating point: RuntimeError else; of NaN alone NaN.

    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    if names:
        dim, keepdim = numpy_names("nanmean", names, dim, keepdim)
    tensor_argument("nanmean", input, keepdim)
    if not input.dtype.is_floating_point and dtype is None:
        raise RuntimeError(f"nanmean(): expected input to have floating point dtype but got {description(input)}")
    numbers = (input == input).sum(dim, keepdim)
    return deliver("nanmean", out, nansum(input, dim, keepdim, dtype=dtype) / numbers)


def prod(input, dim=None, keepdim=False, *, dtype=None, out=None, **names):
    """Product of all elements, or along one dimension. Integers and bool give int64.

    >>> torch.prod(torch.tensor([2.0, 3.0]))
    tensor(6.)
    """
    if names:
        dim, keepdim = numpy_names("prod", names, dim, keepdim)
    tensor_argument("prod", input, keepdim)
    if dim is not None and not hasattr(dim, "__index__"):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype
    x, code = accumulated(input, dtype)
    return deliver("prod", out, apply(rules.Prod, x, wrap_all(x, dim, "prod"), keepdim, code), True)


def extreme_of_dims(name, rule, input, dim, keepdim, least, out):
    tensor_argument(name, input, keepdim)
    if input.dtype.is_complex:
        raise NotImplementedError(f"{name}(): not implemented for complex dtypes, got {description(input)}")
    dims = wrap_all(input, dim, name)
    require_size(input, dims, name)
    need_out(name, out)
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError(f"{name}(): Expected the dtype for input and out to match, but got {input.dtype} for input's dtype"
                           f" and {out.dtype} for out's dtype.")
    return deliver(name, out, apply(rule, input, dims, keepdim, least))


def amax(input, dim=(), keepdim=False, *, out=None, **names):
    """Largest element, over all dimensions or those of `dim`; equal ones share the gradient evenly.

    Shape: `dim` dropped, or with keepdim of size 1. Real dtypes, bool too. Raises IndexError for a dimension out of range or without elements.

    >>> torch.amax(torch.tensor([[1, 5], [7, 2]]), 1)
    tensor([5, 7])
    """
    if names:
        dim, keepdim = numpy_names("amax", names, dim, keepdim)
    return extreme_of_dims("amax", rules.Amax, input, dim, keepdim, False, out)


def amin(input, dim=(), keepdim=False, *, out=None, **names):
    """Smallest element, over all dimensions or those of `dim`; equal ones share the gradient evenly.

    Shape: `dim` dropped, or with keepdim of size 1. Real dtypes, bool too. Raises IndexError for a dimension out of range or without elements.

    >>> torch.amin(torch.tensor([[1, 5], [7, 2]]), 1)
    tensor([1, 2])
    """
    if names:
        dim, keepdim = numpy_names("amin", names, dim, keepdim)
    return extreme_of_dims("amin", rules.Amin, input, dim, keepdim, True, out)


def extreme(name, whole, along, result, elementwise, least, input, dim, keepdim, out):
    """max and min: of the whole tensor, along a dimension, or of two tensors."""
    tensor_argument(name, input, keepdim)
    if isinstance(dim, Tensor):
        if out is not None:
            refuse_shared(name, out, (input, dim), True)
        return getattr(input, elementwise)(dim) if out is None else deliver(name, out, getattr(input, elementwise)(dim))
    if input.dtype.is_complex:
        raise NotImplementedError(f"{name}(): not implemented for complex dtypes, got {description(input)}")
    if dim is None:
        if not input.numel():
            require_size(input, None, name)
        made = apply(whole, input, None, False, least)
        return made if out is None else deliver(name, out, made)
    d = wrap(input, dim, name)
    if not input.numel():
        require_size(input, (d,) if input.ndim else None, name)
    if out is not None:
        refuse_shared(name, out, (input,), True)
    made = tuple.__new__(result, apply(along, input, d, keepdim, least))        # without a look at the parts
    return made if out is None else deliver(name, out, made, True)


def max(input, dim=None, keepdim=False, *, other=None, out=None, **names):
    """Largest element; with `dim` a pair (values, indices); with a second tensor the elementwise maximum.

    NaN counts as the largest. Of equal elements the first one's index is given.

    Shape: `dim` dropped, or with keepdim of size 1; indices are int64. Real dtypes, bool too. Raises IndexError for a dimension out of range or
    without elements, RuntimeError for a tensor without elements, NotImplementedError for complex ones.

    >>> torch.max(torch.tensor([[1, 5], [7, 2]]), 1).indices
    tensor([1, 0])
    """
    if names:
        dim, keepdim = numpy_names("max", names, dim, keepdim)
    return extreme("max", rules.Max, rules.MaxDim, MaxResult, "maximum", False, input, dim if other is None else other, keepdim, out)


def min(input, dim=None, keepdim=False, *, other=None, out=None, **names):
    """Smallest element; with `dim` a pair (values, indices); with a second tensor the elementwise minimum.

    Shapes, dtypes and errors are those of :func:`max`; NaN counts as the smallest.

    >>> torch.min(torch.tensor([[1, 5], [7, 2]]), 1).indices
    tensor([0, 1])
    """
    if names:
        dim, keepdim = numpy_names("min", names, dim, keepdim)
    return extreme("min", rules.Min, rules.MinDim, MinResult, "minimum", True, input, dim if other is None else other, keepdim, out)


def aminmax(input, *, dim=None, keepdim=False, out=None, **names):
    """(smallest, largest), of the whole tensor or along one dimension.

    Both have `dim` dropped, or with keepdim of size 1. Real dtypes, bool too. IndexError for a dimension out of range, RuntimeError for no elements.

    >>> torch.aminmax(torch.tensor([1, -3, 5])).min
    tensor(-3)
    """
    if names:
        dim, keepdim = numpy_names("aminmax", names, dim, keepdim)
    tensor_argument("aminmax", input, keepdim)
    if out is not None:
        refuse_shared("aminmax", out, (input,), True)
    dims = () if dim is None else wrap(input, dim, "aminmax")
    pair = AminmaxResult(amin(input, dims, keepdim), amax(input, dims, keepdim))
    return deliver("aminmax", out, pair, True)


def argextreme(name, input, dim, keepdim, least, out):
    tensor_argument(name, input, keepdim)
    if input.dtype.is_complex or input.dtype.name == "bool":
        raise RuntimeError(f"{name}(): does not support {'complex' if input.dtype.is_complex else 'bool'} input, got {description(input)}")
    d = None if dim is None else wrap(input, dim, name)
    require_size(input, None if d is None or not input.ndim else (d,), name)
    return deliver(name, out, backend(input).argextreme(input, d if input.ndim else None, keepdim, least), True)


def argmax(input, dim=None, keepdim=False, *, out=None, **names):
    """Index (int64) of the largest element, in the flattened tensor or along `dim`; the first of equal ones.

    >>> torch.argmax(torch.tensor([[1, 5], [7, 2]]))
    tensor(2)
    """
    if names:
        dim, keepdim = numpy_names("argmax", names, dim, keepdim)
    return argextreme("argmax", input, dim, keepdim, False, out)


def argmin(input, dim=None, keepdim=False, *, out=None, **names):
    """Index (int64) of the smallest element, in the flattened tensor or along `dim`.

    >>> torch.argmin(torch.tensor([[1, 5], [7, 2]]))
    tensor(0)
    """
    if names:
        dim, keepdim = numpy_names("argmin", names, dim, keepdim)
    return argextreme("argmin", input, dim, keepdim, True, out)


def any(input, dim=None, keepdim=False, *, out=None, **names):
    """Whether any element is nonzero, overall or over `dim`; uint8 for uint8, else bool.

    >>> torch.any(torch.tensor([0, 3]))
    tensor(True)
    """
    if names:
        dim, keepdim = numpy_names("any", names, dim, keepdim)
    tensor_argument("any", input, keepdim)
    code = UINT8 if input.dtype.code == UINT8 else BOOL
    return deliver("any", out, backend(input).any(input, test_dims(input, dim, "any"), keepdim, test_code(out, code)), True)


def all(input, dim=None, keepdim=False, *, out=None, **names):
    """Whether all elements are nonzero, overall or over `dim`; uint8 for uint8, else bool.

    >>> torch.all(torch.tensor([0, 3]))
    tensor(False)
    """
    if names:
        dim, keepdim = numpy_names("all", names, dim, keepdim)
    tensor_argument("all", input, keepdim)
    code = UINT8 if input.dtype.code == UINT8 else BOOL
    return deliver("all", out, backend(input).all(input, test_dims(input, dim, "all"), keepdim, test_code(out, code)), True)


def test_code(out, code):
    # an output of uint8 is filled too, from the time before PyTorch had bool
    return out.dtype.code if isinstance(out, Tensor) and out.dtype.code <= UINT8 else code


def test_dims(input, dim, name):
    # any and all, unlike the others, take an empty list as no dimension at all
    if isinstance(dim, (tuple, list)) and not dim:
        return ()
    return wrap_all(input, dim, name)


def count_nonzero(input, dim=None, **names):
    """Number (int64) of nonzero elements, overall or over `dim`.

    >>> torch.count_nonzero(torch.tensor([0, 3, 4]))
    tensor(2)
    """
    if names:
        dim = numpy_dim("count_nonzero", names, dim)
    tensor_argument("count_nonzero", input)
    return backend(input).count_nonzero(input, wrap_all(input, dim, "count_nonzero"))


def logsumexp(input, dim=None, keepdim=False, *, out=None, **names):
    """log(sum(exp(input))) over `dim`, with the largest element taken out of the exponents.

    Shape: `dim` dropped, or with keepdim of size 1. Floating point or complex; integers become the default float dtype. TypeError without `dim`.

    >>> torch.logsumexp(torch.zeros(2), 0)
    tensor(0.6931)
    """
    if names:
        dim, keepdim = numpy_names("logsumexp", names, dim, keepdim)
    if dim is None:
        raise TypeError("logsumexp() missing 1 required positional argument: 'dim'")
    tensor_argument("logsumexp", input, keepdim)
    if input.dtype.is_complex:
        top = input.real.amax(dim, True) if input.numel() else input.real.sum(dim, True)
        top = top.detach().masked_fill(top.detach().abs() == float("inf"), 0)
        shifted = (input - top).exp().sum(dim, keepdim).log()
        return deliver("logsumexp", out, shifted + (top if keepdim else top.sum(dim)))
    x = input if input.dtype.is_floating_point else input.to(default_float())
    return deliver("logsumexp", out, apply(rules.Logsumexp, x, wrap_all(x, dim, "logsumexp"), keepdim))


def default_float():
    from fasttensor._core.dtype import get_default_dtype
    return get_default_dtype()


def sum_to_size(self, *size):
    """self summed over the dimensions in which it is larger than `size`, as a broadcast operand would be.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if not size:
        raise TypeError('sum_to_size() missing 1 required positional argument: "size"')
    if len(size) == 1 and not hasattr(size[0], "__index__"):
        size = tuple(size[0])
        if not size:
            return self.sum()
    lead = self.ndim - len(size)
    fits = lead >= 0 and not [d for d, n in enumerate(size) if n != 1 and n != self.size(d + lead)]
    if not fits:
        raise RuntimeError(f"sum_to_size(): size {list(size)} is not expandable to size {list(self.shape)}.")
    dims = [d for d in range(self.ndim) if d < lead or size[d - lead] == 1 and self.size(d) != 1]
    return self.sum(dims, True).reshape(size) if dims else self


METHODS = {name: globals()[name] for name in __all__}
METHODS["sum_to_size"] = sum_to_size
SPECIAL = ["logsumexp"]
