"""Running sums, products and extremes, and what is built on differences of neighbours."""

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import int_of, optional_tensor
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import scan as rules
from fasttensor.functional.common import in_place, refuse_shared
from fasttensor.functional.dims import deliver, numpy_axis, numpy_dim, require_float, tensor_argument, wrap
from fasttensor.functional.results import RESULTS

__all__ = ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "diff", "trapezoid", "trapz", "cumulative_trapezoid",
           "gradient"]

CummaxResult = RESULTS["cummax"]
CumminResult = RESULTS["cummin"]
INT64 = 5


def accumulated(name, input, dtype, out):
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype                       # as PyTorch does, so that narrower outputs are filled too
        if dtype.code == 0:
            raise NotImplementedError(f"{name}(): not implemented for an output of dtype bool, got {description(input)}")
    if dtype is not None:
        return input.to(dtype)
    return input.long() if input.dtype.code < INT64 else input


def cumsum(input, dim=None, *, dtype=None, out=None, **names):
    """Running sums along `dim`; integers and bool give int64. float32 runs in double inside.

    The result has the input's shape. IndexError for a dimension out of range.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    if names or dim is None:
        dim = numpy_dim("cumsum", names, dim)
    if out is not None:
        refuse_shared("cumsum", out, (input,), True)
    x = accumulated("cumsum", tensor_argument("cumsum", input), dtype, out)
    return deliver("cumsum", out, apply(rules.Cumsum, x, wrap(x, dim, "cumsum"), False), True)


def cumprod(input, dim=None, *, dtype=None, out=None, **names):
    """Running products along `dim`; integers and bool give int64.

    The result has the input's shape. IndexError for a dimension out of range.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    if names or dim is None:
        dim = numpy_dim("cumprod", names, dim)
    if out is not None:
        refuse_shared("cumprod", out, (input,), True)
    x = accumulated("cumprod", tensor_argument("cumprod", input), dtype, out)
    return deliver("cumprod", out, apply(rules.Cumprod, x, wrap(x, dim, "cumprod")), True)


def cumextreme(name, rule, result, input, dim, least, out):
    tensor_argument(name, input)
    if input.dtype.is_complex:
        raise NotImplementedError(f"{name}(): not implemented for complex dtypes, got {description(input)}")
    return deliver(name, out, result(*apply(rule, input, wrap(input, dim, name), least)), True)


def cummax(input, dim=None, *, out=None, **names):
    """(values, indices) of the running largest elements along `dim`; of equal ones the last index.

    Both have the input's shape, indices are int64. Real dtypes. IndexError for a dimension out of range.

    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    if names or dim is None:
        dim = numpy_dim("cummax", names, dim)
    return cumextreme("cummax", rules.Cummax, CummaxResult, input, dim, False, out)


def cummin(input, dim=None, *, out=None, **names):
    """(values, indices) of the running smallest elements along `dim`; of equal ones the last index.

    Both have the input's shape, indices are int64. Real dtypes. IndexError for a dimension out of range.

    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    if names or dim is None:
        dim = numpy_dim("cummin", names, dim)
    return cumextreme("cummin", rules.Cummin, CumminResult, input, dim, True, out)


