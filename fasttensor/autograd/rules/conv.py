"""Derivatives of convolution.

Convolution is linear in the input and in the weight, and so is each of its gradients: the three
rules here are each other's derivatives, which gives derivatives of any order. For complex values
a gradient takes the conjugate of the other operand.
"""
from fasttensor._core.dispatch import backend
from fasttensor._core.layout import has_channels_inside, in_either_order, in_images_order, moved_channels
from fasttensor.autograd.rule import Rule, apply, recording
from fasttensor.autograd.rules.pixels import images, pixels


def conjugate(t):
    return t.conj() if t.dtype.is_complex else t


def pointwise(x, w, options):
    """Whether a convolution is a product of each pixel, as it lies in memory, with a matrix."""
    stride, padding, _, groups = options
    return x.ndim > 3 and groups == 1 and w.shape[2:].numel() == 1 and max(stride) == 1 and not any(padding) and x.numel() > 0 \
        and x.is_floating_point() and has_channels_inside(x)


def by_input(g, w, x, options):
    """The gradient of the input x, of which the shape and the order in memory count."""
    if recording():
        return apply(ConvolutionInput, g, w, None, tuple(x.shape), *options)
    if pointwise(x, w, options):
        return images(backend(g).mm(pixels(g), w.reshape(w.shape[:2])), x)
    return in_either_order(x, w, backend(g).convolution_input(g, w, tuple(x.shape), *options))


def by_weight(g, x, w, options):
    """The gradient of the weight w, of which the shape and the order in memory count."""
    if recording():
        return apply(ConvolutionWeight, g, x, tuple(w.shape), *options)
    if pointwise(x, w, options):
        return in_either_order(x, w, backend(g).mm(pixels(g).t(), pixels(x)).view(w.shape))
    return in_either_order(x, w, backend(g).convolution_weight(g, x, tuple(w.shape), *options))


def by_output(x, w, like, options):
    """The convolution itself, as the gradient of the gradients, with the shape and the order in memory of `like`."""
    y = apply(Convolution, x, w, None, *options) if recording() else in_either_order(like, w, backend(x).convolution(x, w, None, *options))
    # an output_padding of a stride or more leaves room for windows that the result did not have
    for dim in range(2, like.ndim):
        if y.shape[dim] != like.shape[dim]:
            y = y.narrow(dim, 0, like.shape[dim])
    return y


def by_bias(g):
    if recording():
        return g.sum([0, *range(2, g.dim())])
    return backend(g).channel_sum(g)


class Convolution(Rule):
    """[N, C, ...] and [O, C / groups, ...] to [N, O, ...]."""
    saves = ("input", "weight")
    depends = (0, 1)

    @staticmethod
    def forward(ctx, x, w, bias, stride, padding, dilation, groups):
        ctx.save(x, w)
        ctx.options = stride, padding, dilation, groups
        if pointwise(x, w, ctx.options):
            return images(backend(x).linear(pixels(x), w.reshape(w.shape[:2]), bias), x)
        return in_either_order(x, w, backend(x).convolution(x, w, bias, stride, padding, dilation, groups))

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved
        need_x, need_w, need_bias = ctx.needs_input_grad[:3]
        return (by_input(g, conjugate(w), x, ctx.options) if need_x else None,
                by_weight(g, conjugate(x), w, ctx.options) if need_w else None,
                by_bias(g) if need_bias else None, None, None, None, None)


class ConvolutionInput(Rule):
    """The gradient of the input; with a bias, the transposed convolution of `g`."""
    name = "ConvolutionBackward0"
    depends = (0, 1)

    @staticmethod
    def forward(ctx, g, w, bias, sizes, stride, padding, dilation, groups):
        ctx.save(g, w)
        ctx.options = stride, padding, dilation, groups
        return in_either_order(g, w, backend(g).convolution_input(g, w, sizes, stride, padding, dilation, groups, bias))

    @staticmethod
    def backward(ctx, gg):
        g, w = ctx.saved
        need_g, need_w, need_bias = ctx.needs_input_grad[:3]
        return (by_output(gg, conjugate(w), g, ctx.options) if need_g else None,
                by_weight(conjugate(g), gg, w, ctx.options) if need_w else None,
                by_bias(gg) if need_bias else None, None, None, None, None, None)


