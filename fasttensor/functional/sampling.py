"""Sampling at the points of a grid, and grids from affine maps: Jaderberg et al., "Spatial Transformer Networks" (2015)."""
import itertools
import warnings

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import Rule, apply, recording
from fasttensor.autograd.rules.again import gradients_again
from fasttensor.autograd.checks import flag, int_of
from fasttensor.functional.common import check_tensor, need_room
from fasttensor.functional.elementwise import where
from fasttensor.functional.ranges import arange

__all__ = ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "affine_grid_generator"]
NN_FUNCTIONAL = ["grid_sample", "affine_grid"]
METHODS = {}

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def unnormalized(x, size, align):
    """Grid coordinates -1 .. 1 as positions among `size` pixels."""
    return (x + 1) * ((size - 1) / 2) if align else ((x + 1) * size - 1) / 2


def reflected(x, size, align):
    """Positions mirrored at the first and last pixel's centers (or, not aligned, at their outer edges)."""
    low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
    if span == 0:
        return x * 0
    distance = (x - low).abs()
    flips = (distance.detach() / span).floor()
    extra = distance - flips * span
    odd = flips % 2
    return (odd * span + (1 - 2 * odd) * extra + low).clamp(0, size - 1)


def padded(x, size, padding, align):
    if padding == "zeros":
        return x
    x = x.clamp(0, size - 1) if padding == "border" else reflected(x, size, align)
    return where(x.isnan(), 0.0, x)             # the first pixel, as PyTorch has it


def picked(flat, sizes, places, padding):
    """Values [N, C, P] of pixels at whole positions (one [N, P] tensor a dimension), zero outside of the image."""
    index, inside = None, None
    for size, place in zip(sizes, places):
        kept = place.clamp(0, size - 1)
        if padding == "zeros":
            fits = kept == place
            inside = fits if inside is None else inside & fits
        pixel = kept.nan_to_num(0.0).long()     # weights that are NaN as well make NaN of any pixel
        index = pixel if index is None else index * size + pixel
    n, channels, count = flat.shape[0], flat.shape[1], index.shape[1]
    values = flat.gather(2, index.unsqueeze(1).expand(n, channels, count))
    return values if inside is None else values * inside.to(flat.dtype).unsqueeze(1)


def linear_sum(flat, sizes, positions, padding):
    """The 2 ** nd surrounding pixels weighted by their nearness."""
    bases = [p.detach().floor() for p in positions]
    fractions = [p - b for p, b in zip(positions, bases)]
    total = 0
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight = None
        for c, f in zip(corner, fractions):
            part = f if c else 1 - f
            weight = part if weight is None else weight * part
        total = total + picked(flat, sizes, [b + c for b, c in zip(bases, corner)], padding) * weight.unsqueeze(1)
    return total


def cubic_weights(t, a=-0.75):
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def cubic_sum(flat, sizes, positions, padding, align):
    bases = [p.detach().floor() for p in positions]
    weights = [cubic_weights(p - b) for p, b in zip(positions, bases)]
    places = [[padded(b + k, size, padding, align).round() for k in (-1, 0, 1, 2)] for b, size in zip(bases, sizes)]
    total = 0
    for i, j in itertools.product(range(4), repeat=2):
        total = total + picked(flat, sizes, [places[0][i], places[1][j]], padding) * (weights[0][i] * weights[1][j]).unsqueeze(1)
    return total


def sampled(input, grid, mode, padding_mode, align):
    """Values at the points of a grid by differentiable operations."""
    sizes = list(input.shape[2:])
    shape = (*input.shape[:2], *grid.shape[1:-1])
    points = grid.reshape(grid.shape[0], -1, len(sizes))
    # the grid's last dimension is (x, y, z), the image's dimensions come the other way round
    positions = [unnormalized(points.select(2, len(sizes) - 1 - d), size, align) for d, size in enumerate(sizes)]
    flat = input.flatten(2)
    if mode == "bicubic":
        return cubic_sum(flat, sizes, positions, padding_mode, align).reshape(shape)
    positions = [padded(p, size, padding_mode, align) for p, size in zip(positions, sizes)]
    if mode == "nearest":
        return picked(flat, sizes, [p.detach().round() for p in positions], padding_mode).reshape(shape)
    return linear_sum(flat, sizes, positions, padding_mode).reshape(shape)


class GridSample(Rule):
    """The same by a kernel; the gradients' gradients go through the operations of `sampled`."""
    name = "GridSampler2DBackward0"

    @staticmethod
    def forward(ctx, input, grid, mode, padding, align):
        ctx.save(input, grid)
        ctx.options = MODES.index(mode), PADDINGS.index(padding), align
        return backend(input).grid_sample(input, grid, *ctx.options)

    @staticmethod
    def backward(ctx, g):
        input, grid = ctx.saved
        mode, padding, align = ctx.options
        needs = ctx.needs_input_grad[:2]
        if recording():
            def again(a, b):
                return sampled(a, b, MODES[mode], PADDINGS[padding], align)
            return (*gradients_again(again, (input, grid), needs, (g,)), None, None, None)
        return (*backend(g).grid_sample_backward(g, input, grid, mode, padding, align, *needs), None, None, None)


