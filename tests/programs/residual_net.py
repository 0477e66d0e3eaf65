"""A residual network of digits in the manner of image classification scripts: meters, warm-up, checkpoints, resuming, top-k accuracy."""
import argparse
import os
import shutil
import tempfile

import torch
import torch.nn.functional as F
from common import digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, Subset, TensorDataset


class Block(nn.Module):
    def __init__(self, planes_in, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(planes_in, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or planes_in != planes:
            self.shortcut = nn.Sequential(nn.Conv2d(planes_in, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y)


class ResNet(nn.Module):
    def __init__(self, widths=(8, 16, 32), classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, widths[0], 3, padding=1, bias=False)
        self.blocks = nn.Sequential(*(Block(a, b, 1 + (a != b)) for a, b in zip((widths[0], *widths), widths)))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(widths[-1], classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        for m in self.modules():
            if isinstance(m, Block):
                nn.init.zeros_(m.bn2.weight)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt, self.sum, self.count, self.val = name, fmt, 0.0, 0, 0.0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)

    def __str__(self):
        return ("{name} {avg" + self.fmt + "}").format(name=self.name, avg=self.avg)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def train(loader, model, criterion, optimizer, scheduler, device):
    losses, top1 = AverageMeter("loss", ":.4f"), AverageMeter("acc@1", ":.2f")
    model.train()
    for images, target in loader:
        images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(output, target)[0].item(), images.size(0))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
    return losses, top1


@torch.inference_mode()
def validate(loader, model, criterion, device):
    losses, top1, top5 = AverageMeter("loss", ":.4f"), AverageMeter("acc@1", ":.1f"), AverageMeter("acc@5", ":.1f")
    model.eval()
    for images, target in loader:
        output = model(images.to(device))
        losses.update(criterion(output, target.to(device)).item(), images.size(0))
        one, five = accuracy(output, target, (1, 5))
        top1.update(one.item(), images.size(0))
        top5.update(five.item(), images.size(0))
    return losses, top1, top5


def save_checkpoint(state, is_best, folder):
    name = os.path.join(folder, "checkpoint.pth.tar")
    torch.save(state, name)
    if is_best:
        shutil.copyfile(name, os.path.join(folder, "model_best.pth.tar"))


def make(args, steps):
    model = ResNet()
    decayed = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 1e-4}, {"params": rest, "weight_decay": 0.0}], args.lr, momentum=0.9,
                                nesterov=True)
    scheduler = SequentialLR(optimizer, [LinearLR(optimizer, 0.1, 1.0, 4), CosineAnnealingLR(optimizer, args.epochs * steps - 4)], [4])
    return model, optimizer, scheduler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = digits(500)
    data = TensorDataset((images - images.mean()) / images.std(), labels)
    loader = DataLoader(Subset(data, range(400)), args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    held = DataLoader(Subset(data, range(400, 500)), 100)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
    model, optimizer, scheduler = make(args, len(loader))
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            if epoch == args.epochs // 2:       # as if the job had ended: all comes back from the file
                model, optimizer, scheduler = make(args, len(loader))
                checkpoint = torch.load(os.path.join(folder, "checkpoint.pth.tar"), map_location=device)
                model.load_state_dict(checkpoint["state_dict"])
                optimizer.load_state_dict(checkpoint["optimizer"])
                scheduler.load_state_dict(checkpoint["scheduler"])
                print(f"=> resumed from epoch {checkpoint['epoch']} (best {float(checkpoint['best_acc1']):.1f})")
            print(epoch, *train(loader, model, criterion, optimizer, scheduler, device), f"lr {scheduler.get_last_lr()[0]:.5f}")
            found = validate(held, model, criterion, device)
            print("  test", *found)
            is_best, best = found[1].avg > best, max(found[1].avg, best)
            save_checkpoint({"epoch": epoch + 1, "arch": "resnet", "state_dict": model.state_dict(), "best_acc1": torch.tensor(best),
                             "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, is_best, folder)
        print(sorted(os.listdir(folder)), f"final loss {found[0].avg:.4f}")


if __name__ == "__main__":
    main()
