"""Worker processes of a DataLoader.

Indices go to the workers in turn, each through its own queue; batches come back through a socket of each worker, see
transport.py. Up to `prefetch_factor` batches a worker are under way.
"""
import atexit
import itertools
import multiprocessing
import os
import pickle
import queue
import random
import signal
import socket
import sys
import time
import traceback
import weakref
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import fasttensor as torch

from .sampler import draw_seed
from .transport import keep_blocks, pack, receive, send

__all__ = ["WorkerInfo", "WorkerPool", "get_worker_info"]

POLL = 2.0              # seconds between a worker's looks at whether its parent is alive
LEAVE = 2.0             # seconds that workers have to end on their own
PASS = b""
_worker_info = None


@dataclass
class WorkerInfo:
    """What `get_worker_info()` returns in a worker: its number, theirs, its seed, its dataset. In the main process that is None.

    >>> print(torch.utils.data.get_worker_info())
    None
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info():
    """The WorkerInfo of this worker process, None in the main process.

    Inside one: `id`, `num_workers`, `seed` and its own copy of `dataset`.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


class _Text(str):
    """Text that is its own repr: KeyError prints the repr of its message."""

    def __repr__(self):
        return str(self)


@dataclass
class Failure:
    """An exception in a worker, as text: tracebacks cannot be sent."""

    kind: type
    text: str

    def raise_again(self):
        if self.kind is KeyError:
            raise KeyError(_Text(self.text))
        try:
            error = self.kind(self.text)
        except Exception:           # its constructor wants something else
            error = RuntimeError(self.text)
        raise error from None


class Ended:
    """Sent by a worker whose iterable dataset is exhausted."""


def _describe(error, number, what=None):
    text = "".join(traceback.format_exception(error))
    of = "" if what is None else f", which fetched {f'the samples {what}' if isinstance(what, (list, tuple)) else f'sample {what!r}'}"
    return Failure(type(error), f"Caught {type(error).__name__} in DataLoader worker process {number}{of[:200]}.\nOriginal {text}")


def _generate_state(base_seed, worker_id):
    """Four words that seed NumPy in a worker; containers of other libraries that have workers of their own import this."""
    from numpy.random import SeedSequence
    return SeedSequence([worker_id, base_seed & 0xffffffff, base_seed >> 32]).generate_state(4).tolist()


def _seed(seed, number):
    """Other random numbers in every worker, the same ones as in PyTorch's."""
    random.seed(seed + number)
    torch.manual_seed(seed + number)
    if "numpy" in sys.modules:
        from numpy.random import seed as seed_numpy
        seed_numpy(_generate_state(seed, number))


def _next_order(orders, parent):
    """What is asked next; None to end, also where the parent is gone without a word."""
    while True:
        try:
            return orders.get(timeout=POLL)
        except queue.Empty:
            if os.getppid() != parent:
                return None


def _work(settings, number, count, seed, init_fn, orders, connection):
    """A worker: PASS starts a pass, a pickled (turn, index, what) asks for a batch, None ends."""
    global _worker_info
    results = socket.socket(fileno=os.dup(connection.fileno()))
    connection.close()
    # A program's own handler, which a forked worker has too, must not keep it from ending.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        torch.set_num_threads(1)
        keep_blocks()
        _seed(seed, number)
        _worker_info = WorkerInfo(number, count, seed + number, settings[0])
        _serve(settings, number, init_fn, orders, results)
    except (KeyboardInterrupt, ConnectionError):
        pass            # the main process raises the interrupt, or is gone
    finally:
        results.close()


def _serve(settings, number, init_fn, orders, results):
    from .dataloader import EndOfData, Fetcher
    parent = os.getppid()
    failure = fetch = None
    ended = False
    try:
        if init_fn is not None:
            init_fn(number)
    except Exception as error:
        failure = _describe(error, number)
    for order in iter(lambda: _next_order(orders, parent), None):
        if order == PASS:
            fetch, ended = None, False
            continue
        turn, index, what = pickle.loads(order)
        try:
            if failure is not None:
                batch = failure
            elif ended:
                batch = Ended()
            else:
                if fetch is None:
                    fetch = Fetcher(*settings)
                batch = fetch(what)
        except EndOfData:
            ended = True
            batch = Ended()
        except Exception as error:
            batch = _describe(error, number, what)
        packed = _packed((turn, index, number), batch, what)
        batch = None        # what nothing else holds is sent without a copy
        send(results, packed)
        packed = None


def _packed(place, batch, what):
    try:
        return pack((*place, batch))
    except Exception as error:
        if isinstance(batch, Failure):      # its type is known in the worker only
            return pack((*place, Failure(RuntimeError, batch.text)))
        return pack((*place, _describe(error, place[-1], what)))


