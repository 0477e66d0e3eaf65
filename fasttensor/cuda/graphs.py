"""``torch.cuda.graphs``: recorded orders of GPU operations; an error without a GPU."""
from .availability import _require

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "make_graphed_callables", "is_current_stream_capturing"]


class CUDAGraph:
    """A recorded order of operations; an error without a GPU."""

    def __new__(cls, keep_graph=False):
        _require()


class graph:
    """A context that records operations; an error without a GPU."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        _require()


def graph_pool_handle():
    """A token of shared memory; an error without a GPU."""
    _require()


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions as recorded operations; an error without a GPU."""
    _require()


def is_current_stream_capturing():
    """Whether operations are being recorded; an error without a GPU."""
    _require()
