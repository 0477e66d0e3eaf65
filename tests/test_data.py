"""Datasets, samplers, collating, DataLoader with and without workers."""
import collections
import os
import warnings

import pytest
from helpers import assert_close, oracle, to_lists

import fasttensor as torch
from fasttensor.utils import data as D

Point = collections.namedtuple("Point", "x y")


class Squares(D.Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i, float(i * i)


class Numbers(D.IterableDataset):
    """Each worker gives its own part."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = D.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))

    def __len__(self):
        return self.n


class Broken(Squares):
    def __getitem__(self, i):
        if i == 3:
            raise ValueError("no third sample")
        return i


class Dying(Squares):
    def __getitem__(self, i):
        os._exit(3)


def listed(batches):
    return [to_lists(b) if not isinstance(b, list) else [to_lists(v) for v in b] for b in batches]


def test_tensor_dataset_and_its_batches():
    x, y = torch.randn(7, 2), torch.arange(7)
    data = D.TensorDataset(x, y)
    assert len(data) == 7 and len(data[3]) == 2 and data[3][1].item() == 3
    quick = listed(D.DataLoader(data, batch_size=3))
    slow = listed(D.DataLoader(data, batch_size=3, collate_fn=lambda rows: D.default_collate(rows)))
    assert quick == slow and [len(b[1]) for b in quick] == [3, 3, 1]
    part = D.Subset(D.Subset(data, [6, 5, 4, 3]), [0, 2])
    assert listed(D.DataLoader(part, batch_size=2))[0][1] == [6, 4]
    with pytest.raises(AssertionError, match="Size mismatch"):
        D.TensorDataset(x, torch.arange(3))


def test_stack_concat_chain_subset():
    a = Squares(3)
    named = D.StackDataset(n=a, m=[7, 8, 9])
    assert named[1] == {"n": (1, 1.0), "m": 8}
    assert named.__getitems__([0, 2]) == [{"n": (0, 0.0), "m": 7}, {"n": (2, 4.0), "m": 9}]
    assert D.StackDataset(a, a)[2] == ((2, 4.0), (2, 4.0))
    both = a + Squares(2)
    assert len(both) == 5 and both[3] == (0, 0.0) and both[-1] == (1, 1.0)
    chain = Numbers(2) + Numbers(3)
    assert list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    assert D.Subset(a, [2, 0])[1] == (0, 0.0)
    for make, error in ((lambda: D.StackDataset(), ValueError), (lambda: D.StackDataset(a, b=a), ValueError),
                        (lambda: D.StackDataset(a, [1]), ValueError), (lambda: D.ConcatDataset([]), AssertionError),
                        (lambda: D.ConcatDataset([Numbers(1)]), AssertionError)):
        with pytest.raises(error):
            make()


def test_concat_range():
    with pytest.warns(FutureWarning, match="renamed"):
        assert D.ConcatDataset([[1, 2], [3]]).cummulative_sizes == [2, 3]
    both = D.ConcatDataset([Squares(2), Squares(3)])
    with pytest.raises(IndexError, match="length 5"):
        both[5]
    with pytest.raises(ValueError, match="should not exceed"):
        both[-6]


def test_random_split():
    generator = torch.Generator().manual_seed(1)
    parts = D.random_split(range(10), [0.5, 0.3, 0.2], generator)
    assert [len(p) for p in parts] == [5, 3, 2]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    with pytest.raises(ValueError, match="does not equal"):
        D.random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="not between"):
        D.random_split(range(10), [1.5, -0.5])


def test_samplers():
    assert list(D.SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(D.RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    assert len(list(D.RandomSampler(range(5), num_samples=12))) == 12
    draws = list(D.RandomSampler(range(5), replacement=True, num_samples=70))
    assert len(draws) == 70 and set(draws) <= set(range(5))
    assert sorted(D.SubsetRandomSampler([4, 7])) == [4, 7]
    assert set(D.WeightedRandomSampler([0.0, 1.0, 0.0, 2.0], 40)) == {1, 3}
    assert sorted(D.WeightedRandomSampler([1.0, 0.0, 2.0], 2, replacement=False)) == [0, 2]
    assert list(D.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(D.BatchSampler(range(5), 2, True)) == 2 and len(D.BatchSampler(range(5), 2, False)) == 3
    first, second = (D.DistributedSampler(range(7), 2, rank, seed=5) for rank in range(2))
    assert len(first) == 4 and set(first) | set(second) == set(range(7))
    for make in (lambda: D.BatchSampler(range(3), 0, False), lambda: D.RandomSampler([], False),
                 lambda: D.WeightedRandomSampler([1.0], 0), lambda: D.DistributedSampler(range(3), 2, 2)):
        with pytest.raises(ValueError):
            make()


# Index orders drawn by PyTorch 2.13 from manual_seed(7).
KEPT_ORDER = [3, 2, 7, 8, 6, 1, 5, 9, 0, 4]
KEPT_GENERATOR = [5, 0, 3, 4, 1, 7, 9, 6, 8, 2]


def test_kept_order():
    torch.manual_seed(7)
    loader = D.DataLoader(D.TensorDataset(torch.arange(10)), batch_size=4, shuffle=True)
    assert [i for b in loader for i in b[0].tolist()] == KEPT_ORDER
    generator = torch.Generator().manual_seed(7)
    assert list(D.RandomSampler(range(10), generator=generator)) == KEPT_GENERATOR


def test_kept_order_of_persistent_workers():
    torch.manual_seed(1)
    loader = D.DataLoader(range(6), 2, shuffle=True, num_workers=2, persistent_workers=True)
    assert [listed(loader) for _ in range(2)] == [[[0, 1], [4, 3], [2, 5]], [[3, 5], [4, 1], [0, 2]]]
    loader._workers.close()


@pytest.mark.parametrize("options", [
    {"batch_size": 4, "shuffle": True}, {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": 3, "shuffle": True, "generator": 5}, {"batch_size": None, "shuffle": True}])
@pytest.mark.parametrize("workers", [0, 2])
def test_order_against_pytorch(options, workers):
    theirs = oracle()
    rows = []
    for t in (theirs, torch):
        made = dict(options)
        if "generator" in made:
            made["generator"] = t.Generator().manual_seed(made["generator"])
        t.manual_seed(11)
        module = theirs.utils.data if t is theirs else D
        loader = module.DataLoader(module.TensorDataset(t.arange(23)), num_workers=workers, timeout=60 * (workers > 0), **made)
        rows.append([to_lists(b[0]) for _ in range(2) for b in loader] + [to_lists(t.rand(2))])
    assert rows[0] == rows[1]


def test_collate():
    batch = D.default_collate([{"a": 1, "b": 2.5, "c": "s", "d": (1, 2.0), "e": Point(1, [2, 3])}] * 2)
    assert batch["a"].dtype == torch.int64 and batch["b"].dtype == torch.float64
    assert batch["c"] == ["s", "s"] and batch["e"].y[1].tolist() == [3, 3]
    assert isinstance(batch["d"], list) and isinstance(batch["e"], Point)
    stacked = D.default_collate([torch.ones(2), torch.zeros(2)])
    assert_close(stacked, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(TypeError, match="must contain tensors"):
        D.default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        D.default_collate([[1], [1, 2]])


def test_collate_numpy():
    numpy = pytest.importorskip("numpy")
    batch = D.default_collate([{"x": numpy.ones(2, "float32"), "n": numpy.int32(3), "b": numpy.bool_(True)}] * 2)
    assert batch["x"].shape == (2, 2) and batch["x"].dtype == torch.float32
    assert batch["n"].tolist() == [3, 3] and batch["b"].tolist() == [True, True]
    assert isinstance(D.default_convert([numpy.ones(1)])[0], torch.Tensor)
    assert D.default_convert(["text", 3]) == ["text", 3]
    with pytest.raises(TypeError):
        D.default_collate([numpy.array(["a"])] * 2)


def test_loader_of_other_kinds():
    loader = D.DataLoader(Squares(5), batch_size=2)
    assert listed(loader) == [[[0, 1], [0.0, 1.0]], [[2, 3], [4.0, 9.0]], [[4], [16.0]]]
    assert len(loader) == 3
    assert list(D.DataLoader(Squares(2), batch_size=None)) == [[0, 0.0], [1, 1.0]]
    assert listed(D.DataLoader(Numbers(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert listed(D.DataLoader(Numbers(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert listed(D.DataLoader(range(6), batch_sampler=[[5], [0, 1]])) == [[5], [0, 1]]
    class Wrong(Numbers):
        def __len__(self):
            return 1
    loader = D.DataLoader(Wrong(3))
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="reported to be 1"):
        list(loader)


def test_loader_options():
    data = Squares(4)
    for options in ({"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True},
                    {"num_workers": 1, "prefetch_factor": 0}, {"sampler": [0], "shuffle": True},
                    {"batch_sampler": [[0]], "batch_size": 2}, {"batch_size": None, "drop_last": True},
                    {"multiprocessing_context": "fork"}, {"num_workers": 1, "multiprocessing_context": "no"},
                    {"batch_size": 0}):
        with pytest.raises(ValueError):
            D.DataLoader(data, **options)
    with pytest.raises(ValueError, match="IterableDataset"):
        D.DataLoader(Numbers(3), shuffle=True)
    with pytest.raises(TypeError, match="valid context object"):
        D.DataLoader(data, num_workers=1, multiprocessing_context=3)
    loader = D.DataLoader(data)
    with pytest.raises(ValueError, match="should not be set"):
        loader.batch_size = 3


def test_workers():
    one = listed(D.DataLoader(Squares(9), batch_size=2))
    loader = D.DataLoader(Squares(9), batch_size=2, num_workers=2)
    assert listed(loader) == one and listed(loader) == one
    assert listed(D.DataLoader(Numbers(10), batch_size=3, num_workers=2)) == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
    loose = D.DataLoader(Squares(9), batch_size=2, num_workers=2, in_order=False)
    assert sorted(listed(loose)) == sorted(one)


def test_persistent_workers():
    loader = D.DataLoader(Squares(9), batch_size=2, num_workers=2, persistent_workers=True)
    one = listed(loader)
    pids = [p.pid for p in loader._workers.processes]
    for _ in loader:
        break
    assert listed(loader) == one
    assert [p.pid for p in loader._workers.processes] == pids
    loader._workers.close()


def test_worker_seeds_and_init():
    class Seeds(Squares):
        def __getitem__(self, i):
            info = D.get_worker_info()
            return info.id, info.seed - info.id, int(os.environ["FT_TEST_WORKER"]), int(torch.initial_seed())

    def init(number):
        os.environ["FT_TEST_WORKER"] = str(number)

    torch.manual_seed(3)
    rows = [b for b in D.DataLoader(Seeds(4), batch_size=None, num_workers=2, worker_init_fn=init)]
    assert D.get_worker_info() is None
    assert [r[0] for r in rows] == [0, 1, 0, 1] == [r[2] for r in rows]
    assert len({r[1] for r in rows}) == 1
    assert all(r[3] == r[1] + r[0] for r in rows)


def test_worker_errors():
    with pytest.raises(ValueError, match="DataLoader worker process 1"):
        list(D.DataLoader(Broken(6), num_workers=2))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(D.DataLoader(Dying(4), num_workers=1))


def test_digits():
    data = D.digits()
    images, labels = data.tensors
    assert images.shape == (1797, 1, 8, 8) and images.dtype == torch.float32
    assert labels.dtype == torch.int64 and labels[:10].tolist() == list(range(10))
    assert images.min().item() == 0 and images.max().item() == 1
    assert [int((labels == k).sum()) for k in range(10)] == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_more_workers_than_processors_are_warned_of(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        D.DataLoader(range(8), num_workers=2)
    with pytest.warns(UserWarning, match="This DataLoader will create 3 worker processes in total"):
        D.DataLoader(range(8), num_workers=3)