OPEN = weakref.WeakSet()        # pools whose loader may outlive the program's last line


@atexit.register
def _close_all():
    """Ends all workers before multiprocessing waits for them, without a limit, after a signal that they may not follow."""
    for pool in list(OPEN):
        pool.close()


class WorkerPool:
    """The processes of one DataLoader and what they have in hand."""

    def __init__(self, loader):
        context = loader.multiprocessing_context or multiprocessing.get_context()
        settings = (loader.dataset, bool(loader._dataset_kind), loader._auto_collation, loader.collate_fn,
                    loader.drop_last)
        seed = draw_seed(loader.generator)
        self.results, self.orders, self.processes, self.blocks = [], [], [], {}
        self.turn, self.owner = 0, os.getpid()
        for number in range(loader.num_workers):
            orders = context.Queue()
            orders.cancel_join_thread()
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_work, daemon=True,
                args=(settings, number, loader.num_workers, seed, loader.worker_init_fn, orders, theirs))
            process.start()
            theirs.close()          # so that a worker's end is seen
            self.results.append(socket.socket(fileno=os.dup(ours.fileno())))
            self.blocks[self.results[-1]] = {}
            ours.close()
            self.orders.append(orders)
            self.processes.append(process)
        OPEN.add(self)

    def receive(self, timeout):
        """The next message of any worker."""
        ready = wait(self.results, timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        try:
            return receive(ready[0], self.blocks[ready[0]])
        except (EOFError, ConnectionError):
            dead = self.processes[self.results.index(ready[0])]
            dead.join(LEAVE)
            self.close()
            raise RuntimeError(f"DataLoader worker (pid(s) {dead.pid}) exited unexpectedly, "
                               + _ending(dead.exitcode)) from None

    def close(self):
        """Ends the workers; does nothing the second time, or in a forked process, whose copy of this is not in charge."""
        if self.owner != os.getpid():
            return
        processes, self.processes = self.processes, []
        for orders in self.orders:
            orders.put(None)
        for connection in self.results:
            connection.close()
        deadline = time.monotonic() + LEAVE
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(LEAVE)
            if process.is_alive():          # has a handler of its own
                process.kill()
                process.join()
        for orders in self.orders:
            orders.cancel_join_thread()
            orders.close()
        self.orders, self.results, self.blocks = [], [], {}

    def __del__(self):
        try:
            self.close()
        except Exception:           # the interpreter may be on its way out
            pass


def _ending(code):
    if code is not None and code < 0:
        return f"killed by signal {-code}" + (" (out of memory?)" if code == -9 else "")
    return f"exit code {code}"


class WorkerBatches:
    """One pass: an iterator over the batches, which goes on after an error in one of them."""

    def __init__(self, pool, loader, keep):
        pool.turn += 1          # answers to an abandoned pass carry an older number
        self.pool, self.keep, self.turn = pool, keep, pool.turn
        self.timeout, self.in_order = loader.timeout, loader.in_order
        for orders in pool.orders:
            orders.put(PASS)
        self.indices = enumerate(iter(loader._index_sampler))
        self.active = set(range(len(pool.orders)))
        self.cycle = itertools.cycle(range(len(pool.orders)))
        self.waiting = {}            # index -> None until its batch has come
        for _ in range(loader.prefetch_factor * len(pool.orders)):
            self._ask()

    def _ask(self):
        if not self.active:
            return
        for index, what in itertools.islice(self.indices, 1):
            worker = next(w for w in self.cycle if w in self.active)
            self.waiting[index] = None
            self.pool.orders[worker].put(bytes(ForkingPickler.dumps((self.turn, index, what))))

    def __iter__(self):
        return self

    def __next__(self):
        if self.turn != self.pool.turn:
            raise RuntimeError("DataLoader: another pass with the same persistent workers has begun, which ended this one")
        while self.waiting:
            first = next(iter(self.waiting))
            if self.waiting[first] is None:
                turn, index, worker, batch = self.pool.receive(self.timeout)
                if turn != self.turn:
                    continue
                if isinstance(batch, Ended):
                    self.active.discard(worker)
                    del self.waiting[index]
                    self._ask()
                    continue
                if self.in_order and index != first:
                    self.waiting[index] = (batch,)
                    continue
            else:
                index, (batch,) = first, self.waiting[first]
            del self.waiting[index]
            self._ask()
            if isinstance(batch, Failure):
                batch.raise_again()
            return batch
        if not self.keep:
            self.pool.close()
        raise StopIteration
