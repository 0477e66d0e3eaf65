"""Products of matrices: a batch of left operands against one right operand is one product; both batched, a
batched product. A weight that is shared by all samples but whose gradient is wanted for each (vmap over grad)
is multiplied once, and its gradients are a batched product."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import Rule, apply, needs_history

from .common import full, is_shared, one_of, padded


def mm(level, rule, a, b):
    x, y = value_at(a, level), value_at(b, level)
    if y is None:
        return x.matmul(b)
    if x is None:
        return a.matmul(y)
    return x.matmul(y)


def bmm(level, rule, a, b):
    if a.dim() != b.dim():      # the batch dimensions of the samples broadcast: matmul's operands
        rank = max(a.dim(), b.dim())
        return padded(a, level, rank).matmul(padded(b, level, rank))
    return full(a, level).matmul(full(b, level))


def mv(level, rule, a, x):
    m, v = value_at(a, level), value_at(x, level)
    if v is None:
        return m.matmul(x)
    if m is None:
        return v.matmul(a.t())
    return m.matmul(v.unsqueeze(2)).squeeze(2)


def dot(level, rule, x, y):
    a, b = value_at(x, level), value_at(y, level)
    if a is None:
        return b.matmul(x)
    if b is None:
        return a.matmul(y)
    return a.unsqueeze(1).matmul(b.unsqueeze(2)).reshape(level.size)


def vdot(level, rule, x, y):
    return dot(level, rule, x.conj(), y)


def rounds_steps(c):
    """Whether the parts of a sum would be rounded one by one, as integers scaled by alpha and beta and half precision are."""
    return not (c.is_floating_point() or c.is_complex()) or c.element_size() == 2


def addmm(level, rule, c, a, b, beta, alpha):
    if rounds_steps(c):
        return NotImplemented
    product = mm(level, rule, a, b) if value_at(a, level) is not None or value_at(b, level) is not None else a.matmul(b).unsqueeze(0)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product if product.shape[0] == level.size else product.expand(level.size, *product.shape[1:])
    return product + (padded(c, level, 2) if beta == 1 else padded(c, level, 2) * beta)


def baddbmm(level, rule, c, a, b, beta, alpha):
    if rounds_steps(c):
        return NotImplemented
    product = bmm(level, rule, a, b)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (padded(c, level, 3) if beta == 1 else padded(c, level, 3) * beta)


class LinearOfEach(Rule):
    """x @ w.T + bias with one w for all samples, given as w of each: the gradients come a sample apart."""
    name = "LinearBackward0"

    @staticmethod
    def forward(ctx, x, w, bias):
        from fasttensor.functional.matmul import linear as product
        ctx.save(x, w)
        return product(x, one_of(w), None if bias is None else one_of(bias))

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved
        need_x, need_w, need_bias = ctx.needs_input_grad
        gx = gw = gb = None
        if need_x:
            # where the gradient is recorded, w's part in it is per sample too
            gx = rows(g).matmul(w).reshape(x.shape) if needs_history(w) else g.matmul(one_of(w))
        if need_w:
            gw = rows(g).transpose(1, 2).matmul(rows(x))
        if need_bias:
            gb = g if g.dim() == 2 else g.sum(list(range(1, g.dim() - 1)))
        return gx, gw, gb


def rows(t):
    """Each sample as a matrix."""
    return t.unsqueeze(1) if t.dim() == 2 else t.reshape(t.shape[0], -1, t.shape[-1]) if t.dim() > 3 else t


def linear(level, x, weight, bias):
    from fasttensor.functional.matmul import linear as product
    v, w, b = value_at(x, level), value_at(weight, level), value_at(bias, level)
    if w is None and b is None:
        return product(v, weight, bias)
    if v is not None and w is not None and is_shared(w) and (b is None or is_shared(b)) and (bias is None or b is not None):
        return apply(LinearOfEach, v, w, b)
    if w is None:
        y = product(x if v is None else v, weight)
    elif v is None:
        y = x.matmul(w.transpose(1, 2)) if x.dim() < 3 else x.matmul(w.transpose(1, 2).reshape(
            (level.size,) + (1,) * (x.dim() - 2) + (w.shape[2], w.shape[1])))
    else:
        flat = rows(v)
        y = flat.matmul(w.transpose(1, 2)).reshape(tuple(v.shape[:-1]) + (w.shape[1],))
    if bias is None:
        return y
    if b is None:
        return y + bias
    return y + b.reshape((level.size,) + (1,) * (x.dim() - 1) + (b.shape[1],))


RULES = {"Mm": mm, "Bmm": bmm, "Mv": mv, "Dot": dot, "Vdot": vdot, "Addmm": addmm, "Baddbmm": baddbmm}
