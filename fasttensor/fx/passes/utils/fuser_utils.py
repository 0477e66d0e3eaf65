"""Taking a group of a graph's nodes out into a module of its own."""
import copy
import operator

from ...graph import Graph
from ...graph_module import GraphModule


__all__ = ["topo_sort", "validate_partition", "fuse_as_graphmodule", "insert_subgm", "erase_nodes", "fuse_by_partitions"]


def topo_sort(nodes):
    """The nodes in an order in which each comes after those that it uses."""
    inside, placed, order = dict.fromkeys(nodes), set(), []
    waiting = list(inside)
    while waiting:
        ready = [n for n in waiting if all(x in placed or x not in inside for x in n.all_input_nodes)]
        if not ready:
            raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
        placed.update(ready)
        order += ready
        waiting = [n for n in waiting if n not in placed]
    return order


def validate_partition(partition):
    """Whether nodes can become one operation: nothing outside of the group lies between two of it."""
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.users
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """(a module of copies of the nodes, the nodes that it takes values from, those of the group that others use)."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph, inside = Graph(), set(nodes)
    places, copies = {}, {}

    def stand_in(x):
        if x in inside:
            return copies[x]
        if x not in places:
            if x.op == "get_attr":
                places[x] = graph.node_copy(x, lambda n: n)
            else:
                with graph.inserting_before(first[0]) if first else graph.inserting_after(None):
                    places[x] = graph.placeholder(x.name, type_expr=x.type)
                places[x].meta = copy.copy(x.meta)
        return places[x]
    first = []
    for node in nodes:
        copies[node] = graph.node_copy(node, stand_in)
        first = first or [copies[node]]
    outer = [x for x in places if x.op != "get_attr"]
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    made = tuple(copies[node] for node in outputs)
    graph.output(made[0] if len(made) == 1 and not always_return_tuple else made)
    graph.lint()
    return GraphModule(gm, graph, class_name=module_name), tuple(outer), tuple(outputs)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs):
    """Put a module into a graph as a call after the inputs, for the nodes whose values it gives."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    last = max(orig_outputs)
    with gm.graph.inserting_after(last):
        call = gm.graph.call_module(name, args=orig_inputs)
        output = sub_gm.graph.output_node().args[0]
        if len(orig_outputs) == 1 and not isinstance(output, tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
            return gm
    with gm.graph.inserting_after(call):
        for i, old in reversed(list(enumerate(orig_outputs))):

            item = gm.graph.call_function(operator.getitem, (call, i))
            old.replace_all_uses_with(item, propagate_meta=True)
    return gm


def erase_nodes(gm, nodes):
    """Take nodes out, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Make a module of each group of nodes (dicts or lists) and call it in their place."""
    for i, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        made, inputs, outputs = fuse_as_graphmodule(gm, nodes, prefix + str(i), always_return_tuple=always_return_tuple)
        insert_subgm(gm, made, inputs, outputs)
        erase_nodes(gm, nodes)
    gm.graph.lint()
    return gm


