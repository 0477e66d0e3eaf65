"""Views with the dimensions in another order, or with dimensions of size 1 added, dropped or expanded."""
import warnings

from fasttensor._core.tensor cimport Tensor, Node, new_view, alias, wrap_dim, describe
from fasttensor.autograd.checks cimport integer, later_bools, named_dim
from fasttensor.autograd.views cimport recorded, finish_view, sizes_of, shape_argument, reshape_backward, expand_backward


cdef object permute_backward(Node node, object grad):
    return permute_to(<Tensor>grad, <tuple>node.out_meta)


cdef Tensor permute_to(Tensor x, tuple dims, str label="PermuteBackward0"):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k
    cdef list inverse = None
    for d in range(x.rank):
        k = dims[d]
        sizes[d], steps[d] = x.sizes[k], x.steps[k]
    if recorded(x):
        inverse = [0] * x.rank
        for d in range(x.rank):
            inverse[dims[d]] = d
    return finish_view(new_view(x, x.rank, sizes, steps, x.offset), x, permute_backward, label,
                       tuple(inverse) if inverse is not None else None)


def permute(input, *order_of_dims, dims=None):
    """The dimensions in another order, as a view.

    Any dtype. Raises RuntimeError where a dimension is missing or named twice, IndexError for one out of range.

    >>> import fasttensor as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    cdef Tensor x = <Tensor?>input
    if dims is not None and not order_of_dims:
        order_of_dims = (dims,)
    cdef list order = [wrap_dim(x, d, "permute") for d in later_bools(shape_argument(order_of_dims, "permute", "dims"))]
    if len(order) != x.rank:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of"
                           f" dimensions i.e. input.dim() = {x.rank} is not equal to len(dims) = {len(order)}".replace("(sparse_coo)", ""))
    if len(set(order)) != x.rank:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {tuple(order)}")
    return permute_to(x, tuple(order))


cdef Tensor swap(Tensor x, int a, int b, str label="TransposeBackward0"):
    cdef list order = list(range(x.rank))
    if x.rank == 0:
        return finish_view(alias(x), x, reshape_backward, "TransposeBackward0", ())
    order[a], order[b] = b, a
    return permute_to(x, tuple(order), label)


def transpose(input, dim0, dim1):
    """Two dimensions swapped, as a view over the same memory.

    Args: `input`, any shape and dtype; `dim0`, `dim1`, ints that may count from the end. Raises IndexError for a dimension out of range.

    >>> torch.transpose(torch.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    cdef Tensor x = <Tensor?>input
    return swap(x, wrap_dim(x, dim0, "transpose"), wrap_dim(x, dim1, "transpose"))


def swapaxes(input, axis0, axis1):
    """Two dimensions swapped, as a view: ``transpose`` under numpy's name.

    >>> torch.swapaxes(torch.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    return transpose(input, axis0, axis1)


def t(input):
    """A matrix transposed, as a view; vectors and 0-d tensors as they are.

    Raises RuntimeError for more than two dimensions: ``.mT`` swaps the last two of any number.

    >>> torch.t(torch.tensor([[1, 2, 3], [4, 5, 6]]))
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    cdef Tensor x = <Tensor?>input
    if x.rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.rank}D ({describe(x)}): use .mT or transpose")
    if x.rank == 0:
        return finish_view(alias(x), x, reshape_backward, "TBackward0", ())
    return swap(x, 0, x.rank - 1, "TBackward0")


