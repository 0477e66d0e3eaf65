"""Derivatives of the reductions.

A gradient arrives with the reduced shape; `spread` gives it the input's shape again. `dims` is None
for all dimensions, else a tuple of distinct dimensions counted from the front.
"""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply


def spread(g, shape, dims, keepdim):
    """g repeated along the reduced dimensions."""
    if dims is not None and not keepdim:
        g = g.reshape([1 if i in dims else n for i, n in enumerate(shape)])
    return g.expand(shape)


def count_of(shape, dims):
    n = 1
    for i, size in enumerate(shape):
        if dims is None or i in dims:
            n *= size
    return n


def by_dims(name):
    """PyTorch has an operation for all elements, number 0, and one for dimensions."""
    return staticmethod(lambda x, dims, *rest: f"{name}Backward{int(dims is not None)}")


class Sum(Rule):
    named = by_dims("Sum")

    @staticmethod
    def forward(ctx, x, dims, keepdim, code):
        ctx.args = x.shape, dims, keepdim
        return backend(x).sum(x, dims, keepdim, code)

    @staticmethod
    def backward(ctx, g):
        return spread(g, *ctx.args), None, None, None


class Mean(Rule):
    named = by_dims("Mean")

    @staticmethod
    def forward(ctx, x, dims, keepdim, code):
        ctx.args = x.shape, dims, keepdim
        return backend(x).mean(x, dims, keepdim, code)

    @staticmethod
    def backward(ctx, g):
        # divided last, so that every element has memory of its own: programs write into gradients
        return spread(g, *ctx.args) / max(count_of(ctx.args[0], ctx.args[1]), 1), None, None, None


class Nansum(Rule):
    @staticmethod
    def forward(ctx, x, dims, keepdim, code):
        ctx.save(x)
        ctx.args = x.shape, dims, keepdim
        return backend(x).nansum(x, dims, keepdim, code)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved
        return spread(g, *ctx.args).masked_fill(x != x, 0), None, None, None


class Prod(Rule):
    """The derivative by one element is the product of the others: y / x, or where zeros occur the
    products of what stands before and after it."""
    named = by_dims("Prod")
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dims, keepdim, code):
        y = backend(x).prod(x, dims, keepdim, code)
        if ctx.needs_input_grad[0]:
            ctx.save(x, y)
            ctx.args = x.shape, dims, keepdim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        shape, dims, keepdim = ctx.args
        g = spread(g, shape, dims, keepdim)
        zeros = not x.is_meta and backend(x).count_nonzero(x, None).item() < x.numel()
        if not zeros:
            return g * (spread(y, shape, dims, keepdim) / x).conj(), None, None, None
        flat = x.reshape(-1) if dims is None else x
        d = 0 if dims is None else dims[0]
        others = products_of_others(flat, d)
        return g * others.reshape(shape).conj(), None, None, None


def products_of_others(x, d):
    """prod of x[j], j != i, along dimension d, in log2(n) steps of shifted products."""
    n = x.size(d)
    if n == 1:
        return x * 0 + 1
    from fasttensor.functional.joining import cat
    one = x.narrow(d, 0, 1).detach() * 0 + 1
    before = cat([one, x.narrow(d, 0, n - 1)], d).cumprod(d)
    after = cat([one, x.narrow(d, 1, n - 1).flip(d)], d).cumprod(d).flip(d)
    return before * after


class Extreme(Rule):
    """amax and amin: elements that share the extreme share the gradient evenly."""
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dims, keepdim, least):
        y = (backend(x).amin if least else backend(x).amax)(x, dims, keepdim)
        if ctx.needs_input_grad[0]:
            ctx.save(x, y)
            ctx.args = x.shape, dims, keepdim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        shape, dims, keepdim = ctx.args
        y = spread(y.detach(), shape, dims, keepdim)
        mask = (x == y) | ((x != x) & (y != y))
        mask = mask.to(g.dtype)
        share = mask / mask.sum(dims if dims is None else list(dims), True)
        return share * spread(g, shape, dims, keepdim), None, None, None


class Amax(Extreme):
    pass


class Amin(Extreme):
    pass


class Max(Extreme):
    name = "MaxBackward1"


class Min(Extreme):
    name = "MinBackward1"


class ExtremeOfDim(Rule):
    """(values, indices): the gradient goes to the chosen element."""
    saves = ("indices",)

    @staticmethod
    def forward(ctx, x, dim, keepdim, least):
        values, indices = backend(x).extreme(x, dim, keepdim, least)
        if ctx.needs_input_grad[0]:
            ctx.save(indices)
            ctx.args = dim, keepdim, x.size(dim) if x.ndim else None
            ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, g, _):
        indices, = ctx.saved
        return put_back(g, indices, *ctx.args), None, None, None


class MaxDim(ExtremeOfDim):
    name = "MaxBackward0"


class MinDim(ExtremeOfDim):
    name = "MinBackward0"


def put_back(g, indices, dim, keepdim, n):
    """Zeros of n elements along dim with g at the indices that a selection returned; g where the input is 0-d (n is None)."""
    if g is None:
        return None
    if n is None:
        return g
    if not keepdim:
        g, indices = g.unsqueeze(dim), indices.unsqueeze(dim)
    return apply(Place, g, indices, dim, n)


