"""``torch.cuda.comm``: copies between GPUs; an error without GPUs."""
from .availability import _require

__all__ = ["broadcast", "broadcast_coalesced", "reduce_add", "reduce_add_coalesced", "scatter", "gather"]


def broadcast(tensor, devices=None, *, out=None):
    """A tensor on several GPUs; an error without GPUs."""
    _require()


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """Tensors on several GPUs; an error without GPUs."""
    _require()


def reduce_add(inputs, destination=None):
    """The sum of tensors of several GPUs; an error without GPUs."""
    _require()


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """The sums of lists of tensors of several GPUs; an error without GPUs."""
    _require()


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """Parts of a tensor on several GPUs; an error without GPUs."""
    _require()


def gather(tensors, dim=0, destination=None, *, out=None):
    """Tensors of several GPUs on one; an error without GPUs."""
    _require()
