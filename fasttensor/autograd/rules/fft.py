"""Derivatives of Fourier transforms. They are linear, so each gradient is another transform: the adjoint turns the
direction around and keeps the scale."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply


class FftC2C(Rule):
    @staticmethod
    def forward(ctx, x, dims, scaling, forward):
        ctx.args, ctx.real = (dims, scaling, not forward), not x.is_complex()
        return backend(x).fft_c2c(x, dims, scaling, forward)

    @staticmethod
    def backward(ctx, g):
        g = apply(FftC2C, g, *ctx.args)
        return g.real if ctx.real else g, None, None, None


class FftR2C(Rule):
    """`weighted`: what stands for two frequencies counts twice."""
    @staticmethod
    def forward(ctx, x, dims, scaling, forward, weighted):
        ctx.args = dims, scaling, x.shape[dims[-1]], not forward, not weighted
        return backend(x).fft_r2c(x, dims, scaling, forward, weighted)

    @staticmethod
    def backward(ctx, g):
        # only one of each pair was returned, so that its gradient, halved, is that of both
        return apply(FftC2R, g, *ctx.args), None, None, None, None


class FftC2R(Rule):
    """`weighted`: what stands for two frequencies counts half."""
    @staticmethod
    def forward(ctx, x, dims, scaling, size, forward, weighted):
        ctx.args = dims, scaling, not forward, not weighted
        return backend(x).fft_c2r(x, dims, scaling, size, forward, weighted)

    @staticmethod
    def backward(ctx, g):
        return apply(FftR2C, g, *ctx.args), None, None, None, None, None
