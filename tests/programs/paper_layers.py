"""Layers from papers: squeeze-and-excitation, RMSNorm, rotary embedding, SwiGLU, KAN, mixture of experts, SIREN."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import digits


class SEBlock(nn.Module):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(nn.Linear(channel, channel // reduction, bias=False), nn.ReLU(inplace=True),
                                nn.Linear(channel // reduction, channel, bias=False), nn.Sigmoid())

    def forward(self, x):
        b, c, _, _ = x.size()
        y = self.fc(self.avg_pool(x).view(b, c)).view(b, c, 1, 1)
        return x * y.expand_as(x)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        output = (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)
        return output * self.weight


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    return torch.view_as_real(xq_ * freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])).flatten(3).type_as(xq)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Llama(nn.Module):
    """One block of rotary grouped-query attention and SwiGLU."""

    def __init__(self, dim=32, heads=4, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.d = heads, kv_heads, dim // heads
        self.wq, self.wk = nn.Linear(dim, dim, bias=False), nn.Linear(dim, self.d * kv_heads, bias=False)
        self.wv, self.wo = nn.Linear(dim, self.d * kv_heads, bias=False), nn.Linear(dim, dim, bias=False)
        self.w1, self.w2, self.w3 = nn.Linear(dim, 64, bias=False), nn.Linear(64, dim, bias=False), nn.Linear(dim, 64, bias=False)
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.register_buffer("freqs_cis", precompute_freqs_cis(self.d, 16), persistent=False)

    def forward(self, x):
        b, t, _ = x.shape
        h = self.norm1(x)
        q, k, v = self.wq(h).view(b, t, self.heads, self.d), self.wk(h).view(b, t, self.kv_heads, self.d), self.wv(h).view(b, t, self.kv_heads, self.d)
        q, k = apply_rotary_emb(q, self.freqs_cis[:t]), apply_rotary_emb(k, self.freqs_cis[:t])
        k, v = (z[:, :, :, None, :].expand(b, t, self.kv_heads, self.heads // self.kv_heads, self.d).reshape(b, t, self.heads, self.d) for z in (k, v))
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        scores = F.softmax((q @ k.transpose(2, 3) / math.sqrt(self.d) + mask).float(), dim=-1).type_as(q)
        x = x + self.wo((scores @ v).transpose(1, 2).reshape(b, t, -1))
        h = self.norm2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class KANLinear(nn.Module):
    """Splines on a grid instead of weights (Liu et al., 2024), B-spline bases by the Cox-de Boor recursion."""

    def __init__(self, in_features, out_features, grid_size=5, spline_order=3):
        super().__init__()
        self.grid_size, self.spline_order = grid_size, spline_order
        h = 2 / grid_size
        grid = (torch.arange(-spline_order, grid_size + spline_order + 1) * h - 1).expand(in_features, -1).contiguous()
        self.register_buffer("grid", grid)
        self.base_weight = nn.Parameter(torch.empty(out_features, in_features))
        self.spline_weight = nn.Parameter(torch.empty(out_features, in_features, grid_size + spline_order))
        nn.init.kaiming_uniform_(self.base_weight, a=math.sqrt(5))
        with torch.no_grad():
            noise = (torch.rand(grid_size + 1, in_features, out_features) - 1 / 2) * 0.1 / grid_size
            self.spline_weight.data.copy_(self.curve2coeff(self.grid.T[spline_order:-spline_order], noise))

    def b_splines(self, x):
        grid, x = self.grid, x.unsqueeze(-1)
        bases = ((x >= grid[:, :-1]) & (x < grid[:, 1:])).to(x.dtype)
        for k in range(1, self.spline_order + 1):
            bases = ((x - grid[:, :-(k + 1)]) / (grid[:, k:-1] - grid[:, :-(k + 1)]) * bases[:, :, :-1]) + (
                (grid[:, k + 1:] - x) / (grid[:, k + 1:] - grid[:, 1:(-k)]) * bases[:, :, 1:])
        return bases.contiguous()

    def curve2coeff(self, x, y):
        solution = torch.linalg.lstsq(self.b_splines(x).transpose(0, 1).double(), y.transpose(0, 1).double(), driver="gelsd").solution.float()
        return solution.permute(2, 0, 1).contiguous()

    def forward(self, x):
        base_output = F.linear(F.silu(x), self.base_weight)
        return base_output + F.linear(self.b_splines(x).view(x.size(0), -1), self.spline_weight.view(self.spline_weight.size(0), -1))


class MoE(nn.Module):
    def __init__(self, dim, experts=4, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(dim, experts, bias=False), k
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)) for _ in range(experts))

    def forward(self, x):
        weights, selected = torch.topk(F.softmax(self.gate(x), dim=1, dtype=torch.float), self.k)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        results = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            batch_idx, nth_expert = torch.where(selected == i)
            results[batch_idx] += weights[batch_idx, nth_expert, None] * expert(x[batch_idx])
        return results


class Sine(nn.Module):
    def __init__(self, w0=3.0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)

    def extra_repr(self):
        return f"w0={self.w0}"


def fit(name, model, x, y, steps=15, lr=5e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, eps=1e-6)
    for step in range(steps):
        out = model(x)
        loss = F.cross_entropy(out, y) if y.dtype == torch.int64 else F.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 7 == 0:
            print(f"{name} step {step} loss {loss.item():.5f} norm {norm.item():.4f}")


torch.manual_seed(0)
x, y = digits(200)
fit("se", nn.Sequential(nn.Conv2d(1, 16, 3), SEBlock(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 10)), x, y)
fit("llama", nn.Sequential(nn.Flatten(1, 2), nn.Linear(8, 32), Llama(), nn.Flatten(), nn.Linear(256, 10)), x, y)
fit("kan", nn.Sequential(nn.Flatten(), KANLinear(64, 12), KANLinear(12, 10)), x, y)
fit("moe", nn.Sequential(nn.Flatten(), nn.Linear(64, 16), MoE(16), nn.Linear(16, 10)), x, y)
t = torch.linspace(-1, 1, 64)[:, None]
siren = nn.Sequential(nn.Linear(1, 32), Sine(), nn.Linear(32, 32), Sine(1.0), nn.Linear(32, 1))
fit("siren", siren, t, torch.sin(9 * t) * t)
print(siren)
rotated = torch.randn(2, 3, 4)
print("rotate", rotate_half(rotated).sum().item() == (rotated[..., :2].sum() - rotated[..., 2:].sum()).item())
