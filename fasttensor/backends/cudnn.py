"""``torch.backends.cudnn``: not used here; its switches are remembered."""
from contextlib import contextmanager

__all__ = ["is_available", "flags", "set_flags"]

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit, fp32_precision = 10, "none"


def is_available():
    """False."""
    return False


def version():
    """None: there is none."""
    return None


def is_acceptable(tensor):
    """False: tensors are not given to it."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Set switches; returns the former values."""
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")
    before = tuple(globals()[name] for name in names)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    globals().update((name, value) for name, value in zip(names, given) if value is not None)
    return before


@contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A context with other values of the switches."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)
