"""Low-rank adapters on a frozen network, by parametrization; merged afterwards."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from common import digits


class LoRAParametrization(nn.Module):
    def __init__(self, features_in, features_out, rank=2, alpha=1):
        super().__init__()
        self.lora_A = nn.Parameter(torch.zeros((rank, features_out)))
        self.lora_B = nn.Parameter(torch.zeros((features_in, rank)))
        nn.init.normal_(self.lora_A, mean=0, std=1)
        self.scale = alpha / rank
        self.enabled = True

    def forward(self, original_weights):
        if self.enabled:
            return original_weights + torch.matmul(self.lora_B, self.lora_A).view(original_weights.shape) * self.scale
        return original_weights


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


torch.manual_seed(0)
x, y = digits(500)
x = x.flatten(1)
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def train(parameters, keep, name, steps=20):
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for step in range(steps):
        loss = F.cross_entropy(net(x[keep]), y[keep])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name} loss {loss.item():.5f}")


train(net.parameters(), y < 8, "first")
original = {name: p.clone().detach() for name, p in net.named_parameters()}
for layer in (net[0], net[2], net[4]):
    features_in, features_out = layer.weight.shape
    parametrize.register_parametrization(layer, "weight", LoRAParametrization(features_in, features_out))
print(net[0])
print([n for n, _ in net.named_parameters()], sum(p.numel() for p in net.parameters()))
for name, param in net.named_parameters():
    if "lora" not in name:
        param.requires_grad = False
train([p for p in net.parameters() if p.requires_grad], y >= 8, "adapted")
assert torch.all(net[0].parametrizations.weight.original == original["0.weight"])
assert torch.equal(net[0].weight, net[0].parametrizations.weight.original
                   + (net[0].parametrizations.weight[0].lora_B @ net[0].parametrizations.weight[0].lora_A) * net[0].parametrizations.weight[0].scale)
for layer in (net[0], net[2], net[4]):
    layer.parametrizations["weight"][0].enabled = False
print(f"disabled {F.cross_entropy(net(x[y < 8]), y[y < 8]).item():.5f}")
for layer in (net[0], net[2], net[4]):
    layer.parametrizations["weight"][0].enabled = True
with parametrize.cached():
    print(f"cached {F.cross_entropy(net(x[y >= 8]), y[y >= 8]).item():.5f}")
twin = copy.deepcopy(net)
outputs = twin(x)
for layer in (net[0], net[2], net[4]):
    parametrize.remove_parametrizations(layer, "weight")
print(f"merged {F.cross_entropy(net(x[y >= 8]), y[y >= 8]).item():.5f}", type(net[0]).__name__, torch.equal(outputs, net(x)))
layer = nn.Linear(4, 4)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(torch.allclose(layer.weight, layer.weight.T), parametrize.is_parametrized(layer, "weight"))
layer.weight = torch.arange(16.0).view(4, 4)
print(layer.weight.sum().item(), sorted(layer.state_dict()))
