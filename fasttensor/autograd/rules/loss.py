"""Derivatives of the losses that have kernels of their own."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.api import grad
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import Rule, recording

where = FUNCTIONS["where"]
IMPOSSIBLE = -1e30      # the logarithm of no probability at all, whose differences are still numbers


class NllLoss(Rule):
    """Linear in the log-probabilities, so that the gradient is the incoming one times a constant mask."""

    @staticmethod
    def forward(ctx, x, target, weight, ignore, reduction):
        loss, divisor = backend(x).nll_loss(x, target, weight, ignore, reduction)
        if ctx.needs_input_grad[0]:
            ctx.save(x, target, weight)
            ctx.divisor, ctx.args = divisor, (ignore, reduction)
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


def ctc_losses(x, rows, times, lengths, blank):
    """The losses over tensors, to be differentiated twice: log-probabilities x [T, N, C] along the rows [N, S] of labels with blanks between them."""
    from fasttensor.functional.joining import cat, stack
    n, width = rows.shape
    emitted = x.gather(2, rows.unsqueeze(0).expand(x.size(0), n, width))
    none = x.new_full((n, width), IMPOSSIBLE)
    # a blank, or the second of two equal labels, is not reached by skipping the one before it
    skips = (rows[:, 2:] != blank) & (rows[:, 2:] != rows[:, :-2]) if width > 2 else None
    first = (rows.new_ones((n, width)).cumsum(1) <= 2) & (times > 0).unsqueeze(1)
    alpha = where(first, emitted[0], none)
    for t in range(1, x.size(0)):
        ways = [alpha, cat([none[:, :1], alpha[:, :-1]], 1)]
        if skips is not None:
            ways.append(cat([none[:, :2], where(skips, alpha[:, :-2], none[:, 2:])], 1))
        alpha = where((t < times).unsqueeze(1), stack(ways).logsumexp(0) + emitted[t], alpha)
    ends = stack([2 * lengths, (2 * lengths - 1).clamp(min=0)], 1)
    last = where(stack([lengths >= 0, lengths > 0], 1), alpha.gather(1, ends), none[:, :1])
    return -last.logsumexp(1)


class CtcLoss(Rule):
    name = "CtcLossBackward0"

    @staticmethod
    def forward(ctx, x, targets, times, lengths, blank, zero_infinity):
        losses, ctx.state = backend(x).ctc_loss(x, targets, times, lengths, blank)
        ctx.save(x)
        ctx.args = blank, zero_infinity
        return losses.masked_fill(losses == float("inf"), 0) if zero_infinity else losses

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved
        blank, zero_infinity = ctx.args
        rest = (None,) * 5
        if not recording():
            return backend(x).ctc_loss_backward(g, ctx.state, zero_infinity, x.dtype.code), *rest
        _, rows, _, losses, times, lengths = ctx.state
        wide = x.double()
        g = g.double().masked_fill(losses == float("inf"), 0)
        gx, = grad(ctc_losses(wide, rows, times, lengths, blank), wide, g, create_graph=True)
        # PyTorch's gradient takes the probabilities to sum to one at every step: their part is added
        steps = times.new_ones((x.size(0), 1)).cumsum(0) <= times
        return (gx + where(steps.unsqueeze(2), wide.exp() * g.unsqueeze(1), 0.0)).to(x.dtype), *rest
