"""Random draws. The values of most do not depend on what they replace or on their parameters, so that gradients are zero; Gamma and
Dirichlet numbers move with their parameters (implicit reparameterization, Figurnov et al. 2018)."""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply


class Refill(Rule):
    """In-place filling: the history of the tensor ends in a node whose gradient is zero."""

    @staticmethod
    def forward(ctx, x, function, *args):
        ctx.count = 2 + len(args)
        ctx.mark_dirty(x)
        function(x, *args)
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
NormalDraw = _named(Draw, "Normal")


class StandardGamma(Rule):
    """Gamma numbers of the shapes `alpha`."""

    @staticmethod
    def forward(ctx, function, args, alpha):
        sample = function(alpha, *args)
        ctx.save(alpha, sample)
        return sample

    @staticmethod
    def backward(ctx, g):
        return None, None, g * apply(StandardGammaGrad, *ctx.saved)


class Dirichlet(Rule):
    """Dirichlet numbers of the concentrations `alpha` along the last dimension."""

    name = "SampleDirichletBackward0"

    @staticmethod
    def forward(ctx, function, args, alpha):
        sample = function(alpha, *args)
        ctx.save(alpha, sample)
        return sample

    @staticmethod
    def backward(ctx, g):
        alpha, sample = ctx.saved
        slopes = apply(DirichletGrad, sample, alpha, alpha.sum(-1, True).expand(alpha.shape))
        return None, None, slopes * (g - (sample * g).sum(-1, True))


class _Underived(Rule):
    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError(f"the derivative for '{ctx.operation}' is not implemented: samples have first derivatives only")


class StandardGammaGrad(_Underived):
    """d sample / d alpha of Gamma numbers."""

    @staticmethod
    def forward(ctx, alpha, sample):
        ctx.operation = "_standard_gamma_grad"
        return backend(alpha).standard_gamma_grad(alpha, sample)


class DirichletGrad(_Underived):
    """d x / d alpha / (1 - x) of Dirichlet numbers."""

    @staticmethod
    def forward(ctx, x, alpha, total):
        ctx.operation = "_dirichlet_grad"
        return backend(alpha).dirichlet_grad(x, alpha, total)
