"""Structures of nested containers, taken apart and put together: the core of ``torch.utils._pytree``."""
from fasttensor.utils import _pytree_nodes as nodes
from fasttensor.utils._pytree_nodes import STANDARD_DICT_TYPES, SUPPORTED_NODES, is_namedtuple_class, namedtuple


class TreeSpec:
    """The structure of a tree: the container's type, what rebuilds it (its context), and its children's specs."""
    __module__ = "fasttensor.utils._pytree"
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
