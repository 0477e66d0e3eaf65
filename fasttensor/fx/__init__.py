"""``torch.fx``: programs as graphs that can be looked at, changed and run.

`symbolic_trace` runs a module with symbols in the place of its arguments; what it does becomes a `Graph` of `Node`s in a `GraphModule`,
whose Python can be read (``.code``).

>>> import fasttensor as torch
>>> net = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
>>> print(net.graph)
graph():
    %input_1 : [num_users=1] = placeholder[target=input]
    %_0 : [num_users=1] = call_module[target=0](args = (%input_1,), kwargs = {})
    %_1 : [num_users=1] = call_module[target=1](args = (%_0,), kwargs = {})
    return _1
"""
from . import immutable_collections, traceback
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern",
           "has_side_effect", "map_arg", "ProxyableClassMeta", "CodeGen", "PH", "immutable_collections", "traceback"]


def __getattr__(name):
    if name in ("passes", "experimental", "operator_schemas", "tensor_type", "annotate", "config", "_compatibility", "_utils",
                "_lazy_graph_module"):
        from importlib import import_module
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
