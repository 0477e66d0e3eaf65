"""``torch.cuda.nvtx``: marks for NVIDIA's profilers; an error without a GPU."""
from contextlib import contextmanager

from .availability import _require

__all__ = ["range_push", "range_pop", "range_start", "range_end", "mark", "range"]


def range_push(msg):
    """Begin a nested span; an error without a GPU."""
    _require()


def range_pop():
    """End a nested span; an error without a GPU."""
    _require()


def range_start(msg):
    """Begin a span; an error without a GPU."""
    _require()


def range_end(range_id):
    """End a span; an error without a GPU."""
    _require()


def mark(msg):
    """A mark; an error without a GPU."""
    _require()


@contextmanager
def range(msg, *args, **kwargs):
    """A context that is a span; an error without a GPU."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
