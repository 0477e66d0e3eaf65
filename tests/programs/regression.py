"""Fits a polynomial of degree four with gradients alone: no module, no optimizer."""
from itertools import count

import torch
import torch.nn.functional as F

torch.manual_seed(1)
DEGREE = 4
W_target = torch.randn(DEGREE, 1) * 5
b_target = torch.randn(1) * 5


def make_features(x):
    """A matrix [x, x^2, x^3, x^4]."""
    x = x.unsqueeze(1)
    return torch.cat([x ** i for i in range(1, DEGREE + 1)], 1)


def f(x):
    return x.mm(W_target) + b_target.item()


def poly_desc(W, b):
    result = "y = "
    for i, w in enumerate(W):
        result += f"{w:+.2f} x^{i + 1} "
    return result + f"{b[0]:+.2f}"


def get_batch(batch_size=32):
    random = torch.randn(batch_size)
    x = make_features(random)
    return x, f(x)


fc = torch.nn.Linear(W_target.size(0), 1)
for batch_idx in count(1):
    batch_x, batch_y = get_batch()
    fc.zero_grad()
    output = F.smooth_l1_loss(fc(batch_x), batch_y)
    loss = output.item()
    output.backward()
    for param in fc.parameters():
        param.data.add_(-0.1 * param.grad)
    if batch_idx % 40 == 0:
        print(f"loss {loss:.6f}")
    if loss < 1e-2 or batch_idx == 320:
        break
print(f"batches {batch_idx}")
print("learned", poly_desc(fc.weight.view(-1), fc.bias))
print("actual ", poly_desc(W_target.view(-1), b_target))
