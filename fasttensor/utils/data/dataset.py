"""Datasets: by index, by iteration, and made of others."""
import bisect
import itertools
import math
import warnings
from typing import Generic, TypeVar

import fasttensor as torch

__all__ = ["Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset", "Subset",
           "random_split"]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of datasets with `dataset[index]` and, nearly always, `len(dataset)`.

    `__getitems__(indices)`, where it exists, fetches a whole batch and returns a list of samples.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> next(iter(torch.utils.data.DataLoader(Squares(), batch_size=3)))
    tensor([0, 1, 4])
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Base class of datasets that are read in order: write `__iter__`.

    Each worker of a DataLoader iterates over its own copy; `get_worker_info()` tells which part is its.

    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(torch.utils.data.DataLoader(Countdown(), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Samples are the rows of Tensors of the same length: `dataset[i]` is a tuple of their i-th rows.

    >>> import fasttensor as torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(4), torch.arange(4) * 10)
    >>> len(data), [int(v) for v in data[2]]
    (4, [2, 20])
    """

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors: "
                                 + ", ".join(str(tuple(tensor.shape)) for tensor in tensors))
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Several datasets of the same length read together: samples are tuples, or dicts if they were named.

    ValueError for different lengths, none, or named and unnamed together.

    >>> torch.utils.data.StackDataset(x=[1, 2], y=[3, 4])[1]
    {'x': 2, 'y': 4}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                             "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in (args or kwargs.values())]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices):
        named = isinstance(self.datasets, dict)
        columns = [samples_of(dataset, indices) for dataset in (self.datasets.values() if named else self.datasets)]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError("Nested dataset's output size mismatch. "
                                 f"Expected {len(indices)}, got {len(column)}")
        if named:
            return [dict(zip(self.datasets, sample)) for sample in zip(*columns)]
        return list(zip(*columns))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after another; their order is that of the list.

    AssertionError for none, or an IterableDataset among them.

    >>> both = torch.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-3]
    (3, 3, 1)
    """

    @staticmethod
    def cumsum(sequence):
        """The end of each dataset's indices."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    @property
    def cummulative_sizes(self):
        """The former spelling of `cumulative_sizes`."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        if part == len(self.datasets):
            raise IndexError(f"index {idx} is out of range for ConcatDataset of length {len(self)}")
        return self.datasets[part][idx - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets one after another, read as they come.

    AssertionError, when read, for one that is no IterableDataset.

    >>> class Two(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(torch.utils.data.ChainDataset([Two(), Two()]))
    [1, 2, 1, 2]
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def _parts(self):
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield part

    def __iter__(self):
        for part in self._parts():
            yield from part

    def __len__(self):
        return sum(len(part) for part in self._parts())


class Subset(Dataset):
    """The samples of `dataset` at `indices`, in their order.

    >>> list(torch.utils.data.Subset([10, 11, 12], [2, 0]))
    [12, 10]
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, which a DataLoader calls. Add\n\n"
                "def __getitems__(self, indices):\n    return [self.__getitem__(idx) for idx in indices]")

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        return samples_of(self.dataset, [self.indices[idx] for idx in indices])

    def __len__(self):
        return len(self.indices)


def samples_of(dataset, indices):
    """A list of samples, fetched together where the dataset can."""
    together = getattr(dataset, "__getitems__", None)
    return together(indices) if callable(together) else [dataset[i] for i in indices]


def random_split(dataset, lengths, generator=None):
    """Splits a dataset at random into Subsets.

    Args:
        dataset: has a length.
        lengths: sample counts that sum to len(dataset), or fractions that sum to 1; what rounding
            down leaves over goes to the first splits, one each.
        generator: for the permutation; the default one if None.

    Raises ValueError where the lengths do not sum up, or a fraction is outside [0, 1].

    >>> import fasttensor as torch
    >>> parts = torch.utils.data.random_split(range(10), [0.8, 0.2])
    >>> [len(part) for part in parts]
    [8, 2]
    """
    count = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, part in enumerate(lengths):
            if part < 0 or part > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [math.floor(count * part) for part in lengths]
        for i in range(count - sum(lengths)):
            lengths[i % len(lengths)] += 1
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.",
                              stacklevel=2)
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = torch.randperm(count, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length:end]) for end, length in zip(ends, lengths)]
