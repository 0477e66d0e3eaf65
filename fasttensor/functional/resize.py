"""Interpolation to another size: nearest, linear, cubic and area, with or without antialiasing.

Each mode but area is, along every dimension, a table of a few input positions and weights for each output
position; fasttensor.cpu.taps makes them.
"""
import math
import warnings
from functools import lru_cache

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.pool import Resample
from fasttensor.cpu.taps import Taps
from fasttensor.functional.common import need_room
from fasttensor.functional.pool import adaptive_avg_pool

__all__ = []
NN_FUNCTIONAL = ["interpolate", "upsample", "upsample_nearest", "upsample_bilinear"]
METHODS = {}

MODES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}


def table(kind, size, n, factor, align, rounded):
    """The Taps of n outputs among `size` inputs. Long ones are not kept: they are quickly made beside what they are used for."""
    return kept(kind, size, n, factor, align, rounded) if size + n <= 1 << 14 else Taps(kind, size, n, factor, align, rounded)


kept = lru_cache(512)(Taps)


def target_sizes(name, nd, input, size, scale_factor, recompute):
    """The output's extents, and the factors to compute positions with (None: from the extents)."""
    sizes = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError(f"{name}: only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(f"{name}: recompute_scale_factor is not meaningful with an explicit size.")
        if isinstance(size, bool):
            raise TypeError(f"{name}(): argument 'size' must be int or tuple of ints, not bool")
        out = [int(n) for n in size] if hasattr(size, "__len__") else [int(size)] * nd
        if len(out) != nd:
            raise ValueError(f"{name}: input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                             f"{sizes} and output size of {size}. Please provide input tensor in "
                             "(N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.")
        return out, [None] * nd
    if scale_factor is None:
        raise ValueError(f"{name}: either size or scale_factor should be defined")
    factors = [float(f) for f in scale_factor] if hasattr(scale_factor, "__len__") else [float(scale_factor)] * nd
    if len(factors) != nd:
        raise ValueError(f"{name}: input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
                         f"{sizes} and scale_factor of shape {scale_factor}. Please provide input tensor in "
                         "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.")
    out = [s * f for s, f in zip(sizes, factors)]
    if not all(abs(n) < 1 << 62 for n in out):
        raise RuntimeError(f"{name}: value cannot be converted to type int64_t without overflow: sizes {sizes} by scale_factor {scale_factor}")
    return [math.floor(n) for n in out], [None] * nd if recompute else factors


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Resizes signals, images or volumes.

    Shapes: ``[N, C, *spatial]`` to ``[N, C, *size]``, or ``floor(spatial * scale_factor)``. Modes: ``'nearest'``, ``'nearest-exact'``,
    ``'area'`` for 1 to 3 spatial dimensions, ``'linear'`` for 1, ``'bilinear'`` and ``'bicubic'`` (both with `antialias`) for 2, ``'trilinear'`` for 3.
    Floating point dtypes, and uint8, which is rounded. Raises ValueError for contradicting arguments,
    NotImplementedError for a mode that the rank does not have.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"interpolate(): argument 'input' must be Tensor, not {type(input).__name__}")
    if mode not in MODES:
        raise NotImplementedError(f"interpolate: unknown mode {mode!r}: expected one of {', '.join(MODES)}")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    nd = input.dim() - 2
    out, factors = target_sizes("interpolate", nd, input, size, scale_factor, recompute_scale_factor)
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if nd not in MODES[mode]:
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | "
                                  f"bicubic | trilinear | area | nearest-exact (got {mode})")
    if min(out) <= 0 or 0 in input.shape[2 if mode == "area" else 1:]:
        raise RuntimeError(f"interpolate: input and output sizes should be greater than 0, but got input {description(input)} and output size {out}")
    if input.dtype.is_complex or (not input.dtype.is_floating_point and input.dtype.name != "uint8"):
        raise NotImplementedError(f'"upsample_{mode}" not implemented for {description(input)}: expected floating point values or uint8')
    if mode == "area":
        return adaptive_avg_pool(f"adaptive_avg_pool{nd}d", nd, input, tuple(out))
    need_room(input, [*input.shape[:2], *out])
    # bytes: by weights of 16 bits in two dimensions, rounded after each, as PyTorch and Pillow resize them
    stepwise = input.dtype.name == "uint8" and mode in ("bilinear", "bicubic")
    if mode == "nearest-exact" and input.dtype.itemsize == 8:
        kind = "nearest-exact double"
    else:
        kind = mode if mode in ("nearest", "nearest-exact") else ("wide " if antialias else "") + ("cubic" if mode == "bicubic" else "linear")
    tables = []
    for a in range(nd - 1, -1, -1):
        size, n = input.shape[2 + a], out[a]
        # equal extents stay as they are, whatever the factor, in PyTorch's linear modes and with antialias
        if size != n or factors[a] is not None and not align_corners and not antialias and kind != "linear":
            tables.append((2 + a, table(kind, size, n, factors[a], bool(align_corners), stepwise)))
    if not tables:
        return input.clone()
    if stepwise:
        y = input.double()
        for each in tables:
            y = (apply(Resample, y, [each]) + 0.5).floor().clamp(0, 255)
        return y.to(input.dtype)
    if input.dtype.name == "uint8":
        return apply(Resample, input, tables).round().clamp(0, 255).to(input.dtype)
    # half precision is rounded once, not after every dimension
    x = input.float() if input.dtype.itemsize == 2 else input
    return apply(Resample, x, tables).to(input.dtype)


def deprecated(name):
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """:func:`interpolate` under its older name, with its arguments and errors.

    >>> F.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``'nearest'``: (N, C, ...) to the given `size`, or `scale_factor` times as large.

    >>> F.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``'bilinear'`` and aligned corners: (N, C, H, W) to the given `size`, or `scale_factor` times as large.

    >>> F.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), (1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
