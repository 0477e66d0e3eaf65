"""Shapes of new tensors and of random numbers; filling a meta tensor does nothing."""
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import broadcast, dense_like, like, new, together

BOOL, INT64 = DTYPES["bool"].code, DTYPES["int64"].code


def fill_(out, value):
    return None


def zero_(out):
    return None


def arange(start, step, n, code):
    return new((n,), code)


def linspace(start, end, n, code):
    return new((n,), code)


def logspace(start, end, n, base, code):
    return new((n,), code)


def pair(real, imag, code):
    together("complex", real, imag)
    return new(broadcast("complex", real.shape, imag.shape), code)


def eye(n, m, code):
    return new((n, m), code)


def triangle_indices(rows, cols, offset, upper, count, code):
    return new((2, count), code)


# --- random numbers: no generator moves ---

def uniform_(out, low, high, generator=None):
    return None


def normal_(out, mean, std, generator=None):
    return None


def log_normal_(out, mean, std, generator=None):
    return None


def random_(out, generator=None):
    return None


def random_from_to_(out, count, base, generator=None):
    return None


def bernoulli_(out, p, generator=None):
    return None


def bernoulli_tensor_(out, p, generator=None):
    together("bernoulli_", out, p)
    if broadcast("bernoulli_", out.shape, p.shape) != tuple(out.shape):
        raise RuntimeError(f"bernoulli_: probabilities {description(p)} do not broadcast to {description(out)}")


def exponential_(out, rate, generator=None):
    return None


def geometric_(out, p, generator=None):
    return None


def cauchy_(out, median, sigma, generator=None):
    return None


def _floating(op, x):
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"{op}: expected a floating-point tensor, got {description(x)}")


def poisson(rate, generator=None):
    _floating("poisson", rate)
    return like(rate)


def binomial(count, prob, generator=None):
    _floating("binomial", count)
    together("binomial", count, prob)
    return like(count)


def standard_gamma(alpha, generator=None):
    _floating("standard_gamma", alpha)
    return like(alpha)


def multinomial(prob, draws, replacement, generator=None):
    _floating("multinomial", prob)
    return new((*prob.shape[:-1], draws), INT64)


def rrelu(x, lower, upper, generator=None):
    _floating("rrelu", x)
    return like(x), like(x)


def randperm(n, code, generator=None):
    return new((n,), code)


def standard_gamma_grad(alpha, sample):
    return like(alpha)


def dirichlet_grad(x, alpha, total):
    return like(alpha)


def dropout(x, p, generator=None):
    if not x.dtype.is_floating_point:
        raise NotImplementedError(f'"dropout" not implemented for {description(x)}: a floating-point tensor is needed')
    return dense_like(x), dense_like(x, BOOL)


def dropout_backward(g, mask, p):
    return like(g)
