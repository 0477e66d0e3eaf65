"""``torch.backends.mkldnn``: not used here; its switches are remembered."""
from contextlib import contextmanager

__all__ = ["is_available", "flags", "set_flags"]

enabled, deterministic, allow_tf32, fp32_precision = True, False, False, "none"
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available():
    """False."""
    return False


is_acl_available = is_available


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Set switches; returns the former values."""
    names = ("enabled", "deterministic", "allow_tf32", "fp32_precision")
    before = tuple(globals()[name] for name in names)
    globals().update((name, value) for name, value in zip(names, (_enabled, _deterministic, _allow_tf32, _fp32_precision)) if value is not None)
    return before


@contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A context with other values of the switches."""
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)


class verbose:
    """A context that would show what the library does; it does nothing."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
