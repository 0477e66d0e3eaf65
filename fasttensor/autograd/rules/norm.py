"""Derivatives of the normalisations. First derivatives are one fused pass; when the backward is itself
recorded the same formulas are written over tensors.

With h = (x - mean) rstd and q = g weight, taken over the normalised elements:
dx = rstd (q - mean(q) - h mean(q h)); without centring the middle term is absent.
"""
from math import prod

from fasttensor._core.dispatch import backend
from fasttensor._core.layout import has_channels_inside, in_images_order
from fasttensor.autograd.rule import Rule, recording
from fasttensor.autograd.rules.pixels import images, pixels


def normalized(x, dims, eps, centered=True):
    """(h, rstd) over tensors, differentiable."""
    centre = x - x.mean(dims, True) if centered else x
    rstd = ((centre * centre).mean(dims, True) + eps).rsqrt()
    return centre * rstd, rstd


def back(q, h, rstd, dims, centered=True):
    inner = q - h * (q * h).mean(dims, True)
    return rstd * (inner - q.mean(dims, True) if centered else inner)


class RowNorm(Rule):
    """What layer_norm and rms_norm share."""
    centered = True

    @classmethod
    def recorded(cls, ctx, g, x, weight):
        n, eps = ctx.args
        dims = list(range(x.ndim - ctx.n_dims, x.ndim))
        lead = list(range(x.ndim - ctx.n_dims))
        h, rstd = normalized(x, dims, eps, cls.centered)
        gx = back(g if weight is None else g * weight, h, rstd, dims, cls.centered) if ctx.needs_input_grad[0] else None
        gw = (g * h).sum(lead) if lead else g * h
        gb = g.sum(lead) if lead else g
        return gx, gw, gb


class LayerNorm(RowNorm):
    name = "NativeLayerNormBackward0"
    depends = (0, 1)
    saves = ("input", "weight", "bias", "result1", "result2")

    @staticmethod
    def forward(ctx, x, weight, bias, n_dims, n, eps):
        y, mean, rstd = backend(x).layer_norm(x, weight, bias, eps, n)
        ctx.save(x, weight, bias, mean, rstd)
        ctx.args, ctx.n_dims = (n, eps), n_dims
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight, bias, mean, rstd = ctx.saved
        needs = ctx.needs_input_grad
        if recording():
            gx, gw, gb = LayerNorm.recorded(ctx, g, x, weight)
            return gx, gw if needs[1] else None, gb if needs[2] else None, None, None, None
        gx, gw, gb = backend(x).layer_norm_backward(g, x, mean, rstd, weight, bias, ctx.args[0], *needs[:3])
        return gx, gw, gb, None, None, None


class LayerNormStatistics(LayerNorm):
    """LayerNorm that also returns the mean and 1 / the standard deviation, through which no gradients pass."""

    @staticmethod
    def forward(ctx, x, weight, bias, n_dims, n, eps):
        y, mean, rstd = backend(x).layer_norm(x, weight, bias, eps, n)
        ctx.save(x, weight, bias, mean, rstd)
        ctx.args, ctx.n_dims = (n, eps), n_dims
        mean, rstd = mean.to(x.dtype), rstd.to(x.dtype)
        ctx.mark_non_differentiable(mean, rstd)
        return y, mean, rstd

    @staticmethod
    def backward(ctx, g, *_):
        return (None,) * 6 if g is None else LayerNorm.backward(ctx, g)


class RmsNorm(RowNorm):
    name = "FusedRmsNormBackward0"
    centered = False

    @staticmethod
    def forward(ctx, x, weight, n_dims, n, eps):
        y, rstd = backend(x).rms_norm(x, weight, eps, n)
        y = in_images_order(x, y)
        ctx.save(x, weight, rstd)
        ctx.args, ctx.n_dims = (n, eps), n_dims
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight, rstd = ctx.saved
        needs = ctx.needs_input_grad
        if recording():
            gx, gw, _ = RmsNorm.recorded(ctx, g, x, weight)
            return gx, gw if needs[1] else None, None, None, None
        gx, gw = backend(x).rms_norm_backward(g, x, rstd, weight, ctx.args[0], needs[0], needs[1])
        return gx, gw, None, None, None


def per_channel(t, rank):
    """[channels] shaped to broadcast against [batch, channels, ...]."""
    return t.reshape([1, -1] + [1] * (rank - 2))


