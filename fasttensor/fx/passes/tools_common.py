"""Names of what nodes call, and the order of a graph's nodes."""

import fasttensor

from .. import naming
from ..graph import Graph

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]


def get_acc_ops_name(k):
    """The dotted name of a function, short for those of ``fx.experimental.fx_acc``."""
    return k if isinstance(k, str) else naming.qualified_name(k)


def get_node_target(submodules, node):
    """What a node calls, as text: a module's type, a function's name, or a method's name."""
    if node.op not in ("call_function", "call_module", "call_method"):
        raise AssertionError(f"Expect op types of call_function, call_module, call_method but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return fasttensor.typename(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_function":
        return node._qualified_target()
    return node.target


def is_node_output_tensor(node):
    """Whether ``meta["type"]`` says that a node's value is a tensor."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, fasttensor.Tensor)


def _sorted_nodes(graph, stable):
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    order = []
    if stable:
        placed, left = set(), list(graph.nodes)
        while left:
            ready = next((n for n in left if all(x in placed for x in n.all_input_nodes)), None)
            if ready is None:
                break
            placed.add(ready)
            left.remove(ready)
            order.append(ready)
    else:
        queue = [node for node, count in waiting.items() if count == 0]
        for node in queue:
            order.append(node)
            for user in node.users:
                waiting[user] -= 1
                if waiting[user] == 0:
                    queue.append(user)
    if len(order) < len(waiting):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n in waiting if n not in order]}")
    return order


def _with_order(gm, order):
    graph, values = Graph(), {}
    for node in order:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def legalize_graph(gm):
    """The module with its nodes in an order in which each comes after what it uses."""
    return _with_order(gm, _sorted_nodes(gm.graph, False))


def stable_topological_sort(gm):
    """The same, with as little change of the order as possible."""
    return _with_order(gm, _sorted_nodes(gm.graph, True))
