"""``torch.distributed.elastic.multiprocessing.errors``: there is no launcher to which errors would be written."""

__all__ = ["record"]


def record(fn, error_handler=None):
    """The function itself: its errors are raised where it was called."""
    return fn
