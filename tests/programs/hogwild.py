"""Hogwild: processes that train one model in shared memory."""
import os

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import digits
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3)
        self.conv2_drop = nn.Dropout2d(0.1)
        self.fc1 = nn.Linear(72, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv1(x)), 2))
        return F.log_softmax(self.fc1(x.view(-1, 72)), dim=1)


def train(rank, model, dataset, queue, done):
    torch.manual_seed(1 + rank)
    train_loader = DataLoader(dataset, batch_size=25, shuffle=True)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for _ in range(3):
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
    queue.put((os.getpid(), loss.detach()))
    done.wait()         # the tensor is fetched from this process


def main(method):
    mp.set_start_method(method, force=True)
    torch.manual_seed(1)
    images, labels = digits(500)
    dataset = TensorDataset(images, labels)
    model = Net()
    model.share_memory()
    with torch.no_grad():
        before = F.nll_loss(model.eval()(images), labels).item()
    queue, done = mp.SimpleQueue(), mp.Event()
    processes = []
    for rank in range(2):
        p = mp.Process(target=train, args=(rank, model, dataset, queue, done))
        p.start()
        processes.append(p)
    results = [queue.get() for _ in processes]
    done.set()
    for p in processes:
        p.join()
    model.eval()
    with torch.no_grad():
        after = F.nll_loss(model(images), labels).item()
    assert all(isinstance(loss, torch.Tensor) for _, loss in results)
    print(method, f"before {before:.4f}", "shared:", all(p.is_shared() for p in model.parameters()), "learned:", after < before / 2)


if __name__ == "__main__":
    main("fork")
    main("spawn")
