"""rearrange: permutations, splits and joins of dimensions by name."""
import re

from fasttensor._core.tensor import Tensor
from fasttensor.functional.joining import stack

__all__ = ["rearrange"]


def groups_of(text, pattern):
    """The groups of names of one side, e.g. [["b"], ["h", "w"], "..."]."""
    found, inside = [], None
    for token in re.findall(r"\.\.\.|[A-Za-z_]\w*|\d+|[()]|\S", text):
        if token == "(":
            if inside is not None:
                raise ValueError(f"rearrange: parentheses inside parentheses in {pattern!r}")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError(f"rearrange: unbalanced parentheses in {pattern!r}")
            found.append(inside)
            inside = None
        elif token == "...":
            (found if inside is None else inside).append("...")
        elif token.isidentifier() or token.isdigit():
            if token.isdigit() and token != "1":
                raise ValueError(f"rearrange: sizes other than 1 need a name in {pattern!r}")
            name = [] if token == "1" else [token]
            if inside is None:
                found.append(name)
            else:
                inside += name
        else:
            raise ValueError(f"rearrange: unexpected {token!r} in {pattern!r}")
    if inside is not None:
        raise ValueError(f"rearrange: unbalanced parentheses in {pattern!r}")
    return found


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor with its dimensions split, reordered and joined, as the pattern says (Rogozhnikov 2022, "Einops").

    pattern: ``"left -> right"``, where names stand for dimensions, ``(a b)`` for a dimension that is made of a and b,
    ``1`` for a dimension of size 1 and ``...`` for all others. axes_lengths: sizes that the shape does not tell.
    A list of tensors is stacked first. Raises ValueError where names or sizes do not fit.

    >>> import fasttensor as torch
    >>> torch.func.rearrange(torch.zeros(2, 6, 5), "b (h w) c -> b c h w", h=2).shape
    torch.Size([2, 5, 2, 3])
    """
    if not isinstance(tensor, Tensor):
        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: the pattern {pattern!r} needs one '->'")
    left, right = groups_of(sides[0], pattern), groups_of(sides[1], pattern)
    sizes, order, shape, extra = dict(axes_lengths), [], [], tensor.dim() - len([g for g in left if g != "..."])
    if ("..." not in left and extra) or extra < 0:
        raise ValueError(f"rearrange: {pattern!r} has {len(left)} dimensions on the left, the tensor {tensor.dim()}: {tuple(tensor.shape)}")
    dims, d = {}, 0
    for group in left:
        for names in ([[f"...{k}"] for k in range(extra)] if group == "..." else [group]):
            size, known, free = tensor.shape[d], 1, None
            d += 1
            for name in names:
                if name in dims:
                    raise ValueError(f"rearrange: {name!r} occurs twice on the left of {pattern!r}")
                dims[name] = len(shape)
                shape.append(sizes.get(name))
                if sizes.get(name) is None:
                    if free is not None:
                        raise ValueError(f"rearrange: the sizes of {free!r} and {name!r} in {pattern!r} cannot both be found: give one")
                    free = name
                else:
                    known *= sizes[name]
            if free is not None and known and size % known == 0:
                sizes[free] = shape[dims[free]] = size // known
            elif free is not None or known != size:
                raise ValueError(f"rearrange: a dimension of size {size} is not ({' '.join(names)}) of {pattern!r} with {axes_lengths}")
    result = []
    for group in right:
        if group == "...":
            order += [dims[f"...{k}"] for k in range(extra)]
            result += [sizes[f"...{k}"] for k in range(extra)]
            continue
        names = [n for name in group for n in ([f"...{k}" for k in range(extra)] if name == "..." else [name])]
        missing = [n for n in names if n not in dims]
        if missing:
            raise ValueError(f"rearrange: {missing[0]!r} is only on the right of {pattern!r}")
        order += [dims[n] for n in names]
        n = 1
        for name in names:
            n *= sizes[name]
        result.append(n)
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"rearrange: both sides of {pattern!r} must have the same names, each once")
    return tensor.reshape(shape).permute(order).reshape(result)
