"""Elements moved about: flip, roll, rot90, repeat, tile, triangles, diagonals, writes into a part."""
from fasttensor.autograd.checks import int_of, later_bools
from fasttensor.autograd.copying import contiguous_format
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.join import DiagEmbed, Flip, Repeat, RepeatEach, Roll, Tril, Triu
from fasttensor.functional.common import need_room
from fasttensor.functional.dims import numpy_axis
from fasttensor.functional.arguments import (Tensor, backend, description, in_place, ints, need_tensor, with_out,
                                             wrap, wrap_many)

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90", "tile", "repeat_interleave", "tril", "triu", "diag", "diag_embed",
           "diagflat", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "unravel_index"]


def need_sizes(args, value, name, argument):
    """No numbers at all are an empty sequence, not no argument."""
    if not args and value is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')


def flip(input, *args, dims=None):
    """input with the order of the elements along dims reversed. A copy.

    Any shape and dtype. Raises IndexError for a dimension out of range, RuntimeError for one that is named twice.

    >>> torch.flip(torch.tensor([1, 2, 3]), [0])
    tensor([3, 2, 1])
    """
    need_tensor(input, "flip")
    need_sizes(args, dims, "flip", "dims")
    dims = wrap_many(input, ints(args if dims is None else (dims,), "flip"), "flip")
    return apply(Flip, input, dims if input.dim() else ())


def fliplr(input):
    """input with its columns (dimension 1) in reverse order.

    Any dtype, at least 2-d: RuntimeError else.

    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    need_tensor(input, "fliplr", "input", 1)
    if input.dim() < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d, got {description(input)}.")
    return flip(input, 1)


def flipud(input):
    """input with its rows (dimension 0) in reverse order.

    Any dtype, at least 1-d: RuntimeError else.

    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    need_tensor(input, "flipud", "input", 1)
    if input.dim() < 1:
        raise RuntimeError(f"flipud(): Input must be >= 1-d, got {description(input)}.")
    return flip(input, 0)


def roll(input, shifts, dims=()):
    """input with elements moved by shifts along dims, what leaves at the end entering at the start; without dims
    the flattened input is moved.

    Any shape and dtype. Raises RuntimeError where `shifts` and `dims` differ in number, IndexError for a dimension out of range.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    need_tensor(input, "roll")
    shifts = ints((shifts,), "roll")
    dims = ints((dims,), "roll") if dims is not None else []
    if not shifts:
        raise RuntimeError("roll(): `shifts` required")
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"roll(): shifts and dimensions must align. shifts: {len(shifts)}, dims:0 for {description(input)}")
        return apply(Roll, input.reshape(-1), shifts, (0,)).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"roll(): shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)} for {description(input)}")
    if input.dim() == 0:
        raise IndexError(f"roll(): Dimension specified as {dims[0]} but tensor has no dimensions")
    return apply(Roll, input, shifts, tuple(wrap(input, d, "roll") for d in dims))


def rot90(input, k=1, dims=(0, 1)):
    """input turned by 90 degrees k times in the plane of two dims, from the first towards the second.

    Any dtype, at least 2-d. Raises RuntimeError unless `dims` are two different dimensions.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    k = int_of(k, "rot90", "k")
    need_tensor(input, "rot90")
    if not hasattr(k, "__index__"):
        raise TypeError(f"rot90(): argument 'k' (position 2) must be int, not {type(k).__name__}")
    if len(dims) != 2:
        raise RuntimeError(f"rot90(): expected total rotation dims == 2, but got dims = {len(dims)} for {description(input)}")
    if input.dim() < 2:
        raise RuntimeError(f"rot90(): expected total dims >= 2, but got total dims = {input.dim()} for {description(input)}")
    a, b = (wrap(input, d, "rot90") for d in later_bools(dims))
    if a == b:
        raise RuntimeError(f"rot90(): expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]} for {description(input)}")
    k %= 4
    if k == 1:
        return flip(input, b).transpose(a, b)
    if k == 2:
        return flip(input, a, b)
    if k == 3:
        return flip(input, a).transpose(a, b)
    return input.clone(memory_format=contiguous_format)


