"""Nested containers as a list of leaves and a structure: tuples, named tuples, lists, dicts, deques and what is registered.

PyTorch's ``torch.utils._pytree`` by the names that programs use. Dicts keep their order.
"""
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

__all__ = ["PyTreeSpec", "TreeSpec", "LeafSpec", "tree_flatten", "tree_unflatten", "tree_leaves", "tree_iter", "tree_structure",
           "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only",
           "tree_is_leaf", "register_pytree_node", "register_dataclass", "register_constant"]

PyTree = Any        # for annotations

Entry = namedtuple("Entry", ["flatten", "unflatten"])
REGISTERED = {}


class TreeSpec:
    """The structure of a tree: the container's type, what rebuilds it (its context), and its children's specs."""
    __slots__ = ("type", "context", "children_specs", "num_leaves")

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    @property
    def num_children(self):
        return len(self.children_specs)

    @property
    def num_nodes(self):
        return 1 + sum(c.num_nodes for c in self.children_specs)

    def is_leaf(self):
        return self.type is None

    def children(self):
        return list(self.children_specs)

    def child(self, index):
        return self.children_specs[index]

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)

    def __eq__(self, other):
        return (isinstance(other, TreeSpec) and self.type is other.type and self.context == other.context
                and self.children_specs == other.children_specs)

    def __hash__(self):
        return hash((self.type, self.num_leaves))

    def __repr__(self):
        return "*" if self.type is None else f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""
    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _dict_of(keys, values):
    return dict(zip(keys, values))


def register_pytree_node(cls, flatten_fn, unflatten_fn, **names):
    """Treat `cls` as a container: flatten_fn(x) gives (children, context), unflatten_fn(children, context) gives x back."""
    if cls in REGISTERED:
        raise ValueError(f"{cls} is already registered as pytree node.")
    REGISTERED[cls] = Entry(flatten_fn, unflatten_fn)


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, keys):
    return dict(zip(keys, values))


def _dict_flatten_with_keys(d):
    return [((key,), value) for key, value in d.items()], list(d)


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def register_dataclass(cls, *, field_names=None, drop_field_names=(), serialized_type_name=None):
    """Treat a dataclass as a container of its fields."""
    from dataclasses import fields
    names = [f.name for f in fields(cls) if f.init and f.name not in drop_field_names] if field_names is None else list(field_names)
    register_pytree_node(cls, lambda x: ([getattr(x, n) for n in names], tuple(names)), lambda children, context: cls(**_dict_of(context, children)))
    return cls


def register_constant(cls):
    """Treat objects of `cls` as part of the structure, without leaves."""
    register_pytree_node(cls, lambda x: ([], x), lambda children, context: context)
    return cls


for _type, _flatten, _unflatten in (
        (tuple, lambda x: (list(x), None), lambda c, _: tuple(c)),
        (list, lambda x: (x, None), lambda c, _: list(c)),
        (dict, lambda x: (list(x.values()), list(x)), lambda c, keys: _dict_of(keys, c)),
        (OrderedDict, lambda x: (list(x.values()), list(x)), lambda c, keys: OrderedDict(zip(keys, c))),
        (defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]), lambda c, ctx: defaultdict(ctx[0], _dict_of(ctx[1], c))),
        (deque, lambda x: (list(x), x.maxlen), lambda c, maxlen: deque(c, maxlen))):
    register_pytree_node(_type, _flatten, _unflatten)


def _entry(x):
    """(type, how to take it apart), (None, None) for a leaf. Named tuples are tuples with a name."""
    cls = type(x)
    found = REGISTERED.get(cls)
    if found is not None:
        return cls, found
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        return namedtuple, Entry(lambda t: (list(t), type(t)), None)
    return None, None


def _take_apart(x, leaves, is_leaf):
    cls, entry = (None, None) if is_leaf is not None and is_leaf(x) else _entry(x)
    if cls is None:
        leaves.append(x)
        return _LEAF
    children, context = entry.flatten(x)
    return TreeSpec(cls, context, [_take_apart(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """(leaves, structure) of a tree.

    >>> from fasttensor.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    leaves = []
    spec = _take_apart(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The tree of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds"
                         f" {treespec.num_leaves} items ({treespec}).")
    return _put_together(iter(leaves), treespec)


def _put_together(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_put_together(leaves, c) for c in spec.children_specs]
    if spec.type is namedtuple:
        return spec.context(*children)
    return REGISTERED[spec.type].unflatten(children, spec.context)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """The leaves of a tree, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
    """Whether it is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _entry(tree)[0] is None


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, ...) in place of every leaf; the other trees have the same structure.

    >>> from fasttensor.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = []
    for rest in rests:
        more, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise ValueError(f"tree_map: structures differ: {spec} and {other}")
        others.append(more)
    return tree_unflatten([func(*row) for row in zip(leaves, *others)], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call func for every leaf; the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(types, func):
    check = types if callable(types) and not isinstance(types, type) else lambda x: isinstance(x, types)
    return lambda x: func(x) if check(x) else x


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """The tree with func(leaf) in place of the leaves of a type, or those that a predicate chooses."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """Call func for the leaves of a type; the tree itself."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """Whether pred holds for every leaf of a type."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """Whether pred holds for a leaf of a type."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves of `treespec`'s number, each that of the part of `tree` above it; None where the structures do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    cls, entry = _entry(tree)
    children, context = entry.flatten(tree)
    if cls is not treespec.type or len(children) != treespec.num_children or (cls in (dict, OrderedDict, namedtuple) and context != treespec.context):
        return None
    found = []
    for child, spec in zip(children, treespec.children_specs):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found
