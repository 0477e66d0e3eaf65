"""A variational autoencoder of digits."""
import torch
import torch.utils.data
from common import digits
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc21 = nn.Linear(48, 6)
        self.fc22 = nn.Linear(48, 6)
        self.fc3 = nn.Linear(6, 48)
        self.fc4 = nn.Linear(48, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    """Reconstruction and KL divergence, summed over elements and batch."""
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


torch.manual_seed(1)
device = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") and torch.accelerator.is_available() else torch.device("cpu")
kwargs = {"num_workers": 1, "pin_memory": True} if device.type == "cuda" else {}
images, labels = digits(1000)
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=64, shuffle=True, **kwargs)
model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 6):
    model.train()
    train_loss = 0
    for data, _ in train_loader:
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(f"====> Epoch: {epoch} Average loss: {train_loss / len(train_loader.dataset):.4f}")
with torch.no_grad():
    sample = model.decode(torch.randn(4, 6).to(device)).cpu().view(4, 1, 8, 8)
print("sample", " ".join(f"{v:.3f}" for v in sample.mean((1, 2, 3)).tolist()))
