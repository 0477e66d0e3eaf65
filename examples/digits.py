"""Trains a small convolutional network on 1,797 handwritten digits in a few seconds.

    python examples/digits.py                 # trains, writes runs/digits/digits.png and checkpoint.pt
    python examples/digits.py --epochs 40 --resume

Every fifth digit is held out. The network: two 3 x 3 convolutions with batch norm, pooling and
dropout; AdamW with a cosine schedule; most batches are shifted by a pixel at random.
"""
import math
import time
from pathlib import Path

from shared import EXTRAS, Parser, bar, count, folder, rate, restored, stop

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor import nn, optim
from fasttensor.utils.data import DataLoader, Subset, digits


class Net(nn.Module):
    """(N, 1, 8, 8) images to (N, 10) scores."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.head(self.dropout(x.flatten(1)))


def shifted(images):
    """The batch moved by up to one pixel in each direction; one batch in five stays."""
    if torch.rand(()).item() < 0.2:
        return images
    down, right = torch.randint(0, 3, (2,)).tolist()
    return F.pad(images, (1, 1, 1, 1))[:, :, down:down + 8, right:right + 8]


def split(data):
    """Four fifths to train on, every fifth digit to test."""
    test = range(0, len(data), 5)
    held_out = set(test)
    return Subset(data, [i for i in range(len(data)) if i not in held_out]), Subset(data, list(test))


def train_epoch(net, loader, optimizer, device):
    """One pass; returns the mean loss and the accuracy."""
    net.train()
    total = correct = count = 0
    for images, labels in loader:
        images, labels = shifted(images).to(device), labels.to(device)
        optimizer.zero_grad()
        scores = net(images)
        loss = F.cross_entropy(scores, labels, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        correct += (scores.argmax(1) == labels).sum().item()
        count += len(labels)
    return total / count, correct / count


def evaluate(net, data, device):
    """Mean loss, accuracy, images, labels and predictions of a held-out set."""
    net.eval()
    images, labels = next(iter(DataLoader(data, batch_size=len(data))))
    with torch.no_grad():
        scores = net(images.to(device)).cpu()
    guess = scores.argmax(1)
    loss = F.cross_entropy(scores, labels).item()
    return loss, (guess == labels).to(torch.float32).mean().item(), images, labels, guess


def draw(path, history, images, labels, guess):
    """Loss and accuracy by epoch, and test digits with what the network read; wrong ones first, in red."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    wrong = [i for i in range(len(labels)) if int(labels[i]) != int(guess[i])]
    shown = (wrong + [i for i in range(len(labels)) if i not in set(wrong)])[:40]
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.3))
    epochs = range(1, len(history) + 1)
    axes = left.subplots(2, 1, sharex=True)
    for axis, name in zip(axes, ("loss", "accuracy")):
        axis.plot(epochs, [row["train_" + name] for row in history], label="training")
        axis.plot(epochs, [row["test_" + name] for row in history], label="held out")
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
    axes[1].set_ylim(0.9, 1.003)
    axes[1].set_xlabel("epoch")
    axes[0].legend()
    cells = right.subplots(5, 8).flatten()
    for cell in cells:
        cell.axis("off")
    for cell, i in zip(cells, shown):
        bad = int(labels[i]) != int(guess[i])
        cell.imshow(images[i][0].tolist(), cmap="gray_r")
        title = f"{int(guess[i])} (is {int(labels[i])})" if bad else str(int(guess[i]))
        cell.set_title(title, fontsize=9, color="red" if bad else "black")
    right.suptitle(f"{len(labels)} held-out digits, {len(wrong)} wrong", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def device_of(name):
    """The device, or a message that says why there is none."""
    try:
        torch.empty(0, device=name)
    except RuntimeError as error:
        stop(f"--device {name}: {error}. Leave --device out to train on the CPU.")
    return torch.device(name)


def arguments():
    parser = Parser(__doc__)
    parser.add_argument("--epochs", type=count(), default=25, help="passes over the training digits (default 25); a finished run that resumes adds as many")
    parser.add_argument("--batch", type=count(2, 1437), default=32, help="digits a step (default 32)")
    parser.add_argument("--lr", type=rate, default=4e-3, help="highest learning rate (default 0.004)")
    parser.add_argument("--seed", type=count(0), default=0, help="of weights, order and dropout (default 0)")
    parser.add_argument("--out", type=Path, default=Path("runs/digits"), help="folder of the results (default runs/digits)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute (default cpu)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def main():
    options = arguments()
    device = device_of(options.device)
    torch.manual_seed(options.seed)
    folder(options.out)
    checkpoint = options.out / "checkpoint.pt"

    train, test = split(digits())
    loader = DataLoader(train, batch_size=options.batch, shuffle=True, drop_last=True)
    net = Net().to(device)
    optimizer = optim.AdamW(net.parameters(), lr=options.lr, weight_decay=0.02)
    history = []
    if options.resume:
        def resume(saved):
            net.load_state_dict(saved["net"])
            optimizer.load_state_dict(saved["optimizer"])
            torch.set_rng_state(saved["rng"])
            return saved["history"]
        history = restored(checkpoint, resume, "train without --resume first")
        print(f"resumed after epoch {len(history)}")
    total = options.epochs if len(history) < options.epochs else len(history) + options.epochs
    # A function of the epoch and not of the rate before: a resumed run may have more epochs to go.
    schedule = optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: (1 + math.cos(math.pi * epoch / max(total, 1))) / 2, len(history) - 1)

    begin = time.perf_counter()
    epochs, show = bar(range(len(history), total), options.quiet)
    for _ in epochs:
        train_loss, train_accuracy = train_epoch(net, loader, optimizer, device)
        schedule.step()
        test_loss, test_accuracy, *_ = evaluate(net, test, device)
        history.append({"train_loss": train_loss, "train_accuracy": train_accuracy,
                        "test_loss": test_loss, "test_accuracy": test_accuracy})
        show(loss=train_loss, held_out=f"{test_accuracy:.2%}")
    seconds = time.perf_counter() - begin

    _, accuracy, images, labels, guess = evaluate(net, test, device)
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(),
                "history": history, "rng": torch.get_rng_state()}, checkpoint)
    print(f"checkpoint {checkpoint}")
    try:
        draw(options.out / "digits.png", history, images, labels, guess)
        print(f"picture    {options.out / 'digits.png'}")
    except ImportError:
        print(f"no picture: {EXTRAS}")
    print(f"accuracy   {accuracy:.2%} of {len(labels)} held-out digits, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
