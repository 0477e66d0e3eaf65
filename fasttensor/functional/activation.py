"""Activations that take more than one row of the table: gelu, prelu, glu."""
from fasttensor.autograd.checks import int_of, need_tensor
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.functional.common import check_tensor, describe, give, refuse_shared

_gelu_erf, _gelu_tanh, _prelu = FUNCTIONS["_gelu_erf"], FUNCTIONS["_gelu_tanh"], FUNCTIONS["_prelu"]
_sigmoid, _tanh = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"]

__all__ = ["prelu"]
NN_FUNCTIONAL = ["gelu", "prelu", "glu", "sigmoid", "tanh"]


def gelu(input, *, approximate="none", out=None):
    """x Phi(x), Phi being the normal distribution function; `approximate="tanh"` replaces it by a tanh.

    Any shape, floating dtypes. Raises RuntimeError for another `approximate`.
    Source: Hendrycks and Gimpel, arXiv 1606.08415.

    >>> F.gelu(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8413])
    """
    if out is not None:
        refuse_shared("gelu", out, (input,), True)
    if approximate == "none":
        return give(out, _gelu_erf(input), "gelu", True)
    if approximate == "tanh":
        return give(out, _gelu_tanh(input), "gelu", True)
    raise RuntimeError(f"gelu: approximate argument must be either none or tanh, not {approximate!r}")


def prelu(input, weight):
    """x, or weight x below zero; `weight` has one element or one for each of dimension 1.

    Raises RuntimeError when the number of weights is neither.

    >>> torch.prelu(torch.tensor([-2., 3.]), torch.tensor([0.5]))
    tensor([-1.,  3.])
    """
    check_tensor("prelu", input, weight)
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    n = weight.numel()
    if weight.dim() > 1 and n != 1:
        raise RuntimeError("prelu: Expected `weight` to be a scalar or 1D tensor, but got: "
                           f"ndim = {weight.dim()} ({describe(input, weight)})")
    if n != 1:
        if input.dim() == 0:
            raise RuntimeError(f"prelu: Not allow zero-dim input tensor with several weights, got {describe(input, weight)}")
        channels = input.size(1) if input.dim() >= 2 else 1
        if channels != n:
            raise RuntimeError(f"prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} "
                               f"and channel size = {channels} ({describe(input, weight)}).")
    if n == 1:
        weight = weight.reshape(())
    elif input.dim() > 2:
        weight = weight.view(-1, *[1] * (input.dim() - 2))
    return _prelu(input, weight)


def glu(input, dim=-1):
    """a sigmoid(b) for the two halves a, b of dimension `dim`.

    Raises RuntimeError when that size is odd. Source: Dauphin et al., arXiv 1612.08083.

    >>> F.glu(torch.tensor([3., 0.]))
    tensor([1.5000])
    """
    need_tensor(input, "glu", "input", 1)
    dim = int_of(dim, "glu", "dim")
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    n = input.size(dim)
    if n % 2 != 0:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {n}")
    return input.narrow(dim, 0, n // 2) * _sigmoid(input.narrow(dim, n // 2, n // 2))


def sigmoid(input):
    """1 / (1 + exp(-x)), the same as `torch.sigmoid`. Any shape; floating point or complex, integers become the default float dtype.

    >>> F.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return _sigmoid(input)


def tanh(input):
    """The hyperbolic tangent, the same as `torch.tanh`. Any shape; floating point or complex, integers become the default float dtype.

    >>> F.tanh(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4621])
    """
    return _tanh(input)


METHODS = {"prelu": prelu}
