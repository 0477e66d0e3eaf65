"""DataLoader: batches from a dataset, in this process or from workers."""
import math
import multiprocessing
import os
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import fasttensor as torch

from .collate import default_collate, default_convert
from .dataset import IterableDataset, Subset, TensorDataset, samples_of
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]       # libraries annotate with these
_worker_init_fn_t = Callable[[int], None]
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    """Whether a dataset has indices: ``DataLoader._dataset_kind``."""
    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        """What makes batches of indices; its method ``fetch`` is the call."""
        return Fetcher(dataset, bool(kind), auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """Stands in for the indices of a dataset that has none."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    Args:
        dataset: with indices (`Dataset`), or to iterate over (`IterableDataset`).
        batch_size: samples a batch; None gives single samples, not collated.
        shuffle: a new random order each pass; a seed gives PyTorch's order.
        sampler, batch_sampler: indices, or lists of indices, instead of `shuffle` and `batch_size`.
        num_workers: processes that fetch and collate; 0 does it here.
        collate_fn: list of samples -> batch.
        pin_memory: accepted; without a GPU it changes nothing.
        drop_last: drops a last batch that is not full.
        timeout: seconds to wait for a worker, 0 for ever.
        worker_init_fn: called in each worker with its number, after seeding.
        multiprocessing_context: a context or start method ("fork", "spawn", "forkserver").
        generator: for the random order and the workers' seeds.
        prefetch_factor: batches that each worker has in hand, 2 by default.
        persistent_workers: workers outlive a pass.
        in_order: batches come in the order of their indices, else as they are ready.

    Raises ValueError for options that exclude each other.

    >>> import fasttensor as torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(5))
    >>> [batch[0].tolist() for batch in torch.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; "
                             "use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 "
                             "to enable multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError("prefetch_factor option should be positive")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for name, value, allowed in (("shuffle", shuffle, (False, None)), ("sampler", sampler, (None,)),
                                         ("batch_sampler", batch_sampler, (None,))):
                if not any(value is a for a in allowed):
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, "
                                     f"but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                                 "and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.check_worker_number_rationality()
        self._dataset_kind = int(iterable)
        self._workers = None
        self._IterableDataset_len_called = None       # len(dataset), once somebody asked: iterating checks it
        self.__initialized = True

    def __getstate__(self):
        # under PyTorch's names, for files; processes cannot be kept
        return {**{name: value for name, value in self.__dict__.items() if name != "_workers"}, "_iterator": None}

    def __setstate__(self, state):
        self.__dict__.update(state, _workers=None)

    def __setattr__(self, name, value):
        if name in FIXED and self.__dict__.get("_DataLoader__initialized"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """The context that makes the workers, None for the platform's own."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading "
                                 f"(num_workers > 0), but got num_workers={self.num_workers}")
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError("multiprocessing_context option should specify a valid start method in "
                                     f"{methods!r}, but got multiprocessing_context={context!r}")
                context = multiprocessing.get_context(context)
            elif not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string specifying "
                                f"the start method, but got multiprocessing_context={context!r}")
        self.__multiprocessing_context = context

    def indices(self):
        """The sampler of what one fetch needs: a list of indices, or an index where batches are off."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def check_worker_number_rationality(self):
        """Warn of more workers than processors that this process may use."""
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or self.num_workers
        if self.num_workers > usable:
            warnings.warn(f"This DataLoader will create {self.num_workers} worker processes in total, more than the {usable} processors that "
                          "this process may use. More workers than processors can make loading slower: lower num_workers if so.", stacklevel=3)

    def __len__(self):
        if not self._dataset_kind:
            return len(self.indices())
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def __iter__(self):
        if self.pin_memory and not torch.cuda.is_available():
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, "
                          "then device pinned memory won't be used.", stacklevel=2)
        return self._get_iterator()

    def _get_iterator(self):
        return _SingleProcessDataLoaderIter(self) if self.num_workers == 0 else _MultiProcessingDataLoaderIter(self)

    @property
    def _index_sampler(self):
        return self.indices()

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None


class _BaseDataLoaderIter:
    """One pass over a DataLoader's batches."""

    def __init__(self, loader):
        self.loader, self.number = loader, 0
        self.batches = self._begin(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader)

    def __next__(self):
        batch = next(self.batches)
        self.number += 1
        loader = self.loader
        if loader._dataset_kind and loader._IterableDataset_len_called is not None and self.number > loader._IterableDataset_len_called:
            warnings.warn(f"Length of IterableDataset {loader.dataset} was reported to be {loader._IterableDataset_len_called} (when "
                          f"accessing len(dataloader)), but {self.number} samples have been fetched."
                          + (" Each worker has a copy of the dataset: get_worker_info() says which part is whose." if loader.num_workers else ""),
                          stacklevel=2)
        return batch


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One whose batches are made in this process. Libraries make it of loaders of their own, which have a DataLoader's attributes."""

    def _begin(self, loader):
        indices = iter(loader._index_sampler)
        # PyTorch draws the workers' seed even if there are none, before the order: so must we.
        draw_seed(loader.generator)
        return _Local(Fetcher(loader.dataset, bool(loader._dataset_kind), loader._auto_collation, loader.collate_fn, loader.drop_last), indices)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """One whose batches workers make."""

    def _begin(self, loader):
        from .workers import WorkerBatches, WorkerPool
        pool = getattr(loader, "_workers", None)
        if pool is None or not loader.persistent_workers:
            pool = WorkerPool(loader)
            if loader.persistent_workers:
                loader._workers = pool
        return WorkerBatches(pool, loader, keep=loader.persistent_workers)


class _Local:
    """Batches that this process fetches."""

    def __init__(self, fetch, indices):
        self.fetch, self.indices = fetch, indices

    def __next__(self):
        index = next(self.indices)
        try:
            return self.fetch(index)
        except EndOfData:
            raise StopIteration from None


class EndOfData(Exception):
    """An iterable dataset has no more samples."""


class Fetcher:
    """fetch(index or indices) -> batch, from one pass over the dataset."""

    def __init__(self, dataset, iterable, batches, collate_fn, drop_last):
        self.dataset = dataset
        self.batches = batches
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.samples = iter(dataset) if iterable else None

    def __call__(self, index):
        if self.samples is not None:
            return self.collate_fn(self._next(index))
        if not self.batches:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate:
            rows = rows_of(self.dataset, index)
            if rows is not None:
                return rows
        return self.collate_fn(samples_of(self.dataset, index))

    fetch = __call__

    def _next(self, index):
        if not self.batches:
            for sample in self.samples:
                return sample
            raise EndOfData
        found = []
        for _, sample in zip(index, self.samples):
            found.append(sample)
        if not found or (self.drop_last and len(found) < len(index)):
            raise EndOfData
        return found


def rows_of(dataset, indices):
    """The batch of a TensorDataset, or of Subsets of one, by one indexing a Tensor; None for others.

    It is what stacking the rows would give, at a fraction of the cost.
    """
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset:
        return None
    picked = torch.tensor(indices, dtype=torch.int64)
    return [tensor[picked.to(tensor.device)] for tensor in dataset.tensors]
