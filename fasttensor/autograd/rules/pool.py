"""Derivatives of pooling and resampling, each linear once the places are chosen."""
from fasttensor._core.dispatch import backend
from fasttensor._core.layout import has_channels_inside, in_images_order, moved_channels, with_channels_inside
from fasttensor.autograd.rule import Rule, apply


class MaxPool(Rule):
    """Values and indices; `windows` as fasttensor.cpu.pool describes them."""
    saves = ("result1",)
    name = "MaxPoolWithIndicesBackward0"
    depends = (0,)

    @staticmethod
    def forward(ctx, x, windows):
        values, indices = in_images_order(x, backend(x).max_pool(x, windows), len(windows))
        if ctx.needs_input_grad[0]:
            ctx.save(indices)
            ctx.sizes = tuple(x.shape)[-len(windows):]
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        indices, = ctx.saved
        return (None if g is None else apply(MaxScatter, g, indices, ctx.sizes)), None


class MaxPool2d(MaxPool):
    name = "MaxPool2DWithIndicesBackward0"


class MaxPool3d(MaxPool):
    name = "MaxPool3DWithIndicesBackward0"


class AdaptiveMaxPool2d(MaxPool):
    name = "AdaptiveMaxPool2DBackward0"


class AdaptiveMaxPool3d(MaxPool):
    name = "AdaptiveMaxPool3DBackward0"

    @staticmethod
    def forward(ctx, x, windows):
        return MaxPool.forward(ctx, x.contiguous(), windows)      # PyTorch's volumes lose their order here


class FractionalMaxPool2d(Rule):
    """Values and indices of windows at random places: `samples` has numbers for each plane of x."""
    name = "FractionalMaxPool2DBackward0"
    depends = (0,)

    @staticmethod
    def forward(ctx, x, samples, kernel, out):
        values, indices = backend(x).fractional_max_pool(x, samples, kernel, out)
        if ctx.needs_input_grad[0]:
            ctx.save(indices)
            ctx.sizes = tuple(x.shape)[-len(out):]
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        indices, = ctx.saved
        return (None if g is None else apply(MaxScatter, g, indices, ctx.sizes)), None, None, None


class FractionalMaxPool3d(FractionalMaxPool2d):
    name = "FractionalMaxPool3DBackward0"


class MaxScatter(Rule):
    """Adds values at indices of zeroed planes."""
    name = "MaxPoolBackwardBackward0"

    @staticmethod
    def forward(ctx, g, indices, sizes):
        ctx.save(indices)
        ctx.nd = len(sizes)
        return in_images_order(indices, backend(g).max_pool_backward(g, indices, sizes), len(sizes))

    @staticmethod
    def backward(ctx, gg):
        indices, = ctx.saved
        return apply(MaxGather, gg, indices, ctx.nd), None, None


class MaxPool2dBackward(Rule):
    """MaxScatter for the input x of the pooling, on which the result does not depend where it has a derivative."""
    name = "MaxPool2DWithIndicesBackwardBackward0"

    @staticmethod
    def forward(ctx, g, x, indices):
        ctx.save(indices)
        ctx.like = x.detach()
        return in_images_order(x, backend(g).max_pool_backward(g, indices, tuple(x.shape)[-2:]), 2)

    @staticmethod
    def backward(ctx, gg):
        indices, = ctx.saved
        need_g, need_x = ctx.needs_input_grad[:2]
        return apply(MaxGather, gg, indices, 2) if need_g else None, ctx.like.new_zeros(ctx.like.shape) if need_x else None, None


class MaxGather(Rule):
    """Values at indices of planes."""

    @staticmethod
    def forward(ctx, x, indices, nd):
        ctx.save(indices)
        ctx.sizes = tuple(x.shape)[-nd:]
        return in_images_order(x, backend(x).max_pool_gather(x, indices, nd), nd)

    @staticmethod
    def backward(ctx, g):
        indices, = ctx.saved
        return apply(MaxScatter, g, indices, ctx.sizes), None, None


