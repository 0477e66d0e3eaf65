"""Nested containers as a list of leaves and a structure: tuples, named tuples, lists, dicts, deques and what is registered.

PyTorch's ``torch.utils._pytree``, and the names of ``torch.utils._cxx_pytree``. Dicts keep their order.
"""
import json
import pprint
from types import UnionType
from typing import Any

from fasttensor.utils import _pytree_nodes as nodes
from fasttensor.utils._pytree_nodes import (
    CONSTANT_NODES, SERIALIZED_TYPE_TO_PYTHON_TYPE, STANDARD_DICT_TYPES, SUPPORTED_NODES, SUPPORTED_SERIALIZED_TYPES, is_namedtuple,
    is_namedtuple_class, is_namedtuple_instance, is_structseq, is_structseq_class, is_structseq_instance, namedtuple, register_pytree_node)

globals().update((name, value) for name, value in vars(nodes).items() if not name.startswith("__"))      # underscores too: libraries import them

__all__ = ["PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn", "PyTreeSpec",
           "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
           "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure", "tree_map", "tree_map_with_path",
           "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps",
           "treespec_loads", "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
           "is_structseq_class", "is_structseq_instance"]

# For annotations.
PyTree = Context = DumpableContext = KeyPath = KeyEntry = Any
FlattenFn = UnflattenFn = FlattenFunc = UnflattenFunc = FlattenWithKeysFn = FlattenWithKeysFunc = ToDumpableContextFn = FromDumpableContextFn = Any


class TreeSpec:
    """The structure of a tree: the container's type, what rebuilds it (its context), and its children's specs."""
    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self._context, self._children = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    @property
    def context(self):
        """What rebuilds the container."""
        return self._context

    @property
    def children_specs(self):
        """The children's structures."""
        return self._children

    def is_leaf(self):
        """Whether it is the structure of a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self):
        """The children's structures, a new list."""
        return list(self._children)

    def child(self, index):
        """One of them."""
        return self._children[index]

    def unflatten(self, leaves):
        """The tree of this structure with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                             f"{self.num_leaves} items ({self}).")
        return _put_together(iter(leaves), self)

    def flatten_up_to(self, tree):
        """The parts of a tree that stand where this structure has leaves. ValueError where it has another structure above them."""
        found = []
        _parts(self, tree, found)
        return found

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type is other.type and self._context == other._context and self._children == other._children

    def __hash__(self):
        if self.type in STANDARD_DICT_TYPES:
            context = tuple(self._context[1] if self.type is nodes.defaultdict else self._context)
        else:
            context = self._context if self.type is namedtuple else None
        return hash((self.type, context, tuple(self._children)))

    def _text(self, indent):
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join(c._text(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def __repr__(self):
        return self._text(0)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""
    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The structure of a tuple, from its children's."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dict, from its values'."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


# --- taking apart, putting together ---
def _get_node_type(tree):
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and isinstance(tree, tuple) and is_namedtuple_class(cls) else cls


def tree_is_leaf(tree, is_leaf=None):
    """Whether it is no container."""
    return is_leaf is not None and is_leaf(tree) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def _take_apart(x, leaves, is_leaf):
    cls = _get_node_type(x)
    entry = SUPPORTED_NODES.get(cls)
    if entry is None or is_leaf is not None and is_leaf(x):
        leaves.append(x)
        return _LEAF_SPEC
    children, context = entry.flatten_fn(x)
    return TreeSpec(cls, context, [_take_apart(c, leaves, is_leaf) for c in children])


def _put_together(leaves, spec):
    if spec.type is None:
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_put_together(leaves, c) for c in spec._children], spec._context)


def _parts(spec, tree, found):
    if spec.type is None:
        found.append(tree)
        return
    cls = _get_node_type(tree)
    dicts = spec.type in STANDARD_DICT_TYPES and cls in STANDARD_DICT_TYPES
    if cls is not spec.type and not dicts:
        kind = "Node type" if spec.type in nodes.BUILTIN_TYPES else "Type"
        raise ValueError(f"{kind} mismatch; expected {spec.type!r}, but got {cls!r}.")
    if dicts:
        # the values are taken in the order of this structure
        keys = spec._context[1] if spec.type is nodes.defaultdict else spec._context
        if set(keys) != set(tree):
            parts = [(kind, these) for kind, these in (("missing", set(keys) - set(tree)), ("extra", set(tree) - set(keys))) if these]
            raise ValueError("Node keys mismatch" + "".join(f"; {kind} key(s): {these}" for kind, these in parts) + ".")
        children = [tree[key] for key in keys]
    else:
        children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
        if len(children) != spec.num_children:
            raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
        if context != spec._context and cls is not nodes.deque:
            raise ValueError(f"Node context mismatch for node type {spec.type!r}; expected {spec._context!r}, but got {context!r}.")
    for child, below in zip(children, spec._children):
        _parts(below, child, found)


def tree_flatten(tree, is_leaf=None):
    """(leaves, structure) of a tree.

    >>> from fasttensor.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    leaves = []
    spec = _take_apart(tree, leaves, is_leaf)
    return leaves, spec