def repeat(self, *args, repeats=None):
    """self laid out repeats[d] times along each dimension d; extra leading repeats add dimensions.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    need_tensor(self, "repeat", "self", 1)
    need_sizes(args, repeats, "repeat", "repeats")
    repeats = ints(args if repeats is None else (repeats,), "repeat")
    if len(repeats) < self.dim():
        raise RuntimeError("repeat(): Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
                           f"got {repeats} for {description(self)}")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"repeat(): Trying to create tensor with negative dimension: repeats {repeats}")
    if any(r >> 40 for r in repeats):
        need_room(self, [r * n for r, n in zip(repeats, (1,) * (len(repeats) - self.dim()) + tuple(self.shape))])
    return apply(Repeat, self, repeats)


def tile(input, *args, dims=None):
    """input repeated dims[d] times along each dimension; missing leading repeats are 1.

    Any shape and dtype; a copy. RuntimeError for negative numbers.

    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    need_tensor(input, "tile", "input", 1)
    need_sizes(args, dims, "tile", "dims")
    dims = ints(args if dims is None else (dims,), "tile")
    return repeat(input, [1] * (input.dim() - len(dims)) + dims)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None, **names):
    """Each element (slice along dim) repeated `repeats` times in a row: an int, or one number each.

    With one argument: 0 input[0] times, 1 input[1] times, and so on.

    >>> torch.repeat_interleave(torch.tensor([5, 6]), torch.tensor([2, 1]))
    tensor([5, 5, 6])
    """
    if names:
        dim = numpy_axis("repeat_interleave", names, dim)
    need_tensor(input, "repeat_interleave")
    total = -1 if output_size is None else output_size
    if repeats is None:
        if input.dim() != 1 or input.dtype.name not in ("int64", "int32"):
            raise RuntimeError(f"repeat_interleave(): only accepts 1D int or long vector as repeat, got {description(input)}")
        return backend(input).repeated_positions(input, total)
    x = input
    if dim is None:
        x, dim = input.reshape(-1), 0
    dim = wrap(x, dim, "repeat_interleave")
    size = x.shape[dim] if x.dim() else 1
    if not isinstance(repeats, Tensor):
        if isinstance(repeats, (list, tuple)):
            repeats = x.new_tensor(repeats).long()
        else:
            repeats = int_of(repeats, "repeat_interleave", "repeats", 2)
            if repeats < 0:
                raise RuntimeError(f"repeat_interleave(): Repeats must be non-negative, got {repeats}")
            if x.dim() == 0:
                x = x.reshape(1)
            if output_size is not None and output_size != size * repeats:
                raise RuntimeError(f"repeat_interleave(): allocated size does not match required size: output_size {output_size}, needed {size * repeats}")
            return apply(RepeatEach, x, repeats, dim)
    if repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"repeat_interleave(): repeats has to be Long or Int tensor, got {description(repeats)}")
    if repeats.dim() > 1:
        raise RuntimeError(f"repeat_interleave(): repeats must be 0-dim or 1-dim tensor, got {description(repeats)}")
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand((size,))
    elif repeats.numel() != size:
        raise RuntimeError(f"repeat_interleave(): repeats must have the same size as input along dim, but got "
                           f"repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}")
    at = backend(x).repeated_positions(repeats, total)
    return (x.reshape(1) if x.dim() == 0 else x).index_select(dim, at)


def check_matrix(input, name):
    need_tensor(input, name)
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {description(input)}")
    return input


