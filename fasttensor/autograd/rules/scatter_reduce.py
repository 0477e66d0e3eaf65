"""Derivative of scatter_reduce: sum, prod, mean, amax, amin of what arrives at each element."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule
from fasttensor.autograd.rules.index import SET, ADD, MULTIPLY, MINIMUM, MAXIMUM

HOW = {"sum": ADD, "mean": ADD, "prod": MULTIPLY, "amin": MINIMUM, "amax": MAXIMUM}


def neutral(x, reduce):
    """What leaves the other operand of a reduction unchanged, in x's dtype."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    low, high = limits(x.dtype)
    return low if reduce == "amax" else high


def limits(dtype):
    if dtype.is_floating_point:
        return float("-inf"), float("inf")
    if dtype.itemsize == 1 and not dtype.is_signed:
        return (0, 1) if str(dtype).endswith("bool") else (0, 255)
    bits = 8 * dtype.itemsize - 1
    return -2 ** bits, 2 ** bits - 1


def counts_of(x, dim, index, include_self):
    """How many values meet at each element of x, at least 1."""
    counts = x.new_ones(x.shape) if include_self else x.new_zeros(x.shape)
    counts = counts.scatter_add(dim, index, x.new_ones(index.shape))
    return counts.masked_fill(counts == 0, 1)


class ScatterReduce(Rule):
    """x.scatter_reduce(dim, index, src, reduce): a new tensor."""

    @staticmethod
    def forward(ctx, x, dim, index, src, reduce, include_self):
        y = x.clone() if x.is_contiguous() else x.contiguous()
        run = backend(x).scatter
        if not include_self and index.numel():
            run(y, dim, index, y.new_full((), neutral(y, reduce)), SET)
        run(y, dim, index, src, HOW[reduce], "scatter_reduce")
        if reduce == "mean":
            counts = counts_of(y, dim, index, include_self)
            y = y / counts if y.is_floating_point() or y.is_complex() else y.div(counts, rounding_mode="floor")
        ctx.dim, ctx.reduce, ctx.include_self = dim, reduce, include_self
        ctx.save(*((index,) if reduce in ("sum", "mean") else (index, x, src, y)))
        ctx.src_shape = src.shape
        return y

    @staticmethod
    def backward(ctx, g):
        from fasttensor.autograd.rules.index import put_in_corner
        dim, reduce, include_self = ctx.dim, ctx.reduce, ctx.include_self
        index, *rest = ctx.saved
        corner = tuple(slice(0, n) for n in index.shape)
        partial = index.dim() and index.shape != ctx.src_shape
        if reduce in ("sum", "mean"):
            if reduce == "mean":
                g = g / counts_of(g, dim, index, include_self).detach()
            grad_x, grad_src = g, g.gather(dim, index)
        else:
            x, src, y = rest
            src = src[corner] if partial else src
            if reduce == "prod":
                grad_x, grad_src = prod_gradients(g, x, dim, index, src, y, include_self)
            else:
                hit = (src == y.gather(dim, index)).to(g.dtype)
                own = (x == y).to(g.dtype)
                start = own if include_self else own.scatter(dim, index, 0)
                share = g / start.scatter_add(dim, index, hit).masked_fill_(start.scatter_add(dim, index, hit) == 0, 1)
                grad_x, grad_src = own * share, hit * share.gather(dim, index)
        if not include_self:
            grad_x = grad_x.scatter(dim, index, 0)
        if partial:
            grad_src = put_in_corner(grad_src, ctx.src_shape, corner)
        return grad_x, None, None, grad_src, None, None


def prod_gradients(g, x, dim, index, src, y, include_self):
    """The product of the other factors: one zero must be left out, not divided by."""
    masked_x = x.masked_fill(x == 0, 1)
    others = masked_x.scatter_reduce(dim, index, src, "prod", include_self=include_self)
    grad_x = g * others / masked_x
    zero = src == 0
    zeros = x.new_zeros(x.shape).scatter_add(dim, index, zero.to(x.dtype)).gather(dim, index)
    single = zero & (zeros == 1)
    filled = x.scatter_reduce(dim, index, src.masked_fill(single, 1), "prod", include_self=include_self)
    grad_src = (g * filled).gather(dim, index).where(single, (g * y).gather(dim, index) / src.masked_fill(zero, 1))
    return grad_x, grad_src
