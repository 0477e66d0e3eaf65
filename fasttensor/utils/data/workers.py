"""Worker processes of a DataLoader.

Indices go to the workers in turn, each through its own queue, and batches come back through
one. Up to `prefetch_factor` batches a worker are under way.
"""
import itertools
import multiprocessing
import pickle
import queue
import random
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any

import fasttensor as torch

from .sampler import draw_seed

__all__ = ["WorkerInfo", "WorkerPool", "get_worker_info"]

POLL = 2.0              # seconds between looks at whether the workers are alive
PASS = b""
_worker_info = None


@dataclass
class WorkerInfo:
    """What `get_worker_info()` returns in a worker: its number, theirs, its seed, its dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info():
    """The WorkerInfo of this worker process, None in the main process."""
    return _worker_info


@dataclass
class Failure:
    """An exception in a worker, as text: tracebacks cannot be sent."""

    kind: type
    text: str

    def raise_again(self):
        if self.kind is KeyError:
            raise KeyError(self.text)
        try:
            error = self.kind(self.text)
        except TypeError:           # its constructor wants something else
            error = RuntimeError(self.text)
        raise error from None


class Ended:
    """Sent by a worker whose iterable dataset is exhausted."""


def _work(settings, number, count, seed, init_fn, orders, results):
    """The worker's loop. orders: PASS starts a pass, a pickled (turn, index, what) asks for a batch, None ends."""
    global _worker_info
    from .dataloader import EndOfData, Fetcher
    torch.set_num_threads(1)
    seed += number
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2 ** 32)
    _worker_info = WorkerInfo(number, count, seed, settings[0])
    failure = None
    fetch = None
    ended = False
    try:
        if init_fn is not None:
            init_fn(number)
    except Exception as error:
        failure = _describe(error, number)

    def send(turn, index, batch):
        # A queue pickles in a thread of its own, where an error would be lost and the main process wait for ever.
        try:
            content = pickle.dumps((turn, index, number, batch))
        except Exception as error:
            content = pickle.dumps((turn, index, number, _describe(error, number)))
        results.put(bytes(content))

    for order in iter(orders.get, None):
        if order == PASS:
            fetch, ended = None, False
            continue
        turn, index, what = pickle.loads(order)
        if ended:
            send(turn, index, Ended())
            continue
        try:
            if failure is not None:
                raise _Kept
            if fetch is None:
                fetch = Fetcher(*settings)
            batch = fetch(what)
        except EndOfData:
            ended = True
            batch = Ended()
        except _Kept:
            batch = failure
        except Exception as error:
            batch = _describe(error, number)
        send(turn, index, batch)


class _Kept(Exception):
    pass


def _describe(error, number):
    text = "".join(traceback.format_exception(error))
    return Failure(type(error), f"Caught {type(error).__name__} in DataLoader worker process {number}.\n"
                                f"Original {text}")


class WorkerPool:
    """The processes of one DataLoader and what they have in hand."""

    def __init__(self, loader):
        context = loader.multiprocessing_context or multiprocessing.get_context()
        settings = (loader.dataset, loader._iterable, loader.batch_sampler is not None, loader.collate_fn,
                    loader.drop_last)
        self.seed_drawn = True
        seed = draw_seed(loader.generator)
        self.results = context.Queue()
        self.orders = []
        self.processes = []
        self.turn = 0
        for number in range(loader.num_workers):
            orders = context.Queue()
            orders.cancel_join_thread()
            process = context.Process(
                target=_work, daemon=True,
                args=(settings, number, loader.num_workers, seed, loader.worker_init_fn, orders, self.results))
            process.start()
            self.orders.append(orders)
            self.processes.append(process)

    def batches(self, loader, keep):
        """One pass. Ends the workers afterwards unless `keep`."""
        try:
            yield from self._pass(loader)
        finally:
            if not keep:
                self.close()

    def _pass(self, loader):
        if not self.seed_drawn:
            draw_seed(loader.generator)
        self.seed_drawn = False
        self.turn += 1          # answers to an abandoned pass carry an older number
        for orders in self.orders:
            orders.put(PASS)
        indices = enumerate(iter(loader.indices()))
        active = set(range(len(self.orders)))
        cycle = itertools.cycle(range(len(self.orders)))
        waiting = {}            # index -> None until its batch has come
        target = loader.prefetch_factor * len(self.orders)

        def ask():
            if not active:
                return
            for index, what in itertools.islice(indices, 1):
                worker = next(w for w in cycle if w in active)
                waiting[index] = None
                self.orders[worker].put(pickle.dumps((self.turn, index, what)))

        for _ in range(target):
            ask()
        while waiting:
            first = next(iter(waiting))
            if waiting[first] is None:
                turn, index, worker, batch = self._receive(loader.timeout)
                if turn != self.turn:
                    continue
                if isinstance(batch, Ended):
                    active.discard(worker)
                    del waiting[index]
                    ask()
                    continue
                if loader.in_order and index != first:
                    waiting[index] = (batch,)
                    continue
            else:
                index, (batch,) = first, waiting[first]
            del waiting[index]
            ask()
            if isinstance(batch, Failure):
                batch.raise_again()
            yield batch

    def _receive(self, timeout):
        begin = time.monotonic()
        while True:
            wait = POLL if not timeout else max(0.0, min(POLL, begin + timeout - time.monotonic()))
            try:
                return pickle.loads(self.results.get(timeout=wait))
            except queue.Empty:
                dead = [p.pid for p in self.processes if not p.is_alive()]
                if dead:
                    self.close()
                    raise RuntimeError("DataLoader worker (pid(s) " + ", ".join(map(str, dead))
                                       + ") exited unexpectedly") from None
                if timeout and time.monotonic() - begin >= timeout:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None

    def close(self):
        """Ends the workers; does nothing the second time."""
        processes, self.processes = self.processes, []
        for orders in self.orders:
            orders.put(None)
        for process in processes:
            process.join(timeout=1)
            if process.is_alive():
                process.terminate()
                process.join()
        for q in (*self.orders, self.results):
            q.cancel_join_thread()
            q.close()
        self.orders = []

    def __del__(self):
        try:
            self.close()
        except Exception:           # the interpreter may be on its way out
            pass
