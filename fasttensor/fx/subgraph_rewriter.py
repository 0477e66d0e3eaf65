"""Replacing every occurrence of a pattern in a graph."""
import copy
import dataclasses
import typing

from fasttensor.nn import Module

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(typing.NamedTuple):
    """A place where a pattern was: one of its last nodes, and the graph's nodes for the pattern's."""
    anchor: Node
    nodes_map: dict


@dataclasses.dataclass
class ReplacedPatterns:
    """The same, and the nodes that are there now."""
    anchor: Node
    nodes_map: dict
    replacements: list


def _graph_of(what):
    if isinstance(what, GraphModule):
        return what.graph
    return what if isinstance(what, Graph) else symbolic_trace(what).graph


def _found(module, target):
    for part in target.split("."):
        module = getattr(module, part, None)
        if module is None:
            return None
    return module


def _bring_attributes(gm, replacement):
    """Give the module what the replacement's nodes name, and take away what no node names now."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _found(gm, node.target) is not None:
            continue
        value = _found(replacement, node.target)
        if value is None:
            raise RuntimeError('Attempted to create a "', node.op, f'" node during subgraph rewriting with target {node.target}, but the referenced '
                               "attribute does not exist in the replacement GraphModule")
        value = copy.deepcopy(value)
        if isinstance(value, Module):
            gm.add_submodule(node.target, value)
        else:
            setattr(gm, node.target, value)
    gm.graph.lint()


def replace_pattern(gm, pattern, replacement):
    """Replace what does `pattern` in a `GraphModule` by what does `replacement`: functions, modules or graphs with the same arguments.

    Patterns are found by who uses whose values, not by names; arguments of the pattern match any value. Of matches that overlap the first
    is replaced. The module's code is written anew. Returns the `Match`es.

    >>> import fasttensor as torch
    >>> net = symbolic_trace(lambda x, y: torch.relu(x + y) * 2)
    >>> found = replace_pattern(net, lambda a, b: torch.relu(a + b), lambda a, b: torch.tanh(a) - b)
    >>> print(net.code.strip())
    def forward(self, x, y):
        tanh = torch.tanh(x);  x = None
        sub = tanh - y;  tanh = y = None
        mul = sub * 2;  sub = None
        return mul
    """
    return [Match(found.anchor, found.nodes_map) for found in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
                                 node_name_match=""):
    """`replace_pattern` of the matches for which all `match_filters(match, graph, pattern graph)` hold; returns `ReplacedPatterns`.

    ``replacement_callback(match, graph, pattern graph)`` gives a graph for each match in the place of `replacement`.
    """
    from .passes.utils.matcher_utils import SubgraphMatcher
    graph, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(wanted, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=ignore_literals)
    matches = [m for m in matcher.match(graph, node_name_match=node_name_match) if all(f(m, graph, wanted) for f in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    common = _graph_of(replacement) if replacement is not None else None
    changed, done = {}, []
    for match in matches:
        new = replacement_callback(match, graph, wanted) if replacement_callback is not None else common
        places = [n for n in new.nodes if n.op == "placeholder"]
        if len(match.placeholder_nodes) != len(places):
            raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(places)}")
        # a node that an earlier match replaced goes by what stands for it
        match.nodes_map = {pn: changed.get(gn, gn) if isinstance(gn, Node) else gn for pn, gn in match.nodes_map.items()}
        match.placeholder_nodes = [changed.get(gn, gn) if isinstance(gn, Node) else gn for gn in match.placeholder_nodes]
        values = dict(zip(places, match.placeholder_nodes))
        with graph.inserting_before(_first_after(graph, match.returning_nodes)):
            made = graph.graph_copy(new, values)
        made = (made,) if isinstance(made, Node) else made
        added = [value for value in values.values() if not any(value is x for x in match.placeholder_nodes)]
        if len(match.returning_nodes) != len(made):
            raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(made)}")
        for old, node in zip(match.returning_nodes, made):
            old.replace_all_uses_with(node)
            changed[old] = node
        for pn in reversed(wanted.nodes):
            if pn.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[pn])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    gm.recompile()
    if isinstance(replacement, Module):
        _bring_attributes(gm, replacement)
    return done


def _first_after(graph, nodes):
    """The first node that uses one of the nodes; where there is none, the one behind the last of them."""
    users = {user for node in nodes for user in node.users}
    if users:
        return next(n for n in graph.nodes if n in users)
    return max(nodes, key=list(graph.nodes).index).next
