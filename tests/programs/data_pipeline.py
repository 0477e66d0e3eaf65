"""Datasets, samplers and collate functions of one's own, in this process and in workers."""
import collections
import random

import numpy as np
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, Sampler, Subset, WeightedRandomSampler,
                              get_worker_info, random_split)

Sample = collections.namedtuple("Sample", ["x", "y", "name"])


class Sequences(Dataset):
    """Sequences of different lengths."""

    def __init__(self, n, transform=None):
        self.lengths = [3 + i * 7 % 11 for i in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        x = np.sin(np.arange(self.lengths[i]) * (i + 1), dtype=np.float32)
        if self.transform:
            x = self.transform(x)
        return Sample(x, i % 3, f"sequence {i}")


class Lengths(Sampler):
    """Batches of similar length, in a random order."""

    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __iter__(self):
        order = np.argsort(self.lengths, kind="stable").tolist()
        batches = [order[i:i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        for i in torch.randperm(len(batches)).tolist():
            yield batches[i]

    def __len__(self):
        return (len(self.lengths) + self.batch_size - 1) // self.batch_size


class PadBatch:
    def __init__(self, samples):
        self.lengths = torch.tensor([len(s.x) for s in samples])
        self.x = torch.nn.utils.rnn.pad_sequence([torch.as_tensor(s.x) for s in samples], batch_first=True)
        self.y = torch.tensor([s.y for s in samples])

    def pin_memory(self):
        self.x = self.x.pin_memory()
        return self


class Stream(IterableDataset):
    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        info = get_worker_info()
        first, last = self.start, self.end
        if info is not None:
            per_worker = -(-(last - first) // info.num_workers)
            first, last = first + info.id * per_worker, min(first + (info.id + 1) * per_worker, last)
        yield from ({"n": i, "square": torch.tensor(i ** 2), "both": (i, float(i))} for i in range(first, last))


class Shuffle(IterableDataset):
    def __init__(self, dataset, size):
        self.dataset, self.size = dataset, size

    def __iter__(self):
        buffer = []
        for x in self.dataset:
            if len(buffer) == self.size:
                i = random.randint(0, self.size - 1)
                yield buffer[i]
                buffer[i] = x
            else:
                buffer.append(x)
        random.shuffle(buffer)
        yield from buffer


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2 ** 32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def noisy(x):
    return x + np.float32(0)


def main():
    random.seed(0)
    torch.manual_seed(0)
    data = Sequences(40, noisy)
    train, valid = random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
    print("split", len(train), len(valid), valid.indices[:5])
    for workers in (0, 2):
        g = torch.Generator()
        g.manual_seed(0)
        loader = DataLoader(data, batch_sampler=Lengths(data.lengths, 8), collate_fn=PadBatch, num_workers=workers, worker_init_fn=seed_worker,
                            generator=g, persistent_workers=workers > 0)
        total = 0.0
        for _ in range(2):
            for batch in loader:
                total += float(batch.x.sum()) * len(batch.y)
        print(f"padded {workers} {len(loader)} {total:.4f} {type(batch).__name__} {batch.lengths.tolist()}")
        stream = DataLoader(Stream(0, 21), batch_size=4, num_workers=workers)
        batches = list(stream)
        print([b["n"].tolist() for b in batches][:3], batches[0]["square"].dtype, batches[0]["both"][1].dtype)
    names = next(iter(DataLoader(Subset(data, [0, 11]), batch_size=2)))
    print(type(names).__name__, names.x.shape, names.y, names.name)
    weights = 1.0 / torch.bincount(torch.tensor([s.y for s in data])).float()
    sampler = WeightedRandomSampler(weights[[s.y for s in data]], 60, replacement=True)
    print("weighted", torch.bincount(torch.tensor([data[i].y for i in sampler])).tolist())
    print("shuffled", list(DataLoader(Shuffle(range(12), 4), batch_size=None)))
    print("batches", list(BatchSampler(range(7), 3, drop_last=True)), len(ConcatDataset([train, valid])))
    loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True, collate_fn=lambda b: [s.name for s in b])
    print(len(loader), next(iter(loader))[:3])


if __name__ == "__main__":
    main()
