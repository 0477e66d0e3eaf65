"""Operations on stacks of images or rows: the batch joins the stack. Losses, pooling, resampling, attention."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.conv import MAPPED_PADS

from .common import full, joined, split


def stack_of(level, rule, x, *args):
    """A rule whose result keeps x's first dimension."""
    value = value_at(x, level)
    if value is None or x.dim() == 0:
        return NotImplemented
    made = apply(rule, joined(value), *args)
    return tuple(split(m, level) for m in made) if isinstance(made, tuple) else split(made, level)


def planes(dims):
    """A rule on the last `len(args[dims])` dimensions, whatever comes before."""
    def handler(level, rule, x, *args):
        value, nd = value_at(x, level), len(args[dims])
        if value is None or x.dim() < nd:
            return NotImplemented
        lead = tuple(value.shape[:value.dim() - nd])
        made = apply(rule, value.reshape((-1, 1) + tuple(value.shape[len(lead):])), *args)
        if isinstance(made, tuple):
            return tuple(m.reshape(lead + tuple(m.shape[2:])) for m in made)
        return made.reshape(lead + tuple(made.shape[2:]))
    return handler


def unpool(level, rule, x, indices, sizes):
    v, i = full(x, level), full(indices, level)
    made = apply(rule, v.reshape((-1, 1) + tuple(v.shape[v.dim() - len(sizes):])), i.reshape((-1, 1) + tuple(i.shape[i.dim() - len(sizes):])), sizes)
    return made.reshape(tuple(v.shape[:v.dim() - len(sizes)]) + tuple(made.shape[2:]))


def resample(level, rule, x, tables):
    return apply(rule, value_at(x, level), [(dim + 1, taps) for dim, taps in tables])


def constant_pad(level, rule, x, pads, value):
    return apply(rule, value_at(x, level), ((0, 0), *pads), value)


def last_dims(level, rule, x, *args):
    """A rule on the last dimensions of its one tensor, whatever comes before."""
    return apply(rule, value_at(x, level), *args)


def attention(level, rule, q, k, v, mask, *options):
    if value_at(mask, level) is not None or q.dim() < 3:
        return NotImplemented
    parts = [full(t, level) for t in (q, k, v)]
    if mask is not None and mask.dim() > 2:
        if q.dim() != mask.dim():
            return NotImplemented
        mask = mask.unsqueeze(0).expand(level.size, *mask.shape)
        mask = joined(mask)
    return split(apply(rule, *[joined(p) for p in parts], mask, *options), level)


def class_loss(level, loss_of_rows, x, target, weight, ignore, reduction):
    """A loss of rows, reduced a sample at a time."""
    if value_at(weight, level) is not None or reduction == "batchmean":
        return NotImplemented
    v, t = full(x, level), full(target, level)
    losses = split(loss_of_rows(joined(v), joined(t)), level)
    if reduction == "none":
        return losses
    total = losses.reshape(level.size, -1).sum(1)
    if reduction == "sum":
        return total
    flat = t.reshape(level.size, -1)
    counted = flat != ignore
    if weight is None:
        return total / counted.sum(1).to(total.dtype)
    return total / (weight[flat * counted] * counted).sum(1).to(total.dtype)


def cross_entropy(level, rule, x, target, weight, ignore, smoothing, reduction):
    return class_loss(level, lambda a, b: apply(rule, a, b, weight, ignore, smoothing, "none"), x, target, weight, ignore, reduction)


def nll_loss(level, rule, x, target, weight, ignore, reduction):
    return class_loss(level, lambda a, b: apply(rule, a, b, weight, ignore, "none"), x, target, weight, ignore, reduction)


def cdist(level, rule, a, b, *args):
    if a.dim() != b.dim():
        return NotImplemented
    return apply(rule, full(a, level), full(b, level), *args)


_pool = planes(0)
RULES = {**dict.fromkeys(("Im2col", "Col2im"), stack_of),
         **dict.fromkeys(("MaxPool", "MaxPool2d", "MaxPool3d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool", "AvgPool2d", "AvgPool3d",
                          "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"), _pool),
         "MaxUnpool": unpool, "Resample": resample,
         **dict.fromkeys([rule.__name__ for rule in MAPPED_PADS.values()], last_dims), "ConstantPad": constant_pad,
         "ScaledDotProductFlashAttentionForCpu": attention,
         "CrossEntropyLoss": cross_entropy, "NllLoss": nll_loss, "Cdist": cdist,
         "DirectCdist": cdist}
