"""Distances between rows of matrices."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording


class Cdist(Rule):
    """Euclidean distances by one matrix product: sqrt(|a|^2 + |b|^2 - 2 a.b); the gradient is (a - b) / distance, 0 where
    the distance is 0. float32 and float64 of one dtype."""

    @staticmethod
    def forward(ctx, a, b):
        y = backend(a).cdist_finish(a @ b.transpose(-1, -2), (a * a).sum(-1), (b * b).sum(-1))
        ctx.save(a, b, y)
        return y

    @staticmethod
    def backward(ctx, g):
        a, b, y = ctx.saved
        ratio = (g / y).masked_fill(y == 0, 0)
        back = ratio.transpose(-1, -2)
        ga = a * ratio.sum(-1, True) - ratio @ b if ctx.needs_input_grad[0] else None
        gb = b * back.sum(-1, True) - back @ a if ctx.needs_input_grad[1] else None
        return ga, gb


def of_differences(d, g, y, p):
    """Gradients of differences d [..., M] from those of their p-norms y [..., 1]: sign(d) (|d| / y)^(p - 1), 0 where y is 0."""
    none = y == 0
    if p == 0:
        return d * 0
    if p == 1:
        return d.sign() * g
    if p == 2:
        return d * (g / y.masked_fill(none, 1))
    if p == float("inf"):
        return d.sign() * (d.abs() == y) * g.masked_fill(none, 0)
    size = d.abs()
    power = size.masked_fill(size == 0, 1) ** (p - 1)
    return d.sign() * power * (g / y.masked_fill(none, 1) ** (p - 1)).masked_fill(none, 0)


class DirectCdist(Rule):
    """p-norms of all differences of rows, a [..., P, M] and b [..., R, M] of one dtype and the same leading dimensions."""
    name = "CdistBackward0"

    @staticmethod
    def forward(ctx, a, b, p):
        y = backend(a).cdist(a, b, p)
        ctx.save(a, b, y)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx, g):
        a, b, y = ctx.saved
        need_a, need_b = ctx.needs_input_grad[:2]
        if recording():
            each = of_differences(a.unsqueeze(-2) - b.unsqueeze(-3), g.unsqueeze(-1), y.unsqueeze(-1), ctx.p)
            return each.sum(-2) if need_a else None, -each.sum(-3) if need_b else None, None
        kernel = backend(g).cdist_backward
        ga = kernel(g, a, b, y, ctx.p) if need_a else None
        gb = kernel(g.transpose(-1, -2), b, a, y.transpose(-1, -2), ctx.p) if need_b else None
        return ga, gb, None


class Pdist(Rule):
    """p-norms of the differences of each two rows."""
    name = "PdistForwardBackward0"

    @staticmethod
    def forward(ctx, x, p):
        y = backend(x).pdist(x, p)
        ctx.save(x, y)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        if not recording():
            return backend(g).pdist_backward(g, x, y, ctx.p), None
        n = x.size(0)
        first, second = x.new_ones((n, n)).triu(1).nonzero().unbind(1)
        each = of_differences(x.index_select(0, first) - x.index_select(0, second), g.unsqueeze(-1), y.unsqueeze(-1), ctx.p)
        return x.new_zeros(x.shape).index_add(0, first, each).index_add(0, second, -each), None