def of_channels(x, *args):
    """The backend's batch_norm, of rows of channels where they lie so in memory: (y, mean, rstd)."""
    if x.ndim < 4 or not x.numel() or not has_channels_inside(x):
        return backend(x).batch_norm(x, *args)
    y, mean, rstd = backend(x).batch_norm(pixels(x), *args)
    return images(y, x), mean, rstd


def of_channels_backward(g, x, weight, mean, rstd, training, need_x):
    if x.ndim < 4 or not x.numel() or not has_channels_inside(x):
        return backend(x).batch_norm_backward(g, x, weight, mean, rstd, training, need_x)
    gx, gw, gb = backend(x).batch_norm_backward(pixels(g), pixels(x), weight, mean, rstd, training, need_x)
    return None if gx is None else images(gx, x), gw, gb


class BatchNorm(Rule):
    name = "NativeBatchNormBackward0"
    depends = (0, 1)
    saves = ("input", "weight", "result1", "result2")

    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, training, momentum, eps):
        y, mean, rstd = of_channels(x, weight, bias, running_mean, running_var, training, momentum, eps)
        ctx.save(x, weight, mean, rstd)
        ctx.args = training, eps
        ctx.bias_dtype = None if bias is None else bias.dtype
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight, mean, rstd = ctx.saved
        training, eps = ctx.args
        needs = ctx.needs_input_grad
        if recording():
            gx, gw, gb = BatchNorm.recorded(g, x, weight, mean, rstd, training, eps)
            gx = gx if needs[0] else None
        else:
            gx, gw, gb = of_channels_backward(g, x, weight, mean, rstd, training, needs[0])
        gw = gw.to(weight.dtype) if needs[1] else None
        gb = gb.to(ctx.bias_dtype) if needs[2] else None
        return gx, gw, gb, None, None, None, None, None

    @staticmethod
    def recorded(g, x, weight, mean, rstd, training, eps):
        dims = [d for d in range(x.ndim) if d != 1]
        q = g if weight is None else g * per_channel(weight, x.ndim)
        if training:
            h, r = normalized(x, dims, eps)
            gx = back(q, h, r, dims)
        else:
            r = per_channel(rstd, x.ndim).to(x.dtype)
            h = (x - per_channel(mean, x.ndim).to(x.dtype)) * r
            gx = q * r
        return gx, (g * h).sum(dims), g.sum(dims)


class BatchNormStatistics(BatchNorm):
    """BatchNorm that also returns the mean and 1 / the standard deviation, through which no gradients pass."""

    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, training, momentum, eps):
        y, mean, rstd = of_channels(x, weight, bias, running_mean, running_var, training, momentum, eps)
        ctx.save(x, weight, mean, rstd)
        ctx.args = training, eps
        ctx.bias_dtype = None if bias is None else bias.dtype
        mean, rstd = mean.to(x.dtype), rstd.to(x.dtype)
        ctx.mark_non_differentiable(mean, rstd)
        return y, mean, rstd

    @staticmethod
    def backward(ctx, g, *_):
        return (None,) * 8 if g is None else BatchNorm.backward(ctx, g)


class GroupNorm(Rule):
    name = "NativeGroupNormBackward0"
    saves = ("input", "weight", "result1", "result2")

    @staticmethod
    def forward(ctx, x, weight, bias, groups, eps):
        y, mean, rstd = backend(x).group_norm(x, weight, bias, groups, eps)
        y = in_images_order(x, y)
        ctx.save(x, weight, mean, rstd)
        ctx.args = groups, eps
        ctx.bias_dtype = None if bias is None else bias.dtype
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight, mean, rstd = ctx.saved
        groups, eps = ctx.args
        needs = ctx.needs_input_grad
        if recording():
            shape = x.shape
            grouped = (shape[0], groups, prod(shape[1:]) // groups)
            h, r = normalized(x.reshape(grouped), [2], eps)
            q = g if weight is None else g * per_channel(weight, x.ndim)
            gx = back(q.reshape(grouped), h, r, [2]).reshape(shape) if needs[0] else None
            dims = [d for d in range(x.ndim) if d != 1]
            gw, gb = (g * h.reshape(shape)).sum(dims), g.sum(dims)
        else:
            gx, gw, gb = backend(x).group_norm_backward(g, x, weight, mean, rstd, groups, needs[0])
            gx = gx if gx is None else in_images_order(x, gx)
        gw = gw.to(weight.dtype) if needs[1] else None
        gb = gb.to(ctx.bias_dtype) if needs[2] else None
        return gx, gw, gb, None, None
