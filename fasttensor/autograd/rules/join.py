"""Derivatives of joining and rearranging: cat, stack, flip, roll, triangles, repeat, writes into a view."""
from fasttensor._core.construct import unwritten
from fasttensor._core.dispatch import backend
from fasttensor._core.layout import overlaps_itself
from fasttensor.autograd.rule import Rule, apply


def like(g, dtype):
    """g as the gradient of an input of this dtype."""
    if g.dtype is dtype:
        return g
    if g.is_complex() and not dtype.is_complex:
        g = g.real
    return g.to(dtype)


class Cat(Rule):
    @staticmethod
    def forward(ctx, dim, code, *tensors):
        if True in ctx.needs_input_grad:
            ctx.dim = dim
            ctx.parts = [(t.shape, t.dtype) for t in tensors]
        return backend(tensors[0]).cat(list(tensors), dim, code)

    @staticmethod
    def backward(ctx, g):
        grads, at = [], 0
        for i, (shape, dtype) in enumerate(ctx.parts):
            if shape == (0,) and g.dim() != 1:
                grads.append(None)
                continue
            size = shape[ctx.dim]
            grads.append(like(g.narrow(ctx.dim, at, size), dtype) if ctx.needs_input_grad[2 + i] else None)
            at += size
        return None, None, *grads


class Stack(Rule):
    @staticmethod
    def forward(ctx, dim, code, *tensors):
        if True in ctx.needs_input_grad:
            ctx.dim = dim
            ctx.dtypes = [t.dtype for t in tensors]
        return backend(tensors[0]).stack(list(tensors), dim, code)

    @staticmethod
    def backward(ctx, g):
        return None, None, *[like(g.select(ctx.dim, i), dtype) if ctx.needs_input_grad[2 + i] else None
                             for i, dtype in enumerate(ctx.dtypes)]


class BlockDiag(Rule):
    """Matrices of one dtype along the diagonal of a matrix of zeros."""

    @staticmethod
    def forward(ctx, *blocks):
        ctx.shapes = [b.shape for b in blocks]
        y = blocks[0].new_zeros((sum(n for n, _ in ctx.shapes), sum(m for _, m in ctx.shapes)))
        for b, at in zip(blocks, corners(ctx.shapes)):
            y[at].copy_(b)
        return y

    @staticmethod
    def backward(ctx, g):
        return tuple(g[at] if wanted else None for at, wanted in zip(corners(ctx.shapes), ctx.needs_input_grad))


def corners(shapes):
    """Where each block lies in the whole."""
    row = column = 0
    for n, m in shapes:
        yield slice(row, row + n), slice(column, column + m)
        row, column = row + n, column + m


class Flip(Rule):
    @staticmethod
    def forward(ctx, x, dims):
        ctx.dims = dims
        return backend(x).flip(x, dims)

    @staticmethod
    def backward(ctx, g):
        return g.flip(ctx.dims), None


class Roll(Rule):
    """A move by `shifts` along `dims`."""

    @staticmethod
    def forward(ctx, x, shifts, dims):
        ctx.shifts, ctx.dims = shifts, dims
        for shift, dim in zip(shifts, dims):
            x = backend(x).roll(x, shift, dim)
        return x

    @staticmethod
    def backward(ctx, g):
        return apply(Roll, g, [-s for s in ctx.shifts], ctx.dims), None, None


class Triu(Rule):
    @staticmethod
    def forward(ctx, x, diagonal):
        ctx.diagonal = diagonal
        return backend(x).triangle(x, diagonal, True)

    @staticmethod
    def backward(ctx, g):
        return apply(Triu, g, ctx.diagonal), None


class Tril(Rule):
    @staticmethod
    def forward(ctx, x, diagonal):
        ctx.diagonal = diagonal
        return backend(x).triangle(x, diagonal, False)

    @staticmethod
    def backward(ctx, g):
        return apply(Tril, g, ctx.diagonal), None


class Repeat(Rule):
    @staticmethod
    def forward(ctx, x, repeats):
        ctx.shape, ctx.repeats = x.shape, repeats
        return backend(x).repeat(x, repeats)

    @staticmethod
    def backward(ctx, g):
        if 0 in ctx.repeats:
            return g.new_zeros(ctx.shape), None
        lead = len(ctx.repeats) - len(ctx.shape)
        pairs, dims = [], []
        for d, times in enumerate(ctx.repeats):
            dims.append(len(pairs))
            pairs += [times, ctx.shape[d - lead] if d >= lead else 1]
        if not pairs:
            return g, None
        return g.reshape(pairs).sum(dims).reshape(ctx.shape), None


class RepeatEach(Rule):
    """Every slice along dim several times in a row."""
    name = "RepeatInterleaveBackward0"

    @staticmethod
    def forward(ctx, x, times, dim):
        ctx.shape, ctx.times, ctx.dim = x.shape, times, dim
        return backend(x).repeat_each(x, times, dim)

    @staticmethod
    def backward(ctx, g):
        shape = list(ctx.shape)
        shape.insert(ctx.dim + 1, ctx.times)
        return g.reshape(shape).sum(ctx.dim + 1), None, None


class DiagEmbed(Rule):
    @staticmethod
    def forward(ctx, x, offset, dim1, dim2):
        ctx.where = offset, dim1, dim2
        size = x.shape[-1] + abs(offset)
        shape = list(x.shape[:-1])
        for d in sorted((dim1, dim2)):
            shape.insert(d, size)
        y = x.new_zeros(shape)
        y.diagonal(offset, dim1, dim2).copy_(x)
        unwritten(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g.diagonal(*ctx.where), None, None, None


def cloned_with_memory(x):
    """A copy of x under x's own strides, of all the memory where x shows a part of it."""
    if x.is_meta or x.is_contiguous() and not x.storage_offset() or overlaps_itself(x):
        return x.clone()
    whole = x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0)
    return whole.clone().as_strided(x.shape, x.stride(), x.storage_offset())


class ViewScatter(Rule):
    """A copy of x in which the part that `view` selects is src."""

    @staticmethod
    def forward(ctx, x, src, view):
        ctx.view = view
        y = cloned_with_memory(x)
        part = view(y)
        if part.shape != src.shape:
            raise RuntimeError(f"expected src to have a size equal to the slice of self: src size = {list(src.shape)}, "
                               f"slice size = {list(part.shape)}")
        part.copy_(src)
        unwritten(y)
        return y

    @staticmethod
    def backward(ctx, g):
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = apply(ViewScatter, g, g.new_zeros(ctx.view(g).shape), ctx.view)
        return grad_x, ctx.view(g) if ctx.needs_input_grad[1] else None, None
