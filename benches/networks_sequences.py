"""Training steps and inference of networks over sequences, in PyTorch's API."""
import math

from steps import case, train


@case("network/masked_encoder")
def _(t):
    n = t.nn
    layer = n.TransformerEncoderLayer(128, 4, 512, 0.1, "gelu", batch_first=True)
    net = n.ModuleList([n.Embedding(1000, 128), n.TransformerEncoder(layer, 2, enable_nested_tensor=False), n.Linear(128, 1000)])
    tokens, padding = t.randint(0, 1000, (8, 64)), t.zeros(8, 64, dtype=t.bool)
    padding[:, 50:] = True

    def loss():
        found = net[2](net[1](net[0](tokens), src_key_padding_mask=padding))
        return n.functional.cross_entropy(found.flatten(0, 1), tokens.flatten())
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/llama")
def _(t):
    n, f, width, heads, length = t.nn, t.nn.functional, 128, 4, 128

    class RootMeanSquare(n.Module):
        def __init__(self):
            super().__init__()
            self.weight = n.Parameter(t.ones(width))

        def forward(self, x):
            return x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    angles = t.outer(t.arange(length).float(), 1 / 10000 ** (t.arange(0, width // heads, 2) / (width // heads)))
    cos, sin = angles.cos(), angles.sin()

    def rotated(x):
        even, odd = x[..., ::2], x[..., 1::2]
        return t.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    class Layer(n.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = RootMeanSquare(), RootMeanSquare()
            self.q, self.k, self.v, self.out = (n.Linear(width, w, bias=False) for w in (width, width // 2, width // 2, width))
            self.gate, self.up = n.Linear(width, 3 * width, bias=False), n.Linear(width, 3 * width, bias=False)
            self.down = n.Linear(3 * width, width, bias=False)

        def forward(self, x):
            h, shape = self.before(x), x.shape
            q, k, v = (layer(h).view(shape[0], shape[1], -1, width // heads).transpose(1, 2) for layer in (self.q, self.k, self.v))
            y = f.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True, enable_gqa=True)
            x = x + self.out(y.transpose(1, 2).reshape(shape))
            h = self.between(x)
            return x + self.down(f.silu(self.gate(h)) * self.up(h))

    net, tokens = n.Sequential(n.Embedding(512, width), *[Layer() for _ in range(3)]), t.randint(0, 512, (4, length))
    return train(t, net, lambda: f.cross_entropy((net(tokens) @ net[0].weight.T).view(-1, 512), tokens.view(-1)),
                 t.optim.AdamW(net.parameters()))


@case("network/translation")
def _(t):
    n = t.nn

    class Translation(n.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.encode = n.Embedding(200, 64), n.GRU(64, 128, batch_first=True, bidirectional=True)
            self.cell, self.query, self.head = n.GRUCell(320, 128), n.Linear(128, 256), n.Linear(128, 200)

        def forward(self, x):
            memory, h, found = self.encode(self.embed(x))[0], t.zeros(x.shape[0], 128), []
            for step in range(x.shape[1]):
                weights = t.softmax(t.bmm(memory, self.query(h).unsqueeze(2)), 1)
                h = self.cell(t.cat([self.embed(x[:, step]), (weights * memory).sum(1)], 1), h)
                found.append(self.head(h))
            return t.stack(found, 1)

    net, x = Translation(), t.randint(0, 200, (16, 20))
    return train(t, net, lambda: n.functional.cross_entropy(net(x).transpose(1, 2), x), t.optim.AdamW(net.parameters()))


@case("network/lstm_by_hand")
def _(t):
    n = t.nn
    net = n.ModuleDict({"x": n.Linear(32, 256), "h": n.Linear(64, 256), "norm": n.LayerNorm(256), "head": n.Linear(64, 10)})
    x, y = t.randn(30, 16, 32), t.randint(0, 10, (16,))

    def loss():
        h = c = t.zeros(16, 64)
        for row in x:
            i, forget, new, out = net["norm"](net["x"](row) + net["h"](h)).chunk(4, 1)
            c = t.sigmoid(forget) * c + t.sigmoid(i) * t.tanh(new)
            h = t.sigmoid(out) * t.tanh(c)
        return n.functional.cross_entropy(net["head"](h), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/dilated_audio")
def _(t):
    n = t.nn
    net = n.Sequential(*[layer for power in range(5) for layer in (
        n.Conv1d(16, 16, 3, dilation=2**power, padding=2**power), n.ReLU(), n.GroupNorm(4, 16))])
    x = t.randn(8, 16, 800)
    return train(t, net, lambda: (net(x) - x).abs().mean(), t.optim.AdamW(net.parameters()))


@case("network/text_lines_ctc")
def _(t):
    n = t.nn
    net = n.ModuleList([n.Sequential(n.Conv2d(1, 16, 3, padding=1), n.ReLU(), n.MaxPool2d(2),
                                     n.Conv2d(16, 32, 3, padding=1), n.ReLU(), n.MaxPool2d(2)),
                        n.LSTM(256, 64, bidirectional=True), n.Linear(128, 20)])
    x, y, lengths, wanted = t.randn(8, 1, 32, 100), t.randint(1, 20, (8, 6)), t.full((8,), 25), t.full((8,), 6)

    def loss():
        rows = net[0](x).permute(3, 0, 1, 2).reshape(25, 8, 256)
        return n.functional.ctc_loss(net[2](net[1](rows)[0]).log_softmax(2), y, lengths, wanted)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/decoder_inference")
def _(t):
    n = t.nn
    net = n.TransformerDecoder(n.TransformerDecoderLayer(64, 4, 256, batch_first=True), 2).eval()
    memory, x, mask = t.randn(1, 20, 64), t.randn(1, 10, 64), n.Transformer.generate_square_subsequent_mask(10)
    return t.no_grad()(lambda: net(x, memory, tgt_mask=mask, tgt_is_causal=True))


@case("network/mixer_inference")
def _(t):
    n = t.nn

    class Mixer(n.Module):
        def __init__(self, places, width):
            super().__init__()
            self.across = n.Sequential(n.Linear(places, 2 * places), n.GELU(), n.Linear(2 * places, places))
            self.along = n.Sequential(n.Linear(width, 4 * width), n.GELU(), n.Linear(4 * width, width))
            self.before, self.between = n.LayerNorm(width), n.LayerNorm(width)

        def forward(self, x):
            x = x + self.across(self.before(x).transpose(1, 2)).transpose(1, 2)
            return x + self.along(self.between(x))

    net, x = n.Sequential(*[Mixer(49, 64) for _ in range(4)]).eval(), t.randn(1, 49, 64)
    return t.inference_mode()(lambda: net(x))


@case("network/spectrogram")
def _(t):
    x, window = t.randn(8, 8000), t.hann_window(400)
    return lambda: t.stft(x, 400, 160, window=window, return_complex=True).abs().pow(2).clamp(min=1e-8).log10()


@case("network/cached_attention")
def _(t):
    q, keys, values = t.randn(1, 8, 1, 64), t.randn(1, 8, 512, 64), t.randn(1, 8, 512, 64)
    return lambda: t.softmax(q @ keys.transpose(-2, -1) / math.sqrt(64), -1) @ values
