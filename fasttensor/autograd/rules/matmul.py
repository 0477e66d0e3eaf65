"""Derivatives of the matrix products. The gradients read their operands transposed and conjugated in
place; under create_graph they are made of differentiable products."""

from fasttensor._core.dispatch import backend
from fasttensor.autograd.rule import Rule, apply, recording

TRANSPOSED, CONJUGATED = 1, 2
ADJOINT = TRANSPOSED | CONJUGATED


def adjoint(x):
    """The conjugate transpose of the last two dimensions."""
    return x.transpose(-2, -1).conj() if x.is_complex() else x.transpose(-2, -1)


def scaled(x, factor):
    return x if factor == 1 else x * (factor.conjugate() if isinstance(factor, complex) else factor)


def keep(ctx, a, b, where=0):
    """Save what the gradients of a @ b, arguments `where` and `where + 1`, will read."""
    need = ctx.needs_input_grad
    ctx.save(a if need[where + 1] else None, b if need[where] else None)


def product_gradients(g, a, b):
    """Gradients of a @ b; an operand that was not saved means that the other needs none."""
    if recording():
        product = bmm if g.ndim > 2 else mm
        return (None if b is None else product(g, adjoint(b)), None if a is None else product(adjoint(a), g))
    kernels = backend(g)
    product = kernels.bmm if g.ndim > 2 else kernels.mm
    return (None if b is None else product(g, b, 0, ADJOINT), None if a is None else product(a, g, ADJOINT, 0))


class Mm(Rule):
    saves = ("self", "mat2")

    @staticmethod
    def forward(ctx, a, b):
        keep(ctx, a, b)
        return backend(a).mm(a, b)

    @staticmethod
    def backward(ctx, g):
        return product_gradients(g, *ctx.saved)


class Bmm(Rule):
    """Batches of one shape; the caller expands them."""
    saves = ("self", "mat2")

    @staticmethod
    def forward(ctx, a, b):
        keep(ctx, a, b)
        return backend(a).bmm(a, b)

    @staticmethod
    def backward(ctx, g):
        return product_gradients(g, *ctx.saved)


class Addmm(Rule):
    """beta * c + alpha * (a @ b) with c of the result's shape."""
    saves = ("mat1", "mat2")

    @staticmethod
    def forward(ctx, c, a, b, beta, alpha):
        keep(ctx, a, b, 1)
        ctx.beta, ctx.alpha = beta, alpha
        return backend(a).addmm(c, a, b, beta, alpha)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        gc = scaled(g, ctx.beta) if ctx.needs_input_grad[0] else None
        ga, gb = product_gradients(scaled(g, ctx.alpha), a, b)
        return gc, ga, gb, None, None


class Baddbmm(Addmm):
    saves = ("batch1", "batch2")


class Mv(Rule):
    saves = ("self", "vec")

    @staticmethod
    def forward(ctx, a, x):
        ctx.save(a, x)
        return backend(a).mv(a, x)

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved
        ga = gx = None
        column, row = g.unsqueeze(1), x.unsqueeze(0)
        if recording():
            if ctx.needs_input_grad[0]:
                ga = mm(column, row.conj() if row.is_complex() else row)
            if ctx.needs_input_grad[1]:
                gx = apply(Mv, adjoint(a), g)
            return ga, gx
        kernels = backend(g)
        if ctx.needs_input_grad[0]:
            ga = kernels.mm(column, row, 0, CONJUGATED)
        if ctx.needs_input_grad[1]:
            gx = kernels.mv(a, g, ADJOINT)
        return ga, gx


class Dot(Rule):
    saves = ("self", "tensor")

    @staticmethod
    def forward(ctx, x, y):
        ctx.save(x, y)
        return backend(x).dot(x, y)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return (
            g * (y.conj() if y.is_complex() else y) if ctx.needs_input_grad[0] else None,
            g * (x.conj() if x.is_complex() else x) if ctx.needs_input_grad[1] else None,
        )


class Vdot(Rule):
    """sum(conj(x) y), the first vector conjugated as it is read."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save(x, y)
        return backend(x).dot(x, y, True)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return g.conj() * y if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None


class Cross(Rule):
    """Cross products along a dimension, of tensors of one shape; linear in both, so that the gradients are cross products too."""
    name = "LinalgCrossBackward0"

    @staticmethod
    def forward(ctx, a, b, dim):
        keep(ctx, a, b)
        ctx.dim = dim
        return backend(a).cross(a, b, dim)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        return (None if b is None else apply(Cross, b.conj() if b.is_complex() else b, g, ctx.dim),
                None if a is None else apply(Cross, g, a.conj() if a.is_complex() else a, ctx.dim), None)


class Unit(Rule):
    """The zeroth power of x: the unit matrix, whose gradient is zero."""

    name = "LinalgMatrixPowerBackward0"

    @staticmethod
    def forward(ctx, x, unit):
        return unit.expand(x.shape).clone()

    @staticmethod
    def backward(ctx, g):
        return g * 0, None


def mm(a, b):
    return apply(Mm, a, b)


def bmm(a, b):
    return apply(Bmm, a, b)
