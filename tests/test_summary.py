"""Tables of models and pictures of graphs."""
import pytest

import fasttensor as torch
from fasttensor import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.ReLU())
        self.fc = nn.Linear(8, 8)
        self.lstm = nn.LSTM(8, 5, 2, batch_first=True)
        self.att = nn.MultiheadAttention(8, 2)
        self.parts = nn.ModuleList([nn.Linear(8, 4), nn.Linear(8, 4)])
        self.unused = nn.Sequential(nn.Linear(2, 2))
        self.scale = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x, y=None):
        h = self.block(self.block(self.norm(self.conv(x)))).mean((2, 3))
        h = self.fc(self.fc(h))
        attended, _ = self.att(h, h, h)
        return {"o": self.lstm(h[:, None])[0], "a": attended, "z": (h @ h.t(), self.parts[0](h), self.parts[1](h))}


def test_layers_shapes_parameters_and_products():
    model, x = Net(), torch.ones(2, 3, 16, 16)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = torch.get_rng_state()
    found = torch.summary(model, x)
    assert torch.equal(before, torch.get_rng_state()) and model.training and all(m.training for m in model.modules())
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items()) and model.fc.weight.grad is None
    by_name = {}
    for layer in found.layers:
        by_name.setdefault(layer.name, layer)
    conv = 8 * 27 * 2 * 256
    again = 8 * 72 * 2 * 256
    assert by_name["conv"].mult_adds == conv and by_name["block"].mult_adds == again and by_name["lstm"].mult_adds == 2 * 460
    assert by_name["att"].mult_adds == 2 * 24 * 8 + 2 * 8 * 8 + 2 * (2 * 2 * 2 * 4)
    assert found.total_mult_adds == conv + 2 * again + 2 * 2 * 64 + 920 + by_name["att"].mult_adds + 2 * 2 * 8 + 2 * 2 * 32
    assert found.total_params == sum(p.numel() for p in model.parameters())
    assert found.total_params - found.trainable_params == 3
    assert by_name["conv"].output_size == [2, 8, 16, 16] and by_name["conv"].kernel_size == [3, 3] and by_name[""].trainable == "Partial"
    assert by_name[""].output_size == {"o": [2, 1, 5], "a": [2, 8], "z": ([2, 2], [2, 4], [2, 4])}
    text = str(found)
    assert text.count("(recursive)") == 2 and "ModuleList" not in text and "Linear (0): 2-" in text
    assert "└─Sequential (unused): 1-" in text and f"Total params: {found.total_params:,}" in text
    assert "Conv2d (0)" not in str(torch.summary(model, x, depth=1))
    assert found.input_bytes == 4 * 2 * 3 * 256 and found.param_bytes > 4 * found.total_params - 1 and found.peak_bytes > 0


def test_ways_to_give_input():
    class Two(nn.Module):
        def forward(self, a, b=None, *, c=0):
            return a @ b + c
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    for found in (torch.summary(Two(), a, b), torch.summary(Two(), [a, b]), torch.summary(Two(), {"a": a, "b": b}), torch.summary(Two(), a, b=b),
                  torch.summary(Two(), input_size=[(2, 3), (3, 4)]), torch.summary(Two(), input_data=(a, b), c=1)):
        assert found.layers[0].output_size == [2, 4] and found.total_mult_adds == 24
    tokens = torch.summary(nn.Embedding(10, 4), input_size=(2, 5), dtypes=[torch.int64])
    assert tokens.layers[0].output_size == [2, 5, 4]
    shared = nn.Linear(3, 3)
    tied = nn.Sequential(shared, nn.ReLU(), shared)
    assert torch.summary(tied, torch.ones(1, 3)).total_params == 12
    assert torch.summary(nn.LazyLinear(2), torch.ones(1, 3)).total_params == 8
    assert torch.summary(tied).total_params == 12
    with pytest.raises(RuntimeError, match=r"Linear \(0\).*Inputs: \[1, 4\]"):
        torch.summary(tied, torch.ones(1, 4))
    with pytest.raises(ValueError, match="col_names"):
        torch.summary(tied, col_names=["colour"])


def test_transformer_table():
    text = str(torch.summary(nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2), torch.ones(3, 2, 16),
                             col_names=["input_size", "output_size", "num_params", "params_percent", "kernel_size", "mult_adds", "trainable"]))
    assert "│    ├─MultiheadAttention (self_attn): 2-1" in text and "Total params: 4,448" in text and "18.35%" in text


def test_graph_as_text(tmp_path):
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.ones(4, 2)
    picture = torch.graph(model(x).mean(), params=model)
    text = str(picture)
    for part in ("MeanBackward0", "TanhBackward0", '"0.weight\\n[3, 2] float32"', '"2.bias\\n[1] float32"', "output\\n[] float32"):
        assert part in text
    assert text.count("AddmmBackward0") == 2 and text.count("->") == picture.edges and text.startswith("digraph {") and text.endswith("}")
    h = model[0](x)
    joined = torch.graph({"a": h.exp(), "b": [h.sin()]}, show_saved=True)
    assert "output1" in str(joined) and str(joined).count("AddmmBackward0") == 1 and "saved" in str(joined)
    assert (tmp_path / "g.dot").exists() is False and picture.save(tmp_path / "g.dot") and (tmp_path / "g.dot").read_text() == text
    loss = h.sum()
    loss.backward()
    assert "saved" not in str(torch.graph(loss, show_saved=True))
    with pytest.raises(RuntimeError, match="recorded nowhere"):
        torch.graph(torch.ones(1))
    with pytest.raises(TypeError, match="not str"):
        torch.graph("loss")


def test_graph_as_picture():
    picture = torch.graph(torch.ones(1, requires_grad=True).exp())
    try:
        import graphviz  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install 'fasttensor\[graph\]'"):
            picture.svg()
        assert picture._repr_svg_() is None
        return
    import shutil
    if shutil.which("dot") is None:
        with pytest.raises(RuntimeError, match="apt install graphviz"):
            picture.svg()
    else:
        assert "ExpBackward0" in picture.svg()
