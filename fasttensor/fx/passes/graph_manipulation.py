"""Sizes of nodes, and replacing what they call."""
import typing

from ..graph import Graph
from ..graph_module import _get_attr
from ..node import map_arg
from .shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Let all nodes of one kind and target be of another."""
    graph, values = Graph(), {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            values[node] = graph.create_node(new_op, new_target, map_arg(node.args, lambda n: values[n]), map_arg(node.kwargs, lambda n: values[n]),
                                             node.name)
        else:
            values[node] = graph.node_copy(node, lambda n: values[n])
    fx_module.graph = graph


class size_bytes(typing.NamedTuple):
    """Bytes of a node's value, and those with its parameters."""
    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module, args=None):
    """Note in each node ``size_bytes``; with `args` the graph is run before, for the shapes."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node):
    """The `TensorMetadata` of a node. RuntimeError where it has none."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


def get_size_of_node(fx_module, node):
    """The `size_bytes` of a node: its value, and with it the parameters of what it calls."""
    total = 0
    if node.op == "call_module":
        total = sum(t.numel() * t.element_size() for t in _get_attr(fx_module, node.target).parameters())
    meta = get_tensor_meta(node)
    size = _elements(meta.shape) * meta.dtype.itemsize
    return size_bytes(size, total + size)


def _elements(shape):
    n = 1
    for length in shape:
        n *= length
    return n
