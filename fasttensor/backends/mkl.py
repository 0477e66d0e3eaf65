"""``torch.backends.mkl``: not used here."""
__all__ = ["is_available", "verbose", "VERBOSE_OFF", "VERBOSE_ON"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available():
    """False: BLAS and LAPACK come from OpenBLAS."""
    return False


class verbose:
    """A context that would show calls; it does nothing."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
