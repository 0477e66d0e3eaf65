"""``torch.fx``: programs that are traced into graphs, which is not supported. What libraries use of it to describe themselves works:
`wrap` marks a function, and no object is a `Proxy`, a `GraphModule` or a `Node`, so that ``isinstance`` answers False."""

from fasttensor.nn import Module

__all__ = ["wrap", "Proxy", "Node", "Graph", "GraphModule", "Tracer", "Interpreter", "Transformer", "symbolic_trace", "has_side_effect"]


def _refuse(name):
    raise NotImplementedError(f"torch.fx.{name}: programs are not traced into graphs here; hooks on modules (register_forward_hook) see "
                              "their inputs and outputs")


def wrap(fn_or_name):
    """Marks a function as one that a tracer would not look into; returns it.

    >>> wrap(len) is len
    True
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"wrap: expected a function or its name, got {type(fn_or_name).__name__}")
    return fn_or_name


def has_side_effect(fn):
    """Marks a function as one that a graph must keep; returns it."""
    return fn


def _absent(name, text, *bases):
    def __new__(cls, *args, **kwargs):
        _refuse(name)
    return type(name, bases, {"__new__": __new__, "__module__": "torch.fx", "__doc__": text + " Never made."})


Proxy = _absent("Proxy", "A value of a traced program.")
Node = _absent("Node", "An operation of a graph.")
Graph = _absent("Graph", "The operations of a traced program.")
GraphModule = _absent("GraphModule", "A module made of a graph.", Module)
Tracer = _absent("Tracer", "What traces programs.")
Interpreter = _absent("Interpreter", "What runs a graph operation by operation.")
Transformer = _absent("Transformer", "What makes one graph of another.")


def symbolic_trace(root, concrete_args=None):
    """NotImplementedError: programs are not traced."""
    _refuse("symbolic_trace")


def get_proxy_mode():
    """None: nothing is traced; of PyTorch's ``fx.experimental.proxy_tensor``."""
    return None


def __getattr__(name):
    if name in ("experimental", "proxy_tensor", "proxy", "graph", "node"):       # modules of PyTorch below fx
        import sys
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
