"""Larger cases: products, convolutions, reductions and whole training steps, in PyTorch's API."""
import models

STEPS = {}


def case(name):
    """Registers a function of the library that returns what is timed."""
    def add(function):
        STEPS[name] = function
        return function
    return add


@case("small/add_10")
def _(t):
    a, b = t.randn(10), t.randn(10)
    return lambda: a + b


@case("small/forward_backward_10")
def _(t):
    a, b = t.randn(10, requires_grad=True), t.randn(10)

    def run():
        a.grad = None
        (a * b).sum().backward()
    return run


@case("block/matmul_512")
def _(t):
    a, b = t.randn(512, 512), t.randn(512, 512)
    return lambda: a @ b


@case("block/softmax_1024x768")
def _(t):
    a = t.randn(1024, 768)
    return lambda: t.softmax(a, -1)


@case("block/sum_rows_1000x1000")
def _(t):
    a = t.randn(1000, 1000)
    return lambda: a.sum(1)


@case("block/sort_1000x1000")
def _(t):
    a = t.randn(1000, 1000)
    return lambda: a.sort(1)


@case("block/randn_1M")
def _(t):
    return lambda: t.randn(1_000_000)


@case("block/conv_32x32x26_k3")
def _(t):
    layer, x = t.nn.Conv2d(32, 64, 3), t.randn(32, 32, 26, 26, requires_grad=True)
    g = t.ones_like(layer(x))

    def run():
        layer.weight.grad = x.grad = None
        layer(x).backward(g)
    return run


@case("block/layer_norm_1024x768")
def _(t):
    layer, x, g = t.nn.LayerNorm(768), t.randn(1024, 768, requires_grad=True), t.randn(1024, 768)
    return lambda: layer(x).backward(g)


@case("block/attention_8x6x128x64")
def _(t):
    q, k, v = (t.randn(8, 6, 128, 64, requires_grad=True) for _ in range(3))
    g = t.randn(8, 6, 128, 64)
    return lambda: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)


@case("block/lstm_35x20x200")
def _(t):
    layer, x = t.nn.LSTM(200, 200, 2), t.randn(35, 20, 200)

    def run():
        for p in layer.parameters():
            p.grad = None
        layer(x)[0].sum().backward()
    return run


def recurrent(kind, inputs, hidden, batch, steps):
    """A layer without gradients: few rows against a large weight."""
    @case(f"block/{kind.lower()}_{hidden}_b{batch}_t{steps}")
    def _(t):
        layer, x = getattr(t.nn, kind)(inputs, hidden), t.randn(steps, batch, inputs)

        def run():
            with t.no_grad():
                return layer(x)
        return run


recurrent("LSTM", 512, 1024, 4, 8)
recurrent("GRU", 256, 512, 1, 1)
recurrent("LSTM", 28, 64, 64, 28)


@case("block/linear_bf16_rows_apart")
def _(t):
    x = t.randn(4, 128, 256).to(t.bfloat16).transpose(0, 1)
    w, b = t.randn(768, 256).to(t.bfloat16), t.randn(768).to(t.bfloat16)
    return lambda: t.nn.functional.linear(x, w, b)


@case("block/scatter_add_rows")
def _(t):
    to, x = t.randint(0, 1000, (8000,)), t.randn(8000, 64)
    return lambda: t.zeros(1000, 64).scatter_add(0, to[:, None].expand(-1, 64), x)


@case("block/gather_rows")
def _(t):
    at, x = t.randint(0, 1000, (8000,)), t.randn(1000, 64)
    return lambda: x.gather(0, at[:, None].expand(-1, 64))


def train(t, net, make_loss, optimizer):
    """A training step: clear, forward, backward, update."""
    def run():
        optimizer.zero_grad()
        make_loss().backward()
        optimizer.step()
    return run


