"""The few names of PyTorch's compiled module that libraries over it call."""
import contextlib

import fasttensor
from fasttensor._core.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass, _disabled_torch_function_impl, asking, modes_entered  # noqa: F401

__all__ = []


def _log_api_usage_once(event):
    """Nothing is logged."""


def _get_tracing_state():
    """None: nothing is traced."""
    return None


class _KeyNames(type):
    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class DispatchKey(metaclass=_KeyNames):
    """The names of PyTorch's dispatch keys, which say nothing here."""


class DispatchKeySet(frozenset):
    """A set of dispatch keys."""

    def __new__(cls, key):
        return super().__new__(cls, [key] if isinstance(key, str) else key)

    def __or__(self, other):
        return DispatchKeySet(frozenset(self) | frozenset(other))


class _ExcludeDispatchKeyGuard(contextlib.AbstractContextManager):
    """A context without effect: there are no dispatch keys."""

    def __init__(self, keys):
        self.keys = keys

    def __exit__(self, *_):
        return None


def _is_torch_function_enabled():
    """Whether classes' ``__torch_function__`` are called in this thread."""
    return asking() == 0


def _is_torch_function_mode_enabled():
    """Whether a TorchFunctionMode is entered in this thread."""
    return asking() < 2 and bool(modes_entered())


def _len_torch_function_stack():
    """How many TorchFunctionModes are entered in this thread."""
    return len(modes_entered())


def __getattr__(name):
    if name == "_nn":
        return fasttensor.nn.functional
    if name in ("Generator", "Size", "device", "dtype", "layout", "memory_format"):
        return getattr(fasttensor, name)
    raise AttributeError(f"module 'fasttensor._C' has no attribute {name!r}: it is PyTorch's private module (docs/coverage.md)")
