"""Shapes of convolutions, pooling, windows, padding and resampling."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import code_of, new, promoted, together

INT64 = DTYPES["int64"].code


def _check(x, w, shape, groups):
    """`shape`: the weight's or the input's sizes, where the other is not at hand."""
    if groups < 1 or w[0] % groups or shape[1] != w[1] * groups:
        raise RuntimeError(f"convolution: {description(x)} with weight sizes {list(w)} and groups={groups}: expected input to have"
                           f" {w[1] * groups} channels, but got {shape[1]}")


def convolution(x, w, bias, stride, padding, dilation, groups):
    together("convolution", x, w, bias)
    _check(x, tuple(w.shape), x.shape, groups)
    sizes = []
    for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation):
        if n + 2 * p < d * (k - 1) + 1:
            raise RuntimeError(f"convolution: the kernel of {description(w)} with dilation {dilation} is larger than the padded input"
                               f" {description(x)}")
        sizes.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
    return new((x.shape[0], w.shape[0], *sizes), promoted(x, w))


def convolution_input(g, w, sizes, stride, padding, dilation, groups, bias=None):
    together("convolution", g, w, bias)
    _check(g, tuple(w.shape), tuple(sizes), groups)
    if g.shape[1] != w.shape[0]:
        raise RuntimeError(f"convolution: {description(g)} does not fit the weight {description(w)}")
    return new(sizes, promoted(g, w))


def convolution_weight(g, x, sizes, stride, padding, dilation, groups):
    return new(sizes, promoted(g, x))


def channel_sum(g):
    return new((g.shape[1],), code_of(g))


def _pooled(x, windows):
    lead = x.shape[:x.ndim - len(windows)]
    return (*lead, *[len(w[0]) for w in windows])      # lows, highs, extents, dilation


def max_pool(x, windows):
    sizes = _pooled(x, windows)
    return new(sizes, code_of(x)), new(sizes, INT64)


def fractional_max_pool(x, samples, kernel, out):
    together("fractional_max_pool", x, samples)
    sizes = (*x.shape[:x.ndim - len(out)], *out)
    return new(sizes, code_of(x)), new(sizes, INT64)


def avg_pool(x, windows, divisor, count_padding):
    return new(_pooled(x, windows), code_of(x))


def avg_pool_backward(g, sizes, windows, divisor, count_padding):
    return new((*g.shape[:g.ndim - len(sizes)], *sizes), code_of(g))


def max_pool_backward(g, indices, sizes):
    return new((*g.shape[:g.ndim - len(sizes)], *sizes), code_of(g))


def max_unpool(x, indices, sizes):
    together("max_unpool", x, indices)
    return max_pool_backward(x, indices, sizes)


def max_pool_gather(x, indices, nd):
    return new((*x.shape[:x.ndim - nd], *indices.shape[indices.ndim - nd:]), code_of(x))


def im2col(x, kernel, dilation, padding, stride):
    count = 1
    for n, k, d, p, s in zip(x.shape[2:], kernel, dilation, padding, stride):
        count *= (n + 2 * p - d * (k - 1) - 1) // s + 1
    return new((x.shape[0], x.shape[1] * kernel[0] * kernel[1], count), code_of(x))


def col2im(columns, sizes, kernel, dilation, padding, stride):
    return new((columns.shape[0], columns.shape[1] // (kernel[0] * kernel[1]), *sizes), code_of(columns))


def constant_pad(x, pads, value):
    sizes = [n + before + after for n, (before, after) in zip(x.shape, pads)]
    for d, n in enumerate(sizes):
        if n < 0:
            raise RuntimeError(f"pad: {description(x)} with padding {tuple(pads[d])} in dimension {d} would have a negative size {n}")
    return new(sizes, code_of(x))


def mapped_pad(x, pads, mode):
    sizes = [n + before + after for n, (before, after) in zip(x.shape[x.ndim - len(pads):], pads)]
    return new((*x.shape[:x.ndim - len(pads)], *sizes), code_of(x))


def mapped_pad_backward(g, sizes, pads, mode):
    return new((*g.shape[:g.ndim - len(sizes)], *sizes), code_of(g))


def resample(x, tables):
    code, sizes = code_of(x) if x.dtype.is_floating_point else DTYPES["float32"].code, list(x.shape)
    for dim, taps in tables:
        sizes[dim] = taps.n
    return new(sizes, code)


def resample_backward(g, tables, sizes):
    shape = list(g.shape)
    for (dim, _), size in zip(tables, sizes):
        shape[dim] = size
    return new(shape, code_of(g))


def grid_sample(x, grid, mode, padding, align):
    return new((*x.shape[:2], *grid.shape[1:-1]), code_of(x))


def grid_sample_backward(g, x, grid, mode, padding, align, image, points):
    return new(x.shape, code_of(x)) if image else None, new(grid.shape, code_of(grid)) if points else None
