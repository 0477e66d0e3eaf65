"""Derivatives of reading and writing through indices.

Reading is linear, and its adjoint is the matching write with addition; every backward is therefore made of operations
that have a derivative themselves, and a fused kernel stands in where nothing is being recorded.
"""
from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply, recording

SET, ADD, MULTIPLY, MINIMUM, MAXIMUM = range(5)


class RowSum(Rule):
    """Rows of g added up by index into a table [rows, ...]: the gradient of an embedding."""
    name = "EmbeddingDenseBackward0"

    @staticmethod
    def forward(ctx, g, index, rows, padding_idx, scale):
        ctx.save(index)
        ctx.rows, ctx.padding_idx, ctx.scale = rows, padding_idx, scale
        return backend(g).embedding_backward(g, index, rows, padding_idx, scale)

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        picked = apply(Index, g, index)
        lead = index.shape + (1,) * (picked.dim() - index.dim())
        if ctx.scale:
            counts = index.reshape(-1).bincount(minlength=ctx.rows)[index]
            picked = picked / counts.reshape(lead).to(picked.dtype)
        if ctx.padding_idx >= 0:
            picked = picked.masked_fill((index == ctx.padding_idx).reshape(lead), 0)
        return picked, None, None, None, None


def sum_rows(g, index, rows, padding_idx=-1, scale=False):
    """sum over i of g[i] into row index[i]."""
    if recording():
        return apply(RowSum, g, index, rows, padding_idx, scale)
    return backend(g).embedding_backward(g, index, rows, padding_idx, scale)


class Index(Rule):
    """x[indices], one entry a dimension: a tensor or None."""

    @staticmethod
    def forward(ctx, x, *indices):
        if not ctx.needs_input_grad[0]:
            return backend(x).index_get(x, indices)
        ctx.kept = [i is None for i in indices]
        ctx.save(*[i for i in indices if i is not None])
        ctx.shape = x.shape
        return backend(x).index_get(x, indices)

    @staticmethod
    def backward(ctx, g):
        found = list(ctx.saved)
        if len(ctx.kept) == 1 and found[0].dtype.itemsize > 1:
            return sum_rows(g, found[0], ctx.shape[0]), None
        indices = [None if kept else found.pop(0) for kept in ctx.kept]
        grad = g.new_zeros(ctx.shape)
        return (apply(IndexPut, grad, g, ADD, *indices),) + (None,) * len(indices)


class IndexPut(Rule):
    """x[indices] = value or += value, in place."""

    @staticmethod
    def forward(ctx, x, value, how, *indices):
        ctx.kept = [i is None for i in indices]
        ctx.save(*[i for i in indices if i is not None])
        ctx.how, ctx.value_shape = how, value.shape
        ctx.mark_dirty(x)
        backend(x).index_put(x, indices, value, how)
        return x

    @staticmethod
    def backward(ctx, g):
        found = list(ctx.saved)
        indices = [None if kept else found.pop(0) for kept in ctx.kept]
        grad_x = grad_value = None
        if ctx.needs_input_grad[0]:
            grad_x = g
            if ctx.how == SET:
                grad_x = apply(IndexPut, g.clone(), g.new_zeros(()), SET, *indices)
        if ctx.needs_input_grad[1]:
            grad_value = shrink(apply(Index, g, *indices), ctx.value_shape)
        return (grad_x, grad_value, None) + (None,) * len(indices)


def shrink(g, shape):
    """g summed over the dimensions along which a value of this shape was broadcast."""
    while g.dim() < len(shape):
        g = g.unsqueeze(0)
    lead = g.dim() - len(shape)
    dims = list(range(lead)) + [lead + d for d, n in enumerate(shape) if n == 1 and g.shape[lead + d] != 1]
    return g.sum(dims).reshape(shape) if dims else g


class IndexSelect(Rule):
    saves = ("index",)

    @staticmethod
    def forward(ctx, x, dim, index):
        if ctx.needs_input_grad[0]:
            ctx.save(index)
            ctx.dim, ctx.shape = dim, x.shape
        return backend(x).index_select(x, dim, index)

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        if not ctx.shape:
            return g.sum().reshape(ctx.shape), None, None
        if ctx.dim == 0 and index.dim() == 1:
            return sum_rows(g, index, ctx.shape[0]), None, None
        grad = g.new_zeros(ctx.shape)
        return apply(IndexPut, grad, g, ADD, *((None,) * ctx.dim), index.reshape(-1)), None, None


class Embedding(Rule):
    saves = ("indices",)

    @staticmethod
    def forward(ctx, weight, index, padding_idx, scale):
        ctx.save(index)
        ctx.rows, ctx.padding_idx, ctx.scale = weight.shape[0], padding_idx, scale
        return backend(weight).index_get(weight, (index.contiguous(),), False, "embedding")

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        return sum_rows(g, index, ctx.rows, ctx.padding_idx, ctx.scale), None, None, None


