"""Recurrent networks over sequences; the single steps are in rnn_cells.py."""
import math
import warnings

import fasttensor as ft

from .. import init
from ..module import Module
from ..parameter import Parameter
from ..utils.rnn import PackedSequence

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, ... and their use.

    `mode` is 'RNN_TANH', 'RNN_RELU', 'LSTM' or 'GRU' (ValueError otherwise).

    >>> sorted(name for name, _ in nn.GRU(3, 4).named_parameters())
    ['bias_hh_l0', 'bias_ih_l0', 'weight_hh_l0', 'weight_ih_l0']
    """
    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=3)
        for name, value in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates = _GATES[mode] * hidden_size
        out = proj_size or hidden_size
        self._flat_weights_names, self._all_weights = [], []
        for layer in range(num_layers):
            for direction in range(2 if bidirectional else 1):
                wide = input_size if layer == 0 else out * (2 if bidirectional else 1)
                end = f"_l{layer}" + ("_reverse" if direction else "")
                shapes = {"weight_ih": (gates, wide), "weight_hh": (gates, out)}
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + end, Parameter(ft.empty(shape, device=device, dtype=dtype)))
                names = [name + end for name in shapes]
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def __getstate__(self):
        # PyTorch keeps the list itself, and its forward looks there.
        return {**self.__dict__, "_flat_weights": self._flat_weights}

    def __setstate__(self, state):
        super().__setstate__({k: v for k, v in state.items() if k != "_flat_weights"})

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self):
        """The parameters, one list a layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Nothing to do: the weights are used where they are."""

    def reset_parameters(self):
        """Draw all weights anew, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def extra_repr(self):
        s = f"{self.input_size}, {self.hidden_size}"
        for name, plain in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0), ("bidirectional", False)):
            value = getattr(self, name)
            if value != plain:
                s += f", {name}={value}"
        return s

    # Checks

    def check_input(self, input, batch_sizes):
        """RuntimeError unless the input has the right dimensions and size, ValueError for another dtype than the weights'."""
        dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype is not dtype and not ft.is_autocast_enabled("cpu"):
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}),"
                             f" or convert model: model.to({input.dtype})")
        want = 2 if batch_sizes is not None else 3
        if input.dim() != want:
            raise RuntimeError(f"input must have {want} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                               f"got {input.size(-1)}")

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape that h_0 must have."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return (self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError unless a hidden state has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Check input and hidden state together."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """A hidden state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # One call for all three: `hidden` is a list of one state, or of two for LSTM.

    def _zeros(self, input, batch):
        layers = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size] + ([self.hidden_size] if self.mode == "LSTM" else [])
        return [ft.zeros(layers, batch, s, dtype=input.dtype, device=input.device) for s in sizes]

    def _run(self, function, input, hidden):
        packed = isinstance(input, PackedSequence)
        batched = True
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
            batch = int(batch_sizes[0])
        else:
            data, batch_sizes, sorted_indices, unsorted_indices = input, None, None, None
            if data.dim() not in (2, 3):
                raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.dim()}D tensor instead")
            batched = data.dim() == 3
            if not batched:
                data = data.unsqueeze(0 if self.batch_first else 1)
            batch = data.size(0 if self.batch_first else 1)
        if hidden is None:
            hidden = self._zeros(data, batch)
        else:
            want = 3 if batched else 2
            for h in hidden:
                if h.dim() != want:
                    kind = "batched" if batched else "unbatched"
                    raise RuntimeError(f"For {kind} {data.dim() if batched else 2}-D input, hx should also be {want}-D "
                                       f"but got {h.dim()}-D tensor")
            if not batched:
                hidden = [h.unsqueeze(1) for h in hidden]
            hidden = [self.permute_hidden(h, sorted_indices) for h in hidden]
        self.check_forward_args(data, tuple(hidden) if len(hidden) > 1 else hidden[0], batch_sizes)
        state = hidden if len(hidden) > 1 else hidden[0]
        if batch_sizes is None:
            result = function(data, state, self._flat_weights, self.bias, self.num_layers, self.dropout,
                              self.training, self.bidirectional, self.batch_first)
        else:
            result = function(data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers,
                              self.dropout, self.training, self.bidirectional)
        output, last = result[0], list(result[1:])
        if packed:
            output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return output, [self.permute_hidden(h, unsorted_indices) for h in last]
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), [h.squeeze(1) for h in last]
        return output, last


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu; several layers, either direction.

    Input (L, N, input_size), (N, L, input_size) with `batch_first`, (L, input_size) or a
    PackedSequence, and h_0 (layers * directions, N, hidden_size); gives all outputs and h_n.

    >>> output, h = nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        function = ft.rnn_tanh if self.mode == "RNN_TANH" else ft.rnn_relu
        output, (h,) = self._run(function, input, None if hx is None else [hx])
        return output, h


class GRU(RNNBase):
    """Gated recurrent units: Cho et al., 2014. Shapes as for RNN.

    r, z = sigmoid(...); n = tanh(W_in x + b_in + r (W_hn h + b_hn)); h' = (1 - z) n + z h.

    >>> output, h = nn.GRU(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
    >>> output.shape
    torch.Size([5, 3, 40])
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0,
                         device, dtype)

    def forward(self, input, hx=None):
        output, (h,) = self._run(ft.gru, input, None if hx is None else [hx])
        return output, h


class LSTM(RNNBase):
    """Long short-term memory: Hochreiter and Schmidhuber, 1997; with `proj_size`, Sak et al., 2014.

    i, f, o = sigmoid(...); g = tanh(...); c' = f c + i g; h' = o tanh(c'). Shapes as for RNN, with a
    pair (h_0, c_0) as state.

    >>> output, (h, c) = nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         proj_size, device, dtype)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape that c_0 must have."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes),
                               "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def forward(self, input, hx=None):
        output, last = self._run(ft.lstm, input, None if hx is None else list(hx))
        return output, tuple(last)


from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase  # noqa: E402, F401  PyTorch keeps them here
