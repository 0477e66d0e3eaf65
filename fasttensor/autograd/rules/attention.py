"""Scaled dot-product attention as one node."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, recording
from fasttensor.autograd.rules.again import gradients_again


class ScaledDotProductFlashAttentionForCpu(Rule):
    """Attention block by block; `composite` computes the same of differentiable operations.

    The mask is added to the scores and gets no gradient here.
    """
    saves = ("query", "key", "value", "attn_mask", "output")

    @staticmethod
    def forward(ctx, q, k, v, mask, causal, scale, composite):
        out, lse = backend(q).attention(q, k, v, mask, causal, scale)
        if True in ctx.needs_input_grad:
            ctx.save(q, k, v, mask, out)
            ctx.lse, ctx.causal, ctx.scale, ctx.composite = lse, causal, scale, composite
        return out

    @staticmethod
    def backward(ctx, g):
        q, k, v, mask, out = ctx.saved
        if recording():
            got = gradients_again(lambda a, b, c: ctx.composite(a, b, c, mask, 0.0, ctx.causal, ctx.scale), (q, k, v),
                                  ctx.needs_input_grad, (g,))
        else:
            got = backend(q).attention_backward(g, q, k, v, mask, out, ctx.lse, ctx.causal, ctx.scale)
        return (*got, None, None, None, None)
