"""Pooling over the last 1 to 3 dimensions: largest values and means, of regular and of adaptive windows."""
from functools import lru_cache

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import flag, int_of
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import pool as rules
from fasttensor.functional.common import give
from fasttensor.functional.conv import frozen, spread

__all__ = ["max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "avg_pool1d", "adaptive_avg_pool1d"]
NN_FUNCTIONAL = [*__all__[:2], "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
                 "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
                 "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
                 "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "max_pool2d_with_indices_backward"]
METHODS = {}

MAX_RULES = {1: rules.MaxPool, 2: rules.MaxPool2d, 3: rules.MaxPool3d}
AVG_RULES = {1: rules.AvgPool, 2: rules.AvgPool2d, 3: rules.AvgPool3d}
ADAPTIVE_MAX_RULES = {1: rules.AdaptiveMaxPool2d, 2: rules.AdaptiveMaxPool2d, 3: rules.AdaptiveMaxPool3d}
ADAPTIVE_AVG_RULES = {1: rules.AdaptiveAvgPool1d, 2: rules.AdaptiveAvgPool2d, 3: rules.AdaptiveAvgPool3d}


def check_shape(name, nd, shape, dtype, empty_channels=False):
    """Raise RuntimeError for shapes and dtypes that have no windows of nd dimensions; one sample may be allowed no channels."""
    if len(shape) not in (nd + 1, nd + 2) or 0 in shape[1 if empty_channels else -nd - 1:]:
        raise RuntimeError(f"{name}: expected {nd + 1}D or {nd + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
                           f"but got {dtype.name}{list(shape)}")
    if dtype.is_complex or dtype.name == "bool":
        raise NotImplementedError(f'"{name}" not implemented for {dtype.name}{list(shape)}: expected floating point or integer values')


def check(name, nd, input):
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    check_shape(name, nd, tuple(input.shape), input.dtype)


def output_extent(name, size, kernel, stride, padding, dilation, ceil_mode):
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    # the last window must start inside the input or the padding in front
    if ceil_mode and (n - 1) * stride >= size + padding:
        n -= 1
    if n < 1:
        raise RuntimeError(f"{name}: given input size {size}, kernel {kernel}, stride {stride}, padding {padding} and dilation {dilation}, "
                           f"the output size {n} is too small")
    return n


def regular(name, size, kernel, stride, padding, dilation, ceil_mode, average):
    """The windows of one dimension, as fasttensor.cpu.pool takes them."""
    n = output_extent(name, size, kernel, stride, padding, dilation, ceil_mode)
    starts = [i * stride - padding for i in range(n)]
    limit = size + padding if average else size
    ends = [min(s + dilation * (kernel - 1) + 1, limit) for s in starts]
    extents = [e - s for s, e in zip(starts, ends)]
    lows = [s if s >= 0 else s + -(s // dilation) * dilation for s in starts]
    return lows, [min(e, size) for e in ends], extents, dilation


def adaptive(size, n):
    lows = [i * size // n for i in range(n)]
    highs = [-(-(i + 1) * size // n) for i in range(n)]
    return lows, highs, [h - low for low, h in zip(lows, highs)], 1


@lru_cache(1024)
def regular_windows(name, nd, shape, dtype, kernel_size, stride, padding, dilation, ceil_mode, average):
    """The windows of all pooled dimensions; RuntimeError where the options do not fit."""
    check_shape(name, nd, shape, dtype)
    kernel = spread(kernel_size, nd, name, "kernel_size")
    stride = kernel if stride is None or stride == () else spread(stride, nd, name, "stride")
    padding, dilation = spread(padding, nd, name, "padding"), spread(dilation, nd, name, "dilation")
    for label, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{name}: {label} should be greater than zero, but got {values} for input {list(shape)}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"{name}: pad should be at most half of effective kernel size, but got"
                               f" pad={p}, kernel_size={k} and dilation={d} for input {list(shape)}")
    return tuple([regular(name, *values, ceil_mode, average) for values in zip(shape[-nd:], kernel, stride, padding, dilation)])


def windows(name, nd, input, kernel_size, stride, padding, dilation, ceil_mode, average):
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if type(kernel_size) is list or type(stride) is list or type(padding) is list or type(dilation) is list:
        kernel_size, stride, padding, dilation = map(frozen, (kernel_size, stride, padding, dilation))
    return regular_windows(name, nd, input.shape, input.dtype, kernel_size, stride, padding, dilation, bool(ceil_mode), average)


def max_pool(name, nd, input, kernel_size, stride, padding, dilation, ceil_mode):
    return apply(MAX_RULES[nd], input, windows(name, nd, input, kernel_size, stride, padding, dilation, ceil_mode, False))


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """:func:`max_pool1d` with the position of each value in its row: (values, indices), indices int64 of the same shape.

    >>> F.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """:func:`max_pool2d` with the flat position of each value in its plane: (values, indices), indices int64 of the same shape.

    >>> F.max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """:func:`max_pool3d` with the flat position of each value in its volume: (values, indices), indices int64 of the same shape.

    >>> F.max_pool3d_with_indices(torch.tensor([[[[1.0, 3.0], [2.0, 0.0]]]]), (1, 2, 2))
    (tensor([[[[3.]]]]), tensor([[[[1]]]]))
    """
    return max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of windows of signals.

    Shapes: ``[N, C, L]`` or ``[C, L]`` to ``[N, C, L']`` with ``L' = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1``
    (rounded up with `ceil_mode`). Floating point or integer dtypes; a NaN wins. `stride` defaults to the kernel size.
    Raises RuntimeError where no window fits.

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    tensor([[3., 2.]])
    """
    flag("max_pool1d", "ceil_mode", ceil_mode)
    if not return_indices and isinstance(input, Tensor) and not input.requires_grad:
        input = input.contiguous()      # PyTorch keeps the order of signals only where it looks for the indices
    values, indices = max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of windows of images.

    Shapes: ``[N, C, H, W]`` or ``[C, H, W]``; each extent as in :func:`max_pool1d`. Floating point or integer dtypes; a NaN wins.
    Raises RuntimeError where no window fits.

    >>> torch.nn.functional.max_pool2d(torch.arange(16.).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    flag("max_pool2d", "ceil_mode", ceil_mode)
    values, indices = max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value of windows of volumes.

    Shapes: ``[N, C, D, H, W]`` or ``[C, D, H, W]``; each extent as in :func:`max_pool1d`. Floating point or integer dtypes; a NaN wins.
    Raises RuntimeError where no window fits.

    >>> torch.nn.functional.max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 2).item()
    7.0
    """
    flag("max_pool3d", "ceil_mode", ceil_mode)
    values, indices = max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of :func:`max_pool2d_with_indices` by its input `self`: `grad_output` added at `indices` of zeros.

    >>> x = torch.tensor([[[1., 3.]]])
    >>> y, i = torch.nn.functional.max_pool2d_with_indices(x, (1, 2))
    >>> torch.ops.aten.max_pool2d_with_indices_backward(torch.ones_like(y), x, (1, 2), (1, 2), 0, 1, False, i)
    tensor([[[0., 1.]]])
    """
    name = "max_pool2d_with_indices_backward"
    windows(name, 2, self, kernel_size, stride, padding, dilation, ceil_mode, False)
    if grad_output.shape != indices.shape:
        raise RuntimeError(f"{name}: grad_output and indices must have one shape, got {description(grad_output)} and {description(indices)}")
    return apply(rules.MaxPool2dBackward, grad_output, self, indices)


def avg_pool(name, nd, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    lists = windows(name, nd, input, kernel_size, stride, padding, 1, ceil_mode, True)
    if divisor_override is not None and divisor_override == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")
    return apply(AVG_RULES[nd], input, lists, divisor_override or 0, bool(count_include_pad))


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of windows of signals.

    Shapes as in :func:`max_pool1d`. Floating point dtypes or int64 (rounded towards zero). With `count_include_pad` zeros of the padding count.
    Raises RuntimeError where no window fits.

    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    tensor([[2., 1.]])
    """
    flag("avg_pool1d", "ceil_mode", ceil_mode)
    flag("avg_pool1d", "count_include_pad", count_include_pad)
    return avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, out=None):
    """The mean of windows of images; `divisor_override` replaces the number of elements.

    Shapes as in :func:`max_pool2d`. Floating point dtypes or int64. Raises RuntimeError where no window fits.

    >>> torch.nn.functional.avg_pool2d(torch.arange(4.).view(1, 2, 2), 2).item()
    1.5
    """
    flag("avg_pool2d", "ceil_mode", ceil_mode)
    flag("avg_pool2d", "count_include_pad", count_include_pad)
    if divisor_override is not None:
        divisor_override = int_of(divisor_override, "avg_pool2d", "divisor_override")
    y = avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return y if out is None else give(out, y, "avg_pool2d", True)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, out=None):
    """The mean of windows of volumes; `divisor_override` replaces the number of elements.

    Shapes as in :func:`max_pool3d`. Floating point dtypes or int64. Raises RuntimeError where no window fits.

    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 2, 2, 2), 2).item()
    1.0
    """
    flag("avg_pool3d", "ceil_mode", ceil_mode)
    flag("avg_pool3d", "count_include_pad", count_include_pad)
    if divisor_override is not None:
        divisor_override = int_of(divisor_override, "avg_pool3d", "divisor_override")
    y = avg_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return y if out is None else give(out, y, "avg_pool3d", True)


@lru_cache(1024)
def adaptive_lists(name, nd, shape, dtype, output_size):
    check_shape(name, nd, shape, dtype, True)
    if type(output_size) is not tuple:
        output_size = (output_size,) * nd
    if len(output_size) == 1:
        output_size *= nd
    if len(output_size) != nd:
        raise RuntimeError(f"{name}: output_size must be {nd} values, got {output_size} for input {list(shape)}")
    wanted = [s if n is None else n for s, n in zip(shape[-nd:], output_size)]
    if min(wanted) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, but got {output_size} for input {list(shape)}")
    if max(wanted) > 1 << 31:       # the windows of a dimension are listed one by one
        raise RuntimeError(f"{name}: output_size {output_size} is too large for input {list(shape)}")
    return tuple([adaptive(s, n) for s, n in zip(shape[-nd:], wanted)])


def adaptive_windows(name, nd, input, output_size):
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if isinstance(output_size, bool):       # before it is a key, which 1 is as well
        raise TypeError(f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not bool")
    return adaptive_lists(name, nd, input.shape, input.dtype, frozen(output_size))


def one_each(output_size):
    """Whether one window covers everything."""
    return output_size == 1 or isinstance(output_size, (tuple, list)) and set(output_size) == {1}


def adaptive_avg_pool(name, nd, input, output_size):
    if isinstance(input, Tensor) and input.ndim in (nd + 1, nd + 2) and 0 in input.shape[-nd:] and (
            one_each(output_size)):
        return input.mean(tuple(range(-nd, 0)), True)       # of nothing, as in PyTorch
    if isinstance(input, Tensor) and input.is_complex() and input.ndim in (nd + 1, nd + 2) and 0 not in input.shape[1:] and one_each(output_size):
        return input.mean(tuple(range(-nd, 0)), True)       # which PyTorch makes of a window over everything
    if nd < 3 and isinstance(input, Tensor) and input.ndim == nd + 2 and input.size(1) == 0 and 0 not in input.shape[2:]:
        # as one sample of no channels, which has windows
        return adaptive_avg_pool(name, nd, input.flatten(0, 1), output_size).unflatten(0, input.shape[:2])
    return apply(ADAPTIVE_AVG_RULES[nd], input, adaptive_windows(name, nd, input, output_size), 0, False)


def adaptive_avg_pool1d(input, output_size):
    """Means of windows so placed that `output_size` of them cover the signal.

    Shapes: ``[N, C, L]`` or ``[C, L]`` to ``[N, C, output_size]``; window i covers ``floor(i * L / n)`` up to ``ceil((i + 1) * L / n)``.
    Floating point dtypes. Raises RuntimeError for negative sizes.

    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1., 2., 3., 4.]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows so placed that `output_size` (an int or a pair, None keeps an extent) of them cover the image.

    Shapes: ``[N, C, H, W]`` or ``[C, H, W]``. Floating point dtypes. Raises RuntimeError for negative sizes.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(4.).view(1, 2, 2), 1).item()
    1.5
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input, output_size):
    """Means of windows so placed that `output_size` (an int or a triple, None keeps an extent) of them cover the volume.

    Shapes: ``[N, C, D, H, W]`` or ``[C, D, H, W]``. Floating point dtypes. Raises RuntimeError for negative sizes.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 2, 2, 2), 1).item()
    1.0
    """
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool(name, nd, input, output_size):
    return apply(ADAPTIVE_MAX_RULES[nd], input, adaptive_windows(name, nd, input, output_size))


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """:func:`adaptive_max_pool1d` with the position of each value in its row: (values, indices).

    >>> F.adaptive_max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """:func:`adaptive_max_pool2d` with the flat position of each value in its plane: (values, indices).

    >>> F.adaptive_max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 1)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """:func:`adaptive_max_pool3d` with the flat position of each value in its volume: (values, indices).

    >>> F.adaptive_max_pool3d_with_indices(torch.tensor([[[[1.0, 3.0], [2.0, 0.0]]]]), 1)
    (tensor([[[[3.]]]]), tensor([[[[1]]]]))
    """
    return adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Largest values of the windows of :func:`adaptive_avg_pool1d`.

    (N, C, L) or (C, L) to (..., output_size); floating point. With `return_indices` (values, int64 indices). RuntimeError for other shapes.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1., 2., 3., 4.]]), 2)
    tensor([[2., 4.]])
    """
    values, indices = adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Largest values of the windows of :func:`adaptive_avg_pool2d`.

    (N, C, H, W) or (C, H, W) to (..., *output_size); floating point. With `return_indices` (values, int64 indices). RuntimeError for other shapes.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(4.).view(1, 2, 2), 1).item()
    3.0
    """
    values, indices = adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Largest values of the windows of :func:`adaptive_avg_pool3d`.

    (N, C, D, H, W) or (C, D, H, W) to (..., *output_size); floating point. With `return_indices` (values, int64 indices). RuntimeError for
    other shapes.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 1).item()
    7.0
    """
    values, indices = adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size)
    return (values, indices) if return_indices else values
