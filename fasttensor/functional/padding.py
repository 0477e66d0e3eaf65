"""Padding of the last dimensions, and channels traded for space."""
from functools import lru_cache
from operator import index

from fasttensor._core.layout import has_channels_inside
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.batched import all_samples
from fasttensor.autograd.checks import int_of, need_tensor, real_number
from fasttensor.autograd.copying import contiguous_format
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.conv import MAPPED_PADS, ConstantPad

__all__ = ["constant_pad_nd", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"]
NN_FUNCTIONAL = ["pad", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"]
METHODS = {}


def widths_of(name, input, padding):
    """PyTorch's list of widths as a tuple of ints."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    try:
        if isinstance(padding, (tuple, list)) and padding and isinstance(padding[0], bool):
            raise TypeError
        return tuple(map(index, padding))
    except TypeError:
        raise TypeError(f"{name}(): argument 'pad' must be a tuple of ints, not {padding!r}") from None


def pairs(name, input, padding):
    """(before, after) for each dimension from PyTorch's list, which starts at the last."""
    widths = widths_of(name, input, padding)
    if len(widths) % 2:
        raise RuntimeError(f"{name}: length of pad must be even but it is {len(widths)}")
    if len(widths) > 2 * input.dim():
        raise RuntimeError(f"{name}: length of pad should be no more than twice the number of dimensions of the input. "
                           f"Pad length is {len(widths)} while the input has {input.dim()} dimensions.")
    found = list(zip(widths[::2], widths[1::2]))[::-1]
    return tuple([(0, 0)] * (input.dim() - len(found)) + found)


def constant_pad_nd(input, pad, value=0):
    """Frames a tensor with a constant; `pad` as in :func:`torch.nn.functional.pad`.

    Any shape and dtype, which the result has. Raises RuntimeError where `pad` has an odd length, or more pairs than there are dimensions.

    >>> torch.constant_pad_nd(torch.ones(2), (1, 0), 5.)
    tensor([5., 1., 1.])
    """
    widths = pairs("constant_pad_nd", input, pad)
    for size, (before, after) in zip(input.shape, widths):
        if min(before, after, before + after) < -size:
            raise RuntimeError(f"constant_pad_nd: the input {description(input)} with pad {tuple(pad)} would have a negative size")
    return apply(ConstantPad, input, widths, value)


MODES = ("reflect", "replicate", "circular")


@lru_cache(1024)
def mapped(shape, dtype, widths, mode):
    """(before, after) of the padded dimensions; raises where they do not fit a tensor of that shape."""
    name = f"{dtype.name}{list(shape)}"
    nd, rank = len(widths) // 2, len(shape)
    if len(widths) % 2:
        raise RuntimeError(f"pad: length of pad must be even but it is {len(widths)}")
    if nd > rank:
        raise RuntimeError(f"pad: length of pad should be no more than twice the number of dimensions of the input. "
                           f"Pad length is {len(widths)} while the input has {rank} dimensions.")
    if nd not in (1, 2, 3) or rank not in (nd + 1, nd + 2):
        raise NotImplementedError(f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: got {name} and pad {widths}")
    found = tuple(zip(widths[::2], widths[1::2]))[::-1]
    # of a tensor without a batch the first dimension holds channels, of which there may be none only where values wrap around
    for dim, (before, after) in enumerate(found, rank - nd):
        if shape[dim] + before + after <= 0:
            raise RuntimeError(f"pad: dimension {dim} of {name} with padding ({before}, {after}) would have no elements")
    if mode != "circular" and 0 in shape[rank - nd - 1:]:
        raise RuntimeError(f"pad: expected a tensor with possibly 0 batch size and other non-zero dimensions, got {name}")
    for size, (before, after) in zip(shape[rank - nd:], found):
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(f"pad: with mode 'reflect', padding size should be less than the corresponding input dimension, but got padding "
                               f"({before}, {after}) at a dimension of size {size}")
        if mode == "circular":
            if before > size or after > size:
                raise RuntimeError(f"pad: with mode 'circular', padding value causes wrapping around more than once: ({before}, {after}) "
                                   f"at a dimension of size {size}")
            if max(-before, 0) >= size - max(-after, 0):
                raise RuntimeError(f"pad: with mode 'circular', nothing is left to repeat of a dimension of size {size} with padding ({before}, {after})")
    return found


def pad(input, pad, mode="constant", value=None):
    """Widens (or, by negative numbers, narrows) the last dimensions.

    `pad` holds (before, after) of the last dimension first, then of the one before it, and so on. Modes: ``'constant'`` with `value`
    (default 0) for any dimensions and dtypes; ``'reflect'``, ``'replicate'`` and ``'circular'`` for the last 1 to 3 of a tensor with one or
    two more dimensions. Raises RuntimeError where a width does not fit, NotImplementedError for other modes.

    >>> torch.nn.functional.pad(torch.tensor([[1., 2., 3.]]), (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError(f"pad(): argument 'value' must be float, not {type(value).__name__}")
        return constant_pad_nd(input, pad, 0.0 if value is None else real_number(value, "pad", "value"))
    if mode not in MODES:
        raise NotImplementedError(f"pad: unrecognised padding mode {mode!r}: expected one of 'constant', 'reflect', 'replicate', 'circular'")
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    widths = widths_of("pad", input, pad)
    widths = mapped(input.shape, input.dtype, widths, mode)
    return apply(MAPPED_PADS[mode, len(widths)], input, widths, MODES.index(mode))


def factor_of(name, factor):
    if type(factor) is not int and not hasattr(factor, "__index__"):
        raise TypeError(f"{name}(): the factor must be int, not {type(factor).__name__}")
    if factor <= 0:
        raise RuntimeError(f"{name}: expects a positive factor, but got {factor}")
    return factor.__index__()


def anew(input, x):
    """x as contiguous memory of its own, which with a factor of one or few elements may be the input's until then."""
    if x.is_meta or x.is_contiguous() and all_samples(x).data_ptr() != all_samples(input).data_ptr():
        return x
    return x.clone(memory_format=contiguous_format)


def pixel_shuffle(input, upscale_factor):
    """Channels spread over space: ``[*, C * r * r, H, W]`` to ``[*, C, H * r, W * r]``.

    Any dtype. Raises RuntimeError where the channels are not divisible. Shi et al., "Real-Time Single Image and Video Super-Resolution" (2016).

    >>> torch.pixel_shuffle(torch.arange(4.).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    need_tensor(input, "pixel_shuffle", "input", 1)
    upscale_factor = int_of(upscale_factor, "pixel_shuffle", "upscale_factor")
    r = factor_of("pixel_shuffle", upscale_factor)
    if input.dim() < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
                           f"but input.size(-3)={c} is not divisible by {r * r}")
    n = len(lead)
    if n == 1 and has_channels_inside(input):
        x = input.permute(0, 2, 3, 1).reshape(*lead, h, w, c // (r * r), r, r).permute(0, 1, 4, 2, 5, 3)
        return anew(input, x.reshape(*lead, h * r, w * r, c // (r * r))).permute(0, 3, 1, 2)
    x = input.reshape(*lead, c // (r * r), r, r, h, w).permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return anew(input, x.reshape(*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input, downscale_factor):
    """Space gathered in channels: ``[*, C, H * r, W * r]`` to ``[*, C * r * r, H, W]``, the inverse of :func:`pixel_shuffle`.

    Any dtype. Raises RuntimeError where the extents are not divisible.

    >>> torch.pixel_unshuffle(torch.arange(4.).view(1, 2, 2), 2).shape
    torch.Size([4, 1, 1])
    """
    need_tensor(input, "pixel_unshuffle", "input", 1)
    downscale_factor = int_of(downscale_factor, "pixel_unshuffle", "downscale_factor")
    r = factor_of("pixel_unshuffle", downscale_factor)
    if input.dim() < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)")
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but {h} x {w} is not divisible by {r}")
    n = len(lead)
    if n == 1 and has_channels_inside(input):
        x = input.permute(0, 2, 3, 1).reshape(*lead, h // r, r, w // r, r, c).permute(0, 1, 3, 5, 2, 4)
        return anew(input, x.reshape(*lead, h // r, w // r, c * r * r)).permute(0, 3, 1, 2)
    x = input.reshape(*lead, c, h // r, r, w // r, r).permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return anew(input, x.reshape(*lead, c * r * r, h // r, w // r))


def channel_shuffle(input, groups):
    """Channels of `groups` groups interleaved: ``[N, C, *]`` seen as ``[N, groups, C / groups, *]`` and transposed.

    Any dtype. Raises RuntimeError where the channels are not divisible. Zhang et al., "ShuffleNet" (2017).

    >>> torch.channel_shuffle(torch.arange(4.).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    need_tensor(input, "channel_shuffle", "input", 1)
    groups = int_of(groups, "channel_shuffle", "groups")
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"channel_shuffle: number of groups to divide channels in must be positive. Value of groups: {groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"channel_shuffle: number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    if 0 in input.shape:
        return input.clone()
    if len(rest) == 2 and has_channels_inside(input):
        x = input.permute(0, 2, 3, 1).reshape(n, *rest, groups, c // groups).transpose(3, 4)
        return anew(input, x.reshape(n, *rest, c)).permute(0, 3, 1, 2)
    return anew(input, input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(input.shape))
