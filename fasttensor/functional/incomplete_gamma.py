"""The incomplete gamma functions with the derivative by their first argument, and zeta, which has none by it."""
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import Rule, apply, needs_history
from fasttensor.autograd.rules.random import StandardGammaGrad
from fasttensor.functional.common import in_place
from fasttensor.functional.rearranging import broadcast_tensors


class _Incomplete(Rule):
    """P(a, x), whose derivative by a is that by x times -dx/da, the slope of a Gamma number that keeps P (Figurnov et al. 2018); or 1 - P."""

    sign = 1

    @classmethod
    def forward(cls, ctx, a, x):
        ctx.save(a, x)
        return FUNCTIONS["igamma" if cls.sign > 0 else "igammac"](a, x)

    @classmethod
    def backward(cls, ctx, g):
        a, x = ctx.saved
        density = cls.sign * g * ((a - 1).xlogy(x) - x - a.lgamma()).exp()
        slope = None
        if ctx.needs_input_grad[0]:
            both = [t.to(density.dtype) for t in broadcast_tensors(a, x)]
            slope = (-density * apply(StandardGammaGrad, *both)).to(a.dtype).sum_to_size(a.shape)
        return slope, density.to(x.dtype).sum_to_size(x.shape) if ctx.needs_input_grad[1] else None


class Igamma(_Incomplete):
    name = "IgammaBackward0"


class Igammac(_Incomplete):
    name = "IgammacBackward0"
    sign = -1


class Zeta(Rule):
    """Zeta where the first argument has a gradient."""

    @staticmethod
    def forward(ctx, a, x):
        return FUNCTIONS["zeta"](a, x)

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError("the derivative for 'zeta' by its first argument is not implemented: detach() it")


def _with_rule(name, rule):
    plain = FUNCTIONS[name]

    def function(input, other, *, out=None):
        if out is None and isinstance(input, Tensor) and isinstance(other, Tensor) and needs_history(input):
            return apply(rule, input, other)
        return plain(input, other, out=out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = plain.__doc__
    return function


igamma, igammac, zeta = _with_rule("igamma", Igamma), _with_rule("igammac", Igammac), _with_rule("zeta", Zeta)


__all__ = ["igamma", "igammac"]
METHODS = {"igamma": igamma, "igammac": igammac, "igamma_": in_place(igamma, True), "igammac_": in_place(igammac, True)}
NN_FUNCTIONAL = []
SPECIAL = {"gammainc": igamma, "gammaincc": igammac, "zeta": zeta}
