"""Derivative of embedding_bag: sums, means and maxima of rows of a table over bags."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording

SUM, MEAN, MAX = range(3)


class EmbeddingBag(Rule):
    """index: [bags, size], or 1-d with offsets; factors: what rows of a sum are multiplied by, one a position, or None."""

    @staticmethod
    def forward(ctx, weight, index, offsets, factors, mode, padding_idx, scale, closed):
        wanted = ctx.needs_input_grad[0]
        y, where = backend(weight).embedding_bag(weight, index, offsets, factors, mode, padding_idx, closed, wanted)
        if wanted or ctx.needs_input_grad[3]:
            ctx.save(index, offsets, where, factors, weight if mode == SUM and factors is not None else None)
            ctx.mode, ctx.padding_idx, ctx.scale, ctx.closed, ctx.shape = mode, padding_idx, scale, closed, weight.shape
        return y

    @staticmethod
    def backward(ctx, g):
        index, offsets, where, factors, weight = ctx.saved
        rows, kernels = ctx.shape[0], backend(g)
        grad_weight = grad_factors = None
        if ctx.mode == MAX:
            # The columns of a row that won a bag get that bag's gradient.
            grad = g.masked_fill(where < 0, 0)
            grad_weight = grad.new_zeros(ctx.shape).scatter_add(0, where.clamp(min=0), grad) if rows else g.new_zeros(ctx.shape)
            return grad_weight, *(None,) * 7
        bag, share = kernels.bag_numbers(g.new_empty((rows, 0)), index, offsets, ctx.mode == MEAN, ctx.padding_idx, ctx.closed)
        factor = share if factors is None else factors.reshape(-1)[:bag.numel()]
        numbers = index.reshape(-1)[:bag.numel()]
        if not recording():
            if ctx.needs_input_grad[0]:
                grad_weight = kernels.embedding_backward(g, numbers, rows, ctx.padding_idx, ctx.scale, bag, factor)
            if ctx.needs_input_grad[3]:
                grad_factors = kernels.bag_dots(g, weight, index.reshape(-1), bag, ctx.padding_idx).reshape(factors.shape)
                grad_factors = grad_factors.to(factors.dtype)
            return grad_weight, None, None, grad_factors, *(None,) * 4
        from fasttensor.autograd.rules.index import sum_rows
        each = g[bag]
        if ctx.needs_input_grad[0]:
            scaled = each if factor is None else each * factor.unsqueeze(1).to(g.dtype)
            grad_weight = sum_rows(scaled, numbers, rows, ctx.padding_idx, ctx.scale)
        if ctx.needs_input_grad[3]:
            dots = (each * weight[numbers]).sum(1).masked_fill(numbers == ctx.padding_idx, 0)
            rest = dots.new_zeros((index.numel() - dots.numel(),))
            from fasttensor.functional.joining import cat
            grad_factors = cat([dots, rest]).reshape(factors.shape).to(factors.dtype)
        return grad_weight, None, None, grad_factors, *(None,) * 4
