"""The few names of PyTorch's compiled module that libraries over it call."""
import contextlib

import fasttensor

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


class DisableTorchFunctionSubclass(contextlib.AbstractContextManager):
    """A context in which functions do not look for ``__torch_function__`` of their arguments."""

    def __exit__(self, *_):
        return None


def __getattr__(name):
    if name == "_nn":
        return fasttensor.nn.functional
    if name in ("Generator", "Size", "device", "dtype", "layout", "memory_format"):
        return getattr(fasttensor, name)
    raise AttributeError(f"module 'fasttensor._C' has no attribute {name!r}: it is PyTorch's private module (docs/coverage.md)")
