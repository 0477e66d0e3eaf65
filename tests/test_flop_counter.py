"""FlopCounterMode: the counts are PyTorch's."""
import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten


class Products(nn.Module):
    def forward(self, a):
        return torch.einsum("bij,bjk->bik", a, a) + a @ a + torch.matmul(a, a[0])


class Attention(nn.Module):
    def forward(self, q):
        return nn.functional.scaled_dot_product_attention(q, q, q)


@pytest.mark.parametrize("model, shapes, forward, both", [
    (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2, bias=False)), [(3, 4)], 288, 672),
    (lambda: nn.Linear(4, 8), [(2, 3, 4)], 384, 768),
    (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(8, 4, 3, groups=2), nn.Flatten(), nn.Linear(36, 2)),
     [(2, 3, 10, 10)], 27072, 64800),
    (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.ConvTranspose2d(4, 2, 3, stride=2)), [(2, 3, 5, 5)], 8400, 24000),
    (lambda: nn.Conv1d(3, 4, 3, dilation=2), [(2, 3, 9)], 720, 1440),
    (lambda: nn.MultiheadAttention(16, 2, batch_first=True), [(2, 5, 16)] * 3, 23680, 55680),
    (lambda: nn.LSTMCell(4, 6), [(2, 4)], 960, 1920),
    (lambda: nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)], 0, 0), (lambda: nn.LSTM(4, 6), [(3, 2, 4)], 0, 0),
    (lambda: nn.GRU(4, 6), [(3, 2, 4)], 2160, 5184), (lambda: nn.RNN(4, 6), [(3, 4)], 360, 864), (lambda: nn.LSTM(4, 6, proj_size=3), [(3, 2, 4)], 2232, 5256),
    (lambda: nn.GRU(4, 6, 2, bidirectional=True), [(3, 2, 4)], 12096, 32832)],
    ids=["mlp", "linear", "cnn", "transposed", "conv1d", "attention", "cell", "bilinear", "lstm", "gru", "rnn", "projected", "gru2"])
def test_counts_of_models(model, shapes, forward, both):
    with FlopCounterMode(display=False) as counter:
        out = model()(*(torch.ones(shape) for shape in shapes))
        out = out[0] if isinstance(out, tuple) else out
        assert counter.get_total_flops() == forward
        out.sum().backward()
    assert counter.get_total_flops() == both


def test_counts_by_module_and_operator():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2, bias=False))
    with FlopCounterMode(display=False) as counter:
        out = model(torch.ones(3, 4)).sum()
        out.backward()
    model(torch.ones(3, 4))             # not counted any more
    assert counter.get_flop_counts() == {name: {op: n for op, n in counts.items()} for name, counts in {
        "Global": {aten.addmm: 192, aten.mm: 480}, "Sequential": {aten.addmm: 192, aten.mm: 480},
        "Sequential.0": {aten.addmm: 192, aten.mm: 192}, "Sequential.2": {aten.mm: 288}}.items()}
    assert "Sequential.2" not in counter.get_table(depth=1) and "aten.mm" in counter.get_table()


def test_products_outside_of_modules():
    a = torch.ones(3, 4, 4, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        Products()(a).sum().backward()
    assert counter.get_flop_counts()["Global"] == {aten.bmm: 2304, aten.mm: 1152}


def test_attention_is_counted():
    q = torch.ones(1, 2, 6, 8, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        Attention()(q).sum().backward()
    assert counter.get_total_flops() == 2304 + 5760
