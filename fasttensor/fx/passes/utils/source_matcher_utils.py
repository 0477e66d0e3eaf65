"""Groups of nodes by what they came from: ``node.meta["source_fn_stack"]`` or the modules around them."""
import dataclasses

from ...node import Node

__all__ = ["get_source_partitions", "check_subgraphs_connected", "SourcePartition"]


@dataclasses.dataclass
class SourcePartition:
    """Nodes that came from one function or module: their inputs, outputs and parameters."""
    nodes: list
    source: object
    input_nodes: list = dataclasses.field(default_factory=list)
    output_nodes: list = dataclasses.field(default_factory=list)
    params: list = dataclasses.field(default_factory=list)


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: its `SourcePartition`s} for functions, classes of modules, or their names."""
    groups = {}
    for node in graph.nodes:
        stack = node.meta.get("source_fn_stack") or node.meta.get("torch_fn")
        if stack:
            name, source = stack[-1]
            if source in wanted_sources:
                groups.setdefault(source, {}).setdefault(name, []).append(node)
    return {source: [_partition(source, nodes) for nodes in named.values() if filter_fn is None or all(filter_fn(n) for n in nodes)]
            for source, named in groups.items()}


def _partition(source, nodes):
    inside = set(nodes)
    inputs = dict.fromkeys(x for node in nodes for x in node.all_input_nodes if x not in inside)
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    return SourcePartition(nodes, source, [x for x in inputs if x.op != "get_attr"], outputs, [x for x in inputs if x.op == "get_attr"])


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether a node of the second group uses one of the first."""
    return any(isinstance(x, Node) and x in subgraph1.nodes for node in subgraph2.nodes for x in node.all_input_nodes)
