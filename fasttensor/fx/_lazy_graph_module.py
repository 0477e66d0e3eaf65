"""GraphModules whose code is written when it is needed: here it is written at once."""
import contextlib

from .graph_module import GraphModule

__all__ = []

_LazyGraphModule = GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    yield


def _force_skip_lazy_graph_module():
    return _use_lazy_graph_module(False)
