"""Shapes of indexing, joining and rearranging. Indices may be on the CPU, as in PyTorch."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import broadcast, code_of, like, new, together

INT64, FLOAT64 = DTYPES["int64"].code, DTYPES["float64"].code


# --- what depends on values ---

def _unknown(op, *tensors):
    raise NotImplementedError(f"aten::{op}: attempted to run this operator with Meta tensors ({', '.join(map(description, tensors))}), but"
                              " the shape of its result depends on values, which meta tensors do not have")


def nonzero(x):
    _unknown("nonzero", x)


def nonzero_tuple(x):
    _unknown("nonzero", x)


def masked_select(x, mask):
    _unknown("masked_select", x, mask)


def runs(x):
    _unknown("_unique2", x)


def bincount(x, weights, size):
    _unknown("bincount", x)


def int_bounds(x):
    _unknown("bincount", x)


def grid_numbers(x, edges):
    return new((x.shape[0],), INT64)


def equal(a, b):
    _unknown("equal", a, b)


# --- indexing ---

def _positions(op, x, indices):
    """The shape of x[indices]."""
    found, at, d = [], [], 0
    for t in indices:
        if t is None:
            d += 1
        elif t.dtype.name in ("bool", "uint8"):
            _unknown("nonzero", t)
        elif t.dtype.name not in ("int32", "int64"):
            raise IndexError(f"{op}: tensors used as indices must be long, int, byte or bool tensors, got {description(t)}; convert with .long()")
        else:
            found.append(tuple(t.shape))
            at.append(d)
            d += 1
    if d > x.ndim or not found:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    try:
        middle = broadcast(op, *found)
    except RuntimeError:
        raise IndexError(f"{op}: shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(s)) for s in found)) from None
    rest = [(d, n) for d, n in enumerate(x.shape) if d not in at]
    first = at[0] if at[-1] - at[0] == len(at) - 1 else 0
    return (*[n for d, n in rest if d < first], *middle, *[n for d, n in rest if d >= first])


def index_get(x, indices, wrap=True, op="index"):
    together(op, x)
    return new(_positions(op, x, indices), code_of(x))


def index_put(x, indices, values, how=0, wrap=True, op="index_put_"):
    together(op, x)
    if code_of(values) != code_of(x):
        raise RuntimeError(f"{op}: expected values of dtype {x.dtype}, got {description(values)}")
    if any(t is not None and t.dtype.name in ("bool", "uint8") for t in indices):
        return x        # how many values a mask takes is not known
    shape, given = _positions(op, x, indices), list(values.shape)
    while len(given) > len(shape) and given[0] == 1:
        del given[0]
    try:
        fits = broadcast(op, shape, given) == shape
    except RuntimeError:
        fits = False
    if not fits and values.numel() != 1:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape"
                           f" {list(shape)}")
    return x


def index_select(x, dim, index):
    together("index_select", x, index)
    if x.ndim == 0:
        return like(x)
    return new((*x.shape[:dim], index.numel(), *x.shape[dim + 1:]), code_of(x))


def _integers(op, index):
    if index.dtype.name not in ("int32", "int64"):
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for index, got {description(index)}; convert with .long()")


def gather(x, dim, index):
    together("gather", x, index)
    _integers("gather", index)
    if index.numel() and (index.ndim or 1) != (x.ndim or 1):
        raise RuntimeError(f"gather(): index must have the same number of dimensions as input, got {description(index)} for {description(x)}")
    for d, (n, size) in enumerate(zip(index.shape, x.shape) if index.numel() else ()):
        if d != dim and n > size:
            raise RuntimeError(f"gather(): Size does not match at dimension {d}: expected index {list(index.shape)} to be no larger than self"
                               f" {list(x.shape)} apart from dimension {dim}")
    return new(index.shape, code_of(x))


def scatter(x, dim, index, src, how=0, op="scatter"):
    together(op, x, index)
    _integers(op, index)
    if src.dtype is not x.dtype:
        raise RuntimeError(f"{op}(): Expected self.dtype to be equal to src.dtype, got {description(x)} and {description(src)}")
    if not index.numel():
        return x
    if (index.ndim or 1) != (x.ndim or 1) or src.ndim and (index.ndim or 1) != src.ndim:
        raise RuntimeError(f"{op}(): Index tensor must have the same number of dimensions as self tensor and src, got index"
                           f" {description(index)}, self {description(x)}, src {description(src)}")
    for d, n in enumerate(index.shape):
        if x.ndim and d != dim and n > x.shape[d] or src.ndim and n > src.shape[d]:
            raise RuntimeError(f"{op}(): Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension"
                               f" {dim} and to be no larger size than src {list(src.shape)}")
    return x


def masked_scatter(x, mask, source):
    together("masked_scatter", x, mask, source)
    return like(x)


def masked_fill(x, mask, value, out=None):
    together("masked_fill", x, mask)
    sizes = broadcast("masked_fill", x.shape, mask.shape)
    if out is None:
        return new(sizes, code_of(x))
    if tuple(out.shape) != sizes:
        raise RuntimeError(f"masked_fill_: mask {description(mask)} does not broadcast to {description(x)}")
    return out


def embedding_backward(g, index, rows, padding_idx=-1, scale_by_freq=False, bag=None, factor=None):
    return new((rows, *g.shape[1 if bag is not None else index.ndim:]), code_of(g))


def embedding_bag(weight, index, offsets, factors, mode, padding_idx, closed, positions):
    together("embedding_bag", weight, index, offsets, factors)
    shape = index.shape[0] if offsets is None else offsets.numel() - closed, weight.shape[1]
    return new(shape, code_of(weight)), new(shape, INT64) if mode == 2 and positions else None


def bag_numbers(weight, index, offsets, mean, padding_idx, closed):
    return new((index.numel(),), INT64), new((index.numel(),), code_of(weight)) if mean else None


def bag_dots(g, weight, index, bag, padding_idx):
    return new((index.numel(),), code_of(weight))


# --- searching ---

def searchsorted(edges, values, right, sorter=None):
    together("searchsorted", edges, values, sorter)
    if edges.ndim != 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(f"searchsorted: boundaries {description(edges)} need one dimension, or the leading ones of {description(values)}")
    return like(values, INT64)


def repeated_positions(repeats, total=-1):
    if total < 0:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return new((total,), INT64)


def one_hot(x, classes):
    if classes < 0:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors: one_hot needs num_classes")
    return new((*x.shape, classes), INT64)


def uniform_histogram(x, edges, weights=None, by_quotient=False):
    return new((edges.numel() - 1,), INT64 if weights is None else FLOAT64)


# --- joining and rearranging ---

def cat(tensors, dim, code, out=None):
    together("cat", *tensors)
    parts = [t for t in tensors if tuple(t.shape) != (0,)]
    if not parts:
        return new((0,), code)
    first = parts[0]
    for k, t in enumerate(parts):
        if t.ndim != first.ndim:
            raise RuntimeError(f"cat: Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}"
                               f" ({description(first)} and {description(t)})")
        for d in range(t.ndim):
            if d != dim and t.shape[d] != first.shape[d]:
                raise RuntimeError(f"cat: Sizes of tensors must match except in dimension {dim}. Expected size {first.shape[d]} but got size"
                                   f" {t.shape[d]} for tensor number {k} in the list ({description(first)} and {description(t)})")
        if t.ndim == 0:
            raise RuntimeError("cat: zero-dimensional tensor cannot be concatenated; use stack")
    return new((*first.shape[:dim], sum(t.shape[dim] for t in parts), *first.shape[dim + 1:]), code)


def stack(tensors, dim, code, out=None):
    together("stack", *tensors)
    first = tensors[0]
    for k, t in enumerate(tensors):
        if t.shape != first.shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(t.shape)} at"
                               f" entry {k}")
    return new((*first.shape[:dim], len(tensors), *first.shape[dim:]), code)


def flip(x, dims):
    return like(x)


def roll(x, shift, dim):
    return like(x)


def triangle(x, k, upper):
    return like(x)


def repeat(x, repeats):
    lead = [1] * (len(repeats) - x.ndim)
    return new([r * n for r, n in zip(repeats, [*lead, *x.shape])], code_of(x))


def repeat_each(x, times, dim):
    return new([n * times if d == dim else n for d, n in enumerate(x.shape)], code_of(x))