def reversed_dims(self):
    """``Tensor.T``: all dimensions reversed, as a view.

    >>> torch.tensor([[1, 2, 3], [4, 5, 6]]).T
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    cdef Tensor x = <Tensor?>self
    if x.rank == 0:
        warnings.warn("Tensor.T is deprecated on 0-D tensors, which it leaves as they are", stacklevel=2)
    elif x.rank != 2:
        warnings.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated, got "
                      f"{describe(x)}: `x.mT` transposes batches of matrices, `x.permute(...)` reverses all dimensions", stacklevel=2)
    return permute_to(x, tuple(range(x.rank - 1, -1, -1)))


def matrix_transpose(self):
    """``Tensor.mT``: the last two dimensions swapped, as a view; a 0-d tensor as it is. Raises RuntimeError for a vector.

    >>> torch.tensor([[[1, 2], [3, 4]]]).mT
    tensor([[[1, 3],
             [2, 4]]])
    """
    cdef Tensor x = <Tensor?>self
    if x.rank == 0:
        warnings.warn("Tensor.mT is deprecated on 0-D tensors, which it leaves as they are", stacklevel=2)
        return permute_to(x, ())
    if x.rank < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {x.rank}-D tensor: {describe(x)}.")
    return swap(x, x.rank - 2, x.rank - 1)


cdef tuple dims_argument(object dims, str argument):
    if isinstance(dims, (tuple, list)):
        return tuple(dims)
    return (integer(dims, "movedim", argument),)


def movedim(input, source, destination):
    """Dimensions `source` moved to positions `destination`, as a view; the others keep their order.

    Args: `source`, `destination`, ints or tuples of as many ints. Raises RuntimeError where they differ in number or repeat a dimension,
    IndexError for one out of range.

    >>> torch.movedim(torch.ones(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    cdef Tensor x = <Tensor?>input
    source = dims_argument(source, "source")
    destination = dims_argument(destination, "destination")
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number"
                           f" of dims as destination ({destination} dims), for {describe(x)}")
    src = [wrap_dim(x, d, "movedim") for d in later_bools(source)]
    dst = [wrap_dim(x, d, "movedim") for d in later_bools(destination)]
    if len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise RuntimeError(f"movedim: repeated dim in `source` ({source}) or `destination` ({destination}), for {describe(x)}")
    if x.rank == 0:
        return finish_view(alias(x), x, reshape_backward, "PermuteBackward0", ())
    order = [-1] * x.rank
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter([d for d in range(x.rank) if d not in src])
    return permute_to(x, tuple([next(rest) if o < 0 else o for o in order]))


# --- adding and dropping dimensions of size 1 ---
def unsqueeze(input, dim=None, *, axis=None):
    """A dimension of size 1 inserted at `dim`.

    A view of any dtype; `dim` may be negative. IndexError for a dimension out of range.

    >>> import fasttensor as torch
    >>> torch.zeros(3).unsqueeze(0).shape
    torch.Size([1, 3])
    """
    cdef Tensor x = <Tensor?>input
    cdef Py_ssize_t sizes[65]
    cdef Py_ssize_t steps[65]
    cdef int k, d, rank = x.rank
    cdef Py_ssize_t at = integer(named_dim("unsqueeze", dim, axis), "unsqueeze", "dim")
    if not -(rank + 1) <= at <= rank:
        raise IndexError(f"unsqueeze: Dimension out of range (expected to be in range of [{-(rank + 1)}, {rank}], but got {at})")
    if at < 0:
        at += rank + 1
    for d in range(rank + 1):
        k = d if d < at else d - 1
        if d == at:
            sizes[d] = 1
            steps[d] = x.sizes[d] * x.steps[d] if d < rank else 1
        else:
            sizes[d], steps[d] = x.sizes[k], x.steps[k]
    return finish_view(new_view(x, rank + 1, sizes, steps, x.offset), x, reshape_backward, "UnsqueezeBackward0",
                       sizes_of(x) if recorded(x) else None)


def squeeze(input, dim=None, *, axis=None):
    """Dimensions of size 1 dropped, as a view: all of them, or those in `dim` (an int or a tuple), which stay where their size is not 1.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.

    >>> torch.squeeze(torch.tensor([[[1], [2]]]))
    tensor([1, 2])
    """
    cdef Tensor x = <Tensor?>input
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, k = 0
    cdef object dims
    dim = named_dim("squeeze", dim, axis)
    if dim is None:
        dims = None
    elif isinstance(dim, (tuple, list)):
        dims = {wrap_dim(x, d, "squeeze") for d in later_bools(dim)}
        if len(dims) != len(dim):
            raise RuntimeError(f"squeeze: dim appears multiple times in the list of dims {dim}")
    else:
        dims = {wrap_dim(x, dim, "squeeze")}
    for d in range(x.rank):
        if x.sizes[d] == 1 and (dims is None or d in dims):
            continue
        sizes[k], steps[k] = x.sizes[d], x.steps[d]
        k += 1
    return finish_view(new_view(x, k, sizes, steps, x.offset), x, reshape_backward,
                       "SqueezeBackward0" if dim is None else "SqueezeBackward2" if isinstance(dim, (tuple, list)) else "SqueezeBackward1",
                       sizes_of(x) if recorded(x) else None)


def expand(self, *sizes, size=None, implicit=False):
    """A view of a larger shape, in which dimensions of size 1 are repeated without a copy; -1 keeps a size, new dimensions come first.

    Several of its elements are one place in memory: ``clone()`` it before writing. Raises RuntimeError where a size other than 1 would
    change, or there are fewer sizes than dimensions.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    cdef Tensor x = <Tensor?>self
    cdef Py_ssize_t s[64]
    cdef Py_ssize_t st[64]
    cdef object shape = later_bools(shape_argument(sizes if size is None or sizes else (size,), "expand"))
    cdef int rank = len(shape), lead = rank - x.rank, d
    cdef Py_ssize_t n
    if lead < 0 or rank > 64:
        raise RuntimeError(f"expand({describe(x)}, size={list(shape)}): the number of sizes provided ({rank}) must be greater or equal to"
                           f" the number of dimensions in the tensor ({x.rank})")
    for d in range(rank):
        n = integer(shape[d], "expand", "size")
        if d < lead:
            if n < 0:
                raise RuntimeError(f"expand: The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d} ({describe(x)})")
            s[d], st[d] = n, 0
        elif n == -1 or n == x.sizes[d - lead]:
            s[d], st[d] = x.sizes[d - lead], x.steps[d - lead]
        elif x.sizes[d - lead] == 1 and n >= 0:
            s[d], st[d] = n, 0
        else:
            raise RuntimeError(f"expand: The expanded size of the tensor ({n}) must match the existing size ({x.sizes[d - lead]}) at non-singleton"
                               f" dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(sizes_of(x))}")
    return finish_view(new_view(x, rank, s, st, x.offset), x, expand_backward, "ExpandBackward0", sizes_of(x) if recorded(x) else None)


def expand_as(self, other):
    """This tensor expanded to the shape of `other`, as a view; see :func:`expand` for the rules and errors.

    >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(self, sizes_of(<Tensor?>other))


METHODS = {
    "permute": permute, "transpose": transpose, "swapaxes": swapaxes, "swapdims": transpose, "t": t, "movedim": movedim,
    "moveaxis": movedim, "unsqueeze": unsqueeze, "squeeze": squeeze, "expand": expand, "expand_as": expand_as,
    "T": property(reversed_dims), "mT": property(matrix_transpose),
}
