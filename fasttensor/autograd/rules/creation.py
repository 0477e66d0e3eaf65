"""Derivatives of functions that make tensors from tensors."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule


class Complex(Rule):
    """real + imag * j; each part's gradient is that part of the gradient."""

    @staticmethod
    def forward(ctx, real, imag):
        if real.shape != imag.shape:
            ctx.shapes = (real.shape, imag.shape)
            real, imag = real.broadcast_to((real.detach() + imag.detach()).shape), imag.broadcast_to((real.detach() + imag.detach()).shape)
        else:
            ctx.shapes = None
        return backend(real).pair(real, imag, 11 if real.dtype.itemsize == 8 else 10)

    @staticmethod
    def backward(ctx, g):
        real, imag = g.real, g.imag
        if ctx.shapes is not None:
            real, imag = real.sum_to_size(ctx.shapes[0]), imag.sum_to_size(ctx.shapes[1])
        return real, imag
