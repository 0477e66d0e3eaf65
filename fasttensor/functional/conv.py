"""Convolution in 1, 2 and 3 dimensions, its transpose, and sliding windows as columns.

The gradients' formulas: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016).
"""
from functools import lru_cache

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import int_of, need_tensor
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.conv import Col2im, ConstantPad, Convolution, ConvolutionInput, Im2col

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution"]
NN_FUNCTIONAL = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "unfold", "fold"]
METHODS = {}


def spread(value, n, function, name):
    """An int, or a sequence of one or n ints, as a tuple of n ints."""
    if type(value) is int:
        return (value,) * n
    try:
        if isinstance(value, bool) or isinstance(value, (tuple, list)) and value and isinstance(value[0], bool):
            raise TypeError
        found = tuple([v.__index__() for v in value]) if getattr(value, "ndim", hasattr(value, "__len__")) else (value.__index__(),) * n
    except (TypeError, AttributeError):
        raise TypeError(f"{function}(): argument '{name}' must be an int or a tuple of ints, not {type(value).__name__}") from None
    if len(found) == 1:
        found *= n
    if len(found) != n:
        raise RuntimeError(f"{function}: expected {name} to be a single integer or a list of {n} values, got {found}")
    return found


def check_tensors(name, input, weight, bias):
    for label, value in (("input", input), ("weight", weight)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}(): argument '{label}' must be Tensor, not {type(value).__name__}")
    if bias is not None and not isinstance(bias, Tensor):
        raise TypeError(f"{name}(): argument 'bias' must be Tensor, not {type(bias).__name__}")
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"{name}: input type ({description(input)}) and weight type ({description(weight)}) should be the same: "
                           f"convert one with .to()")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"{name}: input type ({description(input)}) and bias type ({description(bias)}) should be the same: "
                           f"convert one with .to()")


def frozen(value):
    """A list as a tuple, which can be a key of a cache."""
    return tuple(value) if type(value) is list else value


