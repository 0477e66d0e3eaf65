"""``associative_scan``: all partial results of an associative function, in twice log2(n) steps of whole tensors."""
import fasttensor as torch
from fasttensor.utils import _pytree

from .slices import check_functions, flat, length_along

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """The slices of `xs` along `dim`, each combined with all before it: ``cumsum`` is that of addition.

    Args:
        combine_fn: an associative function of two slices, nested as `xs` is, that gives one of the same shapes and dtypes.
        xs: a tensor, or nested lists, tuples and dicts of tensors of one size along `dim`.
        reverse: combine with all that come after.
        combine_mode: "generic"; "pointwise" is a GPU's, and raises ValueError as in PyTorch.

    Gradients flow through all of it. The order in which slices are combined is the recursion of Blelloch, "Prefix sums and their
    applications" (1990): pairs, a scan of half as many, and the rest from that.

    >>> from fasttensor._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.arange(1, 6), 0, combine_mode="generic")
    tensor([  1,   2,   6,  24, 120])
    """
    check_functions("associative_scan", combine_fn=combine_fn)
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan: combine_mode must be 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, spec = flat("associative_scan", "xs", xs)
    if combine_mode == "pointwise" and not all(leaf.is_cuda for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA: use combine_mode='generic'")
    length_along("associative_scan", leaves, dim)
    leaves = [leaf.movedim(dim, 0) for leaf in leaves]
    leaves = [leaf.flip(0) for leaf in leaves] if reverse else leaves
    one = torch.func.vmap(lambda a, b: _flat_call(combine_fn, spec, a, b))
    made = _scanned(one, leaves)
    made = [leaf.flip(0) for leaf in made] if reverse else made
    return _pytree.tree_unflatten([leaf.movedim(0, dim) for leaf in made], spec)


def _flat_call(combine_fn, spec, a, b):
    made, form = _pytree.tree_flatten(combine_fn(_pytree.tree_unflatten(a, spec), _pytree.tree_unflatten(b, spec)))
    if form != spec or [x.shape for x in made] != [x.shape for x in a]:
        raise RuntimeError(f"associative_scan: combine_fn must give what it takes: shapes {[tuple(x.shape) for x in a]}, got {[tuple(x.shape) for x in made]}")
    return made


def _scanned(combine, leaves):
    count = leaves[0].shape[0]
    if count < 2:
        return leaves
    odd = _scanned(combine, combine([x[0:count - 1:2] for x in leaves], [x[1::2] for x in leaves]))
    if count > 2:
        even = combine([x[:-1] if count % 2 == 0 else x for x in odd], [x[2::2] for x in leaves])
        even = [torch.cat([x[:1], e]) for x, e in zip(leaves, even)]
    else:
        even = [x[:1] for x in leaves]
    return [_interleaved(e, o) for e, o in zip(even, odd)]


def _interleaved(even, odd):
    """even[0], odd[0], even[1] ...; there may be one more of the former."""
    n = odd.shape[0]
    made = torch.stack([even[:n], odd], 1).flatten(0, 1)
    return made if even.shape[0] == n else torch.cat([made, even[n:]])
