"""Nested containers as a list of leaves and a structure: tuples, named tuples, lists, dicts, deques and what is registered.

PyTorch's ``torch.utils._pytree``, and the names of ``torch.utils._cxx_pytree``. Dicts keep their order.
"""
import json
import pprint
from types import UnionType
from typing import Any

from fasttensor.utils import _pytree_nodes as nodes, _pytree_structures as structures
from fasttensor.utils._pytree_nodes import (
    CONSTANT_NODES, SERIALIZED_TYPE_TO_PYTHON_TYPE, SUPPORTED_NODES, SUPPORTED_SERIALIZED_TYPES, is_namedtuple,
    is_namedtuple_class, is_namedtuple_instance, is_structseq, is_structseq_class, is_structseq_instance, register_pytree_node)
from fasttensor.utils._pytree_structures import (
    _LEAF_SPEC, LeafSpec, PyTreeSpec, TreeSpec, _checked, _get_node_type, _put_together, tree_flatten, tree_is_leaf, tree_iter, tree_leaves,
    tree_structure, tree_unflatten)

# underscores too: libraries import them
globals().update((name, value) for source in (nodes, structures) for name, value in vars(source).items() if not name.startswith("__"))

__all__ = ["PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn", "PyTreeSpec",
           "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
           "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure", "tree_map", "tree_map_with_path",
           "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps",
           "treespec_loads", "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
           "is_structseq_class", "is_structseq_instance"]

# For annotations.
PyTree = Context = DumpableContext = KeyPath = KeyEntry = Any
FlattenFn = UnflattenFn = FlattenFunc = UnflattenFunc = FlattenWithKeysFn = FlattenWithKeysFunc = ToDumpableContextFn = FromDumpableContextFn = Any


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
