"""Finding a pattern, itself a graph, in another graph."""
import copy
import dataclasses
import typing

from fasttensor import Tensor

from ...graph import Graph
from ...node import Node
from .fuser_utils import validate_partition

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclasses.dataclass
class InternalMatch:
    """Where a pattern was found: the graph's nodes for the pattern's, for its placeholders, and for what it returns."""
    anchors: list
    nodes_map: dict = dataclasses.field(default_factory=dict)
    placeholder_nodes: list = dataclasses.field(default_factory=list)
    returning_nodes: list = dataclasses.field(default_factory=list)
    name_node_map: dict = dataclasses.field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(anchors=self.anchors, nodes_map=self.nodes_map.copy(), placeholder_nodes=self.placeholder_nodes.copy(),
                             returning_nodes=self.returning_nodes.copy())


class SubgraphMatcher:
    """Finds a pattern. Its placeholders match anything, or with `match_placeholder` placeholders; literals match equal ones, or with
    `ignore_literals` any. Values inside a match that are used outside of it, but for what the pattern returns, make it none."""

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False):
        if not isinstance(pattern, Graph) or len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def _same_attribute(self, a, b):
        x, y = (_attribute(node) for node in (a, b))
        return type(x) is type(y) if not isinstance(x, Tensor) else isinstance(y, Tensor)

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._same_attribute(pn, gn)
        # one function here may have several names, which are different functions in PyTorch
        return pn.target == gn.target and (pn.op != "call_function" or pn._qualified_target() == gn._qualified_target())

    def _match_literals(self, p, g, match):
        if isinstance(p, Node):
            if p.op != "placeholder":
                return False
            if p in match.nodes_map:
                return match.nodes_map[p] == g
            match.nodes_map[p] = g
            return True
        return not isinstance(g, Node) and type(p) is type(g) and p == g

    def _match_args(self, ps, gs, match):
        if len(ps) != len(gs):
            return False
        for p, g in zip(ps, gs):
            if isinstance(p, Node) and isinstance(g, Node):
                found = self._match_nodes(p, g, match)
            elif isinstance(p, (list, tuple)) and isinstance(g, (list, tuple)):
                found = self._match_args(p, g, match)
            else:
                found = self._match_literals(p, g, match) or self.ignore_literals and not isinstance(p, Node) and not isinstance(g, Node)
            if not found:
                return False
        return True

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if any(gn is other for other in match.nodes_map.values()) or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = match.nodes_map.copy()
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if list(pn.kwargs) == list(gn.kwargs) and self._match_args([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], match):
            return True
        match.nodes_map = before
        return False

    def _is_contained(self, nodes_map):
        inside = {gn: pn for pn, gn in nodes_map.items() if isinstance(gn, Node) and pn.op != "placeholder"}
        return all(user in inside for gn, pn in inside.items() if pn not in self.pattern_returning_nodes for user in gn.users)

    def match(self, graph, node_name_match=""):
        """The `InternalMatch`es in a graph, first ones first; of those that overlap the first, unless the matcher keeps all."""
        candidates = [(anchor, [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)]) for anchor in self.pattern_anchors]
        found = []

        def go_on(i, match):
            if i == len(candidates):
                if all(pn in match.nodes_map for pn in self.pattern_placeholder_nodes):
                    match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
                    match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                    found.append(match)
                return
            anchor, nodes = candidates[i]
            for node in nodes:
                tried = copy.copy(match)
                if self._match_nodes(anchor, node, tried, node_name_match):
                    go_on(i + 1, tried)
        if candidates:
            go_on(0, InternalMatch(anchors=self.pattern_anchors))
        kept, taken = [], set()
        for match in found:
            own = [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]
            if not self._is_contained(match.nodes_map) or not validate_partition(own):
                continue
            if self.remove_overlapping_matches and not taken.isdisjoint(own):
                continue
            taken.update(own)
            kept.append(match)
        return kept


def _attribute(node):
    found: typing.Any = node.graph.owning_module
    for part in node.target.split("."):
        found = getattr(found, part)
    return found