class Gather(Rule):
    saves = ("index",)

    @staticmethod
    def forward(ctx, x, dim, index):
        ctx.save(index)
        ctx.dim, ctx.shape = dim, x.shape
        return backend(x).gather(x, dim, index)

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        return apply(Scatter, g.new_zeros(ctx.shape), ctx.dim, index, g, ADD), None, None


class Scatter(Rule):
    """x with src written (how: SET) or added (ADD) at index along dim, in place."""

    @staticmethod
    def forward(ctx, x, dim, index, src, how):
        ctx.save(index)
        ctx.dim, ctx.how, ctx.src_shape = dim, how, src.shape
        ctx.mark_dirty(x)
        backend(x).scatter(x, dim, index, src, how, "scatter_add" if how == ADD else "scatter")
        return x

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        grad_x = grad_src = None
        if ctx.needs_input_grad[0]:
            grad_x = g
            if ctx.how == SET:
                grad_x = apply(Scatter, g.clone(), ctx.dim, index, g.new_zeros(()), SET)
        if ctx.needs_input_grad[3]:
            grad_src = g.gather(ctx.dim, index) if index.numel() else g.new_zeros(index.shape)
            if not ctx.src_shape:
                grad_src = grad_src.sum().reshape(())
            elif grad_src.shape != ctx.src_shape:
                # Elements of src beyond the index's shape went nowhere.
                at = tuple(slice(0, n) for n in grad_src.shape)
                grad_src = put_in_corner(grad_src, ctx.src_shape, at)
        return grad_x, None, None, grad_src, None


def put_in_corner(g, shape, at):
    from fasttensor.autograd.rules.join import ViewScatter
    return apply(ViewScatter, g.new_zeros(shape), g, lambda t: t[at])


class IndexWrite(Rule):
    """index_add (ADD) or index_copy (SET): slices of src at index along dim, in place."""
    name = "IndexAddBackward0"

    @staticmethod
    def forward(ctx, x, dim, index, src, how):
        ctx.save(index)
        ctx.dim, ctx.how, ctx.src_shape = dim, how, src.shape
        op = "index_add_" if how == ADD else "index_copy_"
        ctx.mark_dirty(x)
        backend(x).index_put(x, (None,) * dim + (index,), src, how, False, op)
        return x

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved
        at = (None,) * ctx.dim + (index,)
        grad_x = grad_src = None
        if ctx.needs_input_grad[0]:
            grad_x = g if ctx.how == ADD else apply(IndexPut, g.clone(), g.new_zeros(()), SET, *at)
        if ctx.needs_input_grad[3]:
            grad_src = shrink(g.index_select(ctx.dim, index), ctx.src_shape)
        return grad_x, None, None, grad_src, None


class MaskedSelect(Rule):
    """The elements of x under a mask of x's shape."""
    saves = ("mask",)

    @staticmethod
    def forward(ctx, x, mask):
        ctx.save(mask)
        ctx.shape = x.shape
        return backend(x).masked_select(x, mask)

    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved
        return apply(MaskedScatter, g.new_zeros(ctx.shape), mask, g), None


class MaskedScatter(Rule):
    """x with source's elements, in order, under a mask of x's shape."""

    @staticmethod
    def forward(ctx, x, mask, source):
        ctx.save(mask)
        ctx.source_shape = source.shape
        return backend(x).masked_scatter(x, mask, source)

    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved
        grad_x = g.masked_fill(mask, 0) if ctx.needs_input_grad[0] else None
        grad_source = None
        if ctx.needs_input_grad[2] and g.is_meta:
            grad_source = g.new_empty(ctx.source_shape)     # of its own shape, however many elements the mask takes
        elif ctx.needs_input_grad[2]:
            grad_source = apply(MaskedSelect, g, mask)
            size = ctx.source_shape.numel()
            if grad_source.numel() != size:
                grad_source = put_in_corner(grad_source, (size,), slice(0, grad_source.numel()))
            grad_source = grad_source.reshape(ctx.source_shape)
        return grad_x, None, grad_source


class MaskedFill(Rule):
    saves = ("mask",)

    @staticmethod
    def forward(ctx, x, mask, value, inplace):
        ctx.save(mask)
        ctx.shape = x.shape
        if inplace:
            ctx.mark_dirty(x)
            return backend(x).masked_fill(x, mask, value, x)
        return backend(x).masked_fill(x, mask, value)

    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved
        grad_x = shrink(g.masked_fill(mask, 0), ctx.shape) if ctx.needs_input_grad[0] else None
        grad_value = None
        if ctx.needs_input_grad[2]:
            grad_value = g.masked_fill(mask.logical_not(), 0).sum().reshape(())
        return grad_x, None, grad_value, None
