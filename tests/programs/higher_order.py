"""Gradients of gradients: MAML, a physics-informed network, a hypernetwork, a neural ODE with an adjoint."""
import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    from torch.func import functional_call
except ImportError:
    from torch.nn.utils.stateless import functional_call

torch.manual_seed(0)


def sine_task():
    amplitude, phase = torch.rand(1) * 4 + 1, torch.rand(1) * 3
    return lambda x: amplitude * torch.sin(x + phase)


net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(20):
    meta.zero_grad()
    total = 0
    for _ in range(3):
        task = sine_task()
        x = torch.rand(10, 1) * 10 - 5
        fast = dict(net.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(functional_call(net, fast, (x,)), task(x))
            grads = torch.autograd.grad(loss, fast.values(), create_graph=True)
            fast = {n: p - 0.01 * g for (n, p), g in zip(fast.items(), grads)}
        x = torch.rand(10, 1) * 10 - 5
        total = total + F.mse_loss(functional_call(net, fast, (x,)), task(x))
    total.backward()
    meta.step()
    if step % 5 == 4:
        print(f"maml step {step} loss {total.item():.5f}")

pinn = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(pinn.parameters(), lr=1e-2)
t = torch.linspace(0, 2, 20).view(-1, 1).requires_grad_(True)
for step in range(60):
    u = pinn(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    loss = (ddu + 0.4 * du + 4 * u).pow(2).mean() + (u[0] - 1).pow(2).sum() + du[0].pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"pinn step {step} loss {loss.item():.5f}")


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, t, y):
        return self.net(y ** 3)


def rk4(func, y, ts):
    ys = [y]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h = t1 - t0
        k1 = func(t0, y)
        k2 = func(t0 + h / 2, y + h * k1 / 2)
        k3 = func(t0 + h / 2, y + h * k2 / 2)
        k4 = func(t1, y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        ys.append(y)
    return torch.stack(ys)


class Adjoint(torch.autograd.Function):
    """Integrates backwards in time for the gradients (Chen et al., 2018)."""

    @staticmethod
    def forward(ctx, func, y0, ts, *params):
        with torch.no_grad():
            ys = rk4(func, y0, ts)
        ctx.func = func
        ctx.save_for_backward(ts, ys, *params)
        return ys

    @staticmethod
    def backward(ctx, gys):
        ts, ys, *params = ctx.saved_tensors
        a, grads = gys[-1], [torch.zeros_like(p) for p in params]
        for i in range(len(ts) - 1, 0, -1):
            with torch.enable_grad():
                y = ys[i - 1].detach().requires_grad_(True)
                out = rk4(ctx.func, y, ts[i - 1:i + 1])[-1]
                gy, *gp = torch.autograd.grad(out, (y, *params), a, allow_unused=True)
            grads = [g if p is None else g + p for g, p in zip(grads, gp)]
            a = gy + gys[i - 1]
        return None, a, None, *grads


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0, 2, 15)
with torch.no_grad():
    target = rk4(lambda t, y: torch.mm(y ** 3, true_A), torch.tensor([[2.0, 0.0]]), ts)
func = ODEFunc()
for m in func.net.modules():
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, mean=0, std=0.1)
        nn.init.constant_(m.bias, val=0)
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
for step in range(20):
    optimizer.zero_grad()
    pred = Adjoint.apply(func, target[0], ts, *func.parameters())
    loss = (pred - target).abs().mean()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"ode step {step} loss {loss.item():.5f}")
