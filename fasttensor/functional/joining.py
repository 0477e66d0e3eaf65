"""Tensors put together: cat, stack and the shapes numpy has names for; splitting; products of lists."""
import warnings

from fasttensor.autograd.checks import flag, int_of
from fasttensor.autograd.batched import is_inside
from fasttensor.autograd.outputs import fit
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.join import BlockDiag, Cat, Stack
from fasttensor.autograd.index_arguments import join_arguments
from fasttensor.autograd.reinterpret import result_type
from fasttensor.functional.arguments import Tensor, backend, deliver, description, need_tensor, tensor_list, wrap
from fasttensor.functional.common import can_hold, need_room
from fasttensor.functional.dims import numpy_axis

# Empty sections beyond this number end in an error rather than in hours and the end of memory.
MOST_EMPTY = 2 ** 24

__all__ = ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack", "block_diag",
           "cartesian_prod", "combinations", "meshgrid", "tensor_split", "hsplit", "vsplit", "dsplit"]


def cat(tensors, dim=0, *, out=None, **names):
    """The tensors joined along an existing dimension, in their promoted dtype.

    All shapes must agree apart from dim; a 1-d tensor without elements fits everything. RuntimeError otherwise.

    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    if names:
        dim = numpy_axis("cat", names, dim, 0)
    tensors, dim, code = join_arguments(tensors, dim, "cat", 0)
    return apply(Cat, dim, code, *tensors) if out is None else into(out, Cat, tensors, dim, code, "cat")


def into(out, rule, tensors, dim, code, name):
    """A join written into out=, at once where nothing has to be converted, resized, recorded or read first."""
    if isinstance(out, Tensor) and not needs_history(out, *tensors) and not is_inside():
        fit(out, out.shape, name)
        made = getattr(backend(tensors[0]), name)(tensors, dim, code, out)
        if made is out:
            return out
    else:
        made = apply(rule, dim, code, *tensors)
    if isinstance(out, Tensor) and not can_hold(out.dtype, made.dtype):
        raise TypeError(f"{name}(): input types can't be cast to the desired output type {out.dtype.name}: the result is {description(made)}")
    return deliver(out, made, name)


def concat(tensors, dim=0, *, out=None, **names):
    """The tensors joined along an existing dimension: :func:`cat` under another name, with its rules and errors.

    >>> torch.concat((torch.tensor([1, 2]), torch.tensor([3])))
    tensor([1, 2, 3])
    """
    return cat(tensors, dim, out=out, **names)


def concatenate(tensors, axis=0, *, dim=None, out=None):
    """The tensors joined along an existing dimension: :func:`cat` under numpy's name, with its rules and errors.

    >>> torch.concatenate((torch.tensor([1, 2]), torch.tensor([3])))
    tensor([1, 2, 3])
    """
    return cat(tensors, axis if dim is None else dim, out=out)


def stack(tensors, dim=0, *, out=None, **names):
    """The tensors, all of one shape, joined along a new dimension.

    Any dtypes, promoted; the result has the number of tensors along `dim`. Raises RuntimeError for unlike shapes and for no tensors at all.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if names:
        dim = numpy_axis("stack", names, dim, 0)
    tensors, dim, code = join_arguments(tensors, dim, "stack", 1)
    return apply(Stack, dim, code, *tensors) if out is None else into(out, Stack, tensors, dim, code, "stack")


def joined(name, parts, dim, out):
    """A cat of another name, which its errors have."""
    try:
        return cat(parts, dim, out=out)
    except (RuntimeError, TypeError) as error:
        raise type(error)(f"{name}(): {error}") from None


def hstack(tensors, *, out=None):
    """The tensors side by side: joined along dimension 1, or 0 where they are 1-d.

    Any dtypes, promoted. Raises RuntimeError where the other dimensions differ, and for no tensors at all.

    >>> torch.hstack([torch.tensor([1]), torch.tensor([2])])
    tensor([1, 2])
    """
    from fasttensor.functional.rearranging import atleast_1d
    parts = [atleast_1d(t) for t in tensor_list(tensors, "hstack")]
    return joined("hstack", parts, 0 if parts[0].dim() == 1 else 1, out)


def vstack(tensors, *, out=None):
    """The tensors as rows on top of each other.

    Any dtypes, promoted; 1-d tensors are rows. Raises RuntimeError where the other dimensions differ, and for no tensors at all.

    >>> torch.vstack([torch.tensor([1]), torch.tensor([2])])
    tensor([[1],
            [2]])
    """
    from fasttensor.functional.rearranging import atleast_2d
    return joined("vstack", [atleast_2d(t) for t in tensor_list(tensors, "vstack")], 0, out)


