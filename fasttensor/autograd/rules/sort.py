"""Derivatives of sort, topk, kthvalue and median: the gradient goes back to the elements chosen."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply
from fasttensor.autograd.rules.index import Scatter, ADD


def to_chosen(g, dim, indices, shape):
    """g placed at indices along dim of a tensor of zeros."""
    return apply(Scatter, g.new_zeros(shape), dim, indices, g, ADD)


class Sort(Rule):
    @staticmethod
    def forward(ctx, x, dim, descending, stable):
        values, indices = backend(x).sort(x, dim, descending, stable)
        ctx.dim, ctx.shape = dim, x.shape
        ctx.save(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        return to_chosen(g, ctx.dim, ctx.saved[0], ctx.shape), None, None, None


class Topk(Rule):
    @staticmethod
    def forward(ctx, x, k, dim, largest):
        values, indices = backend(x).topk(x, k, dim, largest)
        ctx.dim, ctx.shape = dim, x.shape
        ctx.save(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        return to_chosen(g, ctx.dim, ctx.saved[0], ctx.shape), None, None, None


class Kthvalue(Rule):
    """The k-th smallest (0-based) along dim, which stays with size 1."""

    @staticmethod
    def forward(ctx, x, k, dim):
        values, indices = backend(x).kthvalue(x, k, dim)
        ctx.dim, ctx.shape = dim, x.shape
        ctx.save(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        return to_chosen(g, ctx.dim, ctx.saved[0], ctx.shape), None, None


class Median(Rule):
    """The lower median along dim, which stays with size 1."""

    @staticmethod
    def forward(ctx, x, dim, ignore_nan):
        values, indices = backend(x).median(x, dim, ignore_nan)
        ctx.dim, ctx.shape = dim, x.shape
        ctx.save(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        return to_chosen(g, ctx.dim, ctx.saved[0], ctx.shape), None, None


class MedianOfAll(Rule):
    """The lower median of all elements; those equal to it, or all NaNs where it is one, share the gradient evenly."""
    name = "MedianBackward0"

    @staticmethod
    def forward(ctx, x, ignore_nan):
        y = backend(x).median(x.reshape(-1), 0, ignore_nan)[0].reshape(())
        ctx.save(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = (t.detach() for t in ctx.saved)
        chosen = ((x == y) | (x.isnan() & y.isnan())).to(g.dtype)
        return g * (chosen / chosen.sum()), None
