"""Activations of pieces, and SiLU; smooth ones are in activation_smooth.py, softmax and its kin in softmax.py, attention in attention.py."""
import warnings

import fasttensor as ft

from .. import functional as F
from .._call import set_activation
from ..module import Module
from ..parameter import Parameter


class _Inplace(Module):
    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """max(0, x).

    >>> nn.ReLU()(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    def forward(self, input):
        return F.relu(input, self.inplace)


set_activation(ReLU.forward, vars(F), "relu", True)


class RReLU(_Inplace):
    """x, or a x below zero with a drawn from [lower, upper) in training and their mean in eval: Xu et al., 2015.

    Elementwise on any shape; a floating-point dtype, kept. RuntimeError where lower > upper.

    >>> nn.RReLU(0.2, 0.4).eval()(torch.tensor([-1., 2.]))
    tensor([-0.3000,  2.0000])
    """
    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Hardtanh(_Inplace):
    """x limited to [min_val, max_val].

    >>> nn.Hardtanh(-2, 2)(torch.tensor([-3., 1.]))
    tensor([-2.,  1.])
    """
    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__(inplace)
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.ReLU6()(torch.tensor([-1., 3., 8.]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(_Inplace):
    """x where x > threshold, else `value`.

    >>> nn.Threshold(0.5, 20)(torch.tensor([0., 1.]))
    tensor([20.,  1.])
    """
    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardsigmoid(_Inplace):
    """clamp(x + 3, 0, 6) / 6.

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Hardsigmoid()(torch.tensor([-4., 0., 1.]))
    tensor([0.0000, 0.5000, 0.6667])
    """

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_Inplace):
    """x clamp(x + 3, 0, 6) / 6: Howard et al., 2019.

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Hardswish()(torch.tensor([-4., 1., 4.]))
    tensor([-0.0000, 0.6667, 4.0000])
    """

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class SiLU(_Inplace):
    """x sigmoid(x).

    Elementwise on any shape; a floating-point dtype, kept. Elfwing et al., 2017; also called swish.

    >>> nn.SiLU()(torch.tensor([-1., 0., 2.]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """x tanh(softplus(x)): Misra, 2019.

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.Mish()(torch.tensor([-1., 0., 2.]))
    tensor([-0.3034,  0.0000,  1.9440])
    """

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class SELU(_Inplace):
    """scale (max(0, x) + min(0, alpha (exp(x) - 1))): Klambauer et al., 2017.

    Elementwise on any shape; a floating-point dtype, kept.

    >>> nn.SELU()(torch.tensor([-1., 0., 2.]))
    tensor([-1.1113,  0.0000,  2.1014])
    """

    def forward(self, input):
        return F.selu(input, self.inplace)


class _Alpha(_Inplace):
    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(inplace)
        self.alpha = alpha

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Alpha):
    """x, or alpha (exp(x) - 1) below zero: Clevert et al., 2015.

    >>> nn.ELU()(torch.tensor([-100., 1.]))
    tensor([-1.,  1.])
    """

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)): Barron, 2017.

    Elementwise on any shape; a floating-point dtype, kept. RuntimeError where alpha is 0.

    >>> nn.CELU(0.5)(torch.tensor([-1., 0., 2.]))
    tensor([-0.4323,  0.0000,  2.0000])
    """

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class _Lambda(Module):
    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return f"{self.lambd}"


class Hardshrink(_Lambda):
    """x where |x| > lambd, else 0.

    >>> nn.Hardshrink()(torch.tensor([0.4, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Lambda):
    """x moved towards zero by lambd, 0 between -lambd and lambd.

    Elementwise on any shape; a floating-point dtype, kept. RuntimeError where lambd < 0.

    >>> nn.Softshrink(1.0)(torch.tensor([-3., 0.5, 2.]))
    tensor([-2.,  0.,  1.])
    """

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class LeakyReLU(_Inplace):
    """x, or negative_slope x below zero.

    >>> nn.LeakyReLU(0.1)(torch.tensor([-10., 1.]))
    tensor([-1.,  1.])
    """
    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight x below zero, with one learned weight or one a channel: He et al., 2015.

    >>> nn.PReLU(3)(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ft.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Every weight `init` again."""
        with ft.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


from .activation_smooth import (GELU, GLU, LogSigmoid, Sigmoid, Softplus, Softsign,  # noqa: E402, F401
                                Tanh, Tanhshrink)
from .attention import MultiheadAttention  # noqa: E402, F401  PyTorch keeps them in this module
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin  # noqa: E402, F401