class ConvolutionWeight(Rule):
    """The gradient of the weight."""
    name = "ConvolutionBackwardBackward0"

    @staticmethod
    def forward(ctx, g, x, sizes, stride, padding, dilation, groups):
        ctx.save(g, x)
        ctx.options = stride, padding, dilation, groups
        return in_either_order(g, x, backend(g).convolution_weight(g, x, sizes, stride, padding, dilation, groups))

    @staticmethod
    def backward(ctx, gw):
        g, x = ctx.saved
        need_g, need_x = ctx.needs_input_grad[:2]
        return (by_output(conjugate(x), gw, g, ctx.options) if need_g else None,
                by_input(conjugate(g), gw, x, ctx.options) if need_x else None,
                None, None, None, None, None)


class Im2col(Rule):
    """Sliding windows as columns."""
    name = "Im2ColBackward0"

    @staticmethod
    def forward(ctx, x, *options):
        ctx.sizes, ctx.options = tuple(x.shape[2:]), options
        return backend(x).im2col(x, *options)

    @staticmethod
    def backward(ctx, g):
        return (apply(Col2im, g, ctx.sizes, *ctx.options),) + (None,) * len(ctx.options)


class Col2im(Rule):
    """Columns added back at their windows' places."""

    @staticmethod
    def forward(ctx, columns, sizes, *options):
        ctx.options = options
        return backend(columns).col2im(columns, sizes, *options)

    @staticmethod
    def backward(ctx, g):
        return (apply(Im2col, g, *ctx.options), None) + (None,) * len(ctx.options)


class ConstantPad(Rule):
    """A frame of a constant; negative widths cut."""
    name = "ConstantPadNdBackward0"

    @staticmethod
    def forward(ctx, x, pads, value):
        ctx.pads = pads
        if x.ndim < 4 or x.ndim > 5 or not has_channels_inside(x):
            return backend(x).constant_pad(x, pads, value)
        return moved_channels(backend(x).constant_pad(moved_channels(x), (pads[0], *pads[2:], pads[1]), value), True)

    @staticmethod
    def backward(ctx, g):
        return apply(ConstantPad, g, tuple([(-before, -after) for before, after in ctx.pads]), 0), None, None


CIRCULAR = 2


class MappedPad(Rule):
    """A frame of the tensor's own values, as fasttensor.cpu.pad_mapped describes it."""

    @staticmethod
    def forward(ctx, x, pads, mode):
        ctx.options = tuple(x.shape)[-len(pads):], pads, mode
        y = backend(x).mapped_pad(x, pads, mode)
        return y if mode == CIRCULAR or len(pads) == 1 else in_images_order(x, y, len(pads))

    @staticmethod
    def backward(ctx, g):
        return apply(MappedPadTransposed, g, *ctx.options), None, None


class MappedPadTransposed(Rule):
    """Each element the sum of those that it was copied to."""
    name = "PadBackwardBackward0"

    @staticmethod
    def forward(ctx, g, sizes, pads, mode):
        ctx.options = pads, mode
        y = backend(g).mapped_pad_backward(g, sizes, pads, mode)
        return y if mode == CIRCULAR or len(pads) == 1 else in_images_order(g, y, len(pads))

    @staticmethod
    def backward(ctx, gg):
        return apply(MappedPad, gg, *ctx.options), None, None, None


MAPPED_PADS = {(kind, nd): type(f"{label}{nd}d", (MappedPad,), {"name": f"{label}{nd}DBackward0", "depends": () if kind == "circular" else (0,)})
               for kind, label in (("reflect", "ReflectionPad"), ("replicate", "ReplicationPad"), ("circular", "CircularPad")) for nd in (1, 2, 3)}
