"""Sets and counts: unique, isin, searchsorted, bucketize, bincount, histc, histogram."""
from fasttensor._core.dtype import DTYPES, promote_types
from fasttensor._core.element import check_holds, plain_number
from fasttensor.autograd.checks import int_of, optional_tensor, real_number
from fasttensor.functional.arguments import Tensor, backend, deliver, description, need_tensor, RESULTS, wrap
from fasttensor.functional.common import need_room
from fasttensor.functional.dims import flag

__all__ = ["unique", "unique_consecutive", "isin", "searchsorted", "bucketize", "bincount", "histc", "histogram", "histogramdd"]


def pack(values, inverse, counts, return_inverse, return_counts):
    out = (values,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return out if len(out) > 1 else values


def count_runs(first, total):
    """Lengths of runs from their starts."""
    from fasttensor.functional.joining import cat
    return cat([first, first.new_full((1,), total)]).diff() if first.numel() else first


def check_order(x, name):
    need_tensor(x, name)
    if x.is_complex():
        raise NotImplementedError(f"{name}(): not implemented for {description(x)}; complex numbers have no order")
    return x.detach()


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements of input in ascending order, or the distinct slices along dim.

    return_inverse adds the position of each element in the result, return_counts how often each occurs.
    Every NaN is distinct.

    Any dtype but complex; indices and counts are int64. IndexError for a dimension out of range.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    flag("unique", "sorted", sorted)
    flag("unique", "return_inverse", return_inverse)
    flag("unique", "return_counts", return_counts)
    x = check_order(input, "unique")
    kernels = backend(x)
    if dim is not None:
        return unique_slices(x, wrap(x, dim, "unique"), return_inverse, return_counts, True)
    flat = x.reshape(-1)
    ordered, order = kernels.sort(flat, 0, False)
    first, which = kernels.runs(ordered)
    inverse = which.new_empty(which.shape).scatter_(0, order, which).reshape(x.shape) if return_inverse else None
    return pack(ordered[first], inverse, count_runs(first, flat.numel()) if return_counts else None, return_inverse, return_counts)


def unique_slices(x, dim, return_inverse, return_counts, reorder):
    """Distinct slices along dim: of all of them in lexical order, or of neighbours only."""
    kernels = backend(x)
    n = x.shape[dim]
    if x.numel() == 0 and any(size == 0 for d, size in enumerate(x.shape) if d != dim):
        raise RuntimeError("unique(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied "
                           f"to {description(x)} along dimension {dim}")
    rows = x.movedim(dim, 0).reshape(n, x.numel() // n if n else 0)
    order = None
    if reorder:
        # Stable sorts from the last column to the first.
        from fasttensor.functional.ranges import arange
        order = arange(n)
        for column in range(rows.shape[1] - 1, -1, -1):
            order = order[kernels.sort(rows[:, column][order], 0, False)[1]]
        rows = rows[order]
    if n:
        changed = rows.new_ones((n,)).bool()
        if n > 1:
            changed[1:] = (rows[1:] != rows[:-1]).any(1)
        first = changed.nonzero().reshape(-1)
        which = changed.long().cumsum(0) - 1
    else:
        first = which = rows.new_empty((0,)).long()
    picked = first if order is None else order[first]
    values = x.index_select(dim, picked)
    inverse = which if order is None else which.new_empty(which.shape).scatter_(0, order, which)
    return pack(values, inverse, count_runs(first, n), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """input without the elements (or slices along dim) that equal the one before.

    Any dtype but complex; indices and counts are int64. IndexError for a dimension out of range.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    flag("unique_consecutive", "return_inverse", return_inverse)
    flag("unique_consecutive", "return_counts", return_counts)
    x = check_order(input, "unique_consecutive")
    if dim is not None and not (x.dim() == 1):
        return unique_slices(x, wrap(x, dim, "unique_consecutive"), return_inverse, return_counts, False)
    flat = x.reshape(-1)
    first, which = backend(x).runs(flat)
    return pack(flat[first], which.reshape(x.shape), count_runs(first, flat.numel()) if return_counts else None,
                return_inverse, return_counts)


def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Whether each element is among test_elements: bool of elements' shape. Either may be a number.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    from fasttensor.functional.data import tensor
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): at least one of elements and test_elements must be a Tensor")
    if not isinstance(elements, Tensor):
        elements = tensor(elements, device=test_elements.device)
    if not isinstance(test_elements, Tensor):
        test_elements = tensor(test_elements, device=elements.device)
    elements, tests = elements.detach(), test_elements.detach().reshape(-1)
    for t in (elements, tests):
        if t.is_complex() or t.dtype.code == 0:
            raise RuntimeError(f"isin(): Unsupported input type encountered: {description(t)}")
    if tests.numel() == 1:
        found = elements == tests[0]
    elif tests.numel() == 0:
        found = elements != elements if not elements.is_floating_point() else elements.new_zeros(elements.shape).bool()
    else:
        common = promote_types(tests.dtype, elements.dtype)
        elements, tests = elements.to(common), tests.to(common)
        ordered = backend(tests).sort(tests, 0, False)[0]
        at = searchsorted(ordered, elements).clamp_(max=ordered.numel() - 1)
        found = ordered[at.reshape(-1)].reshape(elements.shape) == elements
    return deliver(out, found.logical_not() if invert else found, "isin", True)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where each value would be inserted to keep sorted_sequence (last dimension ascending) in order: int64 or int32.

    sorted_sequence: 1-d, or input's shape but for the last dimension. right (side="right"): behind equal elements
    instead of before. sorter: the order in which sorted_sequence is sorted, as ``argsort`` gives it.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    flag("searchsorted", "out_int32", out_int32)
    flag("searchsorted", "right", right)
    optional_tensor(sorter, "searchsorted", "sorter", 6)
    from fasttensor.functional.data import tensor
    need_tensor(sorted_sequence, "searchsorted", "sorted_sequence", 1)
    edges = sorted_sequence.detach()
    scalar = not isinstance(input, Tensor)
    if scalar:
        number = plain_number(input)
        if number is None:
            raise TypeError(f"searchsorted(): argument 'input' must be Tensor or Number, not {type(input).__name__}")
        values = tensor(number, dtype=edges.dtype if edges.is_floating_point() and not isinstance(number, complex) else None)
    else:
        values = input.detach()
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise RuntimeError("searchsorted(): side and right can't be set to opposites, got side of left while right was True")
        right = side == "right"
    if edges.dim() == 0:
        raise RuntimeError("searchsorted(): sorted_sequence must have at least one dimension")
    if scalar and edges.dim() != 1:
        raise RuntimeError(f"searchsorted(): input value can be a scalar only when sorted_sequence is 1-d, got {description(edges)}")
    common = promote_types(edges.dtype, values.dtype)
    if common.code == 0 or common.is_complex:
        raise NotImplementedError(f"searchsorted(): not implemented for {common}, got {description(edges)} and {description(values)}")
    if edges.dim() != 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError("searchsorted(): sorted_sequence should be 1 dimension or the first N-1 dimensions of sorted_sequence "
                           f"and input value must match, but we got {description(edges)} and {description(values)}")
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError(f"searchsorted(): sorted_sequence and sorter must have the same size, but got {description(edges)} and {description(sorter)}")
        if sorter.dtype.name != "int64":
            raise RuntimeError(f"searchsorted(): sorter must be a tensor of long dtype but got {description(sorter)}")
    found = backend(edges).searchsorted(edges, values, right, sorter)
    return deliver(out, found.int() if out_int32 else found, "searchsorted", True)


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the bucket between 1-d ascending boundaries that each element falls into.

    >>> torch.bucketize(torch.tensor([3, 6, 9]), torch.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
    """
    flag("bucketize", "out_int32", out_int32)
    flag("bucketize", "right", right)
    need_tensor(boundaries, "bucketize", "boundaries", 2)
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got {description(boundaries)}")
    if isinstance(input, Tensor) and input.dtype is not boundaries.dtype:
        found = backend(boundaries).searchsorted(boundaries.detach(), input.detach(), right, None)
        return deliver(out, found.int() if out_int32 else found, "bucketize", True)
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def bincount(input, weights=None, minlength=0):
    """How often each number 0, 1, ... occurs in a 1-d tensor of integers, or the sum of its weights.

    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    optional_tensor(weights, "bincount", "weights", 2)
    minlength = int_of(minlength, "bincount", "minlength")
    need_tensor(input, "bincount")
    if input.dtype.name == "bool":
        raise NotImplementedError(f"bincount(): not implemented for {description(input)}: convert with .long()")
    if input.is_floating_point() or input.is_complex():
        raise RuntimeError(f"bincount(): only supports 1-d non-negative integral inputs, got {description(input)}")
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if input.is_meta:
        backend(input).bincount(input, weights, minlength)      # which says why there is no result
    low, high = backend(input).int_bounds(input) if input.numel() else (0, -1)
    if input.dim() != 1 or low < 0:
        raise RuntimeError(f"bincount(): only supports 1-d non-negative integral inputs, got {description(input)}.")
    size = max(minlength, high + 1)
    need_room(input, (size,))
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(f"bincount(): weights should be 1-d and have the same length as input, got {description(weights)} for {description(input)}")
    if not input.numel():
        return input.new_zeros((minlength,)).long()
    found = backend(input).bincount(input, weights.detach() if weights is not None else None, size)
    return found.to(weights.dtype) if weights is not None and weights.dtype.name == "float32" else found


def bounds(x, low, high, margin, name):
    """The range of a histogram: x's own where low equals high, and a margin around a single value."""
    if low == high and x.numel():
        low, high = x.min().item(), x.max().item()
    elif low == high and margin < 1:
        low, high = 0, 1
    if low == high:
        low, high = low - margin, high + margin
    if not (abs(low) != float("inf") and abs(high) != float("inf") and low == low and high == high):
        raise RuntimeError(f"{name}(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}(): max must be larger than min, got {low} and {high}")
    return low, high


def histc(input, bins=100, min=0, max=0, *, out=None):
    """Counts of the elements in `bins` equal bins between min and max (input's own bounds if both are equal).

    Elements outside are ignored. The result has input's dtype.

    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    real_number(min, "histc", "min")
    real_number(max, "histc", "max")
    from fasttensor.functional.ranges import linspace
    need_tensor(input, "histc")
    bins = int_of(bins, "histc", "bins", 2)
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, got {bins}")
    if not input.is_floating_point():
        if input.is_complex() or input.dtype.name == "bool":
            raise NotImplementedError(f"histc(): not implemented for {description(input)}")
    x = input.detach().reshape(-1)
    low, high = bounds(x, min, max, 1, "histc") if not x.is_meta else (0, 1)
    if x.is_floating_point():
        check_holds(x.dtype, low)
        check_holds(x.dtype, high)
    edges = linspace(low, high, bins + 1, dtype=DTYPES["float64"] if x.dtype.itemsize == 2 else x.dtype if x.is_floating_point() else None,
                     device=x.device)
    return deliver(out, backend(x).uniform_histogram(x, edges, None, True).to(input.dtype), "histc", True)


def edges_of(x, bins, range, name):
    from fasttensor.functional.ranges import linspace
    if isinstance(bins, Tensor):
        if bins.dim() != 1 or bins.dtype is not x.dtype:
            raise RuntimeError(f"{name}(): bins tensor should be 1-d and have input's dtype, got {description(bins)}")
        return bins
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if range is not None and len(range) != 2:
        raise RuntimeError(f"{name}(): range should have 2 elements, got {range}")
    if range is not None and range[0] == range[1]:
        low, high = range[0] - 0.5, range[1] + 0.5
    else:
        low, high = bounds(x, *(range if range is not None else (0, 0)), 0.5, name)
    return linspace(low, high, bins + 1, dtype=x.dtype)


def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """(hist, bin_edges): counts or sums of weights between edges, which are given or equally spaced.

    dtypes: float32 and float64. Raises RuntimeError for fewer than one bin, for edges that do not rise, and for a range that does.

    >>> torch.histogram(torch.tensor([1., 2., 1.]), bins=4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """
    optional_tensor(weight, "histogram", "weight", 4)
    flag("histogram", "density", density)
    need_tensor(input, "histogram")
    if not input.is_floating_point():
        raise NotImplementedError(f"histogram(): not implemented for {description(input)}; convert with .float()")
    x = input.detach().reshape(-1)
    edges = edges_of(x, bins, range, "histogram")
    if weight is not None and (weight.shape != input.shape or weight.dtype is not input.dtype):
        raise RuntimeError(f"histogram(): if weight tensor is provided it should have input's shape and dtype, got "
                           f"{description(weight)} for {description(input)}")
    weights = None if weight is None else weight.detach().reshape(-1)
    if isinstance(bins, Tensor):
        counts = backend(x).bincount(backend(x).grid_numbers(x.unsqueeze(1), (edges,)), weights, edges.numel() - 1).to(x.dtype)
    else:
        counts = backend(x).uniform_histogram(x, edges, weights).to(x.dtype)
    if density:
        counts = counts / (edges.diff() * counts.sum())
    return deliver(out, RESULTS["histogram"](counts, edges), "histogram", True)


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges) of points [..., D] in D dimensions.

    >>> torch.histogramdd(torch.tensor([[0., 0.], [1., 1.]]), [2, 2]).hist
    tensor([[1., 0.],
            [0., 1.]])
    """
    optional_tensor(weight, "histogramdd", "weight", 4)
    flag("histogramdd", "density", density)
    need_tensor(input, "histogramdd")
    if input.dim() < 2:
        raise RuntimeError(f"histogramdd(): input tensor should have at least 2 dimensions, but got {description(input)}")
    dims = input.shape[-1]
    x = input.detach().reshape(-1, dims)
    if not isinstance(bins, (list, tuple)):
        bins = [bins] * dims
    if len(bins) != dims:
        raise RuntimeError(f"histogramdd(): The size of bins must be equal to the innermost dimension of the input, got"
                           f" {len(bins)} and {dims} ({description(input)}).")
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(f"histogramdd(): for a {dims}-dimensional histogram range should have {2 * dims} elements, but got {len(range)}")
    if range is None and x.numel() and not all(isinstance(b, Tensor) for b in bins):
        range = [bound for pair in zip(x.amin(0).tolist(), x.amax(0).tolist()) for bound in pair]
    edges = tuple([edges_of(x, b, None if range is None else tuple(range[2 * d:2 * d + 2]), "histogramdd") for d, b in enumerate(bins)])
    shape = [e.numel() - 1 for e in edges]
    total = 1
    for size in shape:
        total *= size
    w = None if weight is None else weight.detach().reshape(-1)
    counts = backend(x).bincount(backend(x).grid_numbers(x, edges), w, total).to(x.dtype).reshape(shape)
    if density:
        volume = counts.sum()
        for d, e in enumerate(edges):
            view = [1] * dims
            view[d] = -1
            counts = counts / e.diff().reshape(view)
        counts = counts / volume
    return RESULTS["histogramdd"](counts, edges)


METHODS = {"unique": unique, "unique_consecutive": unique_consecutive, "isin": isin, "bincount": bincount, "histc": histc,
           "histogram": histogram, "bucketize": bucketize}
NN_FUNCTIONAL = []
