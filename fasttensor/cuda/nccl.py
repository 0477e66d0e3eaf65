"""``torch.cuda.nccl``: exchange between GPUs, which is not supported."""
from .availability import _require

__all__ = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"]


def is_available(tensors):
    """False: there is no exchange between GPUs."""
    return False


def version():
    """The library's version; an error without a GPU."""
    _require()


def all_reduce(inputs, outputs=None, op=0, streams=None, comms=None):
    """The sum on every GPU; an error without GPUs."""
    _require()


def reduce(inputs, output=None, root=0, op=0, streams=None, comms=None):
    """The sum on one GPU; an error without GPUs."""
    _require()


def broadcast(inputs, root=0, streams=None, comms=None):
    """One GPU's tensor on all; an error without GPUs."""
    _require()


def all_gather(inputs, outputs, streams=None, comms=None):
    """All GPUs' tensors on every one; an error without GPUs."""
    _require()


def reduce_scatter(inputs, outputs, op=0, streams=None, comms=None):
    """A part of the sum on each GPU; an error without GPUs."""
    _require()
