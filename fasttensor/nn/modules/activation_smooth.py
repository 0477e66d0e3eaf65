"""Smooth activations: the sigmoid, the hyperbolic tangent and what is made of them."""
import fasttensor as ft

from .. import functional as F
from .._call import set_activation
from ..module import Module


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> nn.Sigmoid()(torch.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input):
        return ft.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    Elementwise on any shape; integers give the default dtype.

    >>> nn.Tanh()(torch.tensor([-1., 0., 2.]))
    tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input):
        return ft.tanh(input)


for _layer in (Sigmoid, Tanh):
    getattr(ft, _layer.__name__.lower())       # found in the namespace from here on
    set_activation(_layer.forward, vars(ft), _layer.__name__.lower(), False)


class GLU(Module):
    """a sigmoid(b) for the two halves a, b of dimension `dim`: Dauphin et al., 2016.

    >>> nn.GLU()(torch.randn(4, 2)).shape
    torch.Size([4, 1])
    """
    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class GELU(Module):
    """x Phi(x) with the normal distribution function, or its tanh approximation: Hendrycks and Gimpel, 2016.

    Elementwise on any shape; a floating-point dtype, kept. `approximate` is 'none' or 'tanh', else RuntimeError.

    >>> nn.GELU()(torch.tensor([-1., 0., 2.]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))).

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.LogSigmoid()(torch.tensor([-1., 0., 2.]))
    tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold.

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Softplus(beta=2)(torch.tensor([-1., 0., 2.]))
    tensor([0.0635, 0.3466, 2.0091])
    """
    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + |x|).

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Softsign()(torch.tensor([-1., 0., 2.]))
    tensor([-0.5000,  0.0000,  0.6667])
    """

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Tanhshrink()(torch.tensor([-1., 0., 2.]))
    tensor([-0.2384,  0.0000,  1.0360])
    """

    def forward(self, input):
        return F.tanhshrink(input)