class Place(Rule):
    """Zeros plus g at indices along a dimension."""
    name = "ValueSelectingReductionBackward0"

    @staticmethod
    def forward(ctx, g, indices, dim, n):
        ctx.save(indices)
        ctx.dim = dim
        return backend(g).place(g, indices, dim, n)

    @staticmethod
    def backward(ctx, g):
        indices, = ctx.saved
        return apply(Pick, g, indices, ctx.dim), None, None, None


class Pick(Rule):
    """Elements at indices along a dimension."""
    name = "GatherBackward0"

    @staticmethod
    def forward(ctx, x, indices, dim):
        ctx.save(indices)
        ctx.args = dim, x.size(dim) if x.ndim else 1
        return backend(x).pick(x, indices, dim)

    @staticmethod
    def backward(ctx, g):
        indices, = ctx.saved
        return apply(Place, g, indices, *ctx.args), None, None


class Select(Rule):
    """A selection along a dimension whose indices another function found (median, mode ...)."""

    @staticmethod
    def forward(ctx, x, indices, dim, keepdim):
        ctx.save(indices)
        ctx.args = dim, keepdim, x.size(dim) if x.ndim else None
        at = indices if keepdim or not x.ndim else indices.unsqueeze(dim)
        y = backend(x).pick(x, at, dim)
        return y if keepdim or not x.ndim else y.squeeze(dim)

    @staticmethod
    def backward(ctx, g):
        indices, = ctx.saved
        return put_back(g, indices, *ctx.args), None, None, None


class Var(Rule):
    """Variance or, with `root`, standard deviation; with the mean where asked."""
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dims, correction, keepdim, root, with_mean):
        y, mean = backend(x).var(x, dims, correction, keepdim, root, with_mean)
        if ctx.needs_input_grad[0]:
            ctx.save(x, y if root else None)
            ctx.args, ctx.correction = (x.shape, dims, keepdim), correction
        return (y, mean) if with_mean else y

    @staticmethod
    def backward(ctx, g, gm=None):
        x, y = ctx.saved
        shape, dims, keepdim = ctx.args
        n = count_of(shape, dims)
        result = None
        if g is not None:
            if y is not None:
                g = (g / (y * 2)).masked_fill(y == 0, 0)
            free = n - ctx.correction
            factor = 2.0 / free if free > 0 else float("inf") if free == 0 else float("nan")
            result = spread(g, shape, dims, keepdim) * factor * (x - x.mean(None if dims is None else list(dims), True))
        if gm is not None:
            part = spread(gm / n, shape, dims, keepdim)
            result = part if result is None else result + part
        return result, None, None, None, None, None


class Std(Var):
    pass


class VarMean(Var):
    pass


class StdMean(Var):
    pass


class Norm(Rule):
    """The p-norm; its gradient is 0 where the norm is 0. Formulas: d|x|_p = sgn(x) |x|^(p-1) |x|_p^(1-p)."""
    name = "LinalgVectorNormBackward0"
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, p, dims, keepdim, code):
        y = backend(x).norm(x, p, dims, keepdim, code)
        ctx.save(x, y)
        ctx.args = x.shape, dims, keepdim
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        shape, dims, keepdim = ctx.args
        p = ctx.p
        rest = (None, None, None, None)
        if p == 0:
            return x * 0, *rest
        if p not in (1, 2, float("inf"), -float("inf")):
            zero = y == 0
            share = x / spread(y.masked_fill(zero, 1), shape, dims, keepdim)        # whose powers neither overflow nor vanish
            size, g = share.abs(), spread(g.masked_fill(zero, 0), shape, dims, keepdim)
            if p < 2:
                return share.sgn() * size.pow(p - 1).masked_fill(size == 0, 0) * g, *rest
            return share * (size.pow(p - 2) if p != 3 else size) * g, *rest
        g, y = spread(g, shape, dims, keepdim), spread(y, shape, dims, keepdim)
        if p == 1:
            return x.sgn() * g, *rest
        if p == 2:
            return x * (g / y).masked_fill(y == 0, 0), *rest
        size = x.abs()
        if x.is_complex():       # the kernel rounds absolute values in its own way
            extreme = size.detach().amax if p > 0 else size.detach().amin
            y = extreme(list(range(x.ndim)) if dims is None else list(dims), True)
        mask = (size == y.detach()) | (size != size)
        mask = mask.to(g.dtype)
        return x.sgn() * (g * mask / mask.sum(None if dims is None else list(dims), True)), *rest


class Logsumexp(Rule):
    saves = ("self", "result")

    @staticmethod
    def forward(ctx, x, dims, keepdim):
        y = backend(x).logsumexp(x, dims, keepdim)
        ctx.save(x, y)
        ctx.args = x.shape, dims, keepdim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        # rows of -inf alone: the limit of their softmax does not exist, 0 keeps the rest finite
        y = y.masked_fill(y == -float("inf"), 0)
        return spread(g, *ctx.args) * (x - spread(y, *ctx.args)).exp(), None, None