def row_stack(tensors, *, out=None):
    """The tensors as rows on top of each other: :func:`vstack` under another name.

    >>> torch.row_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return vstack(tensors, out=out)


def dstack(tensors, *, out=None):
    """The tensors, made at least 3-d, joined along dimension 2.

    Any dtypes, promoted. Raises RuntimeError where the other dimensions differ, and for no tensors at all.

    >>> torch.dstack([torch.tensor([1]), torch.tensor([2])])
    tensor([[[1, 2]]])
    """
    from fasttensor.functional.rearranging import atleast_3d
    return joined("dstack", [atleast_3d(t) for t in tensor_list(tensors, "dstack")], 2, out)


def column_stack(tensors, *, out=None):
    """The tensors side by side, 1-d ones as columns.

    Any dtypes, promoted. Raises RuntimeError where the numbers of rows differ.

    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return hstack([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensor_list(tensors, "column_stack")], out=out)


def block_diag(*tensors):
    """Matrices (2-d; fewer dimensions count as one row) along the diagonal of a matrix of zeros.

    Any dtypes, promoted. RuntimeError for more than two dimensions.

    >>> torch.block_diag(torch.tensor([[1]]), torch.tensor([[2, 3]]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    blocks = []
    for i, t in enumerate(tensor_list(list(tensors), "block_diag")):
        if t.dim() > 2:
            raise RuntimeError(f"block_diag(): Input tensors must have 2 or fewer dimensions. Input {i} has {t.dim()} dimensions")
        blocks.append(t if t.dim() == 2 else t.reshape(1, -1))
    # tensors without dimensions count as numbers do
    ordered = sorted(tensors, key=lambda t: t.dim() == 0)
    some = ordered[0]
    for t in ordered[1:]:
        some = some.new_empty((0,) if some.dim() else (), dtype=result_type(some, t))
    kind = some.dtype
    return apply(BlockDiag, *[b if b.dtype is kind else b.to(kind) for b in blocks])


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates from 1-d tensors: one tensor each, with all sizes as its shape.

    indexing: "ij" (the default) or "xy", which swaps the first two dimensions.

    Any one dtype. `indexing` "ij" (the default) or "xy", which exchanges the first two dimensions. Raises RuntimeError for another, and for tensors of
    several dimensions or dtypes.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")[0]
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    tensors = tensor_list(list(tensors), "meshgrid")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'meshgrid(): indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"meshgrid(): Expected 0D or 1D tensor in the tensor list but got: {description(t)}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(f"meshgrid(): expects all tensors to have the same dtype, got {description(tensors[0])} and {description(t)}")
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2)
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors[0], tensors[1] = tensors[1], tensors[0]
    shape = [t.numel() for t in tensors]
    grids = [t.reshape([-1 if d == i else 1 for d in range(len(shape))]).expand(shape) for i, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors):
    """All combinations of one element of each 1-d tensor, as rows.

    Any one dtype; k tensors of n elements give (n ** k, k). RuntimeError for tensors that are not 1-d.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    tensors = tensor_list(list(tensors), "cartesian_prod")
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"cartesian_prod(): Expect a 1D vector, but got {description(t)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.reshape(-1) for g in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """The combinations of length r of a 1-d tensor's elements, as rows, in the order of itertools.

    Any dtype; (n,) gives (n choose r, r), with replacement (n + r - 1 choose r, r). RuntimeError for tensors that are not 1-d and negative r.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    r = int_of(r, "combinations", "r")
    flag("combinations", "with_replacement", with_replacement)
    need_tensor(input, "combinations")
    if input.dim() != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got {description(input)}")
    if r < 0:
        raise RuntimeError(f"combinations(): Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    count = how_many(input.numel(), r, with_replacement)
    if not count:
        return input[:0].reshape(0, 1).expand(0, r)
    need_room(input, (count, r))
    rows = combined_positions(input, r, with_replacement)
    return input[rows.reshape(-1)].reshape(rows.shape)


def how_many(n, r, with_replacement):
    """How many combinations of r of n there are, or a number that no memory holds."""
    if with_replacement and n:
        n += r - 1
    count = 1
    for k in range(min(r, n - r)):
        count = count * (n - k) // (k + 1)
        if count >= 1 << 62:
            break
    return count if r <= n else 0


def combined_positions(x, r, with_replacement):
    """The positions in x of each combination, [combinations, r]: rows of one length are lengthened by every position that may follow their last."""
    from fasttensor.functional.ranges import arange
    from fasttensor.functional.rearranging import repeat_interleave
    n = x.numel()
    last = arange(n)
    rows = last.unsqueeze(1)
    for _ in range(r - 1):
        first = last if with_replacement else last + 1
        more = n - first
        each = repeat_interleave(more)
        last = arange(each.numel()) + (first + more - more.cumsum(0))[each]
        rows = cat([rows[each], last.unsqueeze(1)], 1)
    return rows


def tensor_split(input, indices_or_sections, dim=0, **names):
    """Views of input along dim: n nearly equal ones for an int, or cut at the given positions.

    Any dtype; a tuple. Raises RuntimeError for a number below 1 and for a 0-d tensor.

    >>> torch.tensor_split(torch.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if names:
        dim = numpy_axis("tensor_split", names, dim, 0)
    need_tensor(input, "tensor_split")
    if input.dim() == 0:
        raise RuntimeError("tensor_split(): expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap(input, dim, "tensor_split")
    size = input.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype.name != "int64" or indices_or_sections.dim() > 1:
            raise RuntimeError("tensor_split(): expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                               f"int64 tensor, but got {description(indices_or_sections)}")
        indices_or_sections = indices_or_sections.tolist()
    elif not isinstance(indices_or_sections, (int, tuple, list)) and not hasattr(indices_or_sections, "__array__"):
        raise TypeError(f"tensor_split(): argument 'indices_or_sections' must be int or tuple of ints, not {type(indices_or_sections).__name__}")
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        if n <= 0:
            raise RuntimeError(f"tensor_split(): number of sections must be larger than 0, got {n}")
        if n - size > MOST_EMPTY:
            raise RuntimeError(f"tensor_split(): {n} sections of a dimension of size {size} ({description(input)}) would nearly all be empty;"
                               f" at most {MOST_EMPTY} empty ones are made")
        small, extra = divmod(size, n)
        cuts = [i * small + min(i, extra) for i in range(1, n)]
    else:
        cuts = list(indices_or_sections)
    parts, at = [], 0
    for cut in [*cuts, size]:
        # Positions are those of a Python slice.
        start, stop, _ = slice(at, cut).indices(size)
        parts.append(input.narrow(dim, start, max(0, stop - start)))
        at = cut
    return tuple(parts)


def _split_along(input, sections, dim, name, rank):
    need_tensor(input, name)
    if input.dim() < rank:
        raise RuntimeError(f"{name}(): requires a tensor with at least {rank} dimension{'s' * (rank > 1)},"
                           f" but got a tensor with {input.dim()} dimensions: {description(input)}")
    if isinstance(sections, int):
        if sections <= 0 or input.shape[dim] % sections:
            raise RuntimeError(f"{name}(): attempted to split along dimension {dim}, but the size of the dimension "
                               f"{input.shape[dim]} is not divisible by the split_size {sections} ({description(input)})!")
    return tensor_split(input, sections, dim)


def sections_of(args, indices, sections, name):
    given = args[0] if len(args) == 1 else list(args) if args else indices if indices is not None else sections
    if given is None:
        raise TypeError(f"{name}(): missing argument 'indices' or 'sections'")
    return given


def hsplit(input, *args, indices=None, sections=None):
    """Views of input along dimension 1, or 0 of a 1-d tensor: equal ones for an int, else cut at positions.

    >>> torch.hsplit(torch.tensor([1, 2]), 2)
    (tensor([1]), tensor([2]))
    """
    need_tensor(input, "hsplit", "input", 1)
    return _split_along(input, sections_of(args, indices, sections, "hsplit"), 0 if input.dim() == 1 else 1, "hsplit", 1)


def vsplit(input, *args, indices=None, sections=None):
    """Views of input along dimension 0: equal ones for an int, else cut at positions.

    Any dtype, at least 2-d; a tuple. RuntimeError for fewer dimensions, and where an int does not divide the size.

    >>> torch.vsplit(torch.tensor([[1], [2]]), 2)
    (tensor([[1]]), tensor([[2]]))
    """
    return _split_along(input, sections_of(args, indices, sections, "vsplit"), 0, "vsplit", 2)


def dsplit(input, *args, indices=None, sections=None):
    """Views of input along dimension 2: equal ones for an int, else cut at positions.

    Any dtype, at least 3-d; a tuple. RuntimeError for fewer dimensions, and where an int does not divide the size.

    >>> torch.dsplit(torch.tensor([[[1, 2]]]), 2)
    (tensor([[[1]]]), tensor([[[2]]]))
    """
    return _split_along(input, sections_of(args, indices, sections, "dsplit"), 2, "dsplit", 3)


METHODS = {"tensor_split": tensor_split, "hsplit": hsplit, "vsplit": vsplit, "dsplit": dsplit}
NN_FUNCTIONAL = []