def _checked(treespec):
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec


def tree_unflatten(leaves, treespec):
    """The tree of this structure with these leaves."""
    return _checked(treespec).unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves of a tree, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return [leaf for x in (*args, *kwargs.values()) for leaf in tree_leaves(x)]


def tree_structure(tree, is_leaf=None):
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


# --- functions of leaves ---
def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, ...) in place of every leaf; the other trees have the same structure above the leaves of the first.

    >>> from fasttensor.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return _put_together(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]), spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call func for every leaf; the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *[spec.flatten_up_to(r) for r in rests]):
        pass
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function is applied to leaves of a type, or those that a predicate chooses; others stay."""
    if isinstance(type_or_types_or_pred, (type, tuple, UnionType)):
        def chosen(x):
            return isinstance(x, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """The tree with func(leaf) in place of the leaves of a type, or those that a predicate chooses."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Call func for the leaves of a type; the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for every leaf of a type."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for a leaf of a type."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


# --- paths ---
def _walk(path, tree, is_leaf):
    entry = None if is_leaf is not None and is_leaf(tree) else SUPPORTED_NODES.get(_get_node_type(tree))
    if entry is None:
        yield path, tree
        return
    if entry.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {entry.type}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")
    for key, child in entry.flatten_with_keys_fn(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """(path, leaf) for every leaf; a path is a tuple of keys.

    >>> from fasttensor.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_walk((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """`tree_leaves_with_path` and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` whose function is given the path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [p for p, _ in pairs], [x for _, x in pairs]
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(r) for r in rests]))


def keystr(kp):
    """A path as it would be written behind the tree's name."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- structures as text ---
class _Asterisk(str):
    __slots__ = ()

    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """A structure as its containers, with * for leaves."""
    return pprint.pformat(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


def _written(spec):
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    entry = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if entry is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if entry.serialized_type_name is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
                                  "`serialized_type_name` kwarg.")
    context = json.dumps(spec._context) if entry.to_dumpable_context is None else entry.to_dumpable_context(spec._context)
    return {"type": entry.serialized_type_name, "context": context, "children_spec": [_written(c) for c in spec._children]}


def _read(written):
    name = written["type"]
    if name is None:
        return _LEAF_SPEC
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    way = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context or json.loads
    return TreeSpec(cls, way(written["context"]), [_read(c) for c in written["children_spec"]])


def treespec_dumps(treespec, protocol=None):
    """A structure as JSON. NotImplementedError for containers that were registered without a name."""
    spec = _written(_checked(treespec))
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((1, spec))


def treespec_loads(serialized):
    """The structure that `treespec_dumps` has written."""
    protocol, spec = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _read(spec)


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads


def _is_constant_holder(spec):
    return spec.type in CONSTANT_NODES


def _retrieve_constant(spec):
    return tree_unflatten([], spec)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves of `treespec`'s number, each that of the part of `tree` above it; None where the structures do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    cls = _get_node_type(tree)
    children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
    if cls is not treespec.type or len(children) != treespec.num_children or context != treespec._context:
        return None
    found = []
    for child, spec in zip(children, treespec._children):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found
