"""Interpolation to another size: nearest, linear, cubic and area, with or without antialiasing.

Each mode but area is, along every dimension, a table of a few input positions and weights for each output
position. Keys, "Cubic convolution interpolation for digital image processing" (1981), for the cubic weights.
"""
import math
import struct
from functools import lru_cache

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.pool import Resample
from fasttensor.functional.pool import adaptive_avg_pool

__all__ = []
NN_FUNCTIONAL = ["interpolate", "upsample", "upsample_nearest", "upsample_bilinear"]
METHODS = {}

MODES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}


def single(value):
    """Rounded to float32, in which PyTorch computes nearest positions."""
    return struct.unpack("f", struct.pack("f", value))[0]


def cubic(t, a):
    """Weights of the four neighbours at distance t past the second."""
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def triangle(x):
    return max(0.0, 1.0 - abs(x))


def keys(x):
    a, x = -0.5, abs(x)
    return ((a + 2) * x - (a + 3)) * x * x + 1 if x < 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def smoothed(size, n, scale, reach, weigh):
    """Tables of a filter that widens with the scale, so that shrinking averages."""
    index, weight = [], []
    wide = max(scale, 1.0)
    for i in range(n):
        center = scale * (i + 0.5)
        low = max(int(center - reach * wide + 0.5), 0)
        high = min(int(center + reach * wide + 0.5), size)
        raw = [weigh((j - center + 0.5) / wide) for j in range(low, high)]
        total = sum(raw)
        index.append(list(range(low, high)))
        weight.append([w / total if total else 0.0 for w in raw])
    return index, weight


class Taps:
    """For each output the inputs that it sums, and their weights; the kernel keeps what it makes of them in `made`."""
    __slots__ = ("index", "weight", "made")

    def __init__(self, index, weight):
        self.index, self.weight, self.made = index, weight, None


@lru_cache(512)
def table(mode, size, n, factor, align, antialias):
    """The Taps of n outputs among `size` inputs."""
    return Taps(*entries(mode, size, n, factor, align, antialias))


def entries(mode, size, n, factor, align, antialias):
    if mode == "nearest":
        scale = single(1.0 / factor) if factor else single(size / n)
        return [[min(int(single(i * scale)), size - 1)] for i in range(n)], [[1.0]] * n
    if mode.startswith("nearest-exact"):
        # the center that the linear mode would read between pixels, held as the dtype holds it, and the pixel nearest to it in float32
        as_held = float if mode.endswith("double") else single
        scale = as_held(1.0 / factor if factor else size / n)
        centers = [max(as_held((i + 0.5) * scale - 0.5), 0.0) for i in range(n)]
        return [[min(int(single(c + 0.5)), size - 1)] for c in centers], [[1.0]] * n
    if align:
        scale = (size - 1) / (n - 1) if n > 1 else 0.0
    else:
        scale = 1.0 / factor if factor else size / n
    if antialias:
        return smoothed(size, n, scale, 2.0, keys) if mode == "bicubic" else smoothed(size, n, scale, 1.0, triangle)
    index, weight = [], []
    for i in range(n):
        at = i * scale if align else (i + 0.5) * scale - 0.5
        if mode == "bicubic":
            base = math.floor(at)
            index.append([min(max(base + k, 0), size - 1) for k in (-1, 0, 1, 2)])
            weight.append(cubic(at - base, -0.75))
        else:
            at = max(at, 0.0)
            base = min(int(at), size - 1)
            index.append([base, min(base + 1, size - 1)])
            weight.append([1.0 - min(at - base, 1.0), min(at - base, 1.0)])
    return index, weight


def target_sizes(name, nd, input, size, scale_factor, recompute):
    """The output's extents, and the factors to compute positions with (None: from the extents)."""
    sizes = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError(f"{name}: only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(f"{name}: recompute_scale_factor is not meaningful with an explicit size.")
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
    return [math.floor(s * f) for s, f in zip(sizes, factors)], [None] * nd if recompute else factors


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
    if min(out) <= 0 or 0 in input.shape[1:]:
        raise RuntimeError(f"interpolate: input and output sizes should be greater than 0, but got input {description(input)} and output size {out}")
    if input.dtype.is_complex or (not input.dtype.is_floating_point and input.dtype.name != "uint8"):
        raise NotImplementedError(f'"upsample_{mode}" not implemented for {description(input)}: expected floating point values or uint8')
    if mode == "area":
        return adaptive_avg_pool(f"adaptive_avg_pool{nd}d", nd, input, tuple(out))
    tables = []
    kind = mode + " double" if mode == "nearest-exact" and input.dtype.itemsize == 8 else mode
    for a in range(nd - 1, -1, -1):
        size, n = input.shape[2 + a], out[a]
        if size != n or (factors[a] is not None and not align_corners):
            tables.append((2 + a, table(kind, size, n, factors[a], bool(align_corners), bool(antialias))))
    if not tables:
        return input.clone()
    if input.dtype.name == "uint8":
        return bytes_resampled(input, tables, mode)
    # half precision is rounded once, not after every dimension
    x = input.float() if input.dtype.itemsize == 2 else input
    return apply(Resample, x, tables).to(input.dtype)


def merged(places, weights):
    """Weights of which those of a position that is named twice, at the border, are summed: they are rounded as one."""
    return [sum(w for p, w in zip(places, weights) if p == place) if places.index(place) == k else 0.0 for k, place in enumerate(places)]


def bytes_resampled(input, tables, mode):
    """uint8 as PyTorch and Pillow resize it: in two dimensions by weights of 16 bits, rounded after each dimension."""
    if mode not in ("bilinear", "bicubic"):
        return apply(Resample, input, tables).round().clamp(0, 255).to(input.dtype)
    y = input.double()
    for dim, taps in tables:
        weight = [merged(places, row) for places, row in zip(taps.index, taps.weight)]
        most, bits = max(max(row) for row in weight), 0
        while bits < 22 and 0.5 + most * (2 << bits) < 1 << 15:
            bits += 1
        unit = 1 << bits
        steps = [[math.floor(abs(w) * unit + 0.5) * math.copysign(1.0 / unit, w) for w in row] for row in weight]
        y = (apply(Resample, y, [(dim, Taps(taps.index, steps))]) + 0.5).floor().clamp(0, 255)
    return y.to(input.dtype)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """:func:`interpolate` under its older name, with its arguments and errors.

    >>> F.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``'nearest'``: (N, C, ...) to the given `size`, or `scale_factor` times as large.

    >>> F.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``'bilinear'`` and aligned corners: (N, C, H, W) to the given `size`, or `scale_factor` times as large.

    >>> F.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), (1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
