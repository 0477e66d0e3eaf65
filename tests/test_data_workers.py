"""Worker processes of a DataLoader: shared memory, errors, seeds, and that none outlives the program."""
import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import fasttensor as torch
from fasttensor.utils import data as D
from fasttensor.utils.data import transport

ROOT = Path(torch.__file__).resolve().parents[1]


class Table(D.Dataset):
    def __init__(self):
        self.rows = torch.arange(400_000, dtype=torch.float32).view(4, 100_000)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        array = np.full(50_000, i, np.int16)
        return {"row": self.rows[i], "array": array, "both": (self.rows[i], array), "empty": torch.empty(0, 3), "name": "x" * i}


def test_large_batches_travel_whole():
    for options in ({"batch_size": None}, {"batch_size": None, "collate_fn": lambda x: x}, {"batch_size": 2}):
        here, there = (list(D.DataLoader(Table(), num_workers=n, **options)) for n in (0, 2))
        for a, b in zip(here, there):
            assert a.keys() == b.keys() and a["name"] == b["name"]
            for x, y in ((a["row"], b["row"]), (a["both"][0], b["both"][0]), (a["empty"], b["empty"])):
                assert torch.equal(x, y) and x.dtype == y.dtype
            assert type(a["array"]) is type(b["array"]) and (np.asarray(a["array"]) == np.asarray(b["array"])).all()
            b["row"].add_(1)        # the memory is the receiver's own
            np.asarray(b["array"])[:] = 1
    row = next(iter(D.DataLoader(Table(), batch_size=None, num_workers=1)))["row"]
    assert row.untyped_storage().nbytes() == 400_000        # not the table


def test_what_was_sent_is_not_held():
    """Memory and open files of a message go with it, not with the next collection of cycles."""
    gc.disable()
    try:
        tensor = torch.zeros(100_000)
        reference = weakref.ref(tensor)
        packed = transport.pack([tensor, {"again": tensor}])
        del tensor, packed
        assert reference() is None
    finally:
        gc.enable()


def test_more_batches_than_open_files_are_kept():
    soft = len(os.listdir("/proc/self/fd"))
    kept = list(D.DataLoader(Table(), batch_size=1, num_workers=1, sampler=[0] * 40))
    assert len(os.listdir("/proc/self/fd")) < soft + 20 and kept[0]["row"].shape == (1, 100_000)


class Filled(D.Dataset):
    """Sample i is full of i."""

    def __len__(self):
        return 60

    def __getitem__(self, i):
        return torch.full((3, 50_000), float(i))


def held(batches):
    """What a collate function keeps and writes to is its own."""
    made = D.default_collate(batches)
    kept.append(made)
    for earlier in kept[:-1]:
        earlier.fill_(-1)
    return [made, made[0]] if len(kept) % 2 else made


kept = []


@pytest.mark.parametrize("collate", [None, list, held])
def test_memory_is_filled_again_only_when_nobody_looks(collate):
    """Batches kept here, and those a forked process looks at, stay as they are; so do those the worker keeps."""
    seen, ready, report = {}, os.pipe(), os.pipe()
    child = None
    for i, batch in enumerate(D.DataLoader(Filled(), batch_size=2, num_workers=1, collate_fn=collate)):
        batch = batch[0] if collate is held and isinstance(batch, list) else batch
        assert [row.unique().tolist() for row in batch] == [[2 * i], [2 * i + 1]]
        if i == 9:
            child = os.fork()
            if not child:
                os.close(ready[1])
                os.read(ready[0], 1)
                os.write(report[1], b"y" if [row.unique().tolist() for row in batch] == [[18], [19]] else b"n")
                os._exit(0)
        elif i % 3 == 0:
            seen[i] = batch
    os.close(ready[1])
    os.close(report[1])
    assert os.read(report[0], 1) == b"y"
    os.waitpid(child, 0)
    assert all([row.unique().tolist() for row in batch] == [[2 * i], [2 * i + 1]] for i, batch in seen.items())


def test_a_block_that_comes_again_is_still_mapped():
    """Also after a process was forked between batches; with what it inherited it does nothing."""
    places = []
    for i, batch in enumerate(D.DataLoader(Filled(), batch_size=1, num_workers=1)):
        places.append(batch.data_ptr())
        del batch
        if i == 30:
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
    assert len(set(places)) < 8


