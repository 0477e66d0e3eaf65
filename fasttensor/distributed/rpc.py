"""``torch.distributed.rpc``: calls of functions in other processes, of which there are none."""
from fasttensor.distributed import _missing

__all__ = ["BackendType", "RRef", "WorkerInfo", "get_worker_info", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


def is_available():
    """False: nothing can be called elsewhere."""
    return False


class WorkerInfo:
    """A process that takes calls; there are none."""


class RRef:
    """A value of another process. Never made: ``isinstance`` answers False."""

    def __class_getitem__(cls, item):
        return cls

    def __init__(self, *args, **kwargs):
        _missing("rpc.RRef")()


class BackendType:
    """How calls travel."""

    TENSORPIPE = "TENSORPIPE"


get_worker_info, init_rpc, remote, rpc_async, rpc_sync, shutdown = (
    _missing("rpc." + name) for name in ("get_worker_info", "init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown"))
