"""Derivatives of sort, topk, kthvalue and median: the gradient goes back to the elements chosen."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply
from fasttensor.autograd.rules.index import Scatter, SET


def to_chosen(g, dim, indices, shape):
    """g placed at indices along dim, no two of them equal, of a tensor of zeros."""
    return apply(Scatter, g.new_zeros(shape), dim, indices, g, SET)


class Chosen(Rule):
    """A kernel that gives elements along a dimension and their indices; `kernel` names it, `dim_at` says which of
    the arguments after x is the dimension."""
    kernel, dim_at = None, 0
    saves = ("indices",)

    @classmethod
    def forward(cls, ctx, x, *args):
        values, indices = getattr(backend(x), cls.kernel)(x, *args)
        if ctx.needs_input_grad[0]:
            ctx.dim, ctx.shape = args[cls.dim_at], x.shape
            ctx.save(indices)
            ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        return to_chosen(g, ctx.dim, ctx.saved[0], ctx.shape),


class Sort(Chosen):
    """Arguments: dim, descending, stable."""
    kernel = "sort"
    named = staticmethod(lambda x, dim, descending, stable: f"SortBackward{int(stable)}")


class Topk(Chosen):
    """Arguments: k, dim, largest."""
    kernel, dim_at = "topk", 1


class Kthvalue(Chosen):
    """The k-th smallest (0-based) along dim, which stays with size 1. Arguments: k, dim."""
    kernel, dim_at = "kthvalue", 1


class Median(Chosen):
    """The lower median along dim, which stays with size 1. Arguments: dim, ignore_nan."""
    kernel = "median"
    named = staticmethod(lambda x, dim, ignore_nan: "NanmedianBackward1" if ignore_nan else "MedianBackward1")


class MedianOfAll(Rule):
    """The lower median of all elements; those equal to it, or all NaNs where it is one, share the gradient evenly."""
    named = staticmethod(lambda x, ignore_nan: "NanmedianBackward0" if ignore_nan else "MedianBackward0")
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, ignore_nan):
        y = backend(x).median(x.reshape(-1), 0, ignore_nan)[0].reshape(()) if x.numel() else x.new_full((), float("nan"))
        ctx.save(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = (t.detach() for t in ctx.saved)
        chosen = ((x == y) | (x.isnan() & y.isnan())).to(g.dtype)
        return g * (chosen / chosen.sum()), None
