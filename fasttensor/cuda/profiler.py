"""``torch.cuda.profiler``: switches of NVIDIA's profilers; an error without a GPU."""
from contextlib import contextmanager

from .availability import _require

__all__ = ["init", "start", "stop", "profile"]


def init(output_file, flags=None, output_mode="key_value"):
    """Choose what is recorded; an error without a GPU."""
    _require()


def start():
    """Begin; an error without a GPU."""
    _require()


def stop():
    """End; an error without a GPU."""
    _require()


@contextmanager
def profile():
    """A context that is recorded; an error without a GPU."""
    start()
    try:
        yield
    finally:
        stop()
