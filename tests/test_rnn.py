"""Recurrent networks: the compiled loops against PyTorch, packed sequences, second derivatives, cells."""
import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.functional import rnn as composite
from helpers import assert_close, from_oracle, oracle

CASES = [("LSTM", {}), ("LSTM", dict(num_layers=2, bidirectional=True)), ("LSTM", dict(proj_size=3)),
         ("LSTM", dict(batch_first=True, bias=False)), ("GRU", dict(bidirectional=True, num_layers=2)), ("GRU", dict(bias=False)),
         ("RNN", dict(bidirectional=True)), ("RNN", dict(nonlinearity="relu"))]


def pair(pt, cls, *args, dtype="float32", **kw):
    theirs = getattr(pt.nn, cls)(*args, dtype=getattr(pt, dtype), **kw)
    ours = getattr(nn, cls)(*args, dtype=getattr(torch, dtype), **kw)
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    return theirs, ours


@pytest.mark.parametrize("cls, kw", CASES)
@pytest.mark.parametrize("sizes", [(3, 5, 1), (7, 16, 4), (20, 37, 33)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("packed", [False, True])
def test_against_pytorch(cls, kw, sizes, dtype, packed):
    pt = oracle()
    wide, hidden, batch = sizes
    if packed and (batch == 1 or "batch_first" in kw):
        packed = False
    theirs, ours = pair(pt, cls, wide, hidden, dtype=dtype, **kw)
    pt.manual_seed(0)
    kind = getattr(pt, dtype)
    x = pt.randn(5, batch, wide, dtype=kind, requires_grad=True)
    layers = (2 if kw.get("bidirectional") else 1) * kw.get("num_layers", 1)
    rows = 5 if kw.get("batch_first") else batch
    h = pt.randn(layers, rows, kw.get("proj_size", hidden), dtype=kind, requires_grad=True)
    c = pt.randn(layers, rows, hidden, dtype=kind, requires_grad=True)
    y, k, d = from_oracle(x), from_oracle(h), from_oracle(c)
    states = ((h, c), (k, d)) if cls == "LSTM" else (h, k)
    if packed:
        lengths = sorted((1 + i % 5 for i in range(batch)), reverse=True)
        lengths[0] = 5
        out, last = theirs(pt.nn.utils.rnn.pack_padded_sequence(x, lengths), states[0])
        out2, last2 = ours(nn.utils.rnn.pack_padded_sequence(y, lengths), states[1])
        out, out2 = out.data, out2.data
    else:
        out, last = theirs(x, states[0])
        out2, last2 = ours(y, states[1])
    results = (out, *last) if cls == "LSTM" else (out, last)
    results2 = (out2, *last2) if cls == "LSTM" else (out2, last2)
    for a, b in zip(results2, results):
        assert_close(a, b)
    seeds = [pt.randn_like(r) for r in results]
    pt.autograd.backward(results, seeds)
    torch.autograd.backward(results2, from_oracle(seeds))
    scale = 20
    tolerance = dict(rtol=1e-4, atol=1e-5 * scale) if dtype == "float32" else dict(rtol=1e-7, atol=1e-9)
    assert_close(y.grad, x.grad, **tolerance)
    assert_close(k.grad, h.grad, **tolerance)
    if cls == "LSTM":
        assert_close(d.grad, c.grad, **tolerance)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters()):
        assert_close(p.grad, q.grad, what=name, **tolerance)


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
def test_compiled_loops_equal_the_composite(cls, monkeypatch):
    m, x = getattr(nn, cls)(4, 6, 2, bidirectional=True), torch.randn(3, 2, 4)
    fused = m(x)[0]
    monkeypatch.setattr(composite, "_layer", composite._layer_of_steps)
    assert_close(fused, m(x)[0].tolist(), atol=1e-6)


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("hidden, batch, steps", [(37, 2, 2), (130, 3, 2), (300, 2, 9), (40, 9, 3)])
def test_weight_in_place_and_in_panels(cls, hidden, batch, steps, monkeypatch):
    """Few rows are multiplied by the weight as it lies, more by its panels: outputs and gradients agree with the composite."""
    m, x = getattr(nn, cls)(5, hidden), torch.randn(steps, batch, 5)

    def run():
        m.zero_grad()
        out = m(x)[0]
        (out * out).sum().backward()
        return [out.tolist()] + [p.grad.tolist() for p in m.parameters()]
    fused = run()
    monkeypatch.setattr(composite, "_layer", composite._layer_of_steps)
    for a, b in zip(fused, run()):
        assert_close(torch.tensor(a), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
def test_second_derivative(cls):
    m = getattr(nn, cls)(2, 3, dtype=torch.float64)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    weight = m.weight_hh_l0

    def penalty(step=0.0):
        with torch.no_grad():
            weight.view(-1)[1] += step
        x.grad = None
        g, = torch.autograd.grad((m(x)[0] ** 2).sum(), x, create_graph=True)
        with torch.no_grad():
            weight.view(-1)[1] -= step
        return (g ** 2).sum()
    weight.grad = None
    g, = torch.autograd.grad((m(x)[0] ** 2).sum(), x, create_graph=True)
    (g ** 2).sum().backward()
    h = 1e-5
    slope = (float(penalty(h).detach()) - float(penalty(-h).detach())) / (2 * h)
    assert_close(float(weight.grad.view(-1)[1]), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("hidden, batch, packed", [(96, 20, False), (40, 70, False), (40, 70, True), (300, 3, False)])
def test_the_same_bits_at_any_thread_count(cls, hidden, batch, packed):
    """Threads take blocks of rows through all steps, or share the hidden units of each."""
    m, x, before = getattr(nn, cls)(24, hidden, bidirectional=True), torch.randn(6, batch, 24), torch.get_num_threads()
    if packed:
        x = nn.utils.rnn.pack_padded_sequence(x, [1 + i * 7 % 6 for i in range(batch)], enforce_sorted=False)
    results = []
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            m.zero_grad()
            out = m(x)[0]
            out = out.data if packed else out
            (out * out).sum().backward()
            results.append([out.tolist()] + [p.grad.tolist() for p in m.parameters()])
    finally:
        torch.set_num_threads(before)
    assert all(r == results[0] for r in results)


def test_shapes_and_errors():
    m = nn.LSTM(3, 4)
    out, (h, c) = m(torch.zeros(5, 3))
    assert out.shape == (5, 4) and h.shape == (1, 4)
    for x, state, text in ((torch.zeros(2, 2, 2), None, r"input.size\(-1\) must be equal"),
                           (torch.zeros(2, 2, 3), (torch.zeros(1, 3, 4), torch.zeros(1, 2, 4)), r"Expected hidden\[0\] size"),
                           (torch.zeros(2, 2, 3), (torch.zeros(1, 4), torch.zeros(1, 4)), "should also be 3-D")):
        with pytest.raises(RuntimeError, match=text):
            m(x, state)
    with pytest.raises(ValueError, match="nonlinearity"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(ValueError, match="proj_size"):
        nn.LSTM(3, 4, proj_size=5)


@pytest.mark.parametrize("cls", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells(cls):
    pt = oracle()
    theirs, ours = pair(pt, cls, 3, 4)
    x = pt.randn(2, 3)
    a, b = ours(from_oracle(x)), theirs(x)
    for u, v in zip(a if cls == "LSTMCell" else (a,), b if cls == "LSTMCell" else (b,)):
        assert_close(u, v)
    assert (ours(from_oracle(x[0]))[0] if cls == "LSTMCell" else ours(from_oracle(x[0]))).shape == (4,)


def test_packing_round_trip():
    seqs = [torch.arange(n * 2.0).view(n, 2) for n in (2, 4, 1)]
    packed = nn.utils.rnn.pack_sequence(seqs, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    back = nn.utils.rnn.unpack_sequence(packed)
    assert all(torch.equal(a, b) for a, b in zip(seqs, back))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=5)
    assert padded.shape == (3, 5, 2) and lengths.tolist() == [2, 4, 1] and float(padded[2, 1, 0]) == -1
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        nn.utils.rnn.pack_padded_sequence(torch.zeros(3, 2, 1), [1, 2])
    assert nn.utils.rnn.pad_sequence([torch.ones(1), torch.ones(2)], padding_side="left").tolist() == [[0, 1], [1, 1]]


def test_padding_does_not_change_results():
    m = nn.GRU(2, 3, bidirectional=True)
    seqs = [torch.randn(n, 2) for n in (3, 5)]
    out, h = m(nn.utils.rnn.pack_sequence(seqs, enforce_sorted=False))
    rows = nn.utils.rnn.unpack_sequence(out)
    for i, s in enumerate(seqs):
        alone, last = m(s)
        assert_close(rows[i], alone.tolist(), atol=1e-6)
        assert_close(h[:, i], last.tolist(), atol=1e-6)
