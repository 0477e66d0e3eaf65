"""An MLP-Mixer and a vision transformer of digits, written with rearrange, reduce and repeat."""
from functools import partial

import torch
import torch.nn.functional as F
from common import digits
from small_einops import rearrange, reduce, repeat
from torch import einsum, nn


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn, self.norm = fn, nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x


class Rearrange(nn.Module):
    def __init__(self, pattern, **sizes):
        super().__init__()
        self.pattern, self.sizes = pattern, sizes

    def forward(self, x):
        return rearrange(x, self.pattern, **self.sizes)


def feed_forward(dim, factor=2, dense=nn.Linear):
    return nn.Sequential(dense(dim, dim * factor), nn.GELU(), dense(dim * factor, dim))


def mixer(dim, depth):
    chan_first, chan_last = partial(nn.Conv1d, kernel_size=1), nn.Linear
    return nn.Sequential(
        Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=2, p2=2), nn.Linear(4, dim),
        *[nn.Sequential(PreNormResidual(dim, feed_forward(16, 2, chan_first)), PreNormResidual(dim, feed_forward(dim, 2, chan_last)))
          for _ in range(depth)],
        nn.LayerNorm(dim))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in self.to_qkv(x).chunk(3, dim=-1))
        attn = (einsum("b h i d, b h j d -> b h i j", q, k) * self.scale).softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class ViT(nn.Module):
    def __init__(self, dim=16, depth=2, heads=2):
        super().__init__()
        self.patch = nn.Sequential(Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=2, p2=2), nn.LayerNorm(4), nn.Linear(4, dim))
        self.cls = nn.Parameter(torch.randn(dim))
        self.pos = nn.Parameter(torch.randn(17, dim))
        self.layers = nn.ModuleList([nn.ModuleList([PreNormResidual(dim, Attention(dim, heads)), PreNormResidual(dim, feed_forward(dim))])
                                     for _ in range(depth)])
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.patch(x)
        x = torch.cat([repeat(self.cls, "d -> b () d".replace("()", "one"), b=x.shape[0], one=1), x], dim=1) + self.pos
        for attention, mlp in self.layers:
            x = mlp(attention(x))
        return self.head(x[:, 0])


class Pooled(nn.Module):
    def __init__(self, body, dim):
        super().__init__()
        self.body, self.head = body, nn.Linear(dim, 10)

    def forward(self, x):
        return self.head(reduce(self.body(x), "b n c -> b c", "mean"))


torch.manual_seed(0)
x, y = digits(400)
for name, model in (("mixer", Pooled(mixer(16, 2), 16)), ("vit", ViT())):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        for images, labels in zip(x.split(50), y.split(50)):
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{name} epoch {epoch} loss {loss.item():.5f}")
