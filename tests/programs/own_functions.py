"""Functions with a backward of their own, twice differentiable; straight-through estimators; gradient reversal."""
import math

import torch
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable


class LegendrePolynomial3(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)


class Swish(Function):
    """The backward is a Function too."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        return SwishBackward.apply(g, *ctx.saved_tensors)


class SwishBackward(Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        s = torch.sigmoid(x)
        return g * (s + x * s * (1 - s))

    @staticmethod
    def backward(ctx, gg):
        g, x = ctx.saved_tensors
        s = torch.sigmoid(x)
        first = s + x * s * (1 - s)
        second = s * (1 - s) * (2 + x * (1 - 2 * s))
        return gg * first, gg * g * second


class Round(Function):
    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g):
        return g


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
P3 = LegendrePolynomial3.apply
for t in range(400):
    loss = (a + b * P3(c + d * x) - y).pow(2).sum()
    if t % 100 == 99:
        print(t, f"{loss.item():.6f}")
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
print(f"Result: y = {a.item():.5f} + {b.item():.5f} * P3({c.item():.5f} + {d.item():.5f} x)")
z = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
print(gradcheck(P3, (z,)), gradgradcheck(P3, (z,)), gradcheck(Swish.apply, (z,)), gradgradcheck(Swish.apply, (z,)))
g, = torch.autograd.grad(Swish.apply(z).sum(), z, create_graph=True)
h, = torch.autograd.grad(g.pow(2).sum(), z)
print(f"double {h.norm().item():.6f}", g.grad_fn.name() if g.grad_fn else None)
print(gradcheck(LinearFunction.apply, (torch.randn(2, 3, dtype=torch.double, requires_grad=True),
                                       torch.randn(4, 3, dtype=torch.double, requires_grad=True), torch.randn(4, dtype=torch.double, requires_grad=True))))
torch.manual_seed(1)
features, head, domain = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
data = torch.randn(32, 4)
optimizer = torch.optim.SGD([*features.parameters(), *head.parameters(), *domain.parameters()], lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    h = torch.tanh(features(data))
    task = nn.functional.mse_loss(head(Round.apply(4 * h) / 4).squeeze(1), data.sum(1))
    adversary = nn.functional.binary_cross_entropy_with_logits(domain(GradReverse.apply(h, 0.3)).squeeze(1), (data[:, 0] > 0).float())
    (task + adversary).backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"task loss {task.item():.6f} domain loss {adversary.item():.6f}")
try:
    torch.autograd.grad(LinearFunction.apply(z, z.detach()).sum(), z, create_graph=True)[0].sum().backward()
except RuntimeError as error:
    print(type(error).__name__, "does not require grad" in str(error))
