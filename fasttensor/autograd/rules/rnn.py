"""A recurrent layer as one node."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording
from fasttensor.autograd.rules.again import gradients_again


class RnnLayer(Rule):
    """One layer in one direction, forward and backward through time in compiled loops.

    `composite` computes the same of differentiable operations: the gradient of the gradient needs it.
    """

    @staticmethod
    def forward(ctx, x, h0, c0, w_ih, w_hh, b_ih, b_hh, mode, sizes, reverse, composite):
        out, h, c, kept = backend(x).rnn_forward(mode, x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse)
        ctx.save(x, h0, c0, w_ih, w_hh, b_ih, b_hh, out)
        ctx.kept, ctx.mode, ctx.sizes, ctx.reverse, ctx.composite = kept, mode, sizes, reverse, composite
        return (out, h) if c is None else (out, h, c)

    @staticmethod
    def backward(ctx, *grads):
        x, h0, c0, w_ih, w_hh, b_ih, b_hh, out = ctx.saved
        if recording():
            inputs = (x, h0, c0, w_ih, w_hh, b_ih, b_hh)
            got = gradients_again(lambda *a: ctx.composite(ctx.mode, a[0], ctx.sizes, a[1], a[2], (*a[3:], None), ctx.reverse),
                                  inputs, ctx.needs_input_grad, grads)
        else:
            gout, gh, gc = (*grads, None)[:3]
            needs = ctx.needs_input_grad
            got = backend(x).rnn_backward(ctx.mode, gout, gh, gc, x, ctx.sizes, h0, c0, w_ih, w_hh, out, ctx.kept,
                                          b_ih is not None, ctx.reverse, needs)
            got = tuple(g if need else None for g, need in zip(got, needs))
        return (*got, None, None, None, None)
