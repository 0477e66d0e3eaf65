"""Samplers: the order in which a DataLoader asks for indices.

Random ones draw as PyTorch's do, so that a seed gives the same order in both.
"""
import itertools
from typing import Generic, TypeVar

import fasttensor as torch

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "WeightedRandomSampler"]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class: write `__iter__`, and `__len__` where the number of indices is known.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(torch.utils.data.DataLoader([5, 6, 7], sampler=Backwards()))
    [tensor([7]), tensor([6]), tensor([5])]
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ... len(data_source) - 1.

    >>> list(torch.utils.data.SequentialSampler('abc'))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def draw_seed(generator=None):
    """A 63-bit number from the generator (the default one if None)."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def _check_count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class RandomSampler(Sampler[int]):
    """Every index once in random order, or independent draws with `replacement`.

    Args:
        data_source: has a length.
        replacement: draws may repeat.
        num_samples: how many; len(data_source) if None. Without replacement, more than the length
            goes through the indices again, in a new order.
        generator: without one, each pass seeds its own from the default generator.

    Raises TypeError or ValueError for options of the wrong kind.

    >>> import fasttensor as torch
    >>> sorted(torch.utils.data.RandomSampler(range(4)))
    [0, 1, 2, 3]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count(self.num_samples)

    @property
    def num_samples(self):
        """How many indices one pass gives; follows a data source that changes its length."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = torch.Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            for begin in range(0, self.num_samples, 32):
                count = min(32, self.num_samples - begin)
                yield from torch.randint(high=n, size=(count,), dtype=torch.int64, generator=generator).tolist()
            return
        for _ in range(self.num_samples // n):
            yield from torch.randperm(n, generator=generator).tolist()
        # PyTorch draws this last order even where nothing of it is needed; a generator that is used
        # again must have moved on as far.
        yield from torch.randperm(n, generator=generator).tolist()[:self.num_samples % n]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Drawn by `generator`, or the default one.

    >>> sorted(torch.utils.data.SubsetRandomSampler([4, 2, 7]))
    [2, 4, 7]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices 0 ... len(weights) - 1 with probabilities proportional to `weights`.

    Args:
        weights: a sequence of numbers, which need not sum to one.
        num_samples: how many to draw, a positive integer.
        replacement: whether an index may be drawn again.
        generator: the default one if None.

    >>> list(torch.utils.data.WeightedRandomSampler([0, 1.0, 0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if self.weights.dim() != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        draws = torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from draws.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; a shorter last one is kept unless `drop_last`.

    >>> import fasttensor as torch
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
