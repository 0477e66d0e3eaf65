"""What loops over a dimension of nested tensors share."""
import fasttensor as torch
from fasttensor.utils import _pytree

__all__ = []


def flat(op, name, values):
    """The tensors in nested values, and how they were nested; TypeError for other leaves."""
    leaves, spec = _pytree.tree_flatten(values)
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise TypeError(f"{op}: {name} must be tensors, or nested lists, tuples and dicts of them, and has a {type(leaf).__name__}")
    if not leaves:
        raise ValueError(f"{op}: {name} has no tensors")
    return leaves, spec


def length_along(op, leaves, dim):
    """How many slices the tensors have along a dimension; ValueError where they differ or there is none."""
    lengths = {leaf.shape[dim] for leaf in leaves if leaf.dim()}
    if len(lengths) != 1 or any(not leaf.dim() for leaf in leaves):
        raise ValueError(f"{op}: all tensors need the same size along dimension {dim}, got shapes {[tuple(leaf.shape) for leaf in leaves]}")
    return lengths.pop()


def check_functions(op, **functions):
    """Raise ValueError for what is not callable."""
    for name, function in functions.items():
        if not callable(function):
            raise ValueError(f"{op}: {name} must be callable, got {type(function).__name__}")


def stacked(parts, dim=0):
    """The leaves of equally nested values stacked, nested as they were."""
    rows, spec = zip(*map(_pytree.tree_flatten, parts))
    return _pytree.tree_unflatten([torch.stack(column, dim) for column in zip(*rows)], spec[0])
