"""Which nodes of a graph something can take: `OperatorSupport` and what is made of it."""
import abc

from .tools_common import get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


class OperatorSupportBase(abc.ABC):
    """Says whether a node is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a node is, given the modules by name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a dict {name of a target: None, or (tuple of the args' dtypes, dict of the kwargs')}, with None for any dtype."""

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        """Whether a node is."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        by_place, by_name = wanted
        return (all(_fits(node.args[i], dtypes) for i, dtypes in enumerate(by_place) if len(node.args) > i)
                and all(_fits(node.kwargs[key], dtypes) for key, dtypes in by_name.items() if key in node.kwargs))


def _dtype(arg):
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if hasattr(meta, "dtype") else arg.meta.get("type")


def _fits(arg, dtypes):
    return dtypes is None or not hasattr(arg, "meta") or _dtype(arg) in dtypes


class _Made(OperatorSupportBase):
    def __init__(self, function):
        self.function = function

    def is_node_supported(self, submodules, node):
        return self.function(submodules, node)


def create_op_support(is_node_supported):
    """Support by a function of (modules by name, node)."""
    return _Made(is_node_supported)


def chain(*op_support):
    """Support where all of these say so."""
    return _Made(lambda submodules, node: all(x.is_node_supported(submodules, node) for x in op_support))


def any_chain(*op_support):
    """Support where one of these says so."""
    return _Made(lambda submodules, node: any(x.is_node_supported(submodules, node) for x in op_support))


class OpSupports:
    """Common kinds of support."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """No node that takes a value of this dtype."""
        return _Made(lambda submodules, node: all(_dtype(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """No node of these names."""
        return _Made(lambda submodules, node: node.name not in disallow_set)


