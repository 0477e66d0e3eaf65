"""Euclidean distances between all rows by one matrix product."""
from fasttensor.autograd.rule import Rule


class Cdist(Rule):
    """sqrt(|a|^2 + |b|^2 - 2 a.b); the gradient is (a - b) / distance, 0 where the distance is 0."""

    @staticmethod
    def forward(ctx, a, b):
        squares = (a * a).sum(-1, True) + (b * b).sum(-1, True).transpose(-1, -2) - 2 * (a @ b.transpose(-1, -2))
        y = squares.clamp(min=0).sqrt()
        ctx.save(a, b, y)
        return y

    @staticmethod
    def backward(ctx, g):
        a, b, y = ctx.saved
        ratio = (g / y).masked_fill(y == 0, 0)
        back = ratio.transpose(-1, -2)
        ga = shrunk(a * ratio.sum(-1, True) - ratio @ b, a) if ctx.needs_input_grad[0] else None
        gb = shrunk(b * back.sum(-1, True) - back @ a, b) if ctx.needs_input_grad[1] else None
        return ga, gb


def shrunk(g, like):
    """Batch dimensions that were broadcast are summed."""
    lead = g.ndim - like.ndim
    dims = [d for d in range(g.ndim) if d < lead or like.size(d - lead) == 1 and g.size(d) != 1]
    return g.sum(dims, True).reshape(like.shape) if dims else g
