"""Whether two digits are the same: a siamese network with shared convolutions."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import digits
from torch import optim
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                 nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(inplace=True))
        self.fc_in_features = 16 * 2 * 2
        self.fc = nn.Sequential(nn.Linear(self.fc_in_features * 2, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.cnn.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.cnn(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class APPMatcher(Dataset):
    def __init__(self, images, labels):
        super().__init__()
        self.data, self.labels = images, labels
        self.group_examples()

    def group_examples(self):
        self.grouped_examples = {i: (self.labels == i).nonzero(as_tuple=False).squeeze(1) for i in range(10)}

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        selected_class = random.randint(0, 9)
        random_index_1 = random.randint(0, self.grouped_examples[selected_class].shape[0] - 1)
        image_1 = self.data[self.grouped_examples[selected_class][random_index_1]].clone().float()
        if index % 2 == 0:
            other_class, target = selected_class, torch.tensor(1, dtype=torch.float)
        else:
            other_class, target = (selected_class + random.randint(1, 9)) % 10, torch.tensor(0, dtype=torch.float)
        random_index_2 = random.randint(0, self.grouped_examples[other_class].shape[0] - 1)
        image_2 = self.data[self.grouped_examples[other_class][random_index_2]].clone().float()
        return image_1, image_2, target


random.seed(1)
torch.manual_seed(1)
images, labels = digits(600)
loader = DataLoader(APPMatcher(images, labels), batch_size=32, shuffle=True)
model = SiameseNetwork()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
criterion = nn.BCELoss()
for epoch in range(2):
    model.train()
    for batch_idx, (images_1, images_2, targets) in enumerate(loader):
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        if batch_idx % 9 == 0:
            print(f"epoch {epoch} batch {batch_idx} loss {loss.item():.5f}")
model.eval()
with torch.no_grad():
    a, b, t = next(iter(DataLoader(APPMatcher(images, labels), batch_size=200)))
    pred = torch.where(model(a, b).squeeze() > 0.5, 1, 0)
    print("correct", pred.eq(t.view_as(pred)).sum().item(), f"loss {F.binary_cross_entropy(model(a, b).squeeze(), t).item():.4f}")