def window_arguments(name, nd, shape, weight, stride, padding, dilation, groups, transposed):
    """The windows' options as tuples, padding unless it is a word, after checks of the input's and the weight's shapes."""
    if len(shape) not in (nd + 1, nd + 2):
        raise RuntimeError(f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {name}, but got input of size: {list(shape)}")
    if len(weight) != nd + 2:
        raise RuntimeError(f"{name}: expected a {nd + 2}-dimensional weight, but got weight of size {list(weight)}")
    stride, dilation = spread(stride, nd, name, "stride"), spread(dilation, nd, name, "dilation")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: non-positive stride is not supported, got {stride}")
    if min(dilation) <= 0:
        raise RuntimeError(f"{name}: dilation should be greater than zero, but got {dilation}")
    if int_of(groups, name, "groups") <= 0:
        raise RuntimeError(f"{name}: non-positive groups is not supported, got {groups}")
    if type(padding) is not str:
        padding = spread(padding, nd, name, "padding")
        if min(padding) < 0:
            raise RuntimeError(f"{name}: negative padding is not supported, got {padding}")
    channels, shown = shape[-nd - 1], list(weight)
    if 0 in shape[-nd:]:
        raise RuntimeError(f"{name}: only zero batch or zero channel inputs are supported, but got input shape: {list(shape)}")
    if weight[0] < groups or weight[0] % groups:
        raise RuntimeError(f"{name}: given groups={groups}, expected weight to be at least {groups} at dimension 0 and divisible by it, "
                           f"but got weight of size {shown} instead")
    if 0 in weight[2:]:
        raise RuntimeError(f"{name}: non-positive kernel sizes are not supported, got weight of size {shown}")
    expected = weight[0] if transposed else weight[1] * groups
    if channels != expected:
        kind = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(f"Given {kind}, weight of size {shown}, expected input{list(shape)} to have {expected} channels, "
                           f"but got {channels} channels instead")
    return stride, padding, dilation


def check_bias(weight, bias, outputs):
    if bias is not None and (len(bias) != 1 or bias[0] != outputs):
        raise RuntimeError(f"Given weight of size {list(weight)}, expected bias to be 1-dimensional with {outputs} elements, "
                           f"but got bias of size {list(bias)} instead")


def same_padding(weight, stride, padding, dilation, name):
    """'valid' or 'same' in numbers, and what `pad` must add first: an odd total pads one more at the end."""
    if padding == "valid":
        return (0,) * len(stride), None
    if padding != "same":
        raise RuntimeError(f"{name}: invalid padding string {padding!r}: expected 'same' or 'valid'")
    if max(stride) > 1:
        raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions, got stride {stride}")
    totals = [d * (k - 1) for d, k in zip(dilation, weight[2:])]
    extra = [n for t in reversed(totals) for n in (0, t % 2)]
    return tuple(t // 2 for t in totals), extra if any(extra) else None


@lru_cache(1024)
def forward_arguments(name, nd, shape, weight, bias, stride, padding, dilation, groups):
    """(stride, padding, dilation, what to pad first) for shapes that fit; RuntimeError otherwise."""
    stride, padding, dilation = window_arguments(name, nd, shape, weight, stride, padding, dilation, groups, False)
    check_bias(weight, bias, weight[0])
    extra = None
    if type(padding) is str:
        padding, extra = same_padding(weight, stride, padding, dilation, name)
    sizes = [s + 2 * p for s, p in zip(shape[-nd:], padding)]
    needed = [d * (k - 1) + 1 for d, k in zip(dilation, weight[2:])]
    added = extra[1::2][::-1] if extra else [0] * nd
    if any(s + e < n for s, e, n in zip(sizes, added, needed)):
        raise RuntimeError(f"{name}: calculated padded input size per channel: {sizes}. Kernel size: {needed}. "
                           f"Kernel size can't be greater than actual input size")
    return stride, padding, dilation, extra


def convolve(name, nd, input, weight, bias, stride, padding, dilation, groups):
    check_tensors(name, input, weight, bias)
    stride, padding, dilation, extra = forward_arguments(
        name, nd, input.shape, weight.shape, None if bias is None else bias.shape, frozen(stride), frozen(padding), frozen(dilation), groups)
    batched = input.dim() == nd + 2
    x = input if batched else input.unsqueeze(0)
    if extra is not None:
        x = apply(ConstantPad, x, ((0, 0), (0, 0)) + tuple(zip(extra[::2], extra[1::2]))[::-1], 0)
    y = apply(Convolution, x, weight, bias, stride, padding, dilation, groups)
    return y if batched else y.squeeze(0)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of signals with a set of filters.

    Shapes: input ``[N, C, L]`` or ``[C, L]``, weight ``[O, C / groups, K]``, bias ``[O]``, result ``[N, O, L']`` with
    ``L' = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1``. Any numeric dtype, the same for all.
    `padding` is an int, a tuple, ``'valid'`` or ``'same'`` (stride 1 only).
    Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv1d(torch.tensor([[[1., 2., 3.]]]), torch.tensor([[[1., -1.]]]))
    tensor([[[-1., -1.]]])
    """
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of images with a set of filters.

    Shapes: input ``[N, C, H, W]`` or ``[C, H, W]``, weight ``[O, C / groups, kH, kW]``, bias ``[O]``, result ``[N, O, H', W']``;
    each extent as in :func:`conv1d`. Any numeric dtype, the same for all. Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of volumes with a set of filters.

    Shapes: input ``[N, C, D, H, W]`` or ``[C, D, H, W]``, weight ``[O, C / groups, kD, kH, kW]``, bias ``[O]``; each extent as in
    :func:`conv1d`. Any numeric dtype, the same for all. Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@lru_cache(1024)
def transposed_arguments(name, nd, shape, weight, bias, stride, padding, output_padding, groups, dilation):
    """(stride, padding, dilation, the output's extents) for shapes that fit; RuntimeError otherwise."""
    stride, padding, dilation = window_arguments(name, nd, shape, weight, stride, padding, dilation, groups, True)
    extra = spread(output_padding, nd, name, "output_padding")
    if type(padding) is str:
        raise TypeError(f"{name}(): argument 'padding' must be an int or a tuple of ints, not str")
    if min(extra) < 0:
        raise RuntimeError(f"{name}: negative output_padding is not supported, got {extra}")
    check_bias(weight, bias, weight[1] * groups)
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(f"{name}: output padding must be smaller than either stride or dilation, but got output_padding {extra}, "
                           f"stride {stride}, dilation {dilation}")
    sizes = tuple([(n - 1) * s - 2 * p + d * (k - 1) + e + 1
                   for n, s, p, d, k, e in zip(shape[-nd:], stride, padding, dilation, weight[2:], extra)])
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: given input size per channel {list(shape[-nd:])}, the calculated output size per channel {list(sizes)} is too small")
    return stride, padding, dilation, sizes


def transpose(name, nd, input, weight, bias, stride, padding, output_padding, groups, dilation):
    check_tensors(name, input, weight, bias)
    stride, padding, dilation, sizes = transposed_arguments(
        name, nd, input.shape, weight.shape, None if bias is None else bias.shape, frozen(stride), frozen(padding), frozen(output_padding),
        groups, frozen(dilation))
    batched = input.dim() == nd + 2
    x = input if batched else input.unsqueeze(0)
    y = apply(ConvolutionInput, x, weight, bias, (x.shape[0], weight.shape[1] * groups, *sizes), stride, padding, dilation, groups)
    return y if batched else y.squeeze(0)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution of signals: the gradient of :func:`conv1d` with respect to its input.

    Shapes: input ``[N, C, L]`` or ``[C, L]``, weight ``[C, O / groups, K]``, bias ``[O]``, result ``[N, O, L']`` with
    ``L' = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1``. Any numeric dtype, the same for all.
    Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[[1., 2.]]]), torch.tensor([[[1., 1.]]]), stride=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    groups = int_of(groups, "conv_transpose1d", "groups")
    return transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution of images: the gradient of :func:`conv2d` with respect to its input.

    Shapes: input ``[N, C, H, W]`` or ``[C, H, W]``, weight ``[C, O / groups, kH, kW]``, bias ``[O]``; each extent as in
    :func:`conv_transpose1d`. Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3)).shape
    torch.Size([1, 1, 4, 4])
    """
    groups = int_of(groups, "conv_transpose2d", "groups")
    return transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution of volumes: the gradient of :func:`conv3d` with respect to its input.

    Shapes: input ``[N, C, D, H, W]`` or ``[C, D, H, W]``, weight ``[C, O / groups, kD, kH, kW]``, bias ``[O]``; each extent as in
    :func:`conv_transpose1d`. Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2)).sum().item()
    8.0
    """
    groups = int_of(groups, "conv_transpose3d", "groups")
    return transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution of 1 to 3 dimensions, plain or transposed, by the weight's rank.

    Raises RuntimeError where shapes or dtypes do not fit.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 3), None, [1], [0], [1], False, [0], 1)
    tensor([[[3.]]])
    """
    nd = need_tensor(weight, "convolution", "weight", 2).dim() - 2
    if nd not in (1, 2, 3):
        raise RuntimeError(f"convolution: expected a weight of 3 to 5 dimensions, got {description(weight)}")
    if transposed:
        return transpose("convolution", nd, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolve("convolution", nd, input, weight, bias, stride, padding, dilation, groups)


def window_options(name, kernel_size, dilation, padding, stride):
    kernel, dilation = spread(kernel_size, 2, name, "kernel_size"), spread(dilation, 2, name, "dilation")
    padding, stride = spread(padding, 2, name, "padding"), spread(stride, 2, name, "stride")
    for label, value, least in (("kernel_size", kernel, 1), ("dilation", dilation, 1), ("stride", stride, 1), ("padding", padding, 0)):
        if min(value) < least:
            raise RuntimeError(f"{name}: {label} should be {'greater than zero' if least else 'non-negative'}, but got {value}")
    return kernel, dilation, padding, stride


def blocks(sizes, kernel, dilation, padding, stride):
    """How many windows fit along each dimension."""
    return [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in zip(sizes, kernel, dilation, padding, stride)]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding windows of images as columns.

    Shapes: ``[N, C, H, W]`` or ``[C, H, W]`` to ``[N, C * kH * kW, L]`` with L windows. Any dtype.
    Raises RuntimeError where no window fits.

    >>> torch.nn.functional.unfold(torch.arange(4.).view(1, 1, 2, 2), (1, 2))
    tensor([[[0., 2.],
             [1., 3.]]])
    """
    need_tensor(input, "unfold", "input", 1)
    options = window_options("unfold", kernel_size, dilation, padding, stride)
    shape = list(input.shape)
    if input.dim() not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(f"unfold: expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
                           f"for input, but got: {shape}")
    if min(blocks(shape[-2:], *options)) < 1:
        raise RuntimeError(f"unfold: given input {description(input)}, kernel_size={options[0]}, dilation={options[1]}, padding={options[2]}, "
                           f"stride={options[3]}, the sliding blocks would be {tuple(blocks(shape[-2:], *options))}: too small (non-positive)")
    y = apply(Im2col, input if input.dim() == 4 else input.unsqueeze(0), *options)
    return y if input.dim() == 4 else y.squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns added back at their windows' places: the transpose of :func:`unfold`.

    Shapes: ``[N, C * kH * kW, L]`` or ``[C * kH * kW, L]`` to ``[N, C, *output_size]``. Any dtype.
    Raises RuntimeError where the columns do not fit the windows.

    >>> torch.nn.functional.fold(torch.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    kernel, dilation, padding, stride = window_options("fold", kernel_size, dilation, padding, stride)
    sizes, shape = spread(output_size, 2, "fold", "output_size"), list(input.shape)
    if input.dim() not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(f"fold: expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions, but got: {shape}")
    area = kernel[0] * kernel[1]
    if min(sizes) <= 0:
        raise RuntimeError(f"fold: expected output spatial size to be positive, but got: output_size={sizes}")
    if shape[-2] % area:
        raise RuntimeError(f"fold: expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input of size {shape} "
                           f"and kernel_size={kernel}")
    counts = blocks(sizes, kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(f"fold: given output_size={sizes}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
                           f"the array of sliding blocks {tuple(counts)} is too small (non-positive)")
    if shape[-1] != counts[0] * counts[1]:
        raise RuntimeError(f"fold: given output_size={sizes}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size "
                           f"of input's dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = {counts[0] * counts[1]}, "
                           f"but got input.size(2)={shape[-1]}")
    y = apply(Col2im, input if input.dim() == 3 else input.unsqueeze(0), sizes, kernel, dilation, padding, stride)
    return y if input.dim() == 3 else y.squeeze(0)
