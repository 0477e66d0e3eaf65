"""Networks that the training steps of `steps` run, written in PyTorch's API."""


def resnet18(t, width=64):
    """ResNet-18 for images of 32 x 32: a 3x3 first layer and no pooling before the blocks."""
    n, relu = t.nn, t.nn.functional.relu

    class Block(n.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.first = n.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.second = n.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.first_norm, self.second_norm = n.BatchNorm2d(outside), n.BatchNorm2d(outside)
            self.shortcut = n.Sequential()
            if stride != 1 or inside != outside:
                self.shortcut = n.Sequential(n.Conv2d(inside, outside, 1, stride, bias=False), n.BatchNorm2d(outside))

        def forward(self, x):
            y = relu(self.first_norm(self.first(x)))
            return relu(self.second_norm(self.second(y)) + self.shortcut(x))

    layers, inside = [n.Conv2d(3, width, 3, 1, 1, bias=False), n.BatchNorm2d(width), n.ReLU()], width
    for scale, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
        layers += [Block(inside, scale * width, stride), Block(scale * width, scale * width, 1)]
        inside = scale * width
    return n.Sequential(*layers, n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(inside, 10))


def gpt(t, vocab=65, block=64, layers=4, heads=4, dim=128):
    """A causal transformer over characters, pre-norm, with learned positions."""
    n, f = t.nn, t.nn.functional

    class Block(n.Module):
        def __init__(self):
            super().__init__()
            self.norm_a, self.norm_b = n.LayerNorm(dim), n.LayerNorm(dim)
            self.qkv, self.join = n.Linear(dim, 3 * dim), n.Linear(dim, dim)
            self.up, self.down = n.Linear(dim, 4 * dim), n.Linear(4 * dim, dim)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = (part.view(batch, length, heads, width // heads).transpose(1, 2)
                       for part in self.qkv(self.norm_a(x)).split(width, dim=2))
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.join(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(f.gelu(self.up(self.norm_b(x))))

    class Characters(n.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = n.Embedding(vocab, dim), n.Embedding(block, dim)
            self.blocks = n.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = n.LayerNorm(dim), n.Linear(dim, vocab, bias=False)

        def forward(self, index):
            x = self.token(index) + self.position(t.arange(index.shape[1]))
            for layer in self.blocks:
                x = layer(x)
            return self.head(self.norm(x))

    return Characters()
