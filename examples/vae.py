"""A variational autoencoder of handwritten digits with two latent numbers a digit, trained in a few seconds.

    python examples/vae.py            # writes runs/vae/vae.png

The picture shows where the digits lie in the latent plane, and what the decoder draws at each of its points.
"""
import time

from shared import bar, folder, parser, pyplot

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn
from fasttensor.utils.data import DataLoader, digits


class VAE(nn.Module):
    """(N, 64) pixels from 0 to 1 to their reconstruction's scores, means and log variances."""

    def __init__(self, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU(), nn.Linear(64, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.SiLU(), nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(z), mean, log_variance


def losses(net, x):
    """Cross entropy of the pixels and divergence from the standard normal distribution, in nats a digit."""
    scores, mean, log_variance = net(x)
    pixels = F.binary_cross_entropy_with_logits(scores, x, reduction="sum") / len(x)
    divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum() / len(x)
    return pixels, divergence


@torch.no_grad()
def draw(plt, path, net, images, labels, history):
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    axes[0].plot([row[0] for row in history], label="pixels")
    axes[0].plot([row[1] for row in history], label="divergence")
    axes[0].set(xlabel="epoch", ylabel="nats a digit")
    axes[0].legend()
    axes[0].grid(alpha=0.3)
    mean = net.encoder(images).chunk(2, dim=1)[0]
    dots = axes[1].scatter(mean[:, 0].tolist(), mean[:, 1].tolist(), c=labels.tolist(), cmap="tab10", s=6)
    figure.colorbar(dots, ax=axes[1], ticks=range(10))
    axes[1].set_title("the latent plane")
    side = 14
    line = torch.linspace(-2.2, 2.2, side)
    drawn = net.decoder(torch.cartesian_prod(line.flip(0), line).flip(1)).sigmoid().view(side, side, 8, 8)
    drawn = F.pad(drawn, (0, 0, 1, 1))
    axes[2].imshow(drawn.permute(0, 2, 1, 3).reshape(10 * side, 8 * side).tolist(), cmap="gray_r", extent=(-2.2, 2.2, -2.2, 2.2), aspect="auto")
    axes[2].set_title("what the decoder draws there")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    options = parser(__doc__, "vae", steps=80, lr=3e-3, unit="epochs").parse_args()
    torch.manual_seed(options.seed)
    folder(options.out)
    images, labels = digits().tensors
    images = images.flatten(1)
    loader = DataLoader(torch.utils.data.TensorDataset(images), batch_size=64, shuffle=True)
    net = VAE()
    optimizer = torch.optim.Adam(net.parameters(), lr=options.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    history, begin = [], time.perf_counter()
    epochs, show = bar(options.steps, options.quiet)
    for epoch in epochs:
        total = torch.zeros(2)
        for x, in loader:
            pixels, divergence = losses(net, x)
            optimizer.zero_grad()
            # The divergence comes in slowly, so that the latent numbers are used at all.
            (pixels + min(1.0, (epoch + 1) / 20) * divergence).backward()
            optimizer.step()
            total += torch.stack([pixels, divergence]).detach() * len(x) / len(images)
        schedule.step()
        history.append(total.tolist())
        show(pixels=history[-1][0], divergence=history[-1][1])
    seconds = time.perf_counter() - begin
    torch.save(net.state_dict(), options.out / "model.pt")
    print(f"model      {options.out / 'model.pt'}")
    plt = pyplot()
    if plt:
        draw(plt, options.out / "vae.png", net, images, labels, history)
        print(f"picture    {options.out / 'vae.png'}")
    print(f"loss       {sum(history[-1]):.2f} nats a digit, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