@case("step/mlp_32x64_sgd")
def _(t):
    n = t.nn
    net = n.Sequential(n.Linear(64, 64), n.ReLU(), n.Linear(64, 10))
    x, y = t.randn(32, 64), t.randint(0, 10, (32,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.SGD(net.parameters(), lr=0.01))


@case("step/mlp_64x784_adam")
def _(t):
    n = t.nn
    net = n.Sequential(n.Linear(784, 256), n.ReLU(), n.Linear(256, 10))
    x, y = t.randn(64, 784), t.randint(0, 10, (64,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.Adam(net.parameters(), lr=1e-3))


@case("step/mlp_tanh_adam")
def _(t):
    n = t.nn
    net = n.Sequential(n.Linear(64, 64), n.Tanh(), n.Linear(64, 64), n.Tanh(), n.Linear(64, 10))
    x, y = t.randn(32, 64), t.randint(0, 10, (32,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.Adam(net.parameters(), lr=1e-3))


@case("step/digits_adamw")
def _(t):
    n = t.nn
    net = n.Sequential(n.Conv2d(1, 16, 3, padding=1), n.BatchNorm2d(16), n.ReLU(),
                       n.Conv2d(16, 32, 3, padding=1), n.BatchNorm2d(32), n.ReLU(), n.MaxPool2d(2), n.Flatten(),
                       n.Dropout(0.5), n.Linear(512, 10))
    x, y = t.randn(32, 1, 8, 8), t.randint(0, 10, (32,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.AdamW(net.parameters()))


@case("step/mnist_cnn_adadelta")
def _(t):
    n = t.nn
    net = n.Sequential(n.Conv2d(1, 32, 3), n.ReLU(), n.Conv2d(32, 64, 3), n.ReLU(), n.MaxPool2d(2), n.Dropout(0.25),
                       n.Flatten(), n.Linear(9216, 128), n.ReLU(), n.Dropout(0.5), n.Linear(128, 10))
    x, y = t.randn(64, 1, 28, 28), t.randint(0, 10, (64,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.Adadelta(net.parameters()))


@case("step/transformer_adamw")
def _(t):
    n = t.nn
    layer = n.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, activation="gelu", norm_first=True)
    net = n.ModuleList([n.Embedding(65, 128), n.TransformerEncoder(layer, 4, enable_nested_tensor=False),
                        n.Linear(128, 65)])
    x, y = t.randint(0, 65, (12, 64)), t.randint(0, 65, (12 * 64,))

    def loss():
        return n.functional.cross_entropy(net[2](net[1](net[0](x))).view(-1, 65), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters(), lr=1e-3))


@case("step/resnet18_cifar_sgd")
def _(t):
    net = models.resnet18(t)
    x, y = t.randn(8, 3, 32, 32), t.randint(0, 10, (8,))
    return train(t, net, lambda: t.nn.functional.cross_entropy(net(x), y),
                 t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4))


@case("step/lstm_words_sgd")
def _(t):
    n = t.nn
    net = n.ModuleList([n.Embedding(5000, 200), n.LSTM(200, 200, 2), n.Linear(200, 5000)])
    x, y = t.randint(0, 5000, (35, 20)), t.randint(0, 5000, (700,))

    def loss():
        return n.functional.cross_entropy(net[2](net[1](net[0](x))[0]).view(-1, 5000), y)
    return train(t, net, loss, t.optim.SGD(net.parameters(), lr=0.1))


@case("step/gpt_char_adamw")
def _(t):
    net = models.gpt(t)
    x, y = t.randint(0, 65, (12, 64)), t.randint(0, 65, (12 * 64,))
    return train(t, net, lambda: t.nn.functional.cross_entropy(net(x).view(-1, 65), y),
                 t.optim.AdamW(net.parameters(), lr=1e-3))


@case("step/adam_100_parameters")
def _(t):
    parameters = [t.nn.Parameter(t.randn(32, 32)) for _ in range(100)]
    for p in parameters:
        p.grad = t.randn(32, 32)
    return t.optim.Adam(parameters).step


@case("step/adam_2M")
def _(t):
    p = t.nn.Parameter(t.randn(2000, 1000))
    p.grad = t.randn(2000, 1000)
    return t.optim.Adam([p]).step


def build(name, t):
    """The zero-argument callable that a case times."""
    return STEPS[name](t)
