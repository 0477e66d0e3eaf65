"""Shapes of softmax, losses and normalisation."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import code_of, like, new, together

FLOAT32, FLOAT64 = DTYPES["float32"].code, DTYPES["float64"].code


def softmax(x, dim):
    return like(x)


log_softmax = softmax


def softmax_backward(g, y, dim):
    return like(y)


log_softmax_backward = softmax_backward


def _rows(op, x, reduction, rows):
    return new(rows if reduction == "none" else (), code_of(x))


def cross_entropy(x, target, weight, ignore, smoothing, reduction):
    together("cross_entropy", x, target, weight)
    return _rows("cross_entropy", x, reduction, target.shape), new((target.numel() + 1, 2), FLOAT64)


def cross_entropy_backward(g, x, target, weight, state, ignore, smoothing, reduction):
    return like(x)


def nll_loss(x, target, weight, ignore, reduction):
    together("nll_loss", x, target, weight)
    return _rows("nll_loss", x, reduction, target.shape), 1.0


def nll_loss_backward(g, x, target, weight, ignore, reduction, divisor):
    return like(x)


def ctc_loss(x, targets, times, lengths, blank):
    for value in times:
        if not 0 <= value <= x.shape[0]:
            raise RuntimeError(f"ctc_loss(): Expected input_lengths to have value at most {x.shape[0]}, but got value {value}")
    return new((x.shape[1],), code_of(x)), tuple(x.shape)


def ctc_loss_backward(g, state, zero_infinity, code):
    return new(state, code)


def multi_margin_loss(x, target, p, margin, weight, reduction):
    together("multi_margin_loss", x, target, weight)
    return _rows("multi_margin_loss", x, reduction, target.shape)


def multi_margin_loss_backward(g, x, target, p, margin, weight, reduction):
    return like(x)


def multilabel_margin_loss(x, target, reduction):
    together("multilabel_margin_loss", x, target)
    return _rows("multilabel_margin_loss", x, reduction, (x.shape[0],))


def multilabel_margin_loss_backward(g, x, target, reduction):
    return like(x)


def _width(x):
    """The dtype in which statistics of x's rows are kept."""
    return code_of(x) if x.dtype.itemsize >= 4 else FLOAT32


def _statistic(x, n):
    """Sizes with ones for the last dimensions, which have n elements together."""
    sizes, run = [], 1
    for size in reversed(x.shape):
        sizes.append(1 if run < n or size == 1 and run == n else size)
        run *= size
    return new(sizes[::-1], _width(x))


def layer_norm(x, weight, bias, eps, n):
    together("layer_norm", x, weight, bias)
    return like(x), _statistic(x, n), _statistic(x, n)


def layer_norm_backward(g, x, mean, rstd, weight, bias, n, want_x, want_w, want_b):
    return like(x) if want_x else None, like(weight) if want_w else None, like(bias) if want_b else None


def rms_norm(x, weight, eps, n):
    together("rms_norm", x, weight)
    return like(x), _statistic(x, n)


def rms_norm_backward(g, x, rstd, weight, n, want_x, want_w):
    return like(x) if want_x else None, like(weight) if want_w else None


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    together("batch_norm", x, weight, bias, running_mean, running_var)
    return like(x), new((x.shape[1],), FLOAT64), new((x.shape[1],), FLOAT64)


def batch_norm_backward(g, x, weight, mean, rstd, training, want_x):
    return like(x) if want_x else None, like(mean), like(mean)


def group_norm(x, weight, bias, groups, eps):
    together("group_norm", x, weight, bias)
    if groups < 1 or x.shape[1] % groups:
        raise RuntimeError(f"group_norm: {description(x)} has channels that num_groups={groups} does not divide")
    return like(x), new((x.shape[0], groups), FLOAT64), new((x.shape[0], groups), FLOAT64)


def group_norm_backward(g, x, weight, mean, rstd, groups, want_x):
    return like(x) if want_x else None, new((x.shape[1],), FLOAT64), new((x.shape[1],), FLOAT64)


def cdist(a, b, p):
    return new(a.shape[:-1] + b.shape[-2:-1], code_of(a))


def cdist_backward(g, a, b, y, p):
    return like(a)


def cdist_finish(products, a, b):
    return products


def pdist(a, p):
    return new((a.shape[0] * (a.shape[0] - 1) // 2,), code_of(a))


def pdist_backward(g, a, y, p):
    return like(a)
