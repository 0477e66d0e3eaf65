"""Training steps and inference of networks over images, in PyTorch's API."""
from steps import case, train


def classified(t, net, batch, size, classes=10):
    """A loss of random images and labels."""
    x, y = t.randn(batch, 3, size, size), t.randint(0, classes, (batch,))
    return lambda: t.nn.functional.cross_entropy(net(x), y)


@case("network/vit")
def _(t):
    n, width = t.nn, 128

    class Block(n.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = n.LayerNorm(width), n.LayerNorm(width)
            self.attention = n.MultiheadAttention(width, 4, batch_first=True)
            self.mlp = n.Sequential(n.Linear(width, 4 * width), n.GELU(), n.Linear(4 * width, width))

        def forward(self, x):
            h = self.before(x)
            x = x + self.attention(h, h, h, need_weights=False)[0]
            return x + self.mlp(self.between(x))

    class Patches(n.Module):
        def __init__(self):
            super().__init__()
            self.patch = n.Conv2d(3, width, 4, 4)
            self.position, self.first = n.Parameter(t.zeros(1, 65, width)), n.Parameter(t.zeros(1, 1, width))
            self.blocks, self.head = n.Sequential(*[Block() for _ in range(4)]), n.Linear(width, 10)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = t.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.position
            return self.head(self.blocks(x)[:, 0])

    net = Patches()
    return train(t, net, classified(t, net, 16, 32), t.optim.AdamW(net.parameters()))


@case("network/unet")
def _(t):
    n, f = t.nn, t.nn.functional

    def twice(inside, outside):
        return n.Sequential(n.Conv2d(inside, outside, 3, padding=1), n.BatchNorm2d(outside), n.ReLU(),
                            n.Conv2d(outside, outside, 3, padding=1), n.BatchNorm2d(outside), n.ReLU())

    class UNet(n.Module):
        def __init__(self):
            super().__init__()
            self.down = n.ModuleList([twice(3, 16), twice(16, 32), twice(32, 64)])
            self.up = n.ModuleList([n.ConvTranspose2d(64, 32, 2, 2), n.ConvTranspose2d(32, 16, 2, 2)])
            self.join, self.head = n.ModuleList([twice(64, 32), twice(32, 16)]), n.Conv2d(16, 1, 1)

        def forward(self, x):
            high = self.down[0](x)
            middle = self.down[1](f.max_pool2d(high, 2))
            x = self.down[2](f.max_pool2d(middle, 2))
            x = self.join[0](t.cat([self.up[0](x), middle], 1))
            return self.head(self.join[1](t.cat([self.up[1](x), high], 1)))

    net, x, y = UNet(), t.randn(4, 3, 64, 64), (t.rand(4, 1, 64, 64) > 0.5).float()
    return train(t, net, lambda: f.binary_cross_entropy_with_logits(net(x), y), t.optim.AdamW(net.parameters()))


@case("network/efficient")
def _(t):
    n = t.nn

    class Inverted(n.Module):
        def __init__(self, inside, outside, kernel, stride):
            super().__init__()
            wide = 4 * inside
            self.same = stride == 1 and inside == outside
            self.widen = n.Sequential(n.Conv2d(inside, wide, 1, bias=False), n.BatchNorm2d(wide), n.SiLU(),
                                      n.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
                                      n.BatchNorm2d(wide), n.SiLU())
            self.squeeze = n.Sequential(n.AdaptiveAvgPool2d(1), n.Conv2d(wide, wide // 8, 1), n.SiLU(),
                                        n.Conv2d(wide // 8, wide, 1), n.Sigmoid())
            self.narrow = n.Sequential(n.Conv2d(wide, outside, 1, bias=False), n.BatchNorm2d(outside))

        def forward(self, x):
            h = self.widen(x)
            h = self.narrow(h * self.squeeze(h))
            return x + h if self.same else h

    net = n.Sequential(n.Conv2d(3, 16, 3, 2, 1), n.BatchNorm2d(16), n.SiLU(), Inverted(16, 24, 3, 2), Inverted(24, 24, 3, 1),
                       Inverted(24, 40, 5, 2), Inverted(40, 40, 5, 1), n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(40, 10))
    return train(t, net, classified(t, net, 8, 64), t.optim.AdamW(net.parameters()))


@case("network/dense")
def _(t):
    n, growth = t.nn, 12

    class Grow(n.Module):
        def __init__(self, inside):
            super().__init__()
            self.new = n.Sequential(n.BatchNorm2d(inside), n.ReLU(), n.Conv2d(inside, 4 * growth, 1, bias=False),
                                    n.BatchNorm2d(4 * growth), n.ReLU(), n.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

        def forward(self, x):
            return t.cat([x, self.new(x)], 1)

    layers, channels = [n.Conv2d(3, 24, 3, padding=1)], 24
    for _block in range(2):
        for _layer in range(4):
            layers.append(Grow(channels))
            channels += growth
        layers += [n.BatchNorm2d(channels), n.ReLU(), n.Conv2d(channels, channels // 2, 1), n.AvgPool2d(2)]
        channels //= 2
    net = n.Sequential(*layers, n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(channels, 10))
    return train(t, net, classified(t, net, 16, 32), t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True))


@case("network/discriminator")
def _(t):
    n = t.nn
    net = n.Sequential(n.Conv2d(3, 32, 4, 2, 1, bias=False), n.LeakyReLU(0.2, True),
                       n.Conv2d(32, 64, 4, 2, 1, bias=False), n.BatchNorm2d(64), n.LeakyReLU(0.2, True),
                       n.Conv2d(64, 128, 4, 2, 1, bias=False), n.BatchNorm2d(128), n.LeakyReLU(0.2, True), n.Conv2d(128, 1, 8))
    x, y = t.randn(8, 3, 64, 64), t.ones(8)
    return train(t, net, lambda: n.functional.binary_cross_entropy_with_logits(net(x).flatten(), y),
                 t.optim.Adam(net.parameters(), betas=(0.5, 0.999)))


@case("network/generator")
def _(t):
    n = t.nn
    net = n.Sequential(n.ConvTranspose2d(64, 128, 4, bias=False), n.BatchNorm2d(128), n.ReLU(True),
                       n.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), n.BatchNorm2d(64), n.ReLU(True),
                       n.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), n.BatchNorm2d(32), n.ReLU(True),
                       n.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), n.Tanh())
    z = t.randn(8, 64, 1, 1)
    return train(t, net, lambda: net(z).pow(2).mean(), t.optim.Adam(net.parameters()))


@case("network/video")
def _(t):
    n = t.nn
    net = n.Sequential(n.Conv3d(1, 8, 3, padding=1), n.BatchNorm3d(8), n.ReLU(), n.MaxPool3d(2),
                       n.Conv3d(8, 16, 3, padding=1), n.BatchNorm3d(16), n.ReLU(), n.MaxPool3d(2), n.Flatten(), n.Linear(4096, 5))
    x, y = t.randn(4, 1, 16, 32, 32), t.randint(0, 5, (4,))
    return train(t, net, lambda: n.functional.cross_entropy(net(x), y), t.optim.AdamW(net.parameters()))


@case("network/style")
def _(t):
    n = t.nn
    net = n.Sequential(n.Conv2d(3, 32, 3, padding=1), n.ReLU(), n.Conv2d(32, 64, 3, 2, 1), n.ReLU(),
                       n.Conv2d(64, 64, 3, padding=1), n.InstanceNorm2d(64)).requires_grad_(False)
    x, wanted = n.Parameter(t.randn(1, 3, 96, 96)), t.randn(64, 64)

    def loss():
        rows = net(x)[0].flatten(1)
        return n.functional.mse_loss(rows @ rows.T / rows.numel(), wanted)
    return train(t, net, loss, t.optim.Adam([x], lr=0.01))


@case("network/augmentation")
def _(t):
    f, x = t.nn.functional, t.rand(16, 3, 64, 64)

    def run():
        maps = t.eye(2, 3).repeat(16, 1, 1) + 0.1 * t.randn(16, 2, 3)
        y = f.grid_sample(x, f.affine_grid(maps, (16, 3, 64, 64), align_corners=False), align_corners=False)
        y = t.where(t.rand(16, 1, 1, 1) < 0.5, y.flip(3), y)
        y = f.interpolate(y, size=(48, 48), mode="bilinear", align_corners=False)
        return (y - y.mean((2, 3), keepdim=True)) / y.std((2, 3), keepdim=True)
    return run


@case("network/mobile_inference")
def _(t):
    n = t.nn

    def separable(inside, outside, stride):
        return [n.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False), n.BatchNorm2d(inside), n.ReLU6(),
                n.Conv2d(inside, outside, 1, bias=False), n.BatchNorm2d(outside), n.ReLU6()]
    net = n.Sequential(n.Conv2d(3, 32, 3, 2, 1), n.ReLU6(), *separable(32, 64, 1), *separable(64, 128, 2), *separable(128, 128, 1),
                       *separable(128, 256, 2), *separable(256, 256, 1), n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(256, 10)).eval()
    return t.no_grad()(lambda x=t.randn(1, 3, 96, 96): net(x))
