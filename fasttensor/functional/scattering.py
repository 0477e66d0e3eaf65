"""gather and scatter: one index an element, along one dimension."""
from fasttensor.autograd.batched import is_inside, spread
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.index import Gather, Scatter, SET, ADD, MULTIPLY
from fasttensor.autograd.rules.scatter_reduce import ScatterReduce
from fasttensor.functional.arguments import Tensor, check_writable, description, need_tensor, scalar_like, with_out_apart, wrap
from fasttensor.functional.common import as_new, in_place
from fasttensor.functional.retelling import tell_in_place

__all__ = ["gather", "scatter", "scatter_add", "scatter_reduce"]
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@with_out_apart
def gather(input, dim, index, *, sparse_grad=False):
    """out[i][j][k] = input[index[i][j][k]][j][k] for dim 0, and accordingly for others.

    index: int64 or int32, as many dimensions as input, no larger apart from dim. The result has index's shape.
    RuntimeError for other shapes and for a position outside.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    need_tensor(input, "gather")
    need_tensor(index, "gather", "index", 3)
    if not index.numel():
        index = index.long()
    return apply(Gather, input, wrap(input, dim, "gather"), index)


def write(x, dim, index, src, how, name):
    """x with src written in place; a number or a 0-d src against an index with dimensions counts for all."""
    need_tensor(index, name, "index", 3)
    dim = wrap(x, dim, name)
    check_writable(x, name)
    if not isinstance(src, Tensor):
        src = scalar_like(src, x, name)
    elif src.dtype is not x.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {description(x)} and {description(src)}")
    elif src.dim() == 0 and index.dim() and index.numel():
        if index.numel() != 1 or x.dim() > 1:
            raise RuntimeError(f"{name}(): Index tensor must have the same number of dimensions as src tensor, got "
                               f"{description(index)} and {description(src)}")
    return apply(Scatter, x, dim, index, src, how)


def copy_for(x, *others):
    """A contiguous copy to write the others into; inside vmap, one a sample where only they are batched."""
    copy = x.clone().contiguous()
    return spread(copy, *others) if is_inside() else copy


def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    if src is None and value is None:
        raise TypeError("scatter_(): missing argument 'src' or 'value'")
    src = value if src is None else src
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"scatter_(): reduce argument must be either add or multiply, got {reduce!r}.")
    return write(self, dim, index, src, {None: SET, "add": ADD, "multiply": MULTIPLY}[reduce], "scatter")


@with_out_apart
def scatter(input, dim, index, src=None, value=None, *, reduce=None):
    """input with out[index[i][j][k]][j][k] = src[i][j][k] for dim 0, and accordingly for others.

    src: a tensor of input's dtype no smaller than index, or a number for all. reduce: "add" or "multiply" instead
    of replacing. Of equal positions the last counts.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5., 6.]))
    tensor([6., 0., 5.])
    """
    need_tensor(input, "scatter")
    return as_new(scatter_(copy_for(input, index, src, value), dim, index, src, value, reduce=reduce))


def scatter_add_(self, dim, index, src):
    need_tensor(src, "scatter_add_", "src", 4)
    return write(self, dim, index, src, ADD, "scatter_add")


@with_out_apart
def scatter_add(input, dim, index, src):
    """input with src added: out[index[i][j][k]][j][k] += src[i][j][k] for dim 0, and accordingly for others.

    The result has input's shape. Any one dtype; index int64, at most of src's shape. RuntimeError for an index outside and for unlike dtypes.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([2., 3.]))
    tensor([0., 5.])
    """
    need_tensor(input, "scatter_add")
    return as_new(scatter_add_(copy_for(input, index, src), dim, index, src))


@with_out_apart
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """Each element of input combined with all values of src that index sends to it.

    reduce: "sum", "prod", "mean", "amax" or "amin". include_self: whether input's own value takes part where
    something arrives. RuntimeError for other dtypes, shapes or reductions.

    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 5.]), "mean")
    tensor([3., 1.])
    """
    need_tensor(input, "scatter_reduce")
    need_tensor(src, "scatter_reduce", "src", 4)
    need_tensor(index, "scatter_reduce", "index", 3)
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    dim = wrap(input, dim, "scatter_reduce")
    if src.dtype is not input.dtype:
        raise RuntimeError(f"scatter_reduce(): Expected self.dtype to be equal to src.dtype, got {description(input)} and {description(src)}")
    if index.dim() == 1 and src.dim() == 0 and index.numel() == 1:
        src = src.unsqueeze(0)
    if index.numel() and (index.dim() or 1) != (src.dim() or 1):
        raise RuntimeError(f"scatter_reduce(): Index tensor must have the same number of dimensions as src tensor, got "
                           f"{description(index)} and {description(src)}")
    if index.numel() and index.dim() == 0 and src.dim() == 1:
        index = index.unsqueeze(0)
    if not index.numel():
        return input.clone()
    return apply(ScatterReduce, input, dim, index, src, reduce, include_self)


def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    return _reduce(self, dim, index, src, reduce, include_self=include_self)


_reduce = in_place(scatter_reduce)
scatter_reduce_.__doc__ = _reduce.__doc__


tell_in_place(globals(), "scatter", "scatter_add")
METHODS = {name: globals()[name] for name in
           ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_")}
NN_FUNCTIONAL = []
