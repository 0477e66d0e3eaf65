"""Random draws: their values do not depend on what they replace or on their parameters, so gradients are zero."""
from fasttensor.autograd.rule import Rule


class Refill(Rule):
    """In-place filling: the history of the tensor ends in a node whose gradient is zero."""

    @staticmethod
    def forward(ctx, x, function, *args):
        ctx.count = 2 + len(args)
        function(x, *args)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return (g.new_zeros(g.shape),) + (None,) * (ctx.count - 1)


class Draw(Rule):
    """A new tensor drawn with tensors as parameters."""

    @staticmethod
    def forward(ctx, function, args, *parameters):
        ctx.shapes = [p if ctx.needs_input_grad[i + 2] else None for i, p in enumerate(p.shape for p in parameters)]
        return function(*parameters, *args)

    @staticmethod
    def backward(ctx, g):
        return (None, None) + tuple(None if shape is None else g.new_zeros(shape) for shape in ctx.shapes)


def _named(base, name):
    return type(name, (base,), {"name": name + "Backward0", "__doc__": base.__doc__})


Uniform, Normal, LogNormal = _named(Refill, "Uniform"), _named(Refill, "Normal"), _named(Refill, "LogNormal")
Cauchy, Exponential, Geometric = _named(Refill, "Cauchy"), _named(Refill, "Exponential"), _named(Refill, "Geometric")
Random, BernoulliScalar, BernoulliTensor = _named(Refill, "Random"), _named(Refill, "Bernoulli"), _named(Refill, "Bernoulli")
Bernoulli, Poisson, Binomial = _named(Draw, "Bernoulli"), _named(Draw, "Poisson"), _named(Draw, "Binomial")
NormalDraw, StandardGamma = _named(Draw, "Normal"), _named(Draw, "StandardGamma")
