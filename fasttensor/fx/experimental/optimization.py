"""Modules for inference: batch norms taken into convolutions, dropout taken out."""
import copy

from fasttensor import nn
from fasttensor.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph", "UnionFind", "optimize_for_inference"]


def _parent_name(target):
    """("a.b", "c") of "a.b.c"."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node calls a module of the second class with what a module of the first class gave."""
    if not node.args:
        return False
    return all(isinstance(n, Node) and n.op == "call_module" and n.target in modules and type(modules[n.target]) is kind
               for kind, n in zip(pattern, (node.args[0], node)))


def replace_node_module(node, modules, new_module):
    """Put a module in the place of the one that a node calls."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


PAIRS = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d), (nn.Linear, nn.BatchNorm1d))


def fuse(model, inplace=False, no_trace=False):
    """A traced module in which batch norms after convolutions and linear layers are part of these, for evaluation.

    The model is copied unless `inplace`; with `no_trace` a `GraphModule` is taken as it is.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
    >>> [node.name for node in fuse(model).graph.nodes]
    ['input_1', '_0', '_2', 'output']
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for pair in PAIRS:
        for node in graph.nodes:
            if not matches_module_pattern(pair, node, modules):
                continue
            first, norm = node.args[0], modules[node.target]
            if len(first.users) > 1 or not norm.track_running_stats:
                continue
            fused = (fuse_linear_bn_eval if pair[0] is nn.Linear else fuse_conv_bn_eval)(modules[first.target], norm)
            replace_node_module(first, modules, fused)
            node.replace_all_uses_with(first)
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """A traced module without its layers of class Dropout."""
    class WithoutDropout(Transformer):
        def call_module(self, target, args, kwargs):
            return args[0] if isinstance(self.submodules[target], nn.Dropout) else super().call_module(target, args, kwargs)
    return WithoutDropout(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A module of some nodes of a graph: it takes the values of `inputs` and returns those of `outputs` as a list."""
    graph = Graph()
    made = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        made[node] = graph.node_copy(node, lambda x: made[x])
    graph.output([made[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


class UnionFind:
    """Sets of the numbers below `n` that can be joined."""

    def __init__(self, n):
        self.parent = [None] * n
        self.size = [0] * n

    def make_set(self, v):
        """Begin a set of one number."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v):
        """The number that stands for a number's set."""
        if self.parent[v] is None:
            raise AssertionError("par is None")
        while self.parent[v] != v:
            self.parent[v] = self.parent[self.parent[v]]
            v = self.parent[v]
        return v

    def join(self, a, b):
        """Join the sets of two numbers."""
        a, b = self.find(a), self.find(b)
        if a != b:
            if self.size[a] < self.size[b]:
                a, b = b, a
            self.parent[b] = a
            self.size[a] += self.size[b]


def optimize_for_inference(model, pass_config=None, tracer=None):
    """A traced module for evaluation: batch norms are part of their convolutions, dropout is gone.

    `pass_config` says ``{"conv_bn_fuse": False}``, ``{"remove_dropout": False}`` or both. There are no layouts of MKLDNN here, so that
    ``mkldnn_layout_optimize`` has nothing to do.
    """
    wanted = {"conv_bn_fuse": True, "remove_dropout": True, **(pass_config or {})}
    if wanted["conv_bn_fuse"]:
        model = fuse(model)
    return remove_dropout(model) if wanted["remove_dropout"] else model
