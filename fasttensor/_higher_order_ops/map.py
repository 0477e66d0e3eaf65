"""``map``: a function of every slice along the first dimension."""
from fasttensor.utils import _pytree

from .slices import check_functions, flat, length_along, stacked

__all__ = ["map"]


def map(f, xs, *args):
    """``f(x, *args)`` for each slice x of `xs` along the first dimension, stacked.

    `xs` and what `f` gives are tensors or nested lists, tuples and dicts of them. Raises ValueError where `xs` has no slices.

    >>> from fasttensor._higher_order_ops import map
    >>> map(lambda x, by: x.sum() * by, torch.ones(3, 2), torch.tensor(2.0))
    tensor([4., 4., 4.])
    """
    check_functions("map", f=f)
    leaves, spec = flat("map", "xs", xs)
    count = length_along("map", leaves, 0)
    if not count:
        raise ValueError(f"map: xs needs at least one slice along dimension 0, got shape {tuple(leaves[0].shape)}")
    return stacked([f(_pytree.tree_unflatten([leaf[k] for leaf in leaves], spec), *args) for k in range(count)])