class GridSample3d(GridSample):
    name = "GridSampler3DBackward0"


def check(input, grid, mode):
    nd = input.dim() - 2
    if nd not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes {list(input.shape)} "
                           f"and grid with sizes {list(grid.shape)}")
    if input.dtype is not grid.dtype or not input.dtype.is_floating_point:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have the same floating point dtype, "
                           f"but input is {description(input)} and grid is {description(grid)}")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, "
                           f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != nd:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {nd} in last dimension, but got grid with sizes {list(grid.shape)}")
    if 0 in input.shape[2:]:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)}")
    if nd == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Values of an image (or volume) at the points of a grid.

    Shapes: input ``[N, C, H, W]``, grid ``[N, H', W', 2]`` of (x, y) in -1 .. 1, result ``[N, C, H', W']``; with one dimension more for
    volumes. Modes ``'bilinear'``, ``'nearest'`` and, for images, ``'bicubic'``; outside of the image ``'zeros'``, the ``'border'``'s value or its
    ``'reflection'``. Floating point dtypes, the same for both. Raises ValueError for unknown modes, RuntimeError where shapes do not fit.

    >>> torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[1.]]]])
    """
    if align_corners is not None:
        flag("grid_sample", "align_corners", align_corners)
    check_tensor("grid_sample", input, grid)
    if mode not in MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in PADDINGS:
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        say_default()
    align = bool(align_corners)
    check(input, grid, mode)
    sizes = list(input.shape[2:])
    shape = (*input.shape[:2], *grid.shape[1:-1])
    if 0 in shape:
        return input.new_zeros(shape) + 0 * input.sum() + 0 * grid.sum()
    if input.dtype.itemsize < 4:
        return sampled(input.float(), grid.float(), mode, padding_mode, align).to(input.dtype)
    return apply(GridSample if len(sizes) == 2 else GridSample3d, input, grid, mode, padding_mode, align)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """:func:`torch.nn.functional.grid_sample` with its modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; outside 0 zeros, 1 border, 2 reflection.

    >>> torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    return grid_sample(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """:func:`grid_sampler` for images: input (N, C, H, W), grid (N, H', W', 2). TypeError for modes that are no ints.

    >>> torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    interpolation_mode = int_of(interpolation_mode, "grid_sampler_2d", "interpolation_mode")
    padding_mode = int_of(padding_mode, "grid_sampler_2d", "padding_mode")
    flag("grid_sampler_2d", "align_corners", align_corners)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """:func:`grid_sampler` for volumes: input (N, C, D, H, W), grid (N, D', H', W', 3). TypeError for modes that are no ints.

    >>> torch.grid_sampler_3d(torch.ones(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    interpolation_mode = int_of(interpolation_mode, "grid_sampler_3d", "interpolation_mode")
    padding_mode = int_of(padding_mode, "grid_sampler_3d", "padding_mode")
    flag("grid_sampler_3d", "align_corners", align_corners)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def say_default():
    warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners.",
                  stacklevel=3)


def affine_grid(theta, size, align_corners=None):
    """The points that an affine map sends each pixel to, for :func:`grid_sample`.

    Shapes: theta ``[N, 2, 3]`` and size ``(N, C, H, W)`` to ``[N, H, W, 2]``; ``[N, 3, 4]`` and ``(N, C, D, H, W)`` to ``[N, D, H, W, 3]``.
    Raises RuntimeError for integers, ValueError where shapes do not fit.

    >>> torch.nn.functional.affine_grid(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    if not isinstance(theta, Tensor) or not theta.dtype.is_floating_point:
        raise ValueError(f"affine_grid: expected theta to have floating point type, but got {description(theta)}")
    if align_corners is None:
        say_default()
    elif align_corners and 1 in size[2:]:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True: their points are the center",
                      stacklevel=2)
    nd = len(size) - 2
    if nd not in (2, 3) or theta.dim() != 3 or tuple(theta.shape[1:]) != (nd, nd + 1) or theta.shape[0] != size[0]:
        raise ValueError(f"affine_grid: expected theta [N, 2, 3] for size (N, C, H, W) or [N, 3, 4] for (N, C, D, H, W), "
                         f"got {description(theta)} and {tuple(size)}")
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected non-zero, positive output size. Got {tuple(size)}")
    need_room(theta, (*size, nd))
    sizes = list(size[2:])
    total = 0
    for d, n in enumerate(sizes):
        steps = arange(n, dtype=theta.dtype, device=theta.device)
        if align_corners:
            line = steps * (2 / (n - 1)) - 1 if n > 1 else steps * 0
        else:
            line = (steps * 2 + 1) / n - 1
        column = theta.select(2, nd - 1 - d).reshape(theta.shape[0], *[1] * nd, nd)
        total = total + line.reshape(1, *[-1 if e == d else 1 for e in range(nd)], 1) * column
    return total + theta.select(2, nd).reshape(theta.shape[0], *[1] * nd, nd)


def affine_grid_generator(theta, size, align_corners):
    """:func:`torch.nn.functional.affine_grid`, whose arguments and errors it has.

    >>> torch.affine_grid_generator(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), True).shape
    torch.Size([1, 1, 2, 2])
    """
    return affine_grid(theta, size, align_corners)
