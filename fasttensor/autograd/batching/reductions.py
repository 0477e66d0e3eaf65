"""Reductions, scans and selections along dimensions: the dimensions move behind the batch."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import apply, needs_history

from .common import full, moved


def reduced(position):
    """A rule with arguments (x, ..., dims, keepdim, ...), `dims` at `position` (None for all)."""
    def handler(level, rule, x, *args):
        value = value_at(x, level)
        if value is None:
            return NotImplemented
        before, (dims, keepdim), after = args[:position], args[position:position + 2], args[position + 2:]
        if dims is not None and x.dim():
            return apply(rule, value, *before, moved(dims), keepdim, *after)
        made = apply(rule, value.reshape(level.size, -1), *before, (1,), False, *after)
        if not keepdim or not x.dim():
            return made
        shape = (level.size,) + (1,) * x.dim()
        return tuple(m.reshape(shape) for m in made) if isinstance(made, tuple) else made.reshape(shape)
    return handler


def variance(level, rule, x, dims, correction, keepdim, *rest):
    value = value_at(x, level)
    if dims is not None and x.dim():
        return apply(rule, value, moved(dims), correction, keepdim, *rest)
    made = apply(rule, value.reshape(level.size, -1), (1,), correction, False, *rest)
    if not keepdim or not x.dim():
        return made
    shape = (level.size,) + (1,) * x.dim()
    return tuple(m.reshape(shape) for m in made) if isinstance(made, tuple) else made.reshape(shape)


def along(position):
    """A rule with arguments (x, ...), whose dimension is at `position` among those after x and stays in the result."""
    def handler(level, rule, x, *args):
        value = value_at(x, level)
        if value is None:
            return NotImplemented
        args = list(args)
        if x.dim():
            args[position] += 1
            return apply(rule, value, *args)
        args[position] = 1
        made = apply(rule, value.unsqueeze(1), *args)
        return tuple(m.squeeze(1) for m in made) if isinstance(made, tuple) else made.squeeze(1)
    return handler


def extreme_of_dim(level, rule, x, dim, keepdim, least):
    value = value_at(x, level)
    if x.dim():
        return apply(rule, value, dim + 1, keepdim, least)
    return apply(rule, value.unsqueeze(1), 1, False, least)


def median_of_all(level, rule, x, ignore_nan):
    from fasttensor.autograd.rules.sort import Median
    if needs_history(x) and x.dim():         # the gradient is shared among equal elements of one sample
        return NotImplemented
    values, _ = apply(Median, value_at(x, level).reshape(level.size, -1), 1, ignore_nan)
    return values.squeeze(1)


def pick(level, rule, x, indices, dim, *rest):
    """Pick, Place and Select: indices of every sample along a dimension."""
    if not x.dim() or not indices.dim():
        return NotImplemented
    return apply(rule, full(x, level).contiguous(), full(indices, level).contiguous(), dim + 1, *rest)


def over_dims(level, rule, x, dims, *rest):
    """A rule with arguments (x, dims, ...) whose result has x's dimensions: fft, flip."""
    return apply(rule, value_at(x, level), moved(dims), *rest)


RULES = {
    **dict.fromkeys(("Sum", "Mean", "Nansum", "Prod", "Amax", "Amin", "Max", "Min", "Logsumexp"), reduced(0)),
    "Norm": reduced(1),
    **dict.fromkeys(("Var", "Std", "VarMean", "StdMean"), variance),
    "MaxDim": extreme_of_dim, "MinDim": extreme_of_dim,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Cumsum", "Cumprod", "Cummax", "Cummin", "Logcumsumexp", "Sort", "Median"), along(0)),
    "Kthvalue": along(1), "Topk": along(1), "MedianOfAll": median_of_all,
    "Pick": pick, "Place": pick,
    "FftC2C": over_dims, "FftR2C": over_dims, "FftC2R": over_dims, "Flip": over_dims,
}
