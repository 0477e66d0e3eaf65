"""A temporal convolutional network with weight norm, a critic with spectral norm, a pruned network, packed sequences."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations, prune, spectral_norm, weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, :-self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, stride, dilation, padding, dropout=0.2):
        super().__init__()
        self.conv1 = weight_norm(nn.Conv1d(n_inputs, n_outputs, kernel_size, stride=stride, padding=padding, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(n_outputs, n_outputs, kernel_size, stride=stride, padding=padding, dilation=dilation))
        self.net = nn.Sequential(self.conv1, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout),
                                 self.conv2, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout))
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()
        self.init_weights()

    def init_weights(self):
        self.conv1.weight.data.normal_(0, 0.01)
        self.conv2.weight.data.normal_(0, 0.01)

    def forward(self, x):
        out = self.net(x)
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


torch.manual_seed(0)
tcn = nn.Sequential(*[TemporalBlock(1 if i == 0 else 8, 8, 3, 1, 2 ** i, 2 * 2 ** i) for i in range(3)])
head = nn.Linear(8, 1)
params = [*tcn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=4e-3)
for step in range(30):
    x = torch.cat([torch.rand(16, 1, 32), torch.zeros(16, 1, 32)], 1)
    where = torch.randint(32, (16, 2))
    x[:, 1].scatter_(1, where, 1.0)
    y = (x[:, 0] * x[:, 1]).sum(1)
    optimizer.zero_grad()
    loss = F.mse_loss(head(tcn((x[:, :1] * x[:, 1:]))[:, :, -1]).squeeze(1), y)
    loss.backward()
    torch.nn.utils.clip_grad_value_(params, 0.5)
    optimizer.step()
    if step % 10 == 9:
        print(f"tcn step {step} loss {loss.item():.6f}")
print(sorted(tcn[0].state_dict())[:4])
nn.utils.remove_weight_norm(tcn[0].conv1)

critic = nn.Sequential(spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.1), parametrizations.spectral_norm(nn.Linear(32, 1)))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
for step in range(20):
    real, fake = torch.randn(32, 2) + 2, torch.randn(32, 2)
    loss = critic(fake).mean() - critic(real).mean()
    eps = torch.rand(32, 1)
    between = (eps * real + (1 - eps) * fake).requires_grad_(True)
    gradient = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    penalty = (gradient.norm(2, dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    (loss + penalty).backward()
    optimizer.step()
print(f"critic loss {loss.item():.6f} penalty {penalty.item():.6f}")

orthogonal = parametrizations.orthogonal(nn.Linear(6, 6, bias=False))
W = orthogonal.weight
print("orthogonal", torch.allclose(W @ W.T, torch.eye(6), atol=1e-5))
layer = nn.Linear(10, 6)
prune.l1_unstructured(layer, "weight", amount=0.4)
prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=0)
print("pruned", int((layer.weight == 0).sum()), sorted(dict(layer.named_buffers())), prune.is_pruned(layer))
prune.remove(layer, "weight")
print("removed", int((layer.weight == 0).sum()), sorted(dict(layer.named_parameters())))

lengths = torch.tensor([5, 3, 7, 1])
sequences = [torch.randn(int(n), 4) for n in lengths]
padded = pad_sequence(sequences, batch_first=True)
lstm, out = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 1)
optimizer = torch.optim.AdamW([*lstm.parameters(), *out.parameters()], lr=0.02)
for step in range(15):
    packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    hidden, (h, c) = lstm(packed)
    unpacked, sizes = pad_packed_sequence(hidden, batch_first=True)
    mask = torch.arange(unpacked.size(1))[None] < sizes[:, None]
    loss = ((out(unpacked).squeeze(-1) - padded.sum(-1)) ** 2)[mask].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"packed loss {loss.item():.6f} {h.shape} {packed.batch_sizes.tolist()}")
