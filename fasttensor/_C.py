"""The few names of PyTorch's compiled module that libraries over it call."""
import fasttensor

__all__ = []


def _log_api_usage_once(event):
    """Nothing is logged."""


def _get_tracing_state():
    """None: nothing is traced."""
    return None


def __getattr__(name):
    if name == "_nn":
        return fasttensor.nn.functional
    if name in ("Generator", "Size", "device", "dtype", "layout", "memory_format"):
        return getattr(fasttensor, name)
    raise AttributeError(f"module 'fasttensor._C' has no attribute {name!r}: it is PyTorch's private module (docs/coverage.md)")