@with_out
def tril(input, diagonal=0):
    """The lower triangle of the matrices in the last two dimensions, up to a diagonal; zeros elsewhere.

    Shape (..., m, n), any dtype. RuntimeError for fewer than two dimensions.

    >>> torch.tril(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    diagonal = int_of(diagonal, "tril", "diagonal")
    return apply(Tril, check_matrix(input, "tril"), diagonal)


@with_out
def triu(input, diagonal=0):
    """The upper triangle of the matrices in the last two dimensions, from a diagonal on; zeros elsewhere.

    Shape (..., m, n), any dtype. RuntimeError for fewer than two dimensions.

    >>> torch.triu(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    diagonal = int_of(diagonal, "triu", "diagonal")
    return apply(Triu, check_matrix(input, "triu"), diagonal)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices, in dimensions dim1 and dim2 of the result, whose diagonals are input's last dimension.

    Shape (..., n) to (..., n + |offset|, n + |offset|), any dtype. Raises RuntimeError where `dim1` is `dim2`, IndexError for one out of range.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    offset = int_of(offset, "diag_embed", "offset")
    dim1 = int_of(dim1, "diag_embed", "dim1")
    dim2 = int_of(dim2, "diag_embed", "dim2")
    need_tensor(input, "diag_embed")
    rank = input.dim() + 1
    if input.dim() == 0:
        raise IndexError("diag_embed(): expected at least a 1-d tensor, got one without dimensions")
    for d in (dim1, dim2):
        if not -rank <= d < rank:
            raise IndexError(f"diag_embed(): Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
    if dim1 % rank == dim2 % rank:
        raise RuntimeError(f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2} for {description(input)}")
    if abs(offset) >> 26:
        need_room(input, (*input.shape[:-1], *[input.shape[-1] + abs(offset)] * 2))
    return apply(DiagEmbed, input, offset, dim1 % rank, dim2 % rank)


@with_out
def diag(input, diagonal=0):
    """The diagonal of a matrix (a copy), or the matrix with a 1-d tensor as its diagonal.

    Any dtype; `diagonal` above (or below, if negative) the main one. RuntimeError for more than two dimensions.

    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    diagonal = int_of(diagonal, "diag", "diagonal")
    need_tensor(input, "diag")
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if input.dim() == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {description(input)}")


def diagflat(input, offset=0):
    """The matrix whose diagonal holds all elements of input.

    Any shape of n elements and dtype, to (n + |offset|, n + |offset|).

    >>> torch.diagflat(torch.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    need_tensor(input, "diagflat", "input", 1)
    offset = int_of(offset, "diagflat", "offset")
    return diag_embed(input.reshape(-1), offset)


def each(tensors, name, function):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    return tuple(function(need_tensor(t, name)) for t in tensors)


def atleast_1d(*tensors):
    """Tensors without dimensions as 1-d ones; others as they are.

    Any dtype; one tensor, or a tuple for several. Views, through which gradients flow.

    >>> torch.atleast_1d(torch.tensor(1))
    tensor([1])
    """
    return each(tensors, "atleast_1d", lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors):
    """Tensors with leading dimensions of size 1 up to two.

    Any dtype; one tensor, or a tuple for several: () to (1, 1), (n,) to (1, n). Views.

    >>> torch.atleast_2d(torch.tensor([1]))
    tensor([[1]])
    """
    return each(tensors, "atleast_2d", lambda t: t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t)


def atleast_3d(*tensors):
    """Tensors with dimensions of size 1 added up to three: x as [1, n, 1], [n, m] as [n, m, 1].

    Any dtype; one tensor, or a tuple for several. Views.

    >>> torch.atleast_3d(torch.tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """
    def grow(t):
        if t.dim() == 0:
            return t.reshape(1, 1, 1)
        if t.dim() == 1:
            return t.unsqueeze(0).unsqueeze(-1)
        return t.unsqueeze(-1) if t.dim() == 2 else t
    return each(tensors, "atleast_3d", grow)


def broadcast_tensors(*tensors):
    """Views of the tensors in their common shape. RuntimeError where there is none.

    >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3]]))[1]
    tensor([[3, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = []
    for t in tensors:
        need_tensor(t, "broadcast_tensors")
        own = list(t.shape)
        if len(own) > len(shape):
            shape = [1] * (len(own) - len(shape)) + shape
        for d in range(1, len(own) + 1):
            if own[-d] != 1:
                if shape[-d] not in (1, own[-d]):
                    raise RuntimeError("broadcast_tensors(): shapes do not broadcast: " + ", ".join(map(description, tensors)))
                shape[-d] = own[-d]
    return tuple(t.expand(shape) for t in tensors)


def unravel_index(indices, shape):
    """Positions in a flattened tensor as a tuple of coordinates in `shape`.

    Args: `indices`, integers of any shape, which each coordinate (int64) has. Raises TypeError for other dtypes, ValueError for negative sizes.

    >>> torch.unravel_index(torch.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    need_tensor(indices, "unravel_index", "indices", 1)
    if indices.is_floating_point() or indices.is_complex() or indices.dtype.name == "bool":
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {description(indices)}")
    sizes = [shape] if hasattr(shape, "__index__") else list(shape)
    for size in sizes:
        if not hasattr(size, "__index__"):
            raise TypeError(f"unravel_index(): expected 'shape' sequence of ints, but got {shape}")
        if size < 0:
            raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {tuple(sizes)}")
    out, rest = [], indices.long()
    for size in reversed(sizes):
        out.append(rest.remainder(max(int(size), 1)))
        rest = rest.div(max(int(size), 1), rounding_mode="floor")
    return tuple(reversed(out))


METHODS = {"flip": flip, "fliplr": fliplr, "flipud": flipud, "roll": roll, "rot90": rot90, "repeat": repeat, "tile": tile,
           "repeat_interleave": repeat_interleave, "tril": tril, "triu": triu, "tril_": in_place(tril),
           "triu_": in_place(triu), "diag": diag, "diag_embed": diag_embed, "diagflat": diagflat}
NN_FUNCTIONAL = []
