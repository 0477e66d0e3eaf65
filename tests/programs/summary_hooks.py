"""A table of a network's layers, shapes and parameters, collected by forward hooks."""
from collections import OrderedDict

import torch
import torch.nn as nn


def summary(model, input_size, batch_size=2):
    def register_hook(module):
        def hook(module, input, output):
            class_name = str(module.__class__).split(".")[-1].split("'")[0]
            m_key = f"{class_name}-{len(table) + 1}"
            table[m_key] = OrderedDict()
            table[m_key]["input_shape"] = list(input[0].size())
            if isinstance(output, (list, tuple)):
                table[m_key]["output_shape"] = [list(o.size()) for o in output if isinstance(o, torch.Tensor)]
            else:
                table[m_key]["output_shape"] = list(output.size())
            params = 0
            if hasattr(module, "weight") and hasattr(module.weight, "size"):
                params += torch.prod(torch.LongTensor(list(module.weight.size())))
                table[m_key]["trainable"] = module.weight.requires_grad
            if hasattr(module, "bias") and hasattr(module.bias, "size"):
                params += torch.prod(torch.LongTensor(list(module.bias.size())))
            table[m_key]["nb_params"] = params
        if not isinstance(module, nn.Sequential) and not isinstance(module, nn.ModuleList) and not (module == model):
            hooks.append(module.register_forward_hook(hook))

    dtype = torch.FloatTensor
    x = [torch.rand(batch_size, *size).type(dtype) for size in ([input_size] if isinstance(input_size, tuple) else input_size)]
    table, hooks = OrderedDict(), []
    model.apply(register_hook)
    model(*x)
    for h in hooks:
        h.remove()
    total = 0
    for layer, row in table.items():
        print(f"{layer:>20}  {row['output_shape']!s:>32} {row['nb_params']:>8}")
        total += row["nb_params"]
    print("total", int(total), "trainable", sum(p.numel() for p in model.parameters() if p.requires_grad))


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + identity)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.layers = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 16, 2))
        self.rnn = nn.GRU(16, 12, batch_first=True, bidirectional=True)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(40, 10)

    def forward(self, x):
        x = self.layers(self.stem(x))
        seen, _ = self.rnn(x.flatten(2).transpose(1, 2))
        return self.fc(torch.cat([torch.flatten(self.avgpool(x), 1), seen[:, -1]], 1))


torch.manual_seed(0)
model = ResNet()
summary(model, (1, 8, 8))
seen = {}
handles = [m.register_full_backward_hook(lambda m, gi, go, n=n: seen.__setitem__(n, go[0].norm().item())) for n, m in model.named_children()]
out = model(torch.rand(2, 1, 8, 8))
out.square().mean().backward()
print(*(f"{n} {v:.5f}" for n, v in seen.items()))
print(model.layers[1])
