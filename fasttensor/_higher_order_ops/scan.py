"""``scan``: a loop that carries values along a dimension and keeps what each step gives."""
from fasttensor.utils import _pytree

from .slices import check_functions, flat, length_along, stacked

__all__ = ["scan"]


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """Call ``carry, y = combine_fn(carry, x)`` for each slice x of `xs` along `dim`; gives the last carry and the ys, stacked at `dim`.

    Args:
        combine_fn: of the carry and a slice, both nested as `init` and `xs` are; gives the next carry, with the shapes and dtypes of `init`, and a value.
        init, xs: tensors, or nested lists, tuples and dicts of them.
        reverse: begin at the last slice; the ys stay in the order of `xs`.

    Gradients flow through all of it. Raises ValueError where `xs` has no slices or the carry changes its form, TypeError for leaves that are no tensors.

    >>> from fasttensor._higher_order_ops import scan
    >>> scan(lambda total, x: (total + x, total + x), torch.tensor(0), torch.arange(5))
    (tensor(10), tensor([ 0,  1,  3,  6, 10]))
    """
    check_functions("scan", combine_fn=combine_fn)
    carried, form = flat("scan", "init", init)
    leaves, spec = flat("scan", "xs", xs)
    count = length_along("scan", leaves, dim)
    if not count:
        raise ValueError(f"scan: xs needs at least one slice along dimension {dim}, got shape {tuple(leaves[0].shape)}")
    kinds = [(tuple(leaf.shape), leaf.dtype) for leaf in carried]
    carry, found = init, []
    for k in reversed(range(count)) if reverse else range(count):
        made = combine_fn(carry, _pytree.tree_unflatten([leaf.select(dim, k) for leaf in leaves], spec))
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise RuntimeError(f"scan: combine_fn must give a carry and a value, got {type(made).__name__}")
        carry, value = made
        now, now_form = flat("scan", "the carry", carry)
        if now_form != form or [(tuple(leaf.shape), leaf.dtype) for leaf in now] != kinds:
            raise ValueError(f"scan: the carry of combine_fn must keep the nesting, shapes and dtypes of init, {kinds}, "
                             f"and has {[(tuple(leaf.shape), leaf.dtype) for leaf in now]}")
        found.append(value)
    return carry, stacked(found[::-1] if reverse else found, dim)
