"""Derivatives of the scans along a dimension."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply
from fasttensor.autograd.rules.reduce import Place


class Cumsum(Rule):
    """Linear: its transpose sums from the other end."""

    @staticmethod
    def forward(ctx, x, dim, back):
        ctx.args = dim, back
        return backend(x).cumsum(x, dim, back)

    @staticmethod
    def backward(ctx, g):
        dim, back = ctx.args
        return apply(Cumsum, g, dim, not back), None, None


class Cumprod(Rule):
    """dy_j / dx_i = y_j / x_i for i <= j, which is summed from the end; where zeros occur the products
    that leave one element out are formed instead."""
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dim):
        y = backend(x).cumprod(x, dim)
        ctx.save(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        if x.is_meta or backend(x).count_nonzero(x, None).item() == x.numel():
            return apply(Cumsum, g * y.conj(), ctx.dim, True) / x.conj(), None
        return without_one(g, x, ctx.dim), None


def without_one(g, x, d):
    from fasttensor.functional.joining import cat
    n, parts = x.size(d), []
    for k in range(n):
        before = x.narrow(d, 0, k).prod(d, True)
        if k + 1 < n:
            after = before * x.narrow(d, k + 1, n - k - 1).cumprod(d)
            products = cat([before, after], d)
        else:
            products = before
        parts.append((g.narrow(d, k, n - k) * products.conj()).sum(d, True))
    return cat(parts, d)


class Cumextreme(Rule):
    saves = ("indices",)

    @staticmethod
    def forward(ctx, x, dim, least):
        values, indices = backend(x).cumextreme(x, dim, least)
        ctx.save(indices)
        ctx.args = dim, x.size(dim) if x.ndim else 1
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        indices, = ctx.saved
        return apply(Place, g, indices, *ctx.args), None, None


class Cummax(Cumextreme):
    pass


class Cummin(Cumextreme):
    pass


class Logcumsumexp(Rule):
    """The gradient's positive and negative parts run backwards as logcumsumexp themselves, which
    keeps them in range."""
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dim, back):
        y = backend(x).logcumsumexp(x, dim, back)
        ctx.save(x, y)
        ctx.args = dim, back
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        dim, back = ctx.args

        if x.dtype.is_complex:
            logs = g.log().masked_fill(g == 0, -float("inf")) - y.conj()
            return (apply(Logcumsumexp, logs, dim, not back) + x.conj()).exp(), None, None

        def part(h):
            inside = h.clamp(min=0).log() - y
            return (apply(Logcumsumexp, inside.masked_fill(h <= 0, -float("inf")), dim, not back) + x).exp()
        return part(g) - part(-g), None, None
