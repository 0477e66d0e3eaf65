"""Derivatives of Fourier transforms. They are linear, so each gradient is another transform: the adjoint turns the
direction, and with it the meaning of the norm, around."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply

ADJOINT_NORM = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


class FftC2C(Rule):
    @staticmethod
    def forward(ctx, x, dims, norm, forward):
        ctx.args, ctx.real = (dims, ADJOINT_NORM[norm], not forward), not x.is_complex()
        return backend(x).fft_c2c(x, dims, norm, forward)

    @staticmethod
    def backward(ctx, g):
        g = apply(FftC2C, g, *ctx.args)
        return g.real if ctx.real else g, None, None, None


class FftR2C(Rule):
    @staticmethod
    def forward(ctx, x, dims, norm):
        ctx.args = dims, norm, x.shape[dims[-1]]
        return backend(x).fft_r2c(x, dims, norm)

    @staticmethod
    def backward(ctx, g):
        dims, norm, size = ctx.args
        # the half that was not returned has no gradient
        short = size - g.shape[dims[-1]]
        if short:
            from fasttensor.autograd.rules.join import Cat
            zeros = g.new_zeros(tuple(short if d == dims[-1] else n for d, n in enumerate(g.shape)))
            g = apply(Cat, dims[-1], g.dtype.code, g, zeros)
        return apply(FftC2C, g, dims, ADJOINT_NORM[norm], False).real, None, None


class FftC2R(Rule):
    @staticmethod
    def forward(ctx, x, dims, norm, size):
        ctx.args = dims, norm, size
        return backend(x).fft_c2r(x, dims, norm, size)

    @staticmethod
    def backward(ctx, g):
        dims, norm, size = ctx.args
        half = apply(FftR2C, g, dims, ADJOINT_NORM[norm])
        # every value but the first, and the last of an even size, stands for two
        last = dims[-1]
        count = half.shape[last]
        twice = half.real.new_ones((count,))
        twice[1:1 + size - count] = 2
        return half * twice.reshape([count if d == last else 1 for d in range(g.ndim)]), None, None, None
