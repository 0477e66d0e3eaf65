"""`split_module`: cuts a graph into modules that call one after another."""
import inspect

from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes that go into one module, what it takes and gives, and which others it needs."""

    def __init__(self, name):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names, self.inputs, self.outputs = [], {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}

    def __repr__(self):
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n"
                f" partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}")


def _used(node):
    found = []
    map_arg((node.args, node.kwargs), found.append)
    return found


def _assign(graph, split_callback, affix):
    """({name: Partition}, {node: its Partition})."""
    partitions, of = {}, {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        name = name if affix is None else f"{affix}_{name}"
        of[node] = partitions.setdefault(name, Partition(name))
        of[node].node_names.append(node.name)
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            continue
        to = of.get(node)
        for used in _used(node):
            source = of.get(used)
            if source is to:
                continue
            if source is not None:
                source.outputs.setdefault(used.name)
            if to is not None:
                to.inputs.setdefault(used.name)
            if source is not None and to is not None:
                source.dependents.setdefault(to.name)
                to.dependencies.setdefault(source.name)
    return partitions, of


def _ordered(partitions):
    """The names of the partitions, each after those that it needs. RuntimeError for a cycle."""
    ready, order = [name for name, p in partitions.items() if not p.dependencies], []
    while ready:
        order.append(ready.pop())
        for dependent in partitions[order[-1]].dependents:
            partitions[dependent].dependencies.pop(order[-1])
            if not partitions[dependent].dependencies:
                ready.append(dependent)
    if len(order) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return order


def _take_inputs(module, partition, nodes, keep_names):
    """Make the placeholders of a partition; modules among the attributes become its own."""
    def is_module(name):
        node = nodes[name]
        return node.op == "get_attr" and hasattr(_get_attr(module, node.target), "named_modules")
    kept = {}
    for name in sorted(partition.inputs, key=is_module):
        node = nodes[name]
        if is_module(name):
            made = partition.graph.get_attr(node.target)
            partition.targets[node.target] = _get_attr(module, node.target)
        else:
            made = partition.graph.placeholder(name if keep_names else f"arg_{len(kept)}", type_expr=node.type)
            kept[name] = None
        made.meta = node.meta.copy()
        partition.environment[node] = made
    partition.inputs = kept


def _take_node(module, partition, node, qualname_map, keep_name):
    """Copy a node into its partition."""
    target = node.target
    if node.op in ("call_module", "get_attr"):
        target = node.target.replace(".", "_")
        partition.targets[target] = _get_attr(module, node.target)
        if qualname_map is not None:
            qualname_map[f"{partition.submod_name}.{target}"] = node.target
    place = partition.environment.__getitem__
    made = partition.graph.create_node(node.op, target, map_arg(node.args, place), map_arg(node.kwargs, place),
                                       node.name if keep_name else None, node.type)
    object.__setattr__(made, "_written", node._written)
    made.meta = node.meta.copy()
    partition.environment[node] = made


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):
    """A module that calls ``submod_0``, ``submod_1`` ...: the nodes for which ``split_callback(node)`` gives 0, 1 ...

    `qualname_map`, a dict, gets the old names of attributes by their new ones. The order of the calls is one in which each comes after what
    it needs; with `keep_original_order` that in which the numbers first occur. `root_m` is not looked at. RuntimeError where two modules
    would need each other.

    >>> import fasttensor as torch
    >>> net = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) * 2)
    >>> print(split_module(net, net, lambda node: 0 if node.name == "add" else 1).code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    nodes = {node.name: node for node in m.graph.nodes}
    partitions, of = _assign(m.graph, split_callback, partition_affix)
    order = _ordered(partitions)
    for name in order:
        _take_inputs(m, partitions[name], nodes, keep_original_input_name)
    for node in m.graph.nodes:
        if node in of:
            _take_node(m, of[node], node, qualname_map, keep_original_node_name)
    graph, values, held = Graph(), {}, {}

    def bring(node):
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            name = node.name if keep_original_node_name else node.target
            values[node.name] = graph.placeholder(name, node.type, default)
        else:
            values[node.name] = graph.get_attr(node.target)
            held[node.target] = _get_attr(m, node.target)
        values[node.name].meta = node.meta.copy()
    outer = [node for node in m.graph.nodes if node.op in ("placeholder", "get_attr")]
    for node in outer:
        if not keep_original_order or node.op == "placeholder":
            bring(node)
    for name in partitions if keep_original_order else order:
        partition = partitions[name]
        given = tuple(partition.environment[nodes[n]] for n in partition.outputs)
        single = len(given) == 1 and not tuple_return
        partition.graph.output(given[0] if single else given)
        for n in partition.inputs:
            if n not in values and nodes[n].op in ("placeholder", "get_attr"):
                bring(nodes[n])
        held[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        call = graph.call_module(partition.submod_name, tuple(values[n] for n in partition.inputs))
        if single:
            values[next(iter(partition.outputs))] = call
        else:
            proxy = Proxy(call)
            values.update((n, proxy[i].node) for i, n in enumerate(partition.outputs))
    output = m.graph.output_node()
    for used in _used(output):
        if used.name not in values:
            bring(used)
    graph.output(map_arg(output.args[0], lambda n: values[n.name]))
    made = GraphModule(held, graph)
    made.meta["partition_names"] = {p.submod_name for p in partitions.values()}
    return made
