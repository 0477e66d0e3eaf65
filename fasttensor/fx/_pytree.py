"""Taking nested arguments apart by a known structure, as the code of graphs with nested arguments does."""
from collections import OrderedDict, namedtuple

from fasttensor.utils._pytree import LeafSpec, PyTree, TreeSpec  # noqa: F401

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES = {}
SUPPORTED_NODES_EXACT_MATCH = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Say how to take an object of a class apart: ``flatten_fn_spec(x, spec)`` gives its children as the spec has them."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _take(x, spec, found):
    if spec.type is None:
        found.append(x)
        return
    how = SUPPORTED_NODES.get(spec.type)
    if how is None:
        raise RuntimeError(f"{type(x)} does not have a flatten_fn_spec associated with it. Please register one with "
                           "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any custom "
                           "pytrees have been registered before loading it.")
    for child, child_spec in zip(how(x, spec), spec.children_specs):
        _take(child, child_spec, found)


def tree_flatten_spec(tree, spec, *, exact_structural_match=False):
    """The leaves of nested arguments as a structure has them; what the arguments have beyond it is left out."""
    found = []
    _take(tree, spec, found)
    return found


def _sequence(x, spec):
    return [x[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda x, spec: [x[key] for key in spec.context])
register_pytree_flatten_spec(OrderedDict, lambda x, spec: [x[key] for key in spec.context])
register_pytree_flatten_spec(namedtuple, _sequence)
register_pytree_flatten_spec(list, _sequence)
register_pytree_flatten_spec(tuple, _sequence)
