"""Python's multiprocessing, in which tensors go to other processes as shared memory and not as bytes.

What a queue, pipe or ``Process(args=...)`` sends is moved into shared memory first, so that sender and receiver see
each other's writes. Non-leaf tensors that require gradients are refused, as a graph belongs to one process.
"""
import multiprocessing as _python
import sys
from multiprocessing import *  # noqa: F403 - the module is Python's with tensors added
from multiprocessing import context as _context
from multiprocessing.reduction import DupFd, ForkingPickler

from fasttensor._core import construct
from fasttensor._core.sharing import attach, share
from fasttensor._core.storage import Storage
from fasttensor._core.tensor import Tensor, description
from fasttensor.nn import Parameter

__all__ = [*_python.__all__, "set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies", "spawn", "start_processes",
           "ProcessRaisedException", "ProcessExitedException", "ProcessContext", "SpawnContext"]
reducer = _context.reduction


def get_all_sharing_strategies():
    """How memory can be shared: by file descriptors."""
    return {"file_descriptor"}


def get_sharing_strategy():
    """'file_descriptor'."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Accepts PyTorch's names; memory is shared by file descriptors under each."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}: expected 'file_descriptor' or 'file_system'")


def _rebuild_storage(handle, nbytes):
    return attach(handle.detach(), nbytes)


def _reduce_storage(store):
    share(construct.over_storage(store, _uint8(), (store.nbytes(),), (1,)))
    return _rebuild_storage, (DupFd(store.shared.fd), store.nbytes())


def _uint8():
    from fasttensor._core.dtype import DTYPES
    return DTYPES["uint8"]


def _rebuild(kind, store, dtype, offset, size, stride, requires_grad, attributes):
    made = construct.over_storage(store, dtype, size, stride, offset)
    if kind is Parameter:
        made = Parameter(made, requires_grad)
    elif kind is not Tensor:
        made = made.as_subclass(kind)
    if requires_grad and kind is not Parameter:
        made.requires_grad = True
    made.__dict__.update(attributes)
    return made


def _reduce_tensor(x):
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
                           f"boundaries. If you just want to transfer the data, call detach() on the tensor before serializing ({description(x)}).")
    if x.is_meta:
        return x.__reduce_ex__(2)
    if not x.is_cpu:
        raise RuntimeError(f"multiprocessing: only tensors in the CPU's memory can be sent, got {description(x)} on {x.device}")
    if memoryview(x.untyped_storage()).readonly:
        x = x.detach().clone()
    return _rebuild, (type(x), x.untyped_storage(), x.dtype, x.storage_offset(), tuple(x.shape), tuple(x.stride()), x.requires_grad,
                      dict(x.__dict__))


def init_reductions():
    """Teach multiprocessing's pickler to share tensors; done at import."""
    ForkingPickler.register(Storage, _reduce_storage)
    ForkingPickler.register(Tensor, _reduce_tensor)
    ForkingPickler.register(Parameter, _reduce_tensor)


init_reductions()


class ProcessException(Exception):
    """A process of `spawn` failed."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process raised an exception, whose traceback is the text."""


class ProcessExitedException(ProcessException):
    """A process ended with an exit code, or by a signal."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(function, index, args, errors):
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import traceback
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes, errors):
        self.processes, self.error_queues = processes, errors

    def pids(self):
        """Process numbers."""
        return [p.pid for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait for one process to end; True once all have. Ends the others and raises where one failed."""
        from multiprocessing.connection import wait
        running = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        if running:
            wait(list(running), timeout)
        for index, process in enumerate(self.processes):
            if process.exitcode:
                self._failed(index, process, grace_period)
        return all(p.exitcode == 0 for p in self.processes)

    def _failed(self, index, process, grace_period):
        for other in self.processes:
            if grace_period:
                other.join(grace_period)
            if other.is_alive():
                other.terminate()
            other.join()
        if not self.error_queues[index].empty():
            raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{self.error_queues[index].get()}", index,
                                         process.pid)
        if process.exitcode < 0:
            import signal
            name = signal.Signals(-process.exitcode).name
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, process.exitcode, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {process.exitcode}", index, process.pid, process.exitcode)


class SpawnContext(ProcessContext):
    """The processes that `spawn` started."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs ``fn(i, *args)`` in `nprocs` processes; waits for them unless ``join=False``, which returns a SpawnContext."""
    context = _python.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [context.Process(target=_run, args=(fn, i, args, errors[i]), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    started = SpawnContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` with processes that start anew."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
