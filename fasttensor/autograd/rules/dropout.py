"""Dropout and the random leaky ReLU: masks and slopes are drawn once and kept for backward."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording


class NativeDropout(Rule):
    """y = x * mask / (1 - p) in one pass over x."""

    @staticmethod
    def forward(ctx, x, p, generator):
        y, mask = backend(x).dropout(x, p, generator)
        ctx.save(mask)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved
        if recording():
            return g * (mask.to(g.dtype) * (1 / (1 - ctx.p))), None, None
        return backend(g).dropout_backward(g, mask, ctx.p), None, None


class RreluWithNoise(Rule):
    """y = x * slope, with a random slope where x <= 0 and 1 elsewhere."""
    depends = (0,)

    @staticmethod
    def forward(ctx, x, lower, upper, generator):
        y, noise = backend(x).rrelu(x, lower, upper, generator)
        ctx.save(noise)
        return y

    @staticmethod
    def backward(ctx, g):
        noise, = ctx.saved
        return g * noise, None, None, None
