"""Recurrent networks: whole sequences, and single steps."""
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.rnn import RnnLayer

from .joining import cat, stack
from .matmul import linear
from .dropout import dropout as _dropout

__all__ = ["lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"]
METHODS = {}


def _lstm_gates(gates, c):
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_gates(gx, gh, h):
    rx, zx, nx = gx.chunk(3, -1)
    rh, zh, nh = gh.chunk(3, -1)
    z = (zx + zh).sigmoid()
    n = (nx + (rx + rh).sigmoid() * nh).tanh()
    return n + z * (h - n)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One LSTM step: input (N, I), hx = (h, c) of (N, H), w_ih (4H, I), w_hh (4H, H) -> (h, c).

    Gates stand in the order input, forget, cell, output. Source: Hochreiter and Schmidhuber, 1997.

    >>> h, c = torch.lstm_cell(torch.ones(1, 2), (torch.zeros(1, 3), torch.zeros(1, 3)), torch.ones(12, 2), torch.ones(12, 3))
    >>> h.shape
    torch.Size([1, 3])
    """
    h, c = hx
    return _lstm_gates(linear(input, w_ih, b_ih) + linear(h, w_hh, b_hh), c)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One GRU step: input (N, I), hx (N, H), w_ih (3H, I), w_hh (3H, H) -> h (N, H).

    Gates stand in the order reset, update, new; h = (1 - z) n + z hx. Source: Cho et al., 2014.

    >>> torch.gru_cell(torch.ones(1, 2), torch.zeros(1, 3), torch.zeros(9, 2), torch.zeros(9, 3))
    tensor([[0., 0., 0.]])
    """
    return _gru_gates(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """tanh(input w_ih^T + b_ih + hx w_hh^T + b_hh): input (N, I), hx (N, H), w_ih (H, I), w_hh (H, H) -> (N, H). Source: Elman, 1990.

    >>> torch.rnn_tanh_cell(torch.ones(1, 2), torch.zeros(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[0.9640]])
    """
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """relu(input w_ih^T + b_ih + hx w_hh^T + b_hh): input (N, I), hx (N, H), w_ih (H, I), w_hh (H, H) -> (N, H).

    >>> torch.rnn_relu_cell(torch.ones(1, 2), torch.zeros(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[2.]])
    """
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu()


def _layer_of_steps(mode, x, sizes, h, c, weights, reverse):
    """One layer in one direction, step by step, of operations that autograd knows.

    x (sum of sizes, I); sizes: rows of each time step, never rising. Returns (outputs, h_n, c_n).
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    projected = linear(x, w_ih, b_ih)
    steps = projected.split(sizes)
    outputs = [None] * len(sizes)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        n = sizes[t]
        whole = n == h.size(0)
        hs, cs = (h, c) if whole else (h[:n], None if c is None else c[:n])
        gh = linear(hs, w_hh, b_hh)
        if mode == "lstm":
            new, cell = _lstm_gates(steps[t] + gh, cs)
            if w_hr is not None:
                new = linear(new, w_hr)
            c = cell if whole else cat([cell, c[n:]])
        elif mode == "gru":
            new = _gru_gates(steps[t], gh, hs)
        else:
            new = steps[t] + gh
            new = new.tanh() if mode == "rnn_tanh" else new.relu()
        outputs[t] = new
        h = new if whole else cat([new, h[n:]])
    return cat(outputs), h, c


def _run(mode, x, sizes, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers and directions over rows packed by time: x (sum of sizes, I)."""
    directions = 2 if bidirectional else 1
    per = len(params) // (num_layers * directions)
    if per not in ((4, 5) if has_biases else (2, 3)):
        raise RuntimeError(f"{mode}: {len(params)} parameters do not fit {num_layers} layers in {directions} direction(s)"
                           f" {'with' if has_biases else 'without'} biases")
    projects = per in (3, 5)
    hs, cs = [], []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            i = layer * directions + d
            p = list(params[i * per:(i + 1) * per])
            w_hr = p.pop() if projects else None
            weights = (*p, *((None, None) if not has_biases else ()), w_hr)
            y, h, c = _layer(mode, x, sizes, h0[i], None if c0 is None else c0[i], weights, d == 1)
            outputs.append(y)
            hs.append(h)
            cs.append(c)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout > 0 and train and layer + 1 < num_layers:
            x = _dropout(x, dropout, True)
    return x, stack(hs), (None if c0 is None else stack(cs))


def _layer(mode, x, sizes, h, c, weights, reverse):
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    # The compiled loops take one floating dtype on the CPU, without projections.
    if w_hr is None and x.dtype.name in ("float32", "float64") and x.device.type == "cpu" \
            and all(t is None or t.dtype == x.dtype for t in (h, c, w_ih, w_hh, b_ih, b_hh)):
        result = apply(RnnLayer, x, h, c, w_ih, w_hh, b_ih, b_hh, mode, tuple(sizes), reverse, _layer_of_steps)
        return result if len(result) == 3 else (*result, None)
    return _layer_of_steps(mode, x, sizes, h, c, weights, reverse)


def _sequence(mode, args):
    """Tell apart (input, hx, params, ..., batch_first) and (data, batch_sizes, hx, params, ...)."""
    packed = isinstance(args[3], (tuple, list))
    if packed:
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        sizes = [int(n) for n in batch_sizes.tolist()]
    else:
        data, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        if data.dim() != 3:
            raise RuntimeError(f"{mode}: input must have 3 dimensions, got {data.dim()}")
        if batch_first:
            data = data.transpose(0, 1)
        steps, batch = data.size(0), data.size(1)
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        sizes = [batch] * steps
        data = data.reshape(steps * batch, data.size(2))
    h0, c0 = hx if mode == "lstm" else (hx, None)
    y, h, c = _run(mode, data, sizes, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional)
    if not packed:
        y = y.view(steps, batch, y.size(1))
        if batch_first:
            y = y.transpose(0, 1)
    return (y, h, c) if mode == "lstm" else (y, h)


def lstm(*args):
    """An LSTM over sequences, with PyTorch's two forms of arguments.

    `lstm(input, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)` with input (T, N, I), or (N, T, I) for
    `batch_first`, or `lstm(data, batch_sizes, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional)` with rows packed by
    time; h0, c0: (layers * directions, N, H). `params` lists w_ih, w_hh, b_ih, b_hh (and w_hr) of each layer and direction. Returns
    (output, h_n, c_n). Raises RuntimeError where the parameters do not fit the layers. Source: Hochreiter and Schmidhuber, 1997.

    >>> zero, params = torch.zeros(1, 1, 2), [torch.ones(8, 3), torch.ones(8, 2)]
    >>> output, h, c = torch.lstm(torch.ones(4, 1, 3), (zero, zero), params, False, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (torch.Size([4, 1, 2]), torch.Size([1, 1, 2]))
    """
    return _sequence("lstm", args)


def gru(*args):
    """A GRU over sequences; the arguments are those of :func:`lstm` with one state. Returns (output, h_n). Source: Cho et al., 2014.

    >>> params = [torch.ones(6, 3), torch.ones(6, 2)]
    >>> output, h = torch.gru(torch.ones(4, 1, 3), torch.zeros(1, 1, 2), params, False, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (torch.Size([4, 1, 2]), torch.Size([1, 1, 2]))
    """
    return _sequence("gru", args)


def rnn_tanh(*args):
    """A tanh network over sequences; the arguments are those of :func:`lstm` with one state. Returns (output, h_n).

    >>> params = [torch.ones(2, 3), torch.ones(2, 2)]
    >>> output, h = torch.rnn_tanh(torch.ones(4, 1, 3), torch.zeros(1, 1, 2), params, False, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (torch.Size([4, 1, 2]), torch.Size([1, 1, 2]))
    """
    return _sequence("rnn_tanh", args)


def rnn_relu(*args):
    """A relu network over sequences; the arguments are those of :func:`lstm` with one state. Returns (output, h_n).

    >>> params = [torch.ones(2, 3), torch.ones(2, 2)]
    >>> output, h = torch.rnn_relu(torch.ones(4, 1, 3), torch.zeros(1, 1, 2), params, False, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (torch.Size([4, 1, 2]), torch.Size([1, 1, 2]))
    """
    return _sequence("rnn_relu", args)
