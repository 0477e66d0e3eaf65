"""``torch._dynamo``: PyTorch's compiler, as far as programs switch it off or ask about it. Nothing is compiled here."""
import contextlib

__all__ = ["config", "disable", "allow_in_graph", "forbid_in_graph", "graph_break", "is_compiling", "is_compile_supported", "mark_dynamic",
           "mark_static", "maybe_mark_dynamic", "mark_static_address", "reset", "run", "optimize"]


class _Config:
    """Options are remembered."""

    suppress_errors = False
    cache_size_limit = recompile_limit = 8
    verbose = False

    @contextlib.contextmanager
    def patch(self, *options, **values):
        """A context in which options have other values."""
        values = {**(options[0] if options and isinstance(options[0], dict) else {}), **values}
        before = dict(self.__dict__)
        self.__dict__.update(values)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)


config = _Config()


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """The function as it is: nothing is compiled. Without a function, a decorator.

    >>> disable(len) is len and disable()(len) is len
    True
    """
    return (lambda function: function) if fn is None else fn


run = disable


def allow_in_graph(fn):
    """The function as it is."""
    return fn


forbid_in_graph = assume_constant_result = nonstrict_trace = allow_in_graph


def optimize(*args, **kwargs):
    """A decorator that returns the function as it is."""
    return lambda function: function


def graph_break(msg=""):
    """Nothing to break."""


def reset():
    """Nothing to forget."""


def is_compiling():
    """False."""
    return False


def is_compile_supported(device_type):
    """False."""
    return False


def mark_dynamic(t, index, *args, **kwargs):
    """Nothing to mark: every size may change."""


mark_static = maybe_mark_dynamic = mark_dynamic


class TransformGetItemToIndex(contextlib.AbstractContextManager):
    """A context without effect: indices may be tensors anyway."""

    def __exit__(self, *_):
        return None


class OptimizedModule:
    """A compiled module. Never made: ``torch.compile`` returns the module itself."""


def __getattr__(name):
    if name in ("eval_frame", "utils"):         # modules of PyTorch below _dynamo
        import sys
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def mark_static_address(t, guard=True):
    """Nothing to mark."""
