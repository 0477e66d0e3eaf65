"""``torch.distributed.autograd``: gradients across processes, of which there are none."""
from fasttensor.distributed import _missing

__all__ = ["backward", "context", "get_gradients", "is_available"]


def is_available():
    """False: there are no other processes."""
    return False


class context:
    """A backward pass across processes. Raises RuntimeError: there are none."""

    def __enter__(self):
        _missing("autograd.context")()

    def __exit__(self, *exc):
        return None


backward, get_gradients = _missing("autograd.backward"), _missing("autograd.get_gradients")
