"""Derivatives of softmax, log_softmax and the fused cross entropy."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply, recording


class Softmax(Rule):
    saves = ("result",)

    @staticmethod
    def forward(ctx, x, dim):
        y = backend(x).softmax(x, dim)
        ctx.save(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved
        if recording():
            return y * (g - (g * y).sum(ctx.dim, True)), None
        return backend(g).softmax_backward(g, y, ctx.dim), None


class LogSoftmax(Rule):
    saves = ("result",)

    @staticmethod
    def forward(ctx, x, dim):
        y = backend(x).log_softmax(x, dim)
        ctx.save(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved
        if recording():
            return g - y.exp() * g.sum(ctx.dim, True), None
        return backend(g).log_softmax_backward(g, y, ctx.dim), None


class CrossEntropyLoss(Rule):
    """Cross entropy of logits [N, C, ...] against class indices, without the log_softmax in memory."""
    name = "NllLossBackward0"
    saves = (None, "target", "weight", None)

    @staticmethod
    def forward(ctx, x, target, weight, ignore, smoothing, reduction):
        loss, state = backend(x).cross_entropy(x, target, weight, ignore, smoothing, reduction)
        ctx.save(x, target, weight, state)
        ctx.args = ignore, smoothing, reduction
        return loss

    @staticmethod
    def backward(ctx, g):
        x, target, weight, state = ctx.saved
        rest = (None,) * 5
        if not recording():
            return backend(x).cross_entropy_backward(g, x, target, weight, state, *ctx.args), *rest
        ignore, smoothing, reduction = ctx.args
        gw = apply(CrossEntropyRows, x.detach(), target, weight, state, *ctx.args)
        # gradient = g (p f - c) with f per row and c constant: only p depends on x
        rows, const = gw
        p = apply(Softmax, x, 1)
        per_row = g.unsqueeze(1) if reduction == "none" else g
        return per_row * (p * rows - const), *rest


class CrossEntropyRows(Rule):
    """The two constants of the recorded gradient: p's factor per row, and what is subtracted."""

    @staticmethod
    def forward(ctx, x, target, weight, state, ignore, smoothing, reduction):
        from fasttensor.functional.creation import ones
        k = backend(x)
        if x.is_meta:
            return x[:, :1].clone(), x.clone()
        g = ones(target.shape, dtype=x.dtype) if reduction == "none" else ones((), dtype=x.dtype)
        grad = k.cross_entropy_backward(g, x, target, weight, state, ignore, smoothing, reduction)
        keep = target != ignore
        own = keep.to(x.dtype) if weight is None else weight.to(x.dtype)[target * keep] * keep
        classes = x.size(1)
        total = classes if weight is None else weight.sum().item()
        factor = own * (1 - smoothing) + keep.to(x.dtype) * (smoothing / classes * total)
        if reduction == "mean":
            factor = factor / state[-1, 1].item()
        factor = factor.unsqueeze(1)
        return factor, k.softmax(x, 1) * factor - grad

    @staticmethod
    def backward(ctx, *grads):
        return (None,) * 7
