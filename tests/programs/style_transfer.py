"""Fast neural style on small pictures: a network with instance norm and reflection padding, Gram matrices of fixed features, then L-BFGS on pixels."""
from collections import namedtuple

import torch
import torch.nn.functional as F
from common import digits
from torch import nn

Features = namedtuple("Features", ["first", "second"])


class Vgg(nn.Module):
    """Random features that stay as they are."""

    def __init__(self):
        super().__init__()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.slice2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        h = self.slice1(x)
        return Features(h, self.slice2(h))


class ConvLayer(nn.Module):
    def __init__(self, planes_in, planes, size, stride, upsample=None):
        super().__init__()
        self.upsample = upsample
        self.pad = nn.ReflectionPad2d(size // 2)
        self.conv = nn.Conv2d(planes_in, planes, size, stride)

    def forward(self, x):
        if self.upsample:
            x = F.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return self.conv(self.pad(x))


class Residual(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv1, self.in1 = ConvLayer(planes, planes, 3, 1), nn.InstanceNorm2d(planes, affine=True)
        self.conv2, self.in2 = ConvLayer(planes, planes, 3, 1), nn.InstanceNorm2d(planes, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.in2(self.conv2(self.relu(self.in1(self.conv1(x))))) + x


class TransformerNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            ConvLayer(3, 8, 5, 1), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), ConvLayer(8, 16, 3, 2), nn.InstanceNorm2d(16, affine=True),
            nn.ReLU(), Residual(16), ConvLayer(16, 8, 3, 1, upsample=2), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), ConvLayer(8, 3, 5, 1))


def gram_matrix(y):
    b, ch, h, w = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


def normalize_batch(batch):
    mean = batch.new_tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
    std = batch.new_tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)
    return (batch - mean) / std


def main():
    torch.manual_seed(3)
    pictures = F.interpolate(digits(24)[0], scale_factor=2, mode="bilinear", align_corners=False).repeat(1, 3, 1, 1)
    style = torch.stack([torch.linspace(0, 1, 16).repeat(16, 1), torch.linspace(1, 0, 16).repeat(16, 1).t(), torch.full((16, 16), 0.3)])
    vgg, net = Vgg().eval(), TransformerNet()
    grams = [gram_matrix(y) for y in vgg(normalize_batch(style.repeat(6, 1, 1, 1)))]
    optimizer = torch.optim.Adam(net.parameters(), 5e-3)
    mse = nn.MSELoss()
    for epoch in range(3):
        for x in pictures.split(6):
            optimizer.zero_grad()
            y, x = normalize_batch(net(x)), normalize_batch(x)
            features_y, features_x = vgg(y), vgg(x)
            content = mse(features_y.second, features_x.second)
            styled = sum(mse(gram_matrix(f), g[:len(x)]) for f, g in zip(features_y, grams))
            variation = (y[..., 1:] - y[..., :-1]).abs().mean() + (y[:, :, 1:] - y[:, :, :-1]).abs().mean()
            loss = content + 1e2 * styled + 1e-3 * variation
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} content {content.item():.4f} style {styled.item():.6f} loss {loss.item():.4f}")

    # the older way: the pixels themselves are what is optimized
    image = pictures[:1].clone().requires_grad_(True)
    wanted = vgg(normalize_batch(pictures[:1])).second.detach()
    pixels = torch.optim.LBFGS([image], max_iter=5)
    run = [0]

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        pixels.zero_grad()
        seen = vgg(normalize_batch(image))
        loss = mse(seen.second, wanted) + 50 * sum(mse(gram_matrix(f), g[:1]) for f, g in zip(seen, grams))
        loss.backward()
        run[0] += 1
        return loss

    for _ in range(3):
        last = pixels.step(closure)
    print(f"runs {run[0]} pixel loss {last.item():.4f}")


if __name__ == "__main__":
    main()