def logcumsumexp(input, dim=None, *, out=None, **names):
    """Running log(sum(exp(input))) along `dim`. RuntimeError for integers.

    >>> torch.logcumsumexp(torch.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    if names or dim is None:
        dim = numpy_dim("logcumsumexp", names, dim)
    require_float(tensor_argument("logcumsumexp", input), "logcumsumexp")
    if out is not None:
        refuse_shared("logcumsumexp", out, (input,), True)
    return deliver("logcumsumexp", out, apply(rules.Logcumsumexp, input, wrap(input, dim, "logcumsumexp"), False), True)


def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None, **names):
    """Differences of neighbours along `dim`, n times; bool is compared with `!=`.

    One element less along `dim` each time; `prepend` and `append` are joined to the input first. Any dtype. RuntimeError for a 0-d input.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if names:
        dim = numpy_axis("diff", names, dim, -1)
    n = int_of(n, "diff", "n")
    optional_tensor(prepend, "diff", "prepend", 4)
    optional_tensor(append, "diff", "append", 5)
    tensor_argument("diff", input)
    if input.ndim == 0:
        raise RuntimeError("diff(): diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"diff(): order must be non-negative but got {n}")
    d = wrap(input, dim, "diff")
    parts = [p for p in (prepend, input, append) if p is not None]
    if len(parts) > 1:
        from fasttensor.functional.joining import cat
        for name, p in (("prepend", prepend), ("append", append)):
            if p is not None and p.ndim != input.ndim:
                raise RuntimeError(f"diff(): expects {name} to be the same dimension as input, got {description(p)} for {description(input)}")
            if p is not None and any(s != t for k, (s, t) in enumerate(zip(p.shape, input.shape)) if k != d):
                raise RuntimeError(f"diff(): expects the shape of {name} to match that of input except along the differencing dimension {d}, "
                                   f"got {description(p)} for {description(input)}")
    if n == 0:
        return deliver("diff", out, input.clone(), True)
    if len(parts) > 1:
        input = cat(parts, d)
    for _ in range(min(n, input.size(d))):        # more differences leave nothing to take
        size = input.size(d)
        after, before = input.narrow(d, min(1, size), max(size - 1, 0)), input.narrow(d, 0, max(size - 1, 0))
        input = after.logical_xor(before) if input.dtype.code == 0 else after - before
    return deliver("diff", out, input)


def spacing(name, y, x, dx, dim):
    """The widths of the intervals of y along dim: a tensor that broadcasts, or a number."""
    if x is None:
        return 1 if dx is None else dx
    if dx is not None:
        raise TypeError(f"{name}(): give either x or dx, not both")
    if x.ndim == 1 or x.ndim < y.ndim:
        if x.ndim == 1 and x.size(0) != y.size(dim):
            raise RuntimeError(f"{name}(): There must be one `x` value for each sample point, got {description(x)} for {description(y)}")
        x = x.reshape([1] * (y.ndim - x.ndim) + list(x.shape)) if x.ndim > 1 else x.reshape(
            [-1 if d == dim else 1 for d in range(y.ndim)])
    return diff(accumulated("cumulative_trapezoid", x, None, None), 1, dim)


def neighbour_means(y, d, n):
    y = accumulated("cumulative_trapezoid", y, None, None)        # bytes would wrap around
    return (y.narrow(d, min(1, n), max(n - 1, 0)) + y.narrow(d, 0, max(n - 1, 0))) / 2


def trapezoid(y, x=None, *, dx=None, dim=-1, **names):
    """Integral along `dim` by the trapezoidal rule, over points x or steps dx.

    The result lacks `dim`. Any numeric dtype. RuntimeError where both `x` and `dx` are given, or x does not fit.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    if names:
        dim = numpy_axis("trapezoid", names, dim, -1)
    optional_tensor(x, "trapezoid", "x", 2)
    tensor_argument("trapezoid", y)
    if y.dtype.name == "bool":
        raise RuntimeError(f"trapezoid: received a bool input for `y`, but bool is not supported, got {description(y)}")
    d = wrap(y, dim, "trapezoid")
    if y.ndim == 0:
        raise RuntimeError("trapezoid(): expected at least one dimension")
    n = y.size(d)
    if n == 0:
        return y.sum(d)
    width = spacing("trapezoid", y, x, dx, d)
    if x is None:                       # one pass: the ends count half
        y = accumulated("trapezoid", y, None, None)
        return (y.sum(d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * width
    return (neighbour_means(y, d, n) * width).sum(d)


def trapz(y, x=None, *, dx=None, dim=-1, **names):
    """The older name of ``trapezoid``.

    Arguments, shapes and errors are those of :func:`trapezoid`.

    >>> torch.trapz(torch.tensor([1.0, 2.0]))
    tensor(1.5000)
    """
    if names:
        dim = numpy_axis("trapz", names, dim, -1)
    optional_tensor(x, "trapz", "x", 2)
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1, **names):
    """Running integral along `dim` by the trapezoidal rule: one element less than y.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    if names:
        dim = numpy_axis("cumulative_trapezoid", names, dim, -1)
    optional_tensor(x, "cumulative_trapezoid", "x", 2)
    tensor_argument("cumulative_trapezoid", y)
    d = wrap(y, dim, "cumulative_trapezoid")
    n = y.size(d)
    pairs = neighbour_means(y, d, n)
    return (pairs * spacing("cumulative_trapezoid", y, x, dx, d)).cumsum(d)


def gradient(input, *, spacing=None, dim=None, edge_order=1, **names):
    """Estimated derivative along each of `dim`: central differences inside, one-sided at the ends.

    `spacing` is one number, one a dimension, or coordinates (tensors) a dimension. A tuple of tensors is returned.

    Each result has the input's shape and floating or complex dtype. Raises RuntimeError for an `edge_order` other than 1 and 2, and for fewer
    than edge_order + 1 points.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))[0]
    tensor([3., 4., 5.])
    """
    if names:
        dim = numpy_axis("gradient", names, dim)
    edge_order = int_of(edge_order, "gradient", "edge_order")
    tensor_argument("gradient", input)
    dims = list(range(input.ndim)) if dim is None else [dim] if hasattr(dim, "__index__") else list(dim)
    dims = [wrap(input, d, "gradient") for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient(): dim appears multiple times in the list of dims {tuple(dims)}")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient(): torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    if spacing is None:
        spacing = 1
    if isinstance(spacing, (int, float, complex)) and not isinstance(spacing, bool):
        steps = [spacing] * len(dims)
    else:
        steps = [spacing] if isinstance(spacing, Tensor) else list(spacing)
    if len(steps) != len(dims):
        raise RuntimeError(f"gradient(): expected spacing to be unspecified, a scalar, or as many as the {len(dims)} dims, got"
                           f" {len(steps)} for {description(input)}")
    for d, h in zip(dims, steps):
        if input.size(d) < edge_order + 1:
            raise RuntimeError(f"gradient(): expected each dimension size to be at least edge_order+1, got {description(input)}")
        if isinstance(h, Tensor) and h.ndim != 1:
            raise RuntimeError(f"gradient(): expected each element of spacing to have one dimension, but got {description(h)}; use .item() for a number")
        if isinstance(h, Tensor) and h.numel() != input.size(d):
            raise RuntimeError(f"gradient(): expected coordinates of length {input.size(d)} for dimension {d}, got {description(h)}")
    return tuple([slope(input, h, d, edge_order) for d, h in zip(dims, steps)])


def slope(y, h, d, order):
    """Second-order accurate differences on a possibly uneven grid; `order` 1 or 2 at the two ends."""
    from fasttensor.functional.joining import cat
    if not y.dtype.is_floating_point and not y.dtype.is_complex:
        y = y.float()
    n = y.size(d)

    def at(k, m=1):
        return y.narrow(d, k if k >= 0 else n + k, m)
    if isinstance(h, Tensor) and h.ndim:
        shape = [-1 if k == d else 1 for k in range(y.ndim)]
        widths = diff(h).reshape(shape).to(y.dtype)

        def w(k):
            return widths.narrow(d, k if k >= 0 else n - 1 + k, 1)
        left, right = widths.narrow(d, 0, n - 2), widths.narrow(d, 1, n - 2)
    else:
        left = right = h

        def w(k):
            return h
    if n < 3:
        inner = at(0, 0)
    elif left is h:         # on an even grid the middle takes no part, whatever it is
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * h)
    else:
        inner = (at(2, n - 2) * (left / (right * (left + right))) + at(1, n - 2) * ((right - left) / (left * right))
                 - at(0, n - 2) * (right / (left * (left + right))))
    if order == 1:
        return cat([(at(1) - at(0)) / w(0), inner, (at(-1) - at(-2)) / w(-1)], d)
    a, b = w(0), w(1)
    first = at(0) * (-(2 * a + b) / (a * (a + b))) + at(1) * ((a + b) / (a * b)) - at(2) * (a / (b * (a + b)))
    a, b = w(-2), w(-1)
    last = at(-3) * (b / (a * (a + b))) - at(-2) * ((a + b) / (a * b)) + at(-1) * ((2 * b + a) / (b * (a + b)))
    return cat([first, inner, last], d)


METHODS = {name: globals()[name] for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "diff")}
METHODS.update({name + "_": in_place(globals()[name]) for name in ("cumsum", "cumprod")})