class MaxUnpool(Rule):
    """Puts values at indices of zeroed planes; the last of equal indices stays."""

    @staticmethod
    def forward(ctx, x, indices, sizes):
        ctx.save(indices)
        ctx.nd = len(sizes)
        return in_images_order(x, backend(x).max_unpool(x, indices, sizes), 2)

    @staticmethod
    def backward(ctx, g):
        indices, = ctx.saved
        return apply(MaxGather, g, indices, ctx.nd), None, None


def keeps_channels_inside(x, windows):
    """Whether windows slide over images whose channels lie innermost in memory, which results keep; volumes are averaged into another order."""
    return x.ndim == len(windows) + 2 < 5 and has_channels_inside(x)


class AvgPool(Rule):
    """Means of windows."""
    depends = (0,)

    @staticmethod
    def forward(ctx, x, windows, divisor, count_padding):
        if ctx.needs_input_grad[0]:
            ctx.sizes, ctx.options, ctx.inside = tuple(x.shape)[-len(windows):], (windows, divisor, count_padding), keeps_channels_inside(x, windows)
        y = backend(x).avg_pool(x, windows, divisor, count_padding)
        return with_channels_inside(y) if keeps_channels_inside(x, windows) else y

    @staticmethod
    def backward(ctx, g):
        return apply(AvgSpread, g, ctx.sizes, ctx.inside, *ctx.options), None, None, None


class AvgPool2d(AvgPool):
    name = "AvgPool2DBackward0"


class AvgPool3d(AvgPool):
    name = "AvgPool3DBackward0"


class AdaptiveAvgPool1d(AvgPool):
    name = "SqueezeBackward1"


class AdaptiveAvgPool2d(AvgPool):
    name = "AdaptiveAvgPool2DBackward0"


class AdaptiveAvgPool3d(AvgPool):
    name = "AdaptiveAvgPool3DBackward0"


class AvgSpread(Rule):
    """Spreads gradients evenly over windows."""
    name = "AvgPoolBackwardBackward0"

    @staticmethod
    def forward(ctx, g, sizes, inside, windows, divisor, count_padding):
        ctx.options = windows, divisor, count_padding
        x = backend(g).avg_pool_backward(g, sizes, windows, divisor, count_padding)
        return with_channels_inside(x) if inside else x

    @staticmethod
    def backward(ctx, gg):
        return apply(AvgPool, gg, *ctx.options), None, None, None, None, None


def resampled(x, tables, kernel, *sizes):
    """The kernel's result; images whose channels lie innermost in memory are taken as they lie."""
    run = getattr(backend(x), kernel)
    if x.ndim < 4 or x.ndim > 5 or not has_channels_inside(x) or any(dim < 2 for dim, _ in tables):
        return run(x, tables, *sizes)
    return with_channels_inside(moved_channels(run(moved_channels(x), [(dim - 1, table) for dim, table in tables], *sizes), True))


class Resample(Rule):
    """Weighted sums of a few inputs along some dimensions: `tables` as fasttensor.cpu.resample describes them."""
    name = "UpsampleBackward0"

    @staticmethod
    def forward(ctx, x, tables):
        ctx.tables, ctx.sizes = tables, tuple([x.shape[dim] for dim, _ in tables])
        return resampled(x, tables, "resample")

    @staticmethod
    def backward(ctx, g):
        return apply(ResampleTransposed, g, ctx.tables, ctx.sizes), None


class ResampleTransposed(Rule):
    """The transpose of Resample: `sizes` are the extents of the tables' dimensions."""
    name = "UpsampleBackwardBackward0"

    @staticmethod
    def forward(ctx, g, tables, sizes):
        ctx.tables = tables
        return resampled(g, tables, "resample_backward", sizes)

    @staticmethod
    def backward(ctx, gg):
        return apply(Resample, gg, ctx.tables), None, None
