"""The sampler for data-parallel training."""
import math

import fasttensor as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The part of a dataset's indices that process `rank` of `num_replicas` trains on.

    Args:
        dataset: has a length.
        num_replicas, rank: must be given; ValueError unless 0 <= rank < num_replicas.
        shuffle, seed: the permutation of epoch e comes from seed + e; call `set_epoch` each epoch.
        drop_last: drops the rest that does not divide evenly, instead of repeating first samples.

    >>> import fasttensor as torch
    >>> from fasttensor.utils.data.distributed import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError("DistributedSampler: give num_replicas and rank; no process group is running")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        count = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if indices:
            indices = (indices * math.ceil(self.total_size / count))[:self.total_size]
        return iter(indices[self.rank::self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Chooses the permutation of the next pass."""
        self.epoch = epoch
