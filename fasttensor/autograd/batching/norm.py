"""Normalisations: where weight and bias differ from sample to sample they are applied afterwards."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import apply
from fasttensor.autograd.writing import refuse_unbatched

from .common import full, joined, split
from .conv import into_channels, out_of_channels


def scaled(y, weight, bias, level, shape):
    """y * weight + bias, `shape` giving what stands before the dimensions of one sample's weight."""
    for t, multiply in ((weight, True), (bias, False)):
        if t is None:
            continue
        value = value_at(t, level)
        part = t.reshape(shape(t.shape)) if value is None else value.reshape((level.size,) + shape(t.shape))
        y = y * part if multiply else y + part
    return y.to(y.dtype)


def row_norm(level, rule, x, weight, *args):
    """layer_norm (x, weight, bias, dims, n, eps) and rms_norm (x, weight, dims, n, eps)."""
    biased = rule.__name__ == "LayerNorm"
    bias, rest = (args[0], args[1:]) if biased else (None, args)
    dims = rest[0]
    if value_at(weight, level) is None and value_at(bias, level) is None:
        return apply(rule, value_at(x, level), weight, *args)
    value = full(x, level)
    y = apply(rule, value, None, *((None,) if biased else ()), *rest)
    return scaled(y, weight, bias, level, lambda s: (1,) * (x.dim() - dims) + tuple(s))


def channels(rank):
    return lambda s: (1, s[0]) + (1,) * (rank - 2)


def group_norm(level, rule, x, weight, bias, groups, eps):
    value = full(x, level)
    if value_at(weight, level) is None and value_at(bias, level) is None:
        return split(apply(rule, joined(value), weight, bias, groups, eps), level)
    y = split(apply(rule, joined(value), None, None, groups, eps), level)
    return scaled(y, weight, bias, level, channels(x.dim()))


def batch_norm(level, rule, x, weight, bias, running_mean, running_var, training, momentum, eps):
    """In training each sample has its own statistics: the batch joins the channels."""
    means, variances = value_at(running_mean, level), value_at(running_var, level)
    if (means is None) != (variances is None):
        return NotImplemented
    plain = all(value_at(t, level) is None for t in (weight, bias, running_mean, running_var))
    if not training and plain:
        return split(apply(rule, joined(full(x, level)), weight, bias, running_mean, running_var, False, momentum, eps), level)
    if training and running_mean is not None and means is None:
        refuse_unbatched("batch_norm", running_mean, x)
    stats = [None, None]
    for i, (whole, one) in enumerate(((means, running_mean), (variances, running_var))):
        if one is not None:
            stats[i] = full(one, level) if whole is None else whole
    flat = [None if s is None else s.reshape(-1) for s in stats]
    y = apply(rule, into_channels(full(x, level)), None, None, *flat, training, momentum, eps)
    if training:
        for s, f in zip(stats, flat):
            if s is not None and f.data_ptr() != s.data_ptr():
                s.copy_(f.reshape(s.shape))
    return scaled(out_of_channels(y, level), weight, bias, level, channels(x.dim()))


RULES = {"LayerNorm": row_norm, "RmsNorm": row_norm, "GroupNorm": group_norm, "BatchNorm": batch_norm}
