"""Derivatives of the losses that have kernels of their own."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording


class NllLoss(Rule):
    """Linear in the log-probabilities, so that the gradient is the incoming one times a constant mask."""

    @staticmethod
    def forward(ctx, x, target, weight, ignore, reduction):
        loss, ctx.divisor = backend(x).nll_loss(x, target, weight, ignore, reduction)
        ctx.save(x, target, weight)
        ctx.args = ignore, reduction
        return loss

    @staticmethod
    def backward(ctx, g):
        x, target, weight = ctx.saved
        ignore, reduction = ctx.args
        kernel = backend(x).nll_loss_backward
        rest = (None,) * 4
        if not recording():
            return kernel(g, x, target, weight, ignore, reduction, ctx.divisor), *rest
        ones = g.detach() * 0 + 1
        mask = kernel(ones, x, target, weight, ignore, reduction, ctx.divisor)
        return (g.unsqueeze(1) if reduction == "none" else g) * mask, *rest


class CtcLoss(Rule):
    name = "CtcLossBackward0"

    @staticmethod
    def forward(ctx, x, targets, times, lengths, blank, zero_infinity):
        losses, ctx.state = backend(x).ctc_loss(x, targets, times, lengths, blank)
        ctx.save(x)
        ctx.zero_infinity = zero_infinity
        return losses.masked_fill(losses == float("inf"), 0) if zero_infinity else losses

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved
        if recording() and g.requires_grad:
            raise RuntimeError("ctc_loss: the derivative of its backward pass is not implemented")
        return backend(x).ctc_loss_backward(g, ctx.state, ctx.zero_infinity, x.dtype.code), None, None, None, None, None