def test_rows_of_a_table_are_the_receivers():
    loader = D.DataLoader(D.TensorDataset(torch.arange(400_000.0).view(4, 100_000)), batch_size=2, num_workers=1, collate_fn=list,
                          persistent_workers=True)
    for _ in range(2):
        rows = [row for batch in loader for row, in batch]
        assert [row[0].item() for row in rows] == [0, 100_000, 200_000, 300_000]
        assert all(row.untyped_storage().nbytes() == 400_000 and row.storage_offset() == 0 for row in rows)
        for row in rows:
            row.zero_()


class Faulty(D.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 2:
            raise KeyError("key two")
        if i == 3:
            class Own(Exception):
                pass
            raise Own("only here")
        if i == 4:
            return (x for x in ())
        return i


def test_errors_keep_type_text_samples_and_worker():
    batches = iter(D.DataLoader(Faulty(), batch_size=2, num_workers=2, collate_fn=list))
    assert next(batches) == [0, 1]
    with pytest.raises(KeyError, match=r"(?s)worker process 1, which fetched the samples \[2, 3\]\.\nOriginal Traceback.*key two"):
        next(batches)
    with pytest.raises(TypeError, match=r"(?s)worker process 0.*generator"):
        next(batches)
    assert list(batches) == []
    with pytest.raises(RuntimeError, match="(?s)Caught Own in .* which fetched sample 3.*only here"):
        list(D.DataLoader(Faulty(), batch_size=None, num_workers=1, sampler=[3]))


class Slow(D.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        time.sleep(30)


def test_timeout_and_length():
    loader = D.DataLoader(Slow(), num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds"):
        next(iter(loader))
    assert len(iter(loader)) == len(loader) == 2


class Draws(D.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        import random
        return np.random.randint(10 ** 6), random.randint(0, 10 ** 6), torch.randint(10 ** 6, ()).item()


def test_random_numbers_of_workers_are_pytorchs():
    torch.manual_seed(5)
    drawn = [tuple(int(v) for v in row) for row in D.DataLoader(Draws(), batch_size=None, num_workers=2)]
    assert len(set(drawn)) == 4
    assert drawn == [(610916, 697130, 648557), (691010, 770431, 160238), (534634, 103985, 337364), (463968, 786985, 365935)]


PROGRAM = """
import os, signal, sys, time
import fasttensor as torch

signal.signal(signal.SIGINT, signal.default_int_handler)      # a shell's background jobs begin without it

class Waits(torch.utils.data.Dataset):
    def __len__(self):
        return 100
    def __getitem__(self, i):
        time.sleep(0.05)
        return i

loader = torch.utils.data.DataLoader(Waits(), num_workers=2, persistent_workers=bool(int(sys.argv[1])))
batches = iter(loader)
next(batches)
print(*[p.pid for p in batches.batches.pool.processes], flush=True)
for batch in batches:
    pass
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("kept, number", [(0, signal.SIGINT), (1, signal.SIGINT), (0, signal.SIGKILL)])
def test_nobody_is_left_behind(tmp_path, kept, number):
    (tmp_path / "program.py").write_text(PROGRAM)
    process = subprocess.Popen([sys.executable, "program.py", str(kept)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)      # what Ctrl-C does
    else:
        process.kill()
    errors = process.communicate()[1]
    assert process.returncode == -number
    assert errors.count("Traceback") == (number == signal.SIGINT)
    for _ in range(300):
        if not any(map(alive, workers)):
            break
        time.sleep(0.1)
    assert not any(map(alive, workers))


HANDLERS = """
import fasttensor as torch, gc, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: None)
def deaf(number):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
data = torch.utils.data.TensorDataset(torch.arange(8))
kept = torch.utils.data.DataLoader(data, 2, num_workers=2, persistent_workers=True, worker_init_fn=deaf if sys.argv[1] == "deaf" else None)
kept.itself = kept      # only the end of the program ends its workers
rows = [batch[0].tolist() for batch in kept]
if sys.argv[1] == "forked":
    if not os.fork():
        kept.itself = kept = None
        gc.collect()    # the copy of the loader there must not end the workers here
        os._exit(0)
    os.wait()
    rows = [batch[0].tolist() for batch in kept]
print(rows)
"""


@pytest.mark.parametrize("case", ["plain", "deaf", "forked"])
def test_a_program_with_a_handler_of_its_own_ends(case, tmp_path):
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", HANDLERS, case], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[[0, 1], [2, 3], [4, 5], [6, 7]]\n", "")


def test_words_that_seed_numpy_are_those_of_pytorch():
    from fasttensor.utils.data.workers import _generate_state
    assert _generate_state(123456789012, 3) == [769313048, 1460814176, 2980110427, 1364817390]
