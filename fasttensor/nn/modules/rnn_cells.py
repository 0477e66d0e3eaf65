"""Single steps of recurrent networks."""
import math

import fasttensor as ft

from .. import init
from ..module import Module
from ..parameter import Parameter


class RNNCellBase(Module):
    """What the three cells share: weight_ih (chunks * hidden, input), weight_hh (chunks * hidden, hidden), and biases (chunks * hidden).

    >>> nn.RNNCellBase(2, 3, True, num_chunks=4).weight_ih.shape
    torch.Size([12, 2])
    """
    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        like = {"device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = Parameter(ft.empty((num_chunks * hidden_size, input_size), **like))
        self.weight_hh = Parameter(ft.empty((num_chunks * hidden_size, hidden_size), **like))
        self.register_parameter("bias_ih", Parameter(ft.empty(num_chunks * hidden_size, **like)) if bias else None)
        self.register_parameter("bias_hh", Parameter(ft.empty(num_chunks * hidden_size, **like)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw all weights anew, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _step(self, function, input, hidden, n):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hidden is None:
            zero = ft.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hidden = [zero] * n
        else:
            for i, h in enumerate(hidden):
                if h.dim() not in (1, 2):
                    what = f"hx[{i}]" if n > 1 else "hidden"
                    raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {h.dim()}D instead")
            hidden = [h if batched else h.unsqueeze(0) for h in hidden]
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for h in hidden:
            if h.size(0) != input.size(0) or h.size(1) != self.hidden_size:
                raise RuntimeError(f"{name}: hidden state of shape {tuple(h.shape)} does not fit an input of batch "
                                   f"{input.size(0)} and hidden_size {self.hidden_size}")
        result = function(input, hidden if n > 1 else hidden[0], self.weight_ih, self.weight_hh, self.bias_ih,
                          self.bias_hh)
        if batched:
            return result
        return tuple(r.squeeze(0) for r in result) if n > 1 else result.squeeze(0)

    def extra_repr(self):
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s


class RNNCell(RNNCellBase):
    """One step of an RNN: input (N, input_size), hidden (N, hidden_size) -> hidden.

    >>> nn.RNNCell(10, 20)(torch.randn(3, 10), torch.randn(3, 20)).shape
    torch.Size([3, 20])
    """
    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = ft.rnn_tanh_cell if self.nonlinearity == "tanh" else ft.rnn_relu_cell
        return self._step(function, input, None if hx is None else [hx], 1)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: input (N, input_size), (h, c) -> (h, c).

    >>> h, c = nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> c.shape
    torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step(ft.lstm_cell, input, None if hx is None else list(hx), 2)


class GRUCell(RNNCellBase):
    """One step of a GRU: input (N, input_size), hidden (N, hidden_size) -> hidden.

    >>> nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(ft.gru_cell, input, None if hx is None else [hx], 1)
