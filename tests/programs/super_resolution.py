"""Digits of 4 x 4 pixels made 8 x 8 again by a sub-pixel convolution."""
from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from common import digits
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


torch.manual_seed(123)
images, _ = digits(500)
small = nn.functional.interpolate(images, scale_factor=0.5, mode="bilinear", align_corners=False)
data = DataLoader(TensorDataset(small, images), batch_size=20, shuffle=True)
model = Net(upscale_factor=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.005)
for epoch in range(1, 4):
    epoch_loss = 0
    for input, target in data:
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        mse = criterion(model(small), images)
        bicubic = criterion(nn.functional.interpolate(small, scale_factor=2, mode="bicubic", align_corners=False), images)
    print(f"===> Epoch {epoch} Complete: Avg. Loss: {epoch_loss / len(data):.5f} PSNR: {10 * log10(1 / mse.item()):.4f} dB "
          f"bicubic {10 * log10(1 / bicubic.item()):.4f} dB")
