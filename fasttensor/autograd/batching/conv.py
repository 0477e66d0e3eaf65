"""Convolutions. With one weight for all samples the batch joins the images; with a weight a sample it joins the
channels, as groups (functorch's and JAX's way)."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import Rule, apply, needs_history
from fasttensor.autograd.rules import conv as rules

from .common import full, is_shared, joined, one_of, split


def into_channels(value):
    """[B, N, C, ...] as [N, B * C, ...]."""
    turned = value.transpose(0, 1)
    return turned.reshape((turned.shape[0], turned.shape[1] * turned.shape[2]) + tuple(turned.shape[3:]))


def out_of_channels(value, level):
    """The inverse of `into_channels`."""
    n, c = value.shape[:2]
    return value.reshape((n, level_size(level), c // level_size(level)) + tuple(value.shape[2:])).transpose(0, 1)


def level_size(level):
    return level if isinstance(level, int) else level.size


def channel_bias(bias, rank):
    """[B, O] to add to [B, N, O, ...]."""
    return bias.reshape((bias.shape[0], 1, bias.shape[1]) + (1,) * (rank - 2))


def convolution(level, rule, x, w, bias, stride, padding, dilation, groups):
    return both(level, rule, x, w, bias, stride, padding, dilation, groups,
                lambda a, b, c, g: apply(rule, a, b, c, stride, padding, dilation, g))


def convolution_input(level, rule, g, w, bias, sizes, stride, padding, dilation, groups):
    """The transposed convolution."""
    if value_at(w, level) is None:
        sizes = (sizes[0] * level.size, *sizes[1:])
        return both(level, rule, g, w, bias, stride, padding, dilation, groups,
                    lambda a, b, c, n: apply(rule, a, b, c, sizes, stride, padding, dilation, n))
    sizes = (sizes[0], sizes[1] * level.size, *sizes[2:])
    return both(level, None, g, w, bias, stride, padding, dilation, groups,
                lambda a, b, c, n: apply(rule, a, b, c, sizes, stride, padding, dilation, n))


def both(level, rule, x, w, bias, stride, padding, dilation, groups, run):
    v, u, b = value_at(x, level), value_at(w, level), value_at(bias, level)
    plain_bias = bias if b is None else None
    if u is None:
        if v is None:           # only the bias differs
            y = run_once(x, w, level, run, groups)
        else:
            y = split(run(joined(v), w, plain_bias, groups), level)
            plain_bias = None
    elif rule is rules.Convolution and v is not None and is_shared(u):
        y = apply(ConvolutionOfEach, v, u, stride, padding, dilation, groups)
    else:
        y = out_of_channels(run(into_channels(full(x, level)), joined(u), None, groups * level.size), level)
    if b is not None:
        y = y + channel_bias(b, y.dim() - 1)
    elif plain_bias is not None:
        y = y + plain_bias.reshape((-1,) + (1,) * (y.dim() - 3))
    return y


def run_once(x, w, level, run, groups):
    return split(run(joined(full(x, level)), w, None, groups), level)


class ConvolutionOfEach(Rule):
    """Convolution by one weight for all samples, given as the weight of each: its gradient comes a sample apart."""
    name = "ConvolutionBackward0"

    @staticmethod
    def forward(ctx, x, w, stride, padding, dilation, groups):
        ctx.save(x, w)
        ctx.options = stride, padding, dilation, groups
        y = apply(rules.Convolution, joined(x), one_of(w), None, *ctx.options)
        return y.reshape((x.shape[0], x.shape[1]) + tuple(y.shape[1:]))

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved
        stride, padding, dilation, groups = ctx.options
        n = x.shape[0]
        gx = gw = None
        if ctx.needs_input_grad[0]:
            if needs_history(w):
                sizes = (x.shape[1], n * x.shape[2], *x.shape[3:])
                gx = apply(rules.ConvolutionInput, into_channels(g), rules.conjugate(joined(w)), None, sizes, stride, padding, dilation, groups * n)
                gx = out_of_channels(gx, n)
            else:
                gx = rules.by_input(joined(g), rules.conjugate(one_of(w)), joined(x), ctx.options).reshape(x.shape)
        if ctx.needs_input_grad[1]:
            if rules.recording() or x.shape[1] > 4:
                sizes = (n * w.shape[1], *w.shape[2:])
                gw = apply(rules.ConvolutionWeight, into_channels(g), rules.conjugate(into_channels(x)), sizes, stride, padding, dilation, groups * n)
                gw = gw.reshape(w.shape)
            else:
                gw = weights_of_each(g, rules.conjugate(x), w, ctx.options)
        return gx, gw, None, None, None, None


def weights_of_each(g, x, w, options):
    """The weight's gradient, a sample at a time."""
    from fasttensor.autograd.rules.join import Stack
    parts = [rules.by_weight(g.select(0, i), x.select(0, i), w.select(0, i), options) for i in range(w.shape[0])]
    return apply(Stack, 0, w.dtype.code, *parts)


RULES = {"Convolution": convolution, "ConvolutionInput": convolution_input}
