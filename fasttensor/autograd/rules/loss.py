"""Derivatives of the losses that have kernels of their own."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.api import grad
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import Rule, apply, recording
from fasttensor.autograd.rules.again import gradients_again
from fasttensor.autograd.rules.reduce import Pick

where = FUNCTIONS["where"]
IMPOSSIBLE = -1e30      # the logarithm of no probability at all, whose differences are still numbers


class NllLoss(Rule):
    """Linear in the log-probabilities, so that the gradient is the incoming one times a constant mask."""
    depends = (0,)

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


def _summary(losses, reduction):
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" and losses.numel() else losses.sum()


def _columns(x):
    return x.new_ones((x.size(1),)).cumsum(0).long() - 1


def multi_margin(x, target, p, margin, weight, reduction):
    """The loss over tensors, to be differentiated twice: scores [N, C], int64 targets [N]."""
    y = target.unsqueeze(1)
    inside = (margin - apply(Pick, x, y, 1) + x).relu()
    if p == 2:
        inside = inside * inside
    if weight is not None:
        inside = inside * apply(Pick, weight.unsqueeze(0).expand(x.shape), y, 1)
    return _summary(inside.masked_fill(_columns(x) == y, 0).sum(1) / x.size(1), reduction)


def multilabel_margin(x, target, reduction):
    """The loss over tensors, to be differentiated twice: scores [N, C], int64 lists of targets [N, C] that end at -1."""
    listed = (target >= 0).long().cumprod(1) == 1
    t = target.clamp(min=0)
    chosen = (t.unsqueeze(2) == _columns(x)) & listed.unsqueeze(2)          # [N, list, C]
    pairs = (1 - (apply(Pick, x, t, 1).unsqueeze(2) - x.unsqueeze(1))).relu()
    pairs = pairs.masked_fill(chosen.any(1).unsqueeze(1), 0).masked_fill(~listed.unsqueeze(2), 0)
    return _summary(pairs.sum(2).sum(1) / x.size(1), reduction)


class MultiMarginLoss(Rule):
    depends = (0,)

    @staticmethod
    def forward(ctx, x, target, p, margin, weight, reduction):
        ctx.save(x, target, weight)
        ctx.args = p, margin, reduction
        return backend(x).multi_margin_loss(x, target, p, margin, weight, reduction)

    @staticmethod
    def backward(ctx, g):
        x, target, weight = ctx.saved
        p, margin, reduction = ctx.args
        if not recording():
            gx = backend(x).multi_margin_loss_backward(g, x, target, p, margin, weight, reduction)
        else:
            gx, = gradients_again(lambda y: multi_margin(y, target, p, margin, weight, reduction), (x,), (True,), (g,))
        return gx, *(None,) * 5


class MultilabelMarginLoss(Rule):
    depends = (0,)

    @staticmethod
    def forward(ctx, x, target, reduction):
        ctx.save(x, target)
        ctx.reduction = reduction
        return backend(x).multilabel_margin_loss(x, target, reduction)

    @staticmethod
    def backward(ctx, g):
        x, target = ctx.saved
        if not recording():
            return backend(x).multilabel_margin_loss_backward(g, x, target, ctx.reduction), None, None
        gx, = gradients_again(lambda y: multilabel_margin(y, target, ctx.reduction), (x,), (True,), (g,))
        return gx, None, None
